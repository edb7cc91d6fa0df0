import CredentialCore
import Foundation
import LocalFiles
import Platform
import StrictJSON
import TestSupport
import Testing

@Suite struct MetadataFilesTests {
    private static let address = "https://op.example/.well-known/openid-configuration"

    private static var document: ProviderDocument {
        let content: JSONValue = ["issuer": "https://op.example", "keys": [1, "ü", .null]]
        var document = ProviderDocument(
            document: content.object ?? JSONObject(),
            fetchedAt: Timestamp(epochSeconds: 1_700_000_000), lifetime: 3_600, entityTag: "\"v1\"",
            lastModified: "Tue, 14 Nov 2023 22:13:20 GMT")
        document.soughtAt = Timestamp(epochSeconds: 1_700_000_060)
        return document
    }

    private static func cache(in home: TemporaryFolder) -> MetadataFiles {
        MetadataFiles(cacheHome: home.path + "/cache", stateHome: home.path + "/state", random: SystemRandom())
    }

    private func file(in home: TemporaryFolder) throws -> String {
        let folder = home.path + "/cache/credmgr/metadata"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        return folder + "/" + (try #require(names.first { $0.hasSuffix(".sealed") }))
    }

    @Test func `a document comes back whole, in a private file, for its address alone`() throws {
        let home = try TemporaryFolder()
        let cache = Self.cache(in: home)
        #expect(cache.read(Self.address) == nil)
        cache.write(Self.document, for: Self.address)
        #expect(cache.read(Self.address) == Self.document)
        #expect(cache.read(Self.address + "/") == nil)
        let mode = try FileManager.default.attributesOfItem(atPath: try file(in: home))[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test(arguments: [
        "", "{", "[]", "{}", #"{"version":2}"#, "\u{0}\u{FF}", #"{"version":1,"address":"https://other.example"}"#,
    ]) func `a damaged file is not there, and is replaced`(damage: String) throws {
        let home = try TemporaryFolder()
        let cache = Self.cache(in: home)
        cache.write(Self.document, for: Self.address)
        try Data(damage.utf8).write(to: URL(fileURLWithPath: try file(in: home)))
        #expect(cache.read(Self.address) == nil)
        cache.write(Self.document, for: Self.address)
        #expect(cache.read(Self.address) == Self.document)
    }

    @Test func `a file of another address under the same name is not there`() throws {
        let home = try TemporaryFolder()
        let cache = Self.cache(in: home)
        cache.write(Self.document, for: Self.address)
        let path = try file(in: home)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        try text.replacingOccurrences(of: "openid-configuration", with: "another").write(
            toFile: path, atomically: false, encoding: .utf8)
        #expect(cache.read(Self.address) == nil)
    }

    @Test func `a cache that cannot be written fails nothing`() throws {
        let home = try TemporaryFolder()
        try Data().write(to: URL(fileURLWithPath: home.path + "/cache"))
        let cache = Self.cache(in: home)
        cache.write(Self.document, for: Self.address)
        #expect(cache.read(Self.address) == nil)
    }

    @Test func `an entry that another program has written or changed counts as absent`() throws {
        let home = try TemporaryFolder()
        let cache = Self.cache(in: home)
        cache.write(Self.document, for: Self.address)
        let path = try file(in: home)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains("https://op.example"))
        let foreign = text.replacingOccurrences(of: "https://op.example\"", with: "https://op.evil.ex\"")
        #expect(foreign != text)
        try Data(foreign.utf8).write(to: URL(fileURLWithPath: path))
        #expect(Self.cache(in: home).read(Self.address) == nil)
        // A seal by a key of the attacker's own.
        let other = try TemporaryFolder()
        Self.cache(in: other).write(Self.document, for: Self.address)
        try Data(contentsOf: URL(fileURLWithPath: try file(in: other))).write(to: URL(fileURLWithPath: path))
        #expect(Self.cache(in: home).read(Self.address) == nil)
        // The key is not in the cache directory, and another process reads the data it seals.
        #expect(FileManager.default.fileExists(atPath: home.path + "/state/credmgr/metadata.key"))
        cache.write(Self.document, for: Self.address)
        #expect(Self.cache(in: home).read(Self.address) == Self.document)
    }

    @Test func `without a place for the key nothing is kept on disk`() throws {
        let home = try TemporaryFolder()
        try Data().write(to: URL(fileURLWithPath: home.path + "/state"))
        let cache = Self.cache(in: home)
        cache.write(Self.document, for: Self.address)
        #expect(cache.read(Self.address) == nil)
        #expect(!FileManager.default.fileExists(atPath: home.path + "/cache/credmgr/metadata"))
    }

    @Test func `at most 64 entries are kept, and none of an earlier form`() throws {
        let home = try TemporaryFolder()
        let cache = Self.cache(in: home)
        cache.write(Self.document, for: Self.address)
        let folder = home.path + "/cache/credmgr/metadata"
        try Data("{}".utf8).write(to: URL(fileURLWithPath: folder + "/0123456789abcdef.json"))
        let old = Date(timeIntervalSince1970: 1_700_000_000)
        try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: try file(in: home))
        for number in 1...64 { cache.write(Self.document, for: "\(Self.address)/\(number)") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 64)
        #expect(cache.read(Self.address) == nil)
        #expect(cache.read("\(Self.address)/64") == Self.document)
    }

    @Test func `entries have at most 16 MiB together`() throws {
        let home = try TemporaryFolder()
        let cache = Self.cache(in: home)
        var large = Self.document
        large.document["padding"] = .string(String(repeating: "x", count: 6 << 20))
        for number in 1...3 { cache.write(large, for: "\(Self.address)/\(number)") }
        let folder = home.path + "/cache/credmgr/metadata"
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 2)
        #expect(cache.read("\(Self.address)/3") != nil)
    }
}
