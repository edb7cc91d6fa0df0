import CredentialCore
import StrictJSON
import Testing

@testable import Commands

/// The lines that `setup` writes into the user's files, and takes out again.
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
        // Never twice, and the user's later additions stay.
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
        // A key with its value on the line cannot be followed by items.
        #expect(block.added(to: "users: []\n").hasPrefix("users: []\n# >>>"))
    }

    // MARK: What has come since

    /// Each block is in its own words, as the recipes have them.
    private static func block(_ name: String, section: String? = nil, _ lines: String...) -> ManagedBlock {
        ManagedBlock(name: name, comment: "#", section: section, lines: lines)
    }

    @Test func `text after a block keeps its line if the file had no final newline`() {
        let git = Self.block("git a", "[credential \"https://a\"]", "\thelper =")
        let added = git.added(to: "[user]\n\tname = x")
        #expect(git.removed(from: added)?.text == "[user]\n\tname = x")
        #expect(
            git.removed(from: added + "[alias]\n\ty = z\n")?.text == "[user]\n\tname = x\n[alias]\n\ty = z\n")
        #expect(git.removed(from: added + "\n")?.text == "[user]\n\tname = x\n\n")
        // An editor that puts no newline at the end, either.
        #expect(git.removed(from: String(added.dropLast()))?.text == "[user]\n\tname = x")
    }

    @Test(
        arguments: [String?.none, "", "x", "x\n", "x\r\n", "\r\n"],
        [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]])
    func `blocks that came one after the other go in any order, and leave the file as it was`(
        _ text: String?, _ order: [Int]
    ) {
        let blocks = ["a", "b", "c"].map { Self.block("npm \($0)", "//\($0)/:_authToken=${NPM_TOKEN}") }
        var now = blocks.reduce(text) { $1.added(to: $0) } ?? "", isFileOurs = false
        for place in order {
            let rest = blocks[place].removed(from: now)
            #expect(rest != nil)
            now = rest?.text ?? ""
            isFileOurs = rest?.isFileOurs ?? false
            #expect(!now.contains("//\(["a", "b", "c"][place])/"))
        }
        #expect(now == text ?? "" && isFileOurs == (text == nil))
    }

    @Test func `another program's lines between the marks stay, and keep their section`() {
        var git = Self.block("git a", "[credential \"https://a\"]", "\thelper =", "\thelper = \"!x\"")
        git.written = git.lines
        // As git config writes them.
        let text = git.added(to: "[user]\n").replacing("!x\"\n", with: "!x\"\n\tuseHttpPath = true\n")
        #expect(git.added(to: text) == text)
        #expect(git.removed(from: text)?.text == "[user]\n[credential \"https://a\"]\n\tuseHttpPath = true\n")
        // As aws configure writes them: behind the comment.
        var aws = Self.block("aws p", section: "[profile p]", "credential_process = x")
        let made = aws.added(to: nil)
        aws.written = aws.body(in: nil)
        #expect(aws.removed(from: made + "region = eu\n")?.text == "[profile p]\nregion = eu\n")
        #expect(aws.removed(from: made + "# mine\n\n[profile q]\n")?.text == "# mine\n\n[profile q]\n")
        // And the next one finds the head.
        #expect(
            aws.added(to: "[profile p]\nregion = eu\n").hasPrefix(
                "[profile p]\n# >>> credmgr setup aws p\ncredential"))
    }

    @Test func `lines without their marks are found if credmgr knows that it wrote them`() {
        var pip = Self.block("pip", section: "[global]", "keyring-provider = subprocess")
        let rewritten = "[list]\nx = 1\n\n[global]\nindex-url = i\nkeyring-provider=subprocess\n\n"
        #expect(pip.removed(from: rewritten) == nil)
        pip.written = pip.lines
        #expect(pip.removed(from: rewritten)?.text == "[list]\nx = 1\n\n[global]\nindex-url = i\n\n")
        #expect(pip.removed(from: "[list]\nkeyring-provider = subprocess\n") == nil)
        #expect(pip.added(to: rewritten).ranges(of: "keyring-provider").count == 1)
        // Our head is removed if no line is below it.
        pip.written = pip.body(in: nil)
        #expect(pip.removed(from: "[global]\nkeyring-provider = subprocess\n\n[a]\n")?.text == "\n[a]\n")
        #expect(pip.removed(from: "[global]\nkeyring-provider = subprocess\ny = 1\n")?.text == "[global]\ny = 1\n")
        var helper = Self.block("terraform", "credentials_helper \"credmgr\" {", "  args = []", "}")
        helper.written = helper.lines
        #expect(
            helper.removed(from: "a {\n}\ncredentials_helper \"credmgr\" {\n args = []\n}\nb {\n}\n")?.text
                == "a {\n}\nb {\n}\n")
    }

    @Test func `an entry is found in JSON that was written anew`() throws {
        var entry = JSONInsertion(member: "credHelpers", isArray: false, entry: #""a": "credmgr""#)
        let alone = "{\n\t\"auths\": {},\n\t\"credHelpers\": {\n\t\t\"a\": \"credmgr\"\n\t}\n}"
        #expect(try entry.removed(from: alone) == nil && entry.added(to: alone) == alone)
        entry.isKnown = true
        #expect(entry.removed(from: alone)?.text == "{\n\t\"auths\": {}\n}")
        for (text, left) in [
            (#"{"credHelpers": {"a": "credmgr", "b": "x"}}"#, #"{"credHelpers": { "b": "x"}}"#),
            (#"{"credHelpers": {"b": "x", "a":"credmgr"}, "c": 1}"#, #"{"credHelpers": {"b": "x"}, "c": 1}"#),
            (
                "{\"credHelpers\": {\"b\": \"},\", // one\n \"a\" /* two */: \"credmgr\",\n}}",
                "{\"credHelpers\": {\"b\": \"},\", // one\n}}"
            ),
            (#"{"credHelpers":{"a":"credmgr"},"d":{"a":"credmgr"}}"#, #"{"d":{"a":"credmgr"}}"#),
        ] {
            #expect(entry.removed(from: text)?.text == left)
            #expect(try entry.added(to: text) == text)
        }
        #expect(entry.removed(from: #"{"credHelpers":{"a":"other"}}"#) == nil)
        #expect(
            entry.rival(in: "{\"credHelpers\": {\n\n\"a\": \"other\"}}")
                == ConflictingEntry(line: 3, text: "\"a\": \"other\"", isSame: false))
        let rule = JSONInsertion(
            member: "rules", isArray: true, entry: #"{"host": "h", "type": "T"}"#, isKnown: true)
        #expect(rule.removed(from: #"{"rules":[{"type":"T","host":"h"},1]}"#)?.text == #"{"rules":[1]}"#)
    }

    @Test(
        arguments: [String?.none, "{\n  \"r\": []\n}\n", "{}", "{\"r\": [1, 2]}"],
        [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]])
    func `entries that came one after the other go in any order`(_ text: String?, _ order: [Int]) throws {
        let entries = (0..<3).map {
            JSONInsertion(
                member: "r", isArray: true, entry: "{\"n\": \($0)}", isKnown: true,
                isMemberOurs: text?.contains("r") != true)
        }
        var now = text
        for entry in entries { now = try entry.added(to: now) }
        for place in order {
            now = entries[place].removed(from: now ?? "")?.text
            #expect(now?.contains("\"n\": \(place)") == false)
        }
        #expect(now == text ?? "")
    }

    @Test func `an equal line of another program is found`() {
        func rival(_ block: ManagedBlock, _ text: String) -> [String]? {
            block.rival(in: text).map { ["\($0.line)", $0.text, $0.isSame ? "same" : "other"] }
        }
        var pip = Self.block("pip", section: "[global]", "keyring-provider = subprocess")
        pip.keys = ["keyring-provider", "keyring_provider"]
        let text = "[list]\nkeyring-provider = a\n[global]\r\n  keyring_provider: b\r\n"
        #expect(rival(pip, text) == ["4", "keyring_provider: b", "other"])
        #expect(rival(pip, "[global]\nkeyring-provider=subprocess\n")?.last == "same")
        #expect(rival(pip, "[global]\nkeyring-providers = x\n#keyring-provider = x\n") == nil)
        // Our entry is not a rival, with its marks and, if it is known, without; an entry after it is.
        let added = pip.added(to: nil)
        #expect(rival(pip, added) == nil)
        #expect(rival(pip, added + "keyring-provider = x\n")?.first == "5")
        pip.written = pip.lines
        #expect(rival(pip, "[global]\nkeyring-provider = subprocess\n") == nil)

        var cargo = Self.block("cargo", section: "[registry]", "providers = [\"t\", \"/l\"]")
        cargo.keys = ["providers"]
        cargo.sufficient = "\"/l\""
        #expect(rival(cargo, "[ registry ] # x\nproviders = [\n  \"a\",\n]\n")?.last == "other")
        #expect(rival(cargo, "[registry]\nproviders = [\n  \"a\",\n  \"/l\",\n]\n")?.last == "same")
        #expect(rival(cargo, "registry.providers = [\"a\"]\n")?.first == "1")
        #expect(rival(cargo, "[a]\nproviders = 1\nregistry.providers = 2\n") == nil)

        var go = Self.block("go", "GOAUTH=credmgr goauth --type T")
        go.keys = ["GOAUTH"]
        go.sufficient = "credmgr goauth --type T"
        #expect(rival(go, "GOAUTH=netrc; credmgr goauth --type T; git /x\n")?.last == "same")
        #expect(rival(go, "GOAUTH=credmgr goauth --type T2\n")?.last == "other")
        #expect(rival(go, "GOAUTHOR=x\n") == nil)

        var npm = Self.block("npm h", "//h/:_authToken=${NPM_TOKEN}")
        npm.keys = ["//h/:_authToken"]
        npm.isSecret = true
        #expect(rival(npm, "//h/:_authToken=npm_secret\n") == ["1", "//h/:_authToken…", "other"])
    }
}
