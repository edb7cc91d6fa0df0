import CredentialCore
import CryptoSupport
import StrictJSON
import TestCommands
import TestPorts
import Testing

/// Choosing accounts: `use`, `use --here`, `rules`, `label --type`, and the beginnings of IDs.
@Suite struct RulesCommandTests {
    private var scene = CommandScene(cryptography: LibCryptography())

    init() throws {
        scene.define()
        for person in ["ada", "bob"] { try #require(scene.signIn(person).status == 0) }
    }

    private static let file = "/memory/config.json"
    private var config: String { scene.machine.file(Self.file) ?? "" }

    private func subject() -> String? {
        (try? JSONValue.parse(scene.run("which", "--json").output))?.object?["subject"]?.string
    }

    // MARK: use

    @Test func `use without an account asks on a terminal, and a part of a name narrows the list`() throws {
        let console = MemoryConsole(answers: ["nobody", "example", "BOB"])
        #expect(scene.run(["use"], on: console).status == 0)
        #expect(console.answersLeft == 0)
        #expect(console.notices.contains("1  ada@example.com (Tasks)"), "\(console.notices)")
        #expect(console.notices.contains("no entry matches 'nobody'"))
        #expect(subject() == "bob")
        #expect(scene.run(["use"], on: MemoryConsole(answers: ["1"])).status == 0)
        #expect(subject() == "ada")
    }

    @Test func `use without an account and without a terminal exits with 2`() {
        #expect(scene.run("use").status == 2)
        #expect(scene.run("use").notices.contains("hint: credmgr accounts"))
        #expect(scene.run(["use", "--no-input"], on: MemoryConsole(answers: [])).status == 2)
    }

    @Test mutating func `use --here writes a rule for the directory, and replaces the one that is there`() throws {
        scene.workingDirectory = "/memory/home/work"
        #expect(scene.run("use", "bob", "--here").status == 0)
        #expect(config.contains(#"{"directory": "~/work/**", "type": "Tasks", "account": "bob@example.com"}"#))
        #expect(subject() == "bob")
        #expect(scene.run("use", "ada", "--here").status == 0)
        #expect(subject() == "ada" && !config.contains("bob"))
        scene.workingDirectory = "/memory/home/work/deep"
        #expect(subject() == "ada")
        #expect(scene.run("use", "bob", "--here").status == 0)
        #expect(subject() == "bob")
        scene.workingDirectory = "/memory/home/work"
        #expect(subject() == "ada")
        scene.workingDirectory = "/memory/home"
        #expect(scene.run("use", "bob", "--here").status == 0)
        scene.workingDirectory = "/memory/home/work/deep"
        #expect(subject() == "bob")
        scene.workingDirectory = "/memory/home/work"
        #expect(subject() == "ada", "a rule for more does not precede one for less: \(config)")
        scene.workingDirectory = "/memory/home/a*b"
        #expect(scene.run("use", "bob", "--here").status == 2)
    }

    @Test mutating func `a rule that replaces one behind a wider rule is put before the wider rule`() throws {
        scene.machine.setFile(
            Self.file,
            #"{"rules": [{"directory": "~/**", "account": "ada@example.com"}, {"directory": "~/w/**", "type": "Tasks", "account": "ada@example.com", "username": "kept"}]}"#
        )
        scene.workingDirectory = "/memory/home/w"
        #expect(subject() == "ada")
        let used = scene.run("use", "bob", "--here")
        #expect(used.status == 0 && subject() == "bob", "\(used.notices)")
        let added = scene.run("rules", "add", "--directory", "~/w", "--type", "Tasks", "--account", "ada")
        #expect(
            added.notices.contains(#"replaced in /memory/config.json: {"directory": "~/w/**""#), "\(added.notices)")
        #expect(added.notices.contains("bob@example.com"))
    }

    @Test func `a rule for every type is not replaced by a rule for one`() throws {
        scene.machine.setFile(Self.file, #"{"rules": [{"directory": "~/w/**", "account": "ada@example.com"}]}"#)
        #expect(scene.run("rules", "add", "--directory", "~/w", "--type", "Tasks").status == 0)
        #expect(config.contains(#"{"directory": "~/w/**", "account": "ada@example.com"}"#), "\(config)")
        #expect(config.contains(#"{"directory": "~/w/**", "type": "Tasks"}"#))
    }

    @Test func `a directory of a rule is resolved from the home directory, and an empty one is refused`() throws {
        #expect(scene.run("rules", "add", "--directory", "~/..", "--type", "Tasks").status == 0)
        #expect(config.contains(#"{"directory": "/memory/**", "type": "Tasks"}"#), "\(config)")
        for directory in ["", "~bob/x"] {
            #expect(scene.run("rules", "add", "--directory", directory, "--type", "Tasks").status == 2)
        }
    }

    @Test func `changes of the rules at once are all kept`() async throws {
        let scene = scene
        await withTaskGroup(of: Int32.self) { group in
            for number in 1...12 {
                // The lock in memory does not wait: while another change holds it, the command exits with 6.
                group.addTask {
                    var status: Int32 = 6
                    for _ in 0..<10_000 where status == 6 {
                        status =
                            scene.run("rules", "add", "--host", "h\(number).example.com", "--type", "Tasks").status
                    }
                    return status
                }
            }
            for await status in group { #expect(status == 0) }
        }
        for number in 1...12 { #expect(config.contains("\"h\(number).example.com\""), "\(config)") }
    }

    @Test func `use --here keeps all other bytes of config json`() throws {
        let before =
            "{\n  // mine\n  \"min_valid\": 90, \"rules\": [\n    // git\n    {\"host\": \"git.example.com\", \"type\": \"Tasks\"} // end\n  ]\n}\n"
        scene.machine.setFile(Self.file, before)
        #expect(scene.run("use", "bob", "--here").status == 0)
        let rule = #"{"directory": "~/**", "type": "Tasks", "account": "bob@example.com"}"#
        let changed = before.replacing("\"Tasks\"} //", with: "\"Tasks\"},\n    \(rule) //")
        #expect(config == changed)
        #expect(scene.run("rules", "remove", "2").status == 0)
        #expect(config == before)
    }

    @Test func `use --here warns about a variable that takes precedence`() throws {
        let other = CommandScene(cryptography: LibCryptography(), environment: ["CREDMGR_ACCOUNT": "ada"])
        other.define()
        #expect(other.signIn("ada").status == 0)
        #expect(other.run("use", "ada", "--here").notices.contains("CREDMGR_ACCOUNT is set here"))
    }

    // MARK: rules

    @Test func `rules are added, listed with what applies here, and removed`() throws {
        #expect(scene.run("rules").notices.contains("no rule is defined"))
        for words in [
            ["--directory", "~/other/../work/", "--account", "ada"],
            ["--host", "git.example.com:8443", "--path", "team", "--type", "Tasks", "--username", "x"],
            ["--directory", ".", "--account", "bob"],
        ] { #expect(scene.run(["rules", "add"] + words).status == 0) }
        let list = try #require(try JSONValue.parse(scene.run("rules", "--json").output).array).compactMap(\.object)
        #expect(list.map { $0["host"]?.string } == ["git.example.com:8443", nil, nil])
        #expect(list.map { $0["directory"]?.string } == [nil, "~/work/**", "~/**"])
        #expect(list.map { $0["account"]?.string } == [nil, "ada@example.com", "bob@example.com"])
        #expect(list.map { $0["here"]?.bool } == [true, false, true])
        #expect(list.map { $0["number"]?.integer } == [1, 2, 3])
        #expect(list[0]["path"] == "team" && list[0]["username"] == "x")
        #expect(list.allSatisfy { $0["file"] == .string(Self.file) && $0["line"]?.integer ?? 0 > 1 })
        #expect(scene.run("rules").output.contains("git.example.com:8443/team"))
        #expect(scene.run("rules", "remove", "--type", "Tasks").notices.contains("3 rules match"))
        #expect(scene.run("rules", "remove", "--host", "git.example.com").status == 2)
        #expect(scene.run("rules", "remove", "--host", "git.example.com:8443", "--path", "team").status == 0)
        #expect(scene.run("rules", "remove", "--directory", "/memory/home").status == 0)
        #expect(scene.run("rules", "remove", "1").status == 0)
        #expect(scene.run("rules", "remove", "1").status == 2)
        #expect(scene.run("rules", "--json").output == "[]\n")
    }

    @Test(arguments: [
        ["--account", "ada"], ["--directory", "~/x"], ["--host", "*.example.com", "--type", "Tasks"],
        ["--path", "team", "--directory", "~/x", "--type", "Tasks"],
        ["--directory", "~/x", "--type", "Nothing"],
    ])
    func `a rule that is not valid is not written`(_ words: [String]) {
        #expect(scene.run(["rules", "add"] + words).status == 2)
        #expect(config.isEmpty)
    }

    @Test func `a rule for an account of another group than its type's is refused`() throws {
        #expect(
            scene.run(
                "login", "--type", "Tasks", "--group", "work", "--flow", "password", "--username", "eve",
                "--password-file", "-", input: "p\n"
            ).status == 0)
        let outcome = scene.run("rules", "add", "--directory", "~/x", "--account", "eve", "--group", "work")
        #expect(outcome.status == 2 && outcome.notices.contains("cannot select a group"), "\(outcome.notices)")
        #expect(config.isEmpty)
    }

    // MARK: Names

    @Test func `the beginning of an ID stands for it in every command, and a name that is equal takes precedence`()
        throws
    {
        let accounts = scene.machine.accounts(), ids = ShortIDs(accounts)
        let ada = ids[accounts[0].id], bob = ids[accounts[1].id]
        #expect(ada.count >= 4 && ada != bob)
        #expect(scene.run("token", "--account", bob).output.hasPrefix("access-bob"))
        #expect(scene.run("token", "--account", String(bob.prefix(3))).status == 3)
        #expect(scene.run("accounts", "show", bob).output.contains("bob@example.com"))
        #expect(scene.run("use", bob).status == 0 && subject() == "bob")
        #expect(scene.run("claims", "--account", bob).notices.contains("no account") == false)
        #expect(scene.run("label", bob, ada).status == 2, "the beginning of another ID is no label")
        scene.machine.change(accounts[1].id) { $0.label = ada }
        #expect(scene.run("token", "--account", ada).output.hasPrefix("access-bob"))
        #expect(ShortIDs(scene.machine.accounts())[accounts[0].id].count > ada.count)
        #expect(scene.run("logout", "--account", bob).status == 0)
        #expect(scene.machine.accounts().map(\.subject) == ["ada"])
    }

    @Test func `label and accounts show take a type`() throws {
        scene.machine.setFile("/memory/types/Other.json", #"{"adapter": "memory", "client_id": "d"}"#)
        #expect(scene.signIn("ada", to: "Other").status == 0)
        #expect(scene.run("label", "ada", "Work").status == 3, "two accounts are called so")
        #expect(scene.run("label", "ada", "Work", "--type", "Other").status == 0)
        #expect(scene.machine.accounts().map(\.label) == [nil, nil, "Work"])
        #expect(scene.run("accounts", "show", "ada", "--type", "Other").output.contains("Work"))
        #expect(scene.run("label", "bob", "Work", "--type", "Tasks").status == 2)
    }

    @Test func `completion shows the user and the type beside an ID`() throws {
        let id = try #require(scene.machine.accounts().first).id
        let lines = scene.run("__complete", "--", "token", "--account", "").output
        #expect(lines.contains("\(id)\tada@example.com (Tasks)\n"), "\(lines)")
        #expect(lines.contains("\nbob@example.com\n"))
    }
}
