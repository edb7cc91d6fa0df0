import CredentialCore
import DemoProvider
import Foundation
import TestSupport
import Testing

/// The secrets that other processes and other users could get hold of while the program runs.
@Suite(.needs(.tracing)) struct HygieneTests {
    private static let passphrase = "canary passphrase of a file 5Tr1"
    private static let clientSecret = "canary-client-secret-4Wd6"

    /// A call of the program that a secret goes through.
    private struct Call {
        let words: [String]
        var input = ""
        var environment: [String: String] = [:]
    }

    /// Every command that a secret goes through: those that sign in, give tokens, keep, move and forget them, and
    /// the helpers of other programs. Files that the user names by option lie in another folder, `elsewhere`.
    private static func calls(
        _ tenant: DemoTenant, redirect: String, _ elsewhere: TemporaryFolder
    ) throws -> [Call] {
        let registry = "https://registry.example.com/x", passphraseFile = elsewhere.path + "/passphrase"
        try Data((passphrase + "\n").utf8).write(to: URL(fileURLWithPath: passphraseFile))
        #expect(chmod(passphraseFile, 0o600) == 0)
        let unlocked = ["CREDMGR_PASSPHRASE_FILE": passphraseFile]
        let archive = elsewhere.path + "/archive"
        let b2c = [
            "--adapter", "azure-b2c", "--authority", tenant.base, "--tenant", DemoTenant.tenant, "--default-policy",
            "in",
        ]
        let cluster = #"{"server":"https://registry.example.com"}"#
        return [
            Call(words: ["login", "--complete", "-"], input: redirect + "\n"),
            Call(words: ["token"]), Call(words: ["token", "--force-refresh"]), Call(words: ["refresh", "--all"]),
            Call(words: ["token", "--output", elsewhere.path + "/token"]), Call(words: ["claims"]),
            Call(words: ["request", "POST", "/tasks", "--form", "task=milk"]),
            Call(words: ["exec", "--", "/bin/true"]), Call(words: ["accounts", "--json"]), Call(words: ["doctor"]),
            // The requests of other programs.
            Call(
                words: ["git-credential", "get"],
                input: "protocol=http\nhost=\(tenant.base.dropFirst("http://".count))\n\n"),
            Call(words: ["docker-credential", "get"], input: "registry.example.com"),
            Call(words: ["keyring", "get", registry, DemoTenant.alice.email]),
            Call(words: ["terraform", "get", "registry.example.com"]), Call(words: ["goauth", registry]),
            Call(words: ["bazel", "get"], input: #"{"uri":"\#(registry)"}"#),
            Call(
                words: ["cargo"],
                input: #"{"v":1,"registry":{"index-url":"sparse+\#(registry)/"},"kind":"get","operation":"read","#
                    + #""args":[]}"# + "\n"),
            Call(
                words: ["kubernetes"],
                environment: [
                    "KUBERNETES_EXEC_INFO":
                        #"{"apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":\#(cluster)}}"#
                ]),
            Call(words: ["az", "account", "get-access-token"]), Call(words: ["oidc-token", DemoTenant.typeName]),
            // Secrets that people have.
            Call(
                words: [
                    "types", "add", "Machine", "--policy", "in=b2c_1_sign_in", "--client-id",
                    DemoTenant.confidentialID, "--flow", "client_credentials", "--scope",
                    "https://exampleb2c.onmicrosoft.com/tasks/.default", "--client-secret-file", "-",
                ] + b2c, input: clientSecret),
            Call(words: ["login", "--type", "Machine"]),
            Call(
                words: [
                    "types", "add", "Ropc", "--policy", "in=B2C_1_ropc", "--client-id", DemoTenant.clientID,
                    "--flow",
                    "password", "--scope", "openid \(DemoTenant.clientID) offline_access",
                ] + b2c),
            Call(
                words: [
                    "login", "--type", "Ropc", "--username", DemoTenant.alice.email, "--password-file", "-",
                ], input: DemoTenant.alice.password.reveal() + "\n"),
            Call(words: ["store", "rekey", "--passphrase-file", passphraseFile]),
            Call(words: ["token", "--type", DemoTenant.typeName, "--force-refresh"], environment: unlocked),
            // Behind the refresh: an import does not restore an already used token from an archive.
            Call(
                words: ["accounts", "export", archive, "--passphrase-file", passphraseFile], environment: unlocked),
            Call(words: ["store", "unlock"], environment: unlocked), Call(words: ["store", "lock"]),
            Call(words: ["store", "rekey", "--key-file"], environment: unlocked),
            Call(words: ["logout", "--all", "--yes"]),
            Call(words: ["accounts", "import", archive, "--passphrase-file", passphraseFile]),
        ]
    }

    /// A whole session under strace: the calls that it made, and how many commands it was.
    private static func trace(
        _ calls: String, in home: Home, _ tenant: DemoTenant
    ) throws -> (lines: [Substring], commands: Int) {
        try tenant.define(at: home)
        try home.write(
            #"{"rules": [{"host": "registry.example.com", "type": "\#(DemoTenant.typeName)"}]}"#,
            to: "config/credmgr/config.json")
        let elsewhere = try TemporaryFolder()
        var lines: [Substring] = []
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        let commands = try Self.calls(tenant, redirect: try tenant.redirect(from: url), elsewhere)
        for call in commands {
            // A file for each process: in one for all, a busy machine writes the end of a line further down.
            let traces = try TemporaryFolder()
            let traced = ["-ff", "-y", "-v", "-s", "65536", "-o", traces.path + "/trace", "-e", "trace=" + calls]
            let outcome = try ChildProcess(
                "/usr/bin/strace", traced + [Home.program] + call.words,
                environment: home.environment.merging(call.environment) { $1 }
            ).run(input: call.input, seconds: 300)
            #expect(outcome.exitStatus == 0, "\(call.words): \(outcome.standardError)")
            for name in try FileManager.default.contentsOfDirectory(atPath: traces.path) {
                lines += try String(contentsOfFile: traces.path + "/" + name, encoding: .utf8)
                    .split(separator: "\n")
            }
        }
        return (lines, commands.count)
    }

    @Test func `Every file is closed on exec, and none of ours is reached through a link`() throws {
        let home = try Home()
        let tenant = try DemoTenant(clientSecret: Self.clientSecret)
        let lines = try Self.trace("openat,mkdirat,pipe2,execve", in: home, tenant).lines
        // The first exec is the program's; files that the loader opens are not credmgr's, and are not kept open
        // either.
        let opens = lines.filter { $0.contains("openat(") && $0.contains(home.path) && !$0.contains(" = -1 ") }
        #expect(opens.count > 500)
        for line in opens {
            #expect(line.contains("O_CLOEXEC"), "\(line)")
            // A path that users write themselves may be a link of theirs.
            if line.contains("/config/credmgr/") { continue }
            // The directory that the user's own variable names may be a symbolic link; the paths below it are not.
            let isBase = line.contains("openat(AT_FDCWD") && line.contains("O_DIRECTORY")
            let isItself = line.contains(", \".\", ")
            #expect(isBase || isItself || line.contains("O_NOFOLLOW"), "\(line)")
            if line.contains("O_CREAT") { #expect(line.contains(", 0600)"), "\(line)") }
        }
        let made = lines.filter { $0.contains("mkdirat(") && !$0.contains(" = -1 ") }
        #expect(!made.isEmpty)
        for line in made { #expect(line.contains(", 0700)"), "\(line)") }
        for line in lines where line.contains("pipe2(") { #expect(line.contains("O_CLOEXEC"), "\(line)") }
    }

    @Test func `No secret is an argument or a variable of a process that is started`() throws {
        let home = try Home(), tenant = try DemoTenant(clientSecret: Self.clientSecret)
        let (lines, commands) = try Self.trace("execve", in: home, tenant)
        let starts = lines.filter { $0.contains("execve(") }
        // Each command, the worker of each refresh, and the child of `exec`, which alone is given a token.
        #expect(starts.count >= commands + 3)
        let child = starts.filter { $0.contains("execve(\"/bin/true\"") }
        #expect(child.count == 1)
        #expect(child.first?.contains("ACCESS_TOKEN=") == true)
        for secret in [Self.passphrase, Self.clientSecret] {
            #expect(!starts.contains { $0.contains(secret) }, "\(secret)")
        }
        for line in starts where line != child.first {
            #expect(!line.contains(DemoTenant.alice.password.reveal()), "\(line)")
            for secret in tenant.provider.secrets { #expect(!line.contains(secret), "\(line)") }
        }
        // The worker knows the home of its user and not much else.
        let worker = try #require(starts.first { $0.contains("/proc/self/exe") })
        #expect(!worker.contains("CREDMGR_PASSPHRASE"))
    }

    @Test(.needs(.root))
    func `Another process of the same user reads neither memory nor environment`() throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o755)
        // A user other than root, with a program that this user can start.
        let shell = """
            cp "$PROGRAM" "$FOLDER/credmgr" && chmod 755 "$FOLDER/credmgr" && mkdir -m 700 "$FOLDER/home" &&
            chown 65534:65534 "$FOLDER/home" &&
            exec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all sh -c '
                export HOME="$FOLDER/home"
                sleep 60 >/dev/null 2>&1 & open=$!
                mkfifo "$HOME/input" && : >"$HOME/out"
                "$FOLDER/credmgr" demo --serve <"$HOME/input" >"$HOME/out" 2>&1 & program=$!
                exec 7>"$HOME/input"
                while ! grep -q "listens at" "$HOME/out"; do
                    kill -0 $program || exit 9
                    sleep 0.05
                done
                cat /proc/$open/environ >/dev/null 2>&1 || echo "the neighbour of the test cannot be read either"
                for file in environ maps mem auxv stack io; do
                    head -c 1 /proc/$program/$file >/dev/null 2>&1 && echo "$file can be read"
                done
                timeout 5 strace -qq -p $program -e trace=none >/dev/null 2>"$HOME/trace"
                grep -q "Operation not permitted" "$HOME/trace" || { echo "it can be traced:"; cat "$HOME/trace"; }
                ls "/proc/$program/fd" >/dev/null 2>&1 && echo "its descriptors can be listed"
                exec 7>&-
                kill $open
                wait $program
            '
            """
        let outcome = try ChildProcess(
            "/bin/sh", ["-c", shell],
            environment: ["PATH": "/usr/bin:/bin", "FOLDER": folder.path, "PROGRAM": Home.program]
        ).run()
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        #expect(outcome.standardOutput == "")
    }
}
