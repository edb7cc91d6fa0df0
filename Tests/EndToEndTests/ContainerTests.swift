import Foundation
import TestSupport
import Testing

/// docs/how-to/containers.md with podman, each command as the page has it. The test fetches no file: it makes a
/// substitute for Debian slim from this machine's programs and libraries.
@Suite(.serialized, .needs(.podman)) final class ContainerTests {
    private struct Failure: Error { let text: String }

    private static let checkout = String(#filePath.split(separator: "/Tests/")[0])
    private static let base = "docker.io/library/debian:bookworm-slim"
    private let page: String
    private let home: Home
    /// A short path, for podman takes no other.
    private let storage = "/tmp/podman-" + UUID().uuidString.prefix(8)

    init() throws {
        page = try String(contentsOfFile: Self.checkout + "/docs/how-to/containers.md", encoding: .utf8)
        home = try Home(["CREDMGR_STORE": "file"])
        try home.write(
            "#!/bin/sh\nexec '\(Self.checkout)/scripts/packaging/podman' '\(storage)' \"$@\"\n",
            to: "bin/podman", mode: 0o755)
        // By its name, as if a package had installed it.
        try FileManager.default.createSymbolicLink(
            atPath: home.path + "/bin/credmgr", withDestinationPath: Home.program)
        try importBase()
    }

    deinit {
        // Files that cannot be removed are in the folder of temporary files.
        _ = try? shell("podman rm --all --force; podman rmi --all --force; rm -rf '\(storage)'")
    }

    private func shell(_ script: String) throws -> ChildProcess.Outcome {
        let path = ["PATH": "\(home.path)/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        return try ChildProcess(
            "/bin/sh", ["-c", "cd '\(Self.checkout)'\n\(script)"],
            environment: home.environment.merging(path) { $1 }
        ).run(seconds: 120)
    }

    @discardableResult private func succeed(_ script: String) throws -> String {
        let done = try shell(script)
        guard done.exitStatus == 0 else { throw Failure(text: script + ": " + done.standardError) }
        return done.standardOutput
    }

    /// A shell, the programs that `install.sh` calls, and the files that the program opens; apt-get has no package
    /// to install there.
    private func importBase() throws {
        let programs = [
            "sh", "cat", "cp", "dirname", "find", "id", "install", "ls", "mkdir", "printenv", "rm", "sed", "sleep",
            "sort", "stat", "touch",
        ].map { "/bin/" + $0 }
        let opened = ["libcurl.so.4", "libcrypto.so.3", "libmicrohttpd.so.12", "libqrencode.so.4"]
        try home.write("#!/bin/sh\n", to: "base/usr/bin/apt-get", mode: 0o755)
        for name in ["etc", "root", "tmp", "usr/local", "opt", "proc", "dev", "sys", "run", "var/lib/apt/lists"] {
            try FileManager.default.createDirectory(
                atPath: home.path + "/base/" + name, withIntermediateDirectories: true)
        }
        try succeed(
            """
            set -e
            set -- \(programs.joined(separator: " ")) '\(Home.program)' \
                $(ldconfig -p | grep -E '\(opened.joined(separator: "|"))' | sed 's/.* => //')
            { printf '%s\\n' \(programs.joined(separator: " "))
              shift \(programs.count + 1); printf '%s\\n' "$@"
              ldd \(programs.joined(separator: " ")) '\(Home.program)' "$@" | grep -o '/[^ :]*\\.so[^ :]*'
            } | sort -u | sed 's|^/||' >'\(home.path)/files'
            tar -C / -chf '\(home.path)/base.tar' --mode=go+rX --files-from '\(home.path)/files'
            tar -C '\(home.path)/base' -rf '\(home.path)/base.tar' .
            podman import --quiet '\(home.path)/base.tar' \(Self.base)
            """)
    }

    /// The commands of the page's table, in the row of a way.
    private func commands(of way: String) throws -> [String] {
        let row = try #require(page.split(separator: "\n").first { $0.hasPrefix("| \(way) |") }, "no way: \(way)")
        return row.matches(of: /`([^`]+)`/).map { String($0.output.1) }
    }

    /// The same for this test: its own type and image, and no network, because it needs no network.
    private func adapted(_ command: String, then own: String = "") -> String {
        command.replacingOccurrences(of: "--type Work", with: "--type \(DemoTenant.typeName)")
            .replacingOccurrences(of: "podman run ", with: "podman run --network none ")
            .replacingOccurrences(of: "podman build ", with: "podman build --network none --quiet ")
            .replacingOccurrences(of: " IMAGE", with: " \(Self.base) \(own)")
    }

    @Test func `a container has a token in a variable, or in a file that is kept fresh`() throws {
        let tenant = try DemoTenant { $0.accessTokenLifetime = 4 }
        try tenant.signIn(at: home)
        let byVariable = try commands(of: "a variable")
        try #require(byVariable.count == 1)
        let shown = try succeed(adapted(byVariable[0], then: "printenv ACCESS_TOKEN"))
        #expect(tenant.provider.secrets.contains(shown.trimmingCharacters(in: .newlines)), "\(shown)")

        let byFile = try commands(of: "a file that is kept fresh")
        try #require(byFile.count == 3 && byFile[1].hasSuffix("--keep &"))
        let wait = """
            first=$(cat /run/tokens/work); echo "$first"; tries=0
            while [ "$(cat /run/tokens/work)" = "$first" ]; do
                tries=$((tries + 1)); [ $tries -lt 600 ] || exit 1; sleep 0.05
            done
            cat /run/tokens/work; stat -c %a /run/tokens/work; touch /run/tokens/other 2>/dev/null || echo read-only
            """
        let lines = try succeed(
            """
            \(byFile[0])
            \(adapted(byFile[1]))
            keeper=$!
            trap 'kill $keeper; wait' EXIT
            until [ -s ~/tokens/work ]; do sleep 0.05; done
            \(adapted(byFile[2], then: "sh -c '\(wait)'"))
            """
        ).split(separator: "\n").map(String.init)
        try #require(lines.count == 4, "\(lines)")
        #expect(lines[0] != lines[1] && tenant.provider.secrets.isSuperset(of: lines[0...1]))
        #expect(lines[2...] == ["600", "read-only"])
    }

    @Test func `the image is the tarball and nothing else`() throws {
        // The program that was built with the tests, with the name that a release build has.
        try succeed("mkdir '\(home.path)/built' && strip -o '\(home.path)/built/credmgr' '\(Home.program)'")
        try succeed("cp '\(try SmallProgram.compiled.get())' '\(home.path)/built/credmgr-fast'")
        let block = try #require(page.firstMatch(of: /```sh\n((?:.*\n)+?)```/)?.output.1)
        let lines = block.split(separator: "\n").map(String.init)
        try #require(lines.count == 3 && lines[0].hasPrefix("scripts/package tarball"))
        let own = ProcessInfo.processInfo.environment
        let packed = try ChildProcess(
            Self.checkout + "/scripts/package",
            ["tarball", "--program", home.path + "/built/credmgr", "--output", home.path + "/dist"],
            environment: home.environment.merging(["PATH": own["PATH"] ?? "/usr/bin:/bin"]) { $1 }
        ).run(seconds: 120)
        try #require(packed.exitStatus == 0, "\(packed.standardError)")
        try #require(lines[1].hasSuffix(" dist"))
        try succeed(adapted(lines[1].dropLast("dist".count) + "'\(home.path)/dist'"))

        let inside = try succeed(
            "podman run --rm --network none --entrypoint find credmgr /usr/local /opt/ '(' -path /usr/local/'*' "
                + "-o -name 'credmgr*' ')' '!' -type d")
        let tarball = try succeed("tar -tzf '\(home.path)'/dist/credmgr-*.tar.gz | grep -v '/$'")
        let expected = tarball.split(separator: "\n").compactMap { path -> Substring? in
            let name = path.drop { $0 != "/" }
            return ["/install.sh", "/LICENSE"].contains(name) ? nil : name
        }
        #expect(expected.count > 50)
        let installed = inside.split(separator: "\n").map { $0.dropFirst("/usr/local".count) }
        #expect(installed.sorted() == expected.sorted())

        let demo = try succeed(adapted(lines[2]))
        #expect(demo.contains("(refreshes that the provider has seen: 1)"), "\(demo)")
    }
}
