import CredentialCore
import Foundation
import LocalFiles
import StrictJSON
import TestSupport
import Testing

@Suite struct MetadataFilesTests {
    private static let address = "https://op.example/.well-known/openid-configuration"

    private static var document: PublishedDocument {
        let content: JSONValue = ["issuer": "https://op.example", "keys": [1, "ü", .null]]
        var document = PublishedDocument(
            document: content.object ?? JSONObject(),
            fetchedAt: Instant(epochSeconds: 1_700_000_000), lifetime: 3_600, entityTag: "\"v1\"",
            lastModified: "Tue, 14 Nov 2023 22:13:20 GMT")
        document.soughtAt = Instant(epochSeconds: 1_700_000_060)
        return document
    }

    private func file(in home: TemporaryFolder) throws -> String {
        let folder = home.path + "/cache/credmgr/metadata"
        return folder + "/" + (try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first))
    }

    @Test func `a document comes back whole, in a private file, for its address alone`() throws {
        let home = try TemporaryFolder()
        let cache = MetadataFiles(cacheHome: home.path + "/cache")
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
        let cache = MetadataFiles(cacheHome: home.path + "/cache")
        cache.write(Self.document, for: Self.address)
        try Data(damage.utf8).write(to: URL(fileURLWithPath: try file(in: home)))
        #expect(cache.read(Self.address) == nil)
        cache.write(Self.document, for: Self.address)
        #expect(cache.read(Self.address) == Self.document)
    }

    @Test func `a file of another address under the same name is not there`() throws {
        let home = try TemporaryFolder()
        let cache = MetadataFiles(cacheHome: home.path + "/cache")
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
        let cache = MetadataFiles(cacheHome: home.path + "/cache")
        cache.write(Self.document, for: Self.address)
        #expect(cache.read(Self.address) == nil)
    }
}
