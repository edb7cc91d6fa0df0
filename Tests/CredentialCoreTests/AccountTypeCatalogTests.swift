import CredentialCore
import Foundation
import TestSupport
import Testing

@Suite struct AccountTypeCatalogTests {
    /// Files of a temporary folder.
    private struct Files: DefinitionStore {
        func read(_ path: String) throws(CredentialError) -> DefinitionFile? {
            guard let data = FileManager.default.contents(atPath: path),
                let attributes = try? FileManager.default.attributesOfItem(atPath: path),
                let mode = attributes[.posixPermissions] as? Int
            else { return nil }
            return DefinitionFile(bytes: Array(data), isPrivate: mode & 0o077 == 0)
        }

        func names(in folder: String) throws(CredentialError) -> [String] {
            (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        }

        func write(_ bytes: [UInt8], to path: String) throws(CredentialError) {
            let folder = (path as NSString).deletingLastPathComponent
            try? FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            _ = FileManager.default.createFile(
                atPath: path, contents: Data(bytes), attributes: [.posixPermissions: 0o600])
        }

        func remove(_ path: String) throws(CredentialError) { try? FileManager.default.removeItem(atPath: path) }
    }

    private let folder: TemporaryFolder
    private let catalog: AccountTypeCatalog

    init() throws {
        folder = try TemporaryFolder()
        catalog = AccountTypeCatalog(
            folders: ["user", "system", "vendor"].map { [path = folder.path] in "\(path)/\($0)" }, files: Files()
        ) { bytes, name, isPrivate, place throws(CredentialError) in
            if bytes.isEmpty { throw CredentialError(.configuration, "\(place) is empty") }
            return AccountType(name: name, adapter: isPrivate ? "private-plist" : "plist", clientID: "c")
        }
    }

    private func put(_ text: String, _ path: String, mode: Int = 0o644) throws {
        let path = "\(folder.path)/\(path)"
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        _ = FileManager.default.createFile(
            atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
    }

    private func json(_ clientID: String) -> String { #"{"adapter":"oauth2","client_id":"\#(clientID)",}"# }

    @Test func `the first folder wins, and JSON before a property list`() throws {
        try put(json("vendor"), "vendor/A.json")
        #expect(try catalog.definition(of: "A").type.clientID == "vendor")
        try put("plist", "system/A.plist")
        #expect(try catalog.definition(of: "A").type.adapter == "plist")
        try put(json("system"), "system/A.json")
        #expect(try catalog.definition(of: "A").type.clientID == "system")
        try put("plist", "user/A.plist", mode: 0o600)
        let definition = try catalog.definition(of: "A")
        #expect(definition.type.adapter == "private-plist")
        #expect(definition.path == "\(folder.path)/user/A.plist")
    }

    @Test func `an unknown type is named with the nearest one`() throws {
        try put(json("c"), "system/B2C_Acccount.json")
        let near = try #require(throws: CredentialError.self) { try catalog.definition(of: "B2C_Account") }
        #expect(near.code == .unknownType)
        #expect(near.code.exitStatus == 2)
        #expect(near.hint == "did you mean 'B2C_Acccount'?")
        let far = try #require(throws: CredentialError.self) { try catalog.definition(of: "Elsewhere") }
        #expect(far.hint == "define it: credmgr types add --help")
    }

    @Test(arguments: ["../user/A", "", "A/B"]) func `a name cannot leave the folder`(_ name: String) throws {
        try put(json("c"), "user/A.json")
        let error = try #require(throws: CredentialError.self) { try catalog.definition(of: name) }
        #expect(error.code == .usage)
    }

    @Test func `the listing shows shadowed and broken types`() throws {
        try put(json("one"), "user/A.json")
        try put(json("two"), "vendor/A.json")
        try put("", "system/A.plist")
        try put("{", "system/Broken.json")
        try put("x", "system/notes.txt")
        try put("x", "system/.hidden.json")
        let entries = try catalog.entries()
        #expect(entries.map(\.name) == ["A", "Broken"])
        #expect(entries[0].path == "\(folder.path)/user/A.json")
        #expect(entries[0].shadowed == ["\(folder.path)/system/A.plist", "\(folder.path)/vendor/A.json"])
        #expect(try entries[0].type.get().clientID == "one")
        #expect {
            try entries[1].type.get()
        } throws: {
            ($0 as? CredentialError)?.message.contains("system/Broken.json is not JSON") == true
        }
    }

    @Test(arguments: [
        ("[]", "must contain an object, not an array"), ("{\"a\":1,\"a\":2}", "is not JSON: member name"),
    ])
    func `a file that is no definition is named`(_ text: String, _ words: String) throws {
        try put(text, "user/A.json")
        let error = try #require(throws: CredentialError.self) { try catalog.definition(of: "A") }
        #expect(error.code == .configuration)
        #expect(error.message.contains(words))
        #expect(error.message.hasPrefix("\(folder.path)/user/A.json "))
    }

    @Test func `adding writes a private file and does not overwrite`() throws {
        var type = AccountType(name: "A", adapter: "oauth2", clientID: "one")
        type.clientSecret = .literal(Secret("s3cret"))
        let path = try catalog.add(type)
        #expect(path == "\(folder.path)/user/A.json")
        #expect(try catalog.definition(of: "A").type == type)
        type.clientID = "two"
        let error = try #require(throws: CredentialError.self) { try catalog.add(type) }
        #expect(error.code == .usage)
        #expect(error.message.contains(path))
        #expect(try catalog.definition(of: "A").type.clientID == "one")
        #expect(try catalog.add(type, force: true) == path)
        #expect(try catalog.definition(of: "A").type.clientID == "two")
    }

    @Test func `adding does not quietly take the place of a property list`() throws {
        try put("plist", "user/A.plist")
        #expect(throws: CredentialError.self) {
            try catalog.add(AccountType(name: "A", adapter: "oauth2", clientID: "c"))
        }
    }

    @Test func `only the user's own definitions are removed`() throws {
        try put(json("system"), "system/A.json")
        let foreign = try #require(throws: CredentialError.self) { try catalog.remove("A") }
        #expect(foreign.code == .usage)
        #expect(foreign.message.contains("\(folder.path)/system/A.json"))
        try put(json("own"), "user/A.json")
        #expect(try catalog.remove("A") == ["\(folder.path)/user/A.json"])
        #expect(try catalog.definition(of: "A").type.clientID == "system")
        let unknown = try #require(throws: CredentialError.self) { try catalog.remove("B") }
        #expect(unknown.code == .unknownType)
    }
}
