import CredentialCore
import StrictJSON
import Testing

@testable import Commands

/// What `setup` writes into files of the user's, and takes out again.
@Suite struct SetupTextTests {
    private static let texts = [
        "", "x", "x\n", "\n", "[user]\n\tname = Ada\n",
        "[global]\nindex-url = https://x\n[list]\nformat = columns\n",
        "# über\r\n[global]\r\n", "a\n\n\n",
    ]

    @Test(arguments: texts, [String?.none, "[global]"])
    func `a block is taken out byte for byte`(_ text: String, _ section: String?) {
        let block = ManagedBlock(name: "pip", comment: "#", section: section, lines: ["a = 1", "b = 2"])
        let added = block.added(to: text)
        #expect(added.contains("a = 1\nb = 2\n") && (text.isEmpty || added.contains(text.prefix(3))))
        #expect(block.removed(from: added) == .init(text: text, isFileOurs: false))
        #expect(block.removed(from: text) == nil)
        // Never twice, and what the user has added since stays.
        #expect(block.added(to: added) == added)
        let newer = ManagedBlock(name: "pip", comment: "#", section: section, lines: ["c = 3"])
        #expect(!newer.added(to: added).contains("a = 1"))
        #expect(block.removed(from: added + "mine\n")?.text.hasSuffix("mine\n") == true)
        #expect(ManagedBlock.names(in: added) == ["pip"])
        let made = block.added(to: nil)
        #expect(block.removed(from: made) == .init(text: "", isFileOurs: true))
        #expect(block.added(to: made) == made && ManagedBlock.names(in: made) == ["pip"])
        #expect(ManagedBlock(name: "pip2", comment: "#", section: nil, lines: []).removed(from: added) == nil)
    }

    private static let documents = [
        "{}", "{\n}\n", #"{"a": 1}"#, #"{"credHelpers": {}}"#,
        #"{"credHelpers": {"x": "y"}, "b": [1, {"credHelpers": 2}]}"#,
        "// credHelpers: {\n{ /* { */ \"b\": \"{\\\"credHelpers\\\": {\", \"credHelpers\" : { \"x\": \"y\" } }",
        "{\n\t\"auths\": {\n\t\t\"r\": {\n\t\t\t\"auth\": \"eA==\"\n\t\t}\n\t}\n}",
    ]

    @Test(arguments: documents)
    func `an entry of JSON is taken out byte for byte`(_ text: String) throws {
        let entry = JSONInsertion(
            member: "credHelpers", isArray: false, entry: #""registry.example.com": "credmgr""#)
        let added = try entry.added(to: text)
        let object = try JSONValue.parse(Array(added.utf8), dialect: .commented).object
        #expect(object?["credHelpers"]?.object?["registry.example.com"] == "credmgr")
        let before = try JSONValue.parse(Array(text.utf8), dialect: .commented).object
        #expect(object?.count == (before?["credHelpers"] == nil ? (before?.count ?? 0) + 1 : before?.count))
        #expect(entry.removed(from: added) == .init(text: text, isFileOurs: false))
        #expect(try entry.added(to: added) == added)
        #expect(entry.removed(from: text) == nil)
    }

    @Test func `an entry of an array comes first, and a file that held nothing else goes`() throws {
        let rule = JSONInsertion(member: "rules", isArray: true, entry: #"{"host": "h", "type": "T"}"#)
        let made = try rule.added(to: nil)
        #expect(try JSONValue.parse(made).object?["rules"]?.array?.count == 1)
        #expect(rule.removed(from: made) == .init(text: "", isFileOurs: true))
        for blank in ["", "\n", "  \n\n"] {
            let filled = try rule.added(to: blank)
            #expect(try JSONValue.parse(filled).object?["rules"]?.array?.count == 1)
            #expect(rule.removed(from: filled) == .init(text: blank, isFileOurs: false))
        }
        let text = "{\n  // mine\n  \"rules\": [\n    {\"host\": \"a\", \"type\": \"A\"},\n  ],\n}\n"
        let added = try rule.added(to: text)
        let rules = try JSONValue.parse(Array(added.utf8), dialect: .commented).object?["rules"]?.array
        #expect(rules?.compactMap { $0.object?["host"]?.string } == ["h", "a"])
        #expect(rule.removed(from: added)?.text == text)
        for bad in ["[]", "x", "{", #"{"rules": {}}"#, #"{"rules": 1}"#] {
            #expect(throws: CredentialError.self) { try rule.added(to: bad) }
        }
    }

    @Test func `an item of YAML goes behind its key, and is found when the program has dropped the marks`() {
        let block = ManagedBlock(
            name: "kubectl Work", comment: "#", section: "users:", lines: ["- name: w", "  user: {}"],
            rewritten: "- name: w")
        let text = "kind: Config\nusers:\n- name: other\n  user:\n    token: x\n"
        let added = block.added(to: text)
        #expect(added.contains("users:\n# >>> credmgr setup kubectl Work\n- name: w\n"))
        #expect(block.removed(from: added)?.text == text)
        let rewritten = text + "- name: w\n  user:\n    exec: {}\nx: 1\n"
        #expect(block.removed(from: rewritten)?.text == text + "x: 1\n")
        #expect(block.removed(from: text) == nil)
        // A key with its value on the line is none to put items behind.
        #expect(block.added(to: "users: []\n").hasPrefix("users: []\n# >>>"))
    }
}
