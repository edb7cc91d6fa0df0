import CredentialCore
import CryptoSupport
import StrictJSON
import TestCommands
import TestPorts
import Testing

/// `status`, and `credmgr` alone.
@Suite struct StatusCommandTests {
    private let scene = CommandScene(cryptography: LibCryptography())

    private func signIn(_ people: String...) throws {
        scene.define()
        for person in people { try #require(scene.signIn(person).status == 0) }
    }

    /// The value beside a label.
    private func fact(_ label: String, in outcome: CommandScene.Outcome) -> String? {
        let line = outcome.output.split(separator: "\n").first { $0.hasPrefix(label + "  ") }
        return line.map { String($0.dropFirst(label.count).drop { $0 == " " }) }
    }

    private func object(_ words: String...) throws -> JSONObject {
        try #require(try JSONValue.parse(scene.run(["status"] + words + ["--json"]).output).object)
    }

    @Test func `status shows the account that token takes, the rule, the times and the store, and sends nothing`()
        throws
    {
        try signIn("ada", "bob")
        let trace = PortTrace(), outcome = scene.run("status", trace: trace)
        #expect(outcome.status == 0 && outcome.notices.isEmpty, "\(outcome.notices)")
        let id = try #require(scene.machine.accounts().first).id
        let facts = [
            "account": "ada@example.com", "id": id, "type": "Tasks", "chosen by": "the default of the type",
            "status": "active", "sign-in": "renewed automatically", "store": "secret-service",
        ]
        for (label, value) in facts { #expect(fact(label, in: outcome) == value, "\(outcome.output)") }
        #expect(outcome.output.contains("(in 1 h)") && !outcome.output.contains("problem"))
        #expect(scene.transport.requests.isEmpty && scene.machine.provider.refreshes.isEmpty)
        #expect(trace.calls.count { $0 == "secret-service.read" } == 1, "\(trace.calls)")
    }

    @Test func `status as JSON has the keys of accounts, the rule, the problem and its fix`() throws {
        try signIn("ada")
        let json = try object()
        let element = try #require(
            try JSONValue.parse(scene.run("accounts", "--json").output).array?.first?.object)
        for key in element.keys { #expect(json[key] == element[key], "\(key)") }
        #expect(json["rule"] == "the only account" && json["rule_file"] == .null && json["rule_line"] == .null)
        #expect(json["signed_in_at"] == json["created_at"] && json["refreshed_at"] == .null)
        #expect(json["problem"] == .null && json["fix"] == .null && json["exit"] == 0)
        scene.machine.clock.pass(4_000)
        #expect(scene.run("token").status == 0)
        #expect(try object()["refreshed_at"]?.string?.isEmpty == false)
    }

    @Test func `status of a refused sign-in names the reason and the command, and exits with 4`() throws {
        try signIn("ada")
        let id = try #require(scene.machine.accounts().first).id
        scene.machine.change(id) { $0.status = .needsLogin(reason: "revoked") }
        let outcome = scene.run("status")
        #expect(outcome.status == 4 && outcome.notices.isEmpty, "\(outcome.notices)")
        #expect(fact("problem", in: outcome) == "sign-in required: revoked", "\(outcome.output)")
        #expect(fact("fix", in: outcome) == "credmgr login --account \(id)")
        let json = try object()
        #expect(json["exit"] == 4 && json["fix"] == .string("credmgr login --account \(id)"))
        #expect(json["status"] == "needs-login")
    }

    @Test func `status of a sign-in that has ended exits with 4, and of one that ends soon with 0`() throws {
        try signIn("ada")
        let id = try #require(scene.machine.accounts().first).id, now = scene.machine.clock.now
        scene.machine.change(id) { $0.refreshExpiresAt = now.adding(3_600) }
        let soon = try object()
        #expect(soon["problem"] == .null && soon["fix"] == .string("credmgr login --account \(id)"))
        #expect(scene.run("status").status == 0)
        scene.machine.change(id) { $0.refreshExpiresAt = now }
        #expect(scene.run("status").status == 4)
        #expect(try object()["problem"] == "the sign-in has ended")
    }

    @Test func `status while the store is away shows what the record says, and exits with 5`() throws {
        try signIn("ada")
        let trace = PortTrace()
        trace.fail("secret-service.read", with: CredentialError(.storeLocked, "it is locked", hint: "open it"))
        let outcome = scene.run("status", trace: trace)
        #expect(outcome.status == 5, "\(outcome.notices)")
        #expect(fact("account", in: outcome) == "ada@example.com")
        #expect(fact("problem", in: outcome) == "it is locked" && fact("fix", in: outcome) == "open it")
    }

    @Test func `status --all shows every account and exits with the code of the worst`() throws {
        try signIn("ada", "bob", "eve")
        let ids = scene.machine.accounts().map(\.id)
        #expect(scene.run("status", "--all").status == 0)
        scene.machine.change(ids[1]) { $0.status = .needsLogin(reason: "revoked") }
        let outcome = scene.run("status", "--all", "--json")
        #expect(outcome.status == 4)
        let list = try #require(try JSONValue.parse(outcome.output).array).compactMap(\.object)
        #expect(list.map { $0["id"]?.string } == ids)
        #expect(list.map { $0["exit"]?.integer } == [0, 4, 0])
        #expect(list.map { $0["rule"]?.string } == ["the default of the type", nil, nil])
        #expect(scene.run("status").status == 0, "the account that token takes is well")
        scene.machine.setFile("/memory/types/Tasks.json", "{")
        #expect(scene.run("status", "--all").status == 2)
    }

    @Test func `status --all asks a store that is locked once`() throws {
        try signIn("ada", "bob", "eve")
        let trace = PortTrace()
        trace.fail("secret-service.read", with: CredentialError(.storeLocked, "it is locked"))
        #expect(scene.run("status", "--all", trace: trace).status == 5)
        #expect(trace.calls.count { $0 == "secret-service.read" } == 1, "\(trace.calls)")
    }

    @Test func `status without an account, and with several and no default, exits with 3`() throws {
        #expect(scene.run("status").status == 3)
        #expect(scene.run("status", "--all").status == 0)
        scene.define()
        scene.define("Other", #""scope": "other", "issuer": "https://other.example""#)
        let error = try #require(
            try JSONValue.parse(scene.run("status", "--json").output).object?["error"]?.object)
        #expect(error["code"] == "no_such_account" && error["exit"] == 3)
    }

    // MARK: credmgr alone

    private func alone(_ words: [String] = [], width: Int = 80, _ language: any Translations = NoTranslations())
        -> CommandScene.Outcome
    {
        scene.run(words, on: MemoryConsole(answers: [], width: width, translations: language))
    }

    @Test func `credmgr alone in a pipe prints help on standard error and exits with 2`() throws {
        for words in [[], ["-q"], ["--group", "work"]] {
            let outcome = scene.run(words)
            #expect(outcome.status == 2 && outcome.output.isEmpty)
            #expect(outcome.notices == scene.run("--help").output)
        }
        #expect(scene.run("--help").status == 0 && scene.run("-h").status == 0)
    }

    @Test func `credmgr alone on a terminal shows the first steps, then the status, and exits with 0`() throws {
        let first = alone()
        #expect(first.status == 0 && first.output.contains("No account is signed in."), "\(first.output)")
        #expect(first.output.contains("credmgr types add"))
        scene.define()
        #expect(alone().output.contains("Get started: credmgr login --type Tasks\n"), "\(alone().output)")
        try signIn("ada")
        let status = alone()
        #expect(status.status == 0 && fact("account", in: status) == "ada@example.com", "\(status.output)")
        #expect(status.output.contains("credmgr accounts"))
        let id = try #require(scene.machine.accounts().first).id
        scene.machine.change(id) { $0.status = .needsLogin(reason: "revoked") }
        #expect(alone().status == 0 && alone().output.contains("credmgr login --account \(id)"))
        #expect(alone(["--group", "other"]).output.contains("No account is signed in."))
    }

    @Test func `credmgr alone shows what keeps token from choosing, and exits with 0`() throws {
        scene.define()
        scene.machine.setFile("/memory/config.json", "{")
        #expect(alone().status == 0 && alone().output.contains("/memory/config.json is not JSON"))
    }

    @Test(arguments: ["en"] + POCatalogue.languages)
    func `credmgr alone, and --help, fit on 24 lines of 80 columns`(_ language: String) throws {
        let catalogue: any Translations = language == "en" ? NoTranslations() : try POCatalogue(language)
        var pages = [alone(["--help"], catalogue).output, alone([], catalogue).output]
        scene.define()
        pages.append(alone([], catalogue).output)
        try signIn("ada")
        let id = try #require(scene.machine.accounts().first).id
        let reason = String(repeating: "the provider refused it ", count: 8)
        scene.machine.change(id) {
            $0.status = .needsLogin(reason: reason)
            $0.refreshExpiresAt = $0.createdAt
            $0.label = String(repeating: "label ", count: 20)
            $0.issuer = "https://login.example.com/" + String(repeating: "x", count: 40)
        }
        pages.append(alone([], catalogue).output)
        for number in 0..<30 { _ = scene.signIn("user\(number)") }
        scene.machine.setFile(
            "/memory/config.json", #"{"rules": [{"directory": "/**", "account": "nobody"}]}"#)
        pages.append(alone([], catalogue).output)
        #expect(pages[0].contains("Get started:") == (language == "en"), "the catalogue is read")
        for page in pages {
            let lines = page.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            #expect(lines.count <= 24 && lines.count > 5, "\(page)")
            for line in lines { #expect(columns(String(line)) <= 80, "\(line)") }
        }
    }

    /// The columns of a line without its colours.
    private func columns(_ line: String) -> Int {
        line.unicodeScalars.reduce(into: (count: 0, isEscaped: false)) { state, scalar in
            if state.isEscaped {
                state.isEscaped = scalar != "m"
            } else if scalar == "\u{1B}" {
                state.isEscaped = true
            } else {
                state.count += scalar.value >= 0x2E80 ? 2 : 1
            }
        }.count
    }
}
