import Foundation
import TestSupport
import Testing

// The entries of other programs in the place that `setup` would write to.
extension `Setting other programs up` {
    // MARK: What is there already

    /// All of the home except the files that each call writes of its own, with their directories.
    func tree() throws -> [String: Data] {
        var all: [String: Data] = [:]
        for case let name as String in try #require(FileManager.default.enumerator(atPath: home.path)) {
            guard !name.hasPrefix("run"), !name.contains("locks"), !name.hasPrefix("cache") else { continue }
            all[name] = FileManager.default.contents(atPath: home.path + "/" + name) ?? Data()
        }
        return all
    }

    /// A program, its file, the file's text, and the line of the entry in it.
    static let taken: [(words: [String], file: String, text: String, line: Int)] = [
        (["pip"], "config/pip/pip.conf", "[list]\n[global]\nkeyring-provider = disabled\n", 3),
        (["pip"], "config/pip/pip.conf", "[global]\nkeyring_provider: auto", 2),
        (
            ["cargo"], ".cargo/config.toml", "[registry]\nglobal-credential-providers = [\n  \"cargo:token\",\n]\n",
            2
        ),
        (["cargo"], ".cargo/config", "registry.global-credential-providers = [\"cargo:token\"]\n", 1),
        (["terraform"], ".terraformrc", "credentials_helper \"other\" {\n}\n", 1),
        (["docker"], ".docker/config.json", "{\n\"credHelpers\": {\"pkg.example.com\": \"ecr-login\"}}", 2),
        (["go"], "config/go/env", "GOFLAGS=-x\nGOAUTH=netrc\n", 2),
        (["npm"], ".npmrc", "//pkg.example.com/:_authToken=npm_hidden\n", 1),
        (["bazel"], ".bazelrc", "common --credential_helper=pkg.example.com=/other\n", 1),
        (["aws"], ".aws/config", "[profile credmgr]\ncredential_process = other\n", 2),
        (["aws"], ".aws/config", "[profile credmgr]\nregion = x\nrole_arn = arn:aws:iam::1:role/y\n", 3),
        (["neomutt"], "config/neomutt/neomuttrc", "set imap_oauth_refresh_command=\"x\"\n", 1),
        (["msmtp"], "config/msmtp/config", "account credmgr-\(type)\n", 1),
        (["mbsync"], ".mbsyncrc", "\nIMAPAccount credmgr-\(type)\n", 2),
    ]

    func arguments(_ program: String) -> [String] {
        let own =
            program == "aws"
            ? ["--role-arn", "arn:aws:iam::1:role/x"]
            : program == "neomutt"
                ? []
                : ["--host", "pkg.example.com"] + (["msmtp", "mbsync"].contains(program) ? [] : ["--rule"])
        return ["setup", program, "--type", Self.type, "--no-verify"] + own
    }

    @Test(arguments: taken.indices)
    func `another program's entry in that place is refused before any write`(
        _ place: Int
    ) throws {
        let (words, file, text, line) = Self.taken[place]
        try home.write(text, to: file)
        let before = try tree()
        let refused = try home.run(arguments(words[0]), exits: 2).standardError
        #expect(
            refused.contains("\(home.path)/\(file), line \(line) ") && refused.contains("hint: remove that "),
            "\(refused)"
        )
        #expect(!refused.contains("npm_hidden"))
        #expect(try tree() == before)
    }

    @Test(arguments: ["pip", "cargo", "terraform", "docker", "go", "npm", "bazel"])
    func `an equal existing entry is left, also by --undo`(_ program: String) throws {
        // The lines that setup would write, by hand.
        let shown = try home.run(arguments(program) + ["--dry-run"]).standardOutput
        let lines = shown.split(separator: "\n").filter { $0.hasPrefix("    ") }.map { $0.dropFirst(4) }
        let file = try #require(Self.taken.first { $0.words == [program] }?.file)
        let own = lines.filter { !$0.contains("\"rules\"") && !$0.contains("a symbolic") }.joined(separator: "\n")
        let text =
            program == "docker"
            ? "{\n  \"credHelpers\": {\n    \"pkg.example.com\": \"credmgr\"\n  }\n}\n" : own + "\n"
        try home.write(text, to: file)
        let before = try tree()
        let done = try home.run(arguments(program))
        #expect(done.standardError.contains("\(file), line ") && done.standardError.contains("has this setting"))
        #expect(home.text(of: file) == text)
        try home.run(arguments(program) + ["--undo"])
        #expect(try tree() == before)
    }

    @Test func `another program's link is not replaced`() throws {
        let folder = home.path + "/.local/bin"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/keyring", withDestinationPath: "/opt/pipx/keyring")
        let before = try tree()
        #expect(try home.run(arguments("pip"), exits: 2).standardError.contains("move the file away first"))
        #expect(try tree() == before)
    }
}
