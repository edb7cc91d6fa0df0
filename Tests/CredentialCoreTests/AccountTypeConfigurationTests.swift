import CredentialCore
import StrictJSON
import Testing

@Suite struct AccountTypeConfigurationTests {
    private static func configuration(_ json: String) throws -> Configuration {
        let members = try #require(try JSONValue.parse(json, dialect: .commented).object)
        return try Configuration(json: members, place: "config.json")
    }

    @Test func `every key is read`() throws {
        let configuration = try Self.configuration(
            #"""
            {
              "store": "file", "cache": "off", "min_valid": 120, "browser": "firefox --new-tab", "timeout": 30,
              "default_group": "work", // and the rules
              "rules": [
                {"directory": "~/work/**", "type": "ToolA", "account": "ada@example.com"},
                {"host": "git.example.com", "type": "ToolB"},
              ],
            }
            """#)
        #expect(configuration.store == .file)
        #expect(!configuration.usesCache)
        #expect(configuration.minimumValidity == 120)
        #expect(configuration.browser == "firefox --new-tab")
        #expect(configuration.timeout == 30)
        #expect(configuration.defaultGroup?.name == "work")
        #expect(configuration.rules.map(\.directory) == ["~/work/**", nil])
        #expect(configuration.rules.map(\.host) == [nil, "git.example.com"])
        #expect(configuration.rules.map(\.type) == ["ToolA", "ToolB"])
        #expect(configuration.rules.map(\.account) == ["ada@example.com", nil])
    }

    @Test func `an empty file says nothing`() throws {
        #expect(try Self.configuration("{}") == Configuration())
        #expect(try Self.configuration(#"{"store":"auto","cache":"on"}"#) == Configuration())
        #expect(try Self.configuration(#"{"store":"secret-service"}"#).store == .secretService)
        #expect(try !Self.configuration(#"{"cache":false}"#).usesCache)
    }

    @Test(arguments: [
        ("~/work", "/home/ada/work", true), ("~/work", "/home/ada/work/a", false), ("~", "/home/ada", true),
        ("~/work/", "/home/ada/work", true), ("~/work/**", "/home/ada/work", true), ("/**", "/", true),
        ("~/work/**", "/home/ada/work/a/b", true), ("~/work/**", "/home/ada/workshop", false),
        ("~/work/*", "/home/ada/work/a", true), ("~/work/*", "/home/ada/work", false),
        ("~/work/*", "/home/ada/work/a/b", false), ("~/w*k-*/x", "/home/ada/work-1/x", true),
        ("~/**/src", "/home/ada/a/b/src", true), ("~/**/src", "/home/ada/src", true),
        ("~/**/src", "/home/ada/src/a", false), ("/srv/**/a/**", "/srv/b/a/c/d", true),
    ])
    func `a folder of a rule may have wildcards`(_ directory: String, _ folder: String, _ fits: Bool) throws {
        let rule = try Self.configuration(#"{"rules":[{"directory":"\#(directory)","type":"A"}]}"#).rules[0]
        #expect(rule.fits(workingDirectory: folder, home: "/home/ada") == fits)
    }

    @Test func `the nearest word shares a letter at least`() {
        #expect(SpellingSuggestion.to("S", among: ["A"]) == nil)
        #expect(SpellingSuggestion.to("tpye", among: ["type", "scope"]) == "type")
    }

    private static let faults: [(json: String, words: String)] = [
        (#"{"stores":"file"}"#, "unknown key 'stores' in config.json"),
        (#"{"store":"keyring"}"#, "key 'store' must be one of auto, secret-service, file in config.json"),
        (#"{"cache":"maybe"}"#, "key 'cache' must be one of on, off"),
        (#"{"cache":1}"#, "key 'cache' must be a string, not a number,"),
        (
            #"{"min_valid":"60x"}"#,
            "key 'min_valid' must be a time such as 90, \"90s\" or \"8h\", from 0 s to a year"
        ),
        (#"{"min_valid":-1}"#, "key 'min_valid' must be a time"),
        (#"{"timeout":0}"#, "key 'timeout' must be a time"),
        (#"{"timeout":1e400}"#, "key 'timeout' must be a time"),
        (#"{"default_group":"a b"}"#, "key 'default_group' must be 1 to 128"),
        (#"{"rules":{}}"#, "key 'rules' must be an array of objects, not an object,"),
        (#"{"rules":[1]}"#, "key 'rules' must be an array of objects"),
        (#"{"rules":[{"dir":"~/x","type":"A"}]}"#, "unknown key 'rules[0].dir'"),
        (#"{"rules":[{"type":"A"}]}"#, "key 'rules[0].directory' or 'host' is missing"),
        (#"{"rules":[{"host":"a.example"}]}"#, "key 'rules[0].account' or 'type' is missing"),
        (#"{"rules":[{"directory":"work","type":"A"}]}"#, "key 'rules[0].directory' must be absolute"),
        (#"{"rules":[{"host":"https://a","type":"A"}]}"#, "key 'rules[0].host' is not a host name"),
    ]

    @Test(arguments: faults.indices) func `every fault is named`(_ index: Int) throws {
        let (json, words) = Self.faults[index]
        let error = try #require(throws: CredentialError.self) { try Self.configuration(json) }
        #expect(error.code == .configuration)
        #expect(error.message.contains(words), "\(error.message)")
    }
}
