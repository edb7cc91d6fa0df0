import Broker
import CredentialCore
import StrictJSON
import Testing

/// A broker's file.
struct BrokerConfigurationTests {
    static let minimal = #"{"entries": [{"name": "work", "type": "Work", "scope": ["read"], "release": "token"}]}"#

    static func read(_ text: String) throws -> BrokerConfiguration {
        try BrokerConfiguration(name: "b", content: Array(text.utf8), place: "/b.json")
    }

    /// A file with members beside its only entry.
    static func read(with members: String, entry: String = "") throws -> BrokerConfiguration {
        try read(
            #"{"entries": [{"name": "work", "type": "Work", "release": "token"\#(entry)}]\#(members)}"#)
    }

    @Test func `the shortest file has the defaults`() throws {
        let file = try Self.read(Self.minimal)
        #expect(file.entries.map(\.name) == ["work"])
        #expect(file.entries[0].scope == ["read"])
        #expect(file.ask == .first)
        #expect(file.askBy == [.desktop, .terminal])
        #expect(file.speak == [.credmgr])
        #expect(file.callers == [.itself])
        #expect(file.connections == 64)
        #expect(file.perMinute == 120)
        #expect(file.remember == 28_800)
        #expect(file.promptTimeout == 60)
    }

    @Test(arguments: [
        (#","asks":"never""#, "", "asks", "ask"), ("", #","scop":[]"#, "entries[0].scop", "scope"),
        (#","limits":{"per_minut":1}"#, "", "limits.per_minut", "per_minute"),
    ])
    func `a file is refused with the nearest key when a key is unknown`(
        members: String, entry: String, key: String, near: String
    ) throws {
        let error = try #require(throws: CredentialError.self) { try Self.read(with: members, entry: entry) }
        #expect(error.code == .configuration)
        #expect(error.code.exitStatus == 2)
        #expect(error.message.contains("'\(key)'"))
        #expect(error.hint?.contains("\(near)'") == true)
    }

    @Test(arguments: [
        #"{"entries":[{"name":"a","type":"A"}]}"#, #"{"entries":[{"name":"a","type":"A","release":"all"}]}"#,
        #"{"entries":[{"name":"a","type":"A","release":"token"},{"name":"a","type":"B","release":"token"}]}"#,
        #"{"entries":[{"name":"a","type":"A","scope":"read","release":"token"}]}"#,
        #"{"entries":[{"name":"a","type":"A","origins":["https://a.example/p"]}]}"#, "{}", "[]", "{",
        #"{"entries":[{"name":"a","type":"A","scope":[],"release":"token"}]}"#,
        #"{"entries":[],"entries":[]}"#, #"{"entries":[],"until":"tomorrow"}"#, #"{"entries":[],"for":"-1"}"#,
        #"{"entries":[],"ask":"never","callers":{"users":["any"]}}"#, #"{"entries":[],"revoke_at_end":true}"#,
        #"{"entries":[],"callers":{"users":["uid:x"]}}"#, #"{"entries":[],"clouds":{"azure":{"entry":"x"}}}"#,
        #"{"entries":[],"limits":{"connections":0}}"#, #"{"entries":[], // no"#,
    ])
    func `a file is refused when a value is not valid`(text: String) throws {
        let error = try #require(throws: CredentialError.self) { try Self.read(text) }
        #expect(error.code == .configuration)
    }

    @Test func `release is proxy-only when an entry has origins and no release`() throws {
        let file = try Self.read(#"{"entries":[{"name":"a","type":"A","origins":["https://api.example.com"]}]}"#)
        #expect(file.entries[0].release == .proxyOnly)
    }

    @Test func `a replaced file narrows at once when it permits less`() throws {
        let old = try Self.read(
            with: #","ask":"never","until":"2027-01-01T00:00:00Z""#, entry: #","scope":["a","b"]"#)
        let new = try Self.read(
            with: #","ask":"always","until":"2026-12-01T00:00:00Z","limits":{"per_minute":3}"#,
            entry: #","scope":["b","c"]"#)
        let now = old.narrowed(to: new) { _ in TypeDefaults() }
        #expect(now.entries[0].scope == ["b"])
        #expect(now.ask == .always)
        #expect(now.until == new.until)
        #expect(now.perMinute == 3)
    }

    @Test func `a replaced file does not widen before the next start when it permits more`() throws {
        let old = try Self.read(with: #","ask":"always","for":"1h""#, entry: #","scope":["a"]"#)
        let new = try Self.read(
            #"{"entries":[{"name":"work","type":"Work","release":"id_token","scope":["a","b"],"broader":"accept"},"#
                + #"{"name":"more","type":"Work","release":"token"}],"ask":"never","speak":["oidc-agent","credmgr"]}"#
        )
        #expect(old.narrowed(to: new) { _ in TypeDefaults() } == old)
    }

    @Test func `scopes of the type bound an entry when only one of two files writes scopes`() throws {
        let old = try Self.read(with: "")
        let new = try Self.read(with: "", entry: #","scope":["read","admin"]"#)
        let defaults = TypeDefaults(scope: ["read", "write"])
        #expect(old.narrowed(to: new) { _ in defaults }.entries[0].scope == ["read"])
        #expect(new.narrowed(to: old) { _ in defaults }.entries[0].scope == ["read"])
    }

    @Test(arguments: ["", #","origins":["https://other.example.com"]"#])
    func `an entry ends when the replaced file has none of its origins`(entry: String) throws {
        let old = try Self.read(with: "", entry: #","origins":["https://api.example.com"]"#)
        let new = try Self.read(with: "", entry: entry)
        #expect(old.narrowed(to: new) { _ in TypeDefaults() }.entries.isEmpty)
    }

    @Test func `an entry ends when the replaced file adds scopes and the type has none`() throws {
        let old = try Self.read(with: "")
        let new = try Self.read(with: "", entry: #","scope":["read"]"#)
        #expect(old.narrowed(to: new) { _ in TypeDefaults() }.entries.isEmpty)
    }

    @Test func `a replaced file narrows an entry when the entry had no origins`() throws {
        let old = try Self.read(with: "")
        let new = try Self.read(with: "", entry: #","origins":["https://api.example.com"]"#)
        #expect(old.narrowed(to: new) { _ in TypeDefaults() }.entries == new.entries)
    }

    private static let own = TypeDefaults(scope: ["read"], resource: "https://r.example/1", audience: "api")

    @Test(arguments: [("resource", "https://r.example/1"), ("audience", "api")])
    func `an entry keeps the type's own value when only one of two files has a list`(
        key: String, value: String
    ) throws {
        let old = try Self.read(with: "")
        let new = try Self.read(with: "", entry: #","\#(key)":["other","\#(value)"]"#)
        let narrowed = try Self.read(with: "", entry: #","\#(key)":["\#(value)"]"#)
        #expect(old.narrowed(to: new) { _ in Self.own }.entries == narrowed.entries)
        #expect(new.narrowed(to: old) { _ in Self.own }.entries == narrowed.entries)
    }

    @Test(arguments: ["resource", "audience"])
    func `an entry ends when only one of two files has a list, without the type's own value`(key: String) throws {
        let old = try Self.read(with: "")
        let new = try Self.read(with: "", entry: #","\#(key)":["other"]"#)
        for defaults in [Self.own, TypeDefaults()] {
            #expect(old.narrowed(to: new) { _ in defaults }.entries.isEmpty)
            #expect(new.narrowed(to: old) { _ in defaults }.entries.isEmpty)
        }
    }

    @Test func `a file is refused when it speaks proxy, which this version lacks`() throws {
        let error = try #require(throws: CredentialError.self) {
            try Self.read(with: #","speak":["credmgr","proxy"]"#)
        }
        #expect(error.code == .configuration)
        #expect(error.message.contains("'speak'"))
        #expect(error.hint?.contains("this version has no proxy") == true)
    }

    @Test func `an entry ends when the replaced file names another account for it`() throws {
        let old = try Self.read(with: "")
        let new = try Self.read(with: "", entry: #","account":"ada@example.com""#)
        #expect(old.narrowed(to: new) { _ in TypeDefaults() }.entries.isEmpty)
    }
}
