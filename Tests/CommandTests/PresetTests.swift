import AzureB2CAdapter
import CredentialCore
import Foundation
import GenericOAuth2Adapter
import StrictJSON
import TestSupport
import Testing

@testable import Commands

@Suite struct PresetTests {
    private static let noFiles = PresetCatalog(folders: [], files: MemoryFiles([:]))

    private func type(_ preset: Preset, _ values: [String: String]) throws -> AccountType {
        var json = try preset.filled(preset.definition, with: values)
        json["client_id"] = "client"
        return try AccountType(name: "Test", json: json, isPrivateFile: true, place: "the test")
    }

    @Test(arguments: Preset.builtIn.keys.sorted())
    func `each built-in preset makes a type that its adapter accepts`(_ name: String) throws {
        let preset = try Self.noFiles.preset(named: name)
        var values: [String: String] = [:]
        for placeholder in preset.placeholders where placeholder.standard == nil {
            let example: String = try #require(placeholder.example, "\(placeholder.name) has no example")
            values[placeholder.name] = example
        }
        let type = try type(preset, values)
        #expect(PresetText.names(in: .object(type.json)).isEmpty)
        let adapters: [any CredentialAdapter] = [AzureB2CAdapter(), GenericOAuth2Adapter()]
        let adapter = try #require(adapters.first { $0.name == type.adapter })
        try adapter.check(type)
        #expect(!preset.notes.isEmpty && preset.documentation != nil)
    }

    @Test(arguments: [
        ([:], "https://api.github.com"), (["host": "github.com"], "https://api.github.com"),
        (["host": "GitHub.com"], "https://api.github.com"),
        (["host": "ghe.example.com"], "https://ghe.example.com/api/v3"),
        (["host": "ghe.example.com:8443"], "https://ghe.example.com:8443/api/v3"),
        (["host": "acme.ghe.com"], "https://api.acme.ghe.com"),
        (["host": "ghe.example.com", "api": "https://ghe.example.com/v3"], "https://ghe.example.com/v3"),
    ])
    func `the API of a GitHub Enterprise Server is its own`(_ values: [String: String], _ api: String) throws {
        let type = try type(try Self.noFiles.preset(named: "github"), values)
        #expect(type.apiBase == api + "/")
        #expect(type.endpoints[.userInfo] == api + "/user")
    }

    @Test func `the providers of the contract are among them`() {
        let wanted: Set = [
            "github", "gitlab", "google", "entra-id", "entra-external-id", "azure-b2c", "keycloak", "okta", "auth0",
        ]
        #expect(wanted.isSubset(of: Preset.builtIn.keys))
    }

    @Test(arguments: [
        ("keycloak", ["realm": "staff"], "--set url="), ("entra-id", [:], "--tenant "),
        ("okta", [:], "--set domain="),
    ])
    func `a placeholder without a value names its option`(
        _ name: String, _ values: [String: String], _ option: String
    ) throws {
        let preset = try Self.noFiles.preset(named: name)
        let error = #expect(throws: CredentialError.self) { try type(preset, values) }
        #expect(error?.code == .usage)
        #expect(error?.hint?.contains(option) == true)
    }

    @Test(arguments: [
        ("entra-id", "tenant", "contoso.com"), ("entra-id", "tenant", "common"),
        ("keycloak", "url", "sso.example.com"),
        ("keycloak", "url", "http://sso.example.com"), ("keycloak", "realm", "a/b"),
        ("okta", "domain", "a.example/x"),
        ("okta", "domain", "{server}"), ("gitlab", "host", "git.example?x"),
        ("keycloak", "url", "https://a.example?x=1"),
    ])
    func `a value that does not do is refused`(_ name: String, _ placeholder: String, _ value: String) throws {
        let preset = try Self.noFiles.preset(named: name)
        var values = ["tenant": "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77", "url": "https://a.example", "realm": "r"]
        values["domain"] = "a.example"
        values[placeholder] = value
        let error = #expect(throws: CredentialError.self) { try type(preset, values) }
        #expect(error?.code == .usage)
        #expect(error?.message.contains("{\(placeholder)}") == true)
    }

    @Test(arguments: [
        ("[]", "must be a JSON object"), ("{", "not JSON"), (#"{"title":"T"}"#, "summary"),
        (#"{"title":"T","summary":"S"}"#, "definition"),
        (#"{"title":"T","summary":"S","definition":{},"x":1}"#, "'x'"),
        (#"{"title":"T","summary":"S","definition":{"client_id":"a"}}"#, "client_id"),
        (#"{"title":"T","summary":"S","definition":{"isuer":"a"}}"#, "isuer"),
        (#"{"title":"T","summary":"S","definition":{"issuer":"https://{host}"}}"#, "{host}"),
        (#"{"title":"T","summary":"S","definition":{},"placeholders":{"a":{"summary":"x"}}}"#, "is not used"),
        (
            #"{"title":"T","summary":"S","definition":{"issuer":"{a}"},"placeholders":{"a":{"summary":"x","form":"moon"}}}"#,
            "form"
        ),
        (
            #"{"title":"T","summary":"S","definition":{"issuer":"{a}"},"placeholders":{"a":{"summary":"x","form":"guid","default":"1"}}}"#,
            "default"
        ),
    ])
    func `a preset that does not hold is refused with its place`(_ text: String, _ part: String) throws {
        let error = #expect(throws: CredentialError.self) {
            try Preset(name: "mine", Array(text.utf8), place: "/p/mine.json")
        }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("/p/mine.json") == true)
    }

    @Test func `a file of one's own comes before a built-in preset, and a broken one is listed`() throws {
        let mine = #"{"title":"Mine","summary":"S","definition":{"issuer":"https://mine.example"},}"#
        let catalog = PresetCatalog(
            folders: ["/user", "/system"],
            files: MemoryFiles([
                "/user/okta.json": mine, "/system/okta.json": "{", "/system/broken.json": "{",
                "/user/notes.txt": "",
            ]))
        #expect(try catalog.preset(named: "okta").title == "Mine")
        let entries = try catalog.entries()
        #expect(entries.first { $0.name == "okta" }?.path == "/user/okta.json")
        #expect(throws: CredentialError.self) { try entries.first { $0.name == "broken" }?.preset.get() }
        #expect(entries.count == Preset.builtIn.count + 1)
    }

    @Test func `an unknown preset is answered with the nearest`() {
        let error = #expect(throws: CredentialError.self) { try Self.noFiles.preset(named: "keycloack") }
        #expect(error?.hint == "did you mean 'keycloak'?")
    }

    @Test func `the example of the document is a preset`() throws {
        let root = String(#filePath.split(separator: "/Tests/")[0])
        let document = try String(contentsOfFile: root + "/docs/reference/presets.md", encoding: .utf8)
        let block = try #require(
            document.components(separatedBy: "```json preset\n").last?.components(separatedBy: "\n```").first)
        let preset = try Preset(name: "example", Array(block.utf8), place: "docs/reference/presets.md")
        let type = try type(preset, ["tenant": "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77"])
        #expect(type.issuer == "https://eu.login.example.com/7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77")
        #expect(type.authorizeParameters == ["domain_hint": "eu"])
    }
}

/// Files in memory.
private struct MemoryFiles: DefinitionStore {
    let files: [String: String]

    init(_ files: [String: String]) { self.files = files }

    func read(_ path: String) throws(CredentialError) -> DefinitionFile? {
        files[path].map { DefinitionFile(bytes: Array($0.utf8), isPrivate: true) }
    }
    func names(in folder: String) throws(CredentialError) -> [String] {
        files.keys.filter { $0.hasPrefix(folder + "/") }.map { String($0.dropFirst(folder.count + 1)) }
    }
    func write(_ bytes: [UInt8], to path: String) throws(CredentialError) {}
    func remove(_ path: String) throws(CredentialError) {}
}
