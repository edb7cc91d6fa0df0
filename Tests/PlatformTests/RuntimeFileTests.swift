import CredentialCore
import Foundation
import Platform
import TestSupport
import Testing

@Suite struct RuntimeFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func file() throws -> RuntimeFile {
        try RuntimeFile(prefix: "token-", runtime: folder.path, otherwise: folder.path)
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path + "/credmgr").sorted() }
    }

    @Test func `it is there while it is written, for its owner alone, and goes`() throws {
        let file = try file()
        #expect(!FileManager.default.fileExists(atPath: file.path))
        try file.write(Array("secret".utf8))
        #expect(file.path == folder.path + "/credmgr/" + file.name)
        #expect(FileManager.default.contents(atPath: file.path) == Data("secret".utf8))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try file.remove()
        #expect(try names == ["sweep"])
    }
}
