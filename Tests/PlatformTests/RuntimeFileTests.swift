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

    private func taken(_ name: String, _ lock: Int32) throws(CredentialError) -> RuntimeFile {
        try RuntimeFile(takenOver: name, lock: lock, runtime: folder.path, otherwise: folder.path)
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

    @Test func `one that is handed down is the next program's`() throws {
        let first = try file()
        try first.write(Array("one".utf8))
        let lock = first.handDown()
        #expect(fcntl(lock, F_GETFD) & FD_CLOEXEC == 0)
        let second = try taken(first.name, lock)
        #expect(fcntl(lock, F_GETFD) & FD_CLOEXEC != 0)
        // It is held: nobody takes it for left behind.
        let other = try file()
        try second.write(Array("two".utf8))
        #expect(FileManager.default.contents(atPath: first.path) == Data("two".utf8))
        try other.remove()
        try second.remove()
        #expect(try names == ["sweep"])
    }

    @Test func `a file that is not this process's is not taken over`() throws {
        let own = try file(), other = try file()
        try own.write([1])
        try other.write([2])
        let lock = own.handDown()
        for name in [other.name, own.name + ".lock", "sweep", "../credmgr/" + own.name, "", "no-such-file"] {
            #expect(throws: CredentialError.self) { try taken(name, lock) }
        }
        for number in [-1, 0, 9_999, other.handDown()] as [Int32] {
            #expect(throws: CredentialError.self) { try taken(own.name, number) }
        }
        // One that others can read.
        chmod(own.path, 0o644)
        #expect(throws: CredentialError.self) { try taken(own.name, lock) }
        try own.remove()
        try other.remove()
    }
}
