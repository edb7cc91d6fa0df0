import Foundation
import StrictJSON
import TestSupport
import Testing

/// `setup` for sandboxes and agents that run a command for a credential. The three programs are not on this
/// machine.
@Suite struct SetupSandboxTests {
    private let home: Home
    private let tenant: DemoTenant
    private let token: String
    private static let type = DemoTenant.typeName

    init() throws {
        home = try Home()
        tenant = try DemoTenant()
        try tenant.signIn(at: home)
        token = try home.run(["token"]).line
    }

    private func kept() -> [String: Data] {
        home.files.filter { !$0.key.contains("/locks/") && !$0.key.hasPrefix("run/") }
    }

    /// Runs a line as the other program would run it, and returns its output.
    private func shell(_ line: String) throws -> String {
        try ChildProcess("/bin/sh", ["-c", line], environment: home.environment).run().line
    }

    // MARK: Claude Code

    @Test(arguments: [
        nil, "", "{}", "{\n  \"model\": \"opus\",\n  \"env\": {\"apiKeyHelper\": \"x\"}\n}\n", "{ \"a\": [1, 2] }",
    ])
    func `setup claude-code sets apiKeyHelper, and undo restores the file byte for byte`(own: String?) throws {
        let file = ".claude/settings.json"
        if let own { try home.write(own, to: file) }
        let before = kept(), words = ["setup", "claude-code", "--type", Self.type]
        let shown = try home.run(words + ["--dry-run"]).standardOutput
        #expect(shown.contains("\(home.path)/\(file):\n    \"apiKeyHelper\": \""))
        #expect(kept() == before)
        let done = try home.run(words)
        #expect(done.standardError.contains("apiKeyHelper got a token with this setup"), "\(done.standardError)")
        #expect(!done.standardOutput.contains(token) && !done.standardError.contains(token))
        let settings = try JSONValue.parse(Array(try #require(home.text(of: file)).utf8)).object
        let line = try #require(settings?["apiKeyHelper"]?.string)
        #expect(try shell(line) == token)
        let once = home.text(of: file)
        try home.run(words)
        #expect(home.text(of: file) == once)
        let row = "claude-code \(Self.type)\t\(home.path)/\(file)\n"
        #expect(try home.run(["setup", "--list"]).standardOutput == row)
        let listed = try home.json(["setup", "--list", "--json"]).array?.first?.object
        #expect(listed?["program"] == "claude-code" && listed?["for"] == .string(Self.type))
        try home.run(["setup", "claude-code", "--undo"])
        #expect(kept() == before)
        #expect(try home.run(words + ["--undo"]).standardError.contains("no changes of this setup were found"))
    }

    @Test func `setup claude-code leaves a helper that it did not write`() throws {
        let file = ".claude/settings.json", own = "{\n  \"apiKeyHelper\": \"/opt/key\"\n}\n"
        try home.write(own, to: file)
        let refused = try home.run(["setup", "claude-code", "--type", Self.type], exits: 2).standardError
        #expect(refused.contains("line 2 has a different setting"), "\(refused)")
        #expect(home.text(of: file) == own)
        try home.run(["setup", "claude-code", "--type", Self.type, "--undo"])
        #expect(home.text(of: file) == own)
    }

    @Test func `setup claude-code replaces its own helper, and undo leaves one that you changed`() throws {
        let file = ".claude/settings.json", words = ["setup", "claude-code", "--type", Self.type]
        try home.write("{\"a\": 1}\n", to: file)
        try home.run(words)
        let account = try #require(try home.json(["accounts", "--json"]).array?.first?.object?["id"]?.string)
        try home.run(words + ["--account", account])
        #expect(home.text(of: file)?.contains("--account \(account)") == true)
        try home.run(words + ["--undo"])
        #expect(home.text(of: file) == "{\"a\": 1}\n")
        try home.run(words)
        let changed = "{\"a\": 1, \"apiKeyHelper\": \"/opt/key\"}\n"
        try home.write(changed, to: file)
        try home.run(words + ["--undo"])
        #expect(home.text(of: file) == changed)
    }

    @Test func `setup claude-code writes nothing when the helper gets no token`() throws {
        try home.run(["logout", "--all", "--yes"])
        let before = kept()
        try home.run(["setup", "claude-code", "--type", Self.type], exits: 1)
        #expect(kept() == before)
    }

    // MARK: nono

    /// The form is that of nono's "Credential Injection" and its profile schema, github.com/nolabs-ai/nono at
    /// aa75c2f (2026-08-21).
    @Test func `setup nono adds a command to a profile, and undo restores the profile byte for byte`() throws {
        let own = "{\n  \"meta\": { \"name\": \"agent\" },\n  // mine\n  \"network\": { \"credentials\": [] }\n}\n"
        let file = try home.write(own, to: "config/nono/profiles/agent.json")
        let before = kept(), words = ["setup", "nono", "--type", Self.type, "--profile", file]
        try home.run(words + ["--dry-run"])
        #expect(kept() == before)
        let done = try home.run(words).standardError
        #expect(done.contains("\"credential_key\": \"cmd://credmgr_\(Self.type)\""), "\(done)")
        let text = try #require(home.text(of: "config/nono/profiles/agent.json"))
        let profile = try JSONValue.parse(Array(text.utf8), dialect: .commented).object
        let capture = try #require(profile?["credential_capture"]?.object?["credmgr_\(Self.type)"]?.object)
        let command = (capture["command"]?.array ?? []).compactMap(\.string)
        try #require(!command.isEmpty)
        let outcome = try ChildProcess(command[0], Array(command.dropFirst()), environment: home.environment).run()
        #expect(outcome.line == token)
        #expect(capture["cache_ttl_secs"] == 0)
        #expect(try home.run(["setup", "--list"]).standardOutput == "nono \(Self.type)\t\(file)\n")
        try home.run(["setup", "nono", "--profile", file, "--undo"])
        #expect(kept() == before)
    }

    @Test func `setup nono needs a profile that exists`() throws {
        let missing = try home.run(["setup", "nono", "--type", Self.type], exits: 2).standardError
        #expect(missing.contains("--profile is required"))
        let words = ["setup", "nono", "--type", Self.type, "--profile", home.path + "/none.json"]
        #expect(try home.run(words, exits: 2).standardError.contains("there is no file \(home.path)/none.json"))
    }

    // MARK: Docker Sandboxes

    /// A substitute for `sbx`, since no package contains it. Its table is that of docs.docker.com, "Credentials",
    /// as of docker/docs#25132 (2026-05-29); `--command` and `--refresh on-demand` are those of "Authenticate
    /// command-line tools" (2026-10).
    private func sbx(_ stored: String = "", fails verb: String = "none") throws -> [String: String] {
        try home.write(stored, to: "sbx-secrets")
        try home.write(
            """
            #!/bin/sh
            s='\(home.path)/sbx-secrets'
            echo "$*" >>'\(home.path)/sbx-calls'
            [ "$2" = \(verb) ] && { echo "sbx: daemon is not running"; exit 1; }
            case "$1 $2" in
            'secret ls') [ -s "$s" ] || { echo 'No secrets found.'; exit 0; }
                printf 'SCOPE      TYPE      NAME     SECRET\\n'; cat "$s" ;;
            'secret set') printf '(global)   service   %s   %s\\n' "$3" "(command)" >>"$s" ;;
            'secret rm') grep -v " $3 " "$s" >"$s.new"; mv "$s.new" "$s" ;;
            *) exit 64 ;;
            esac

            """, to: "programs/sbx", mode: 0o755)
        return ["PATH": home.path + "/programs:/usr/bin:/bin"]
    }

    private var calls: [String] { (home.text(of: "sbx-calls") ?? "").split(separator: "\n").map(String.init) }
    private func changing(_ calls: [String]) -> [String] { calls.filter { $0 != "secret ls" } }
    private static let words = ["setup", "sbx", "--type", type, "--service", "github"]

    @Test func `setup sbx stores a command, and undo removes it`() throws {
        let other = "(global)   service   anthropic   sk-ant-****...****43qy\n"
        let environment = try sbx(other)
        let shown = try home.run(Self.words + ["--dry-run"], environment: environment).standardOutput
        #expect(shown.contains("sbx secret set github --command ") && shown.contains("--refresh on-demand"))
        #expect(changing(calls) == [])
        let done = try home.run(Self.words, environment: environment)
        #expect(done.standardError.contains("the command got a token with this setup"), "\(done.standardError)")
        let set = try #require(changing(calls).first)
        #expect(set.hasPrefix("secret set github --command ") && set.hasSuffix(" --refresh on-demand"))
        let command = String(
            set.dropFirst("secret set github --command ".count).dropLast(" --refresh on-demand".count))
        #expect(try shell(command) == token)
        #expect(!set.contains(token))
        #expect(
            try home.run(["setup", "--list"], environment: environment).standardOutput
                == "sbx github\tsbx secret github\n")
        // Again, since the secret is credmgr's.
        try home.run(Self.words, environment: environment)
        try home.run(["setup", "sbx", "--service", "github", "--undo"], environment: environment)
        #expect(changing(calls).last == "secret rm github")
        #expect(home.text(of: "sbx-secrets") == other && home.text(of: "data/credmgr/setup.json") == nil)
        let nothing = try home.run(Self.words + ["--undo"], environment: environment).standardError
        #expect(nothing.contains("no changes of this setup were found"))
        #expect(changing(calls).filter { $0 == "secret rm github" }.count == 1)
    }

    @Test func `setup sbx keeps a secret that it did not write`() throws {
        let own = "(global)   service   github   gho_GCaw4o****...****43qy\n", environment = try sbx(own)
        let refused = try home.run(Self.words, environment: environment, exits: 2).standardError
        #expect(refused.contains("cannot set sbx secret github: it exists"), "\(refused)")
        #expect(refused.contains("hint: sbx secret rm github"))
        try home.run(Self.words + ["--undo"], environment: environment)
        #expect(changing(calls) == [] && home.text(of: "sbx-secrets") == own)
        #expect(home.text(of: "data/credmgr/setup.json") == nil)
    }

    @Test func `setup sbx records nothing when the proof or sbx fails`() throws {
        let environment = try sbx(fails: "set")
        let failed = try home.run(Self.words, environment: environment, exits: 1).standardError
        #expect(failed.contains("sbx: daemon is not running"), "\(failed)")
        #expect(home.text(of: "data/credmgr/setup.json") == nil)
        try home.run(["logout", "--all", "--yes"])
        let working = try sbx()
        try home.run(Self.words, environment: working, exits: 1)
        #expect(!calls.contains { $0.hasPrefix("secret rm") } && home.text(of: "sbx-secrets") == "")
        #expect(home.text(of: "data/credmgr/setup.json") == nil)
        let absent = try home.run(Self.words, exits: 1).standardError
        #expect(absent.contains("sbx is not installed"), "\(absent)")
        let missing = try home.run(["setup", "sbx", "--type", Self.type], exits: 2).standardError
        #expect(missing.contains("--service is required"))
        try home.run(["setup", "sbx", "--type", Self.type, "--service", "-g"], exits: 2)
    }
}
