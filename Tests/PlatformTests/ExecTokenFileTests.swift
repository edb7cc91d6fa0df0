import CredentialCore
import Foundation
import Platform
import TestSupport
import Testing

@Suite struct ExecTokenFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder(isInMemory: true) }

    private func file() throws -> ExecTokenFile { try #require(try ExecTokenFile(runtime: folder.path)) }

    private func taken(_ name: String, _ lock: Int32) throws(CredentialError) -> ExecTokenFile {
        try ExecTokenFile(takenOver: name, lock: lock, runtime: folder.path)
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `it is in a directory of its own while it is written, for its owner alone, and both go`() throws {
        let file = try file(), other = try self.file()
        #expect(!FileManager.default.fileExists(atPath: file.path))
        try file.write(Array("secret".utf8))
        #expect(file.path == "\(folder.path)/\(file.directoryName)/token")
        #expect(file.directoryName.hasPrefix("credmgr-exec.") && file.directoryName != other.directoryName)
        #expect(FileManager.default.contents(atPath: file.path) == Data("secret".utf8))
        #expect(try mode(file.path) == 0o600 && mode(folder.path + "/" + file.directoryName) == 0o700)
        try file.remove()
        try other.remove()
        #expect(try names.isEmpty)
    }

    @Test func `files of a dead process are removed by the next, and files in use stay`() throws {
        let used = try file()
        try used.write([1])
        // As a killed process leaves them: no process has the lock.
        let left = folder.path + "/credmgr-exec.0123456789abcdef"
        try FileManager.default.createDirectory(
            atPath: left, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        for name in ["token", "lock", ".token.0123456789abcdef.tmp"] {
            try Data().write(to: URL(fileURLWithPath: left + "/" + name))
            chmod(left + "/" + name, 0o600)
        }
        let next = try file()
        #expect(!FileManager.default.fileExists(atPath: left))
        #expect(FileManager.default.fileExists(atPath: used.path))
        try next.remove()
        try used.remove()
        #expect(try names.isEmpty)
    }

    @Test func `a command's own files beside the token do not prevent its removal`() throws {
        let file = try file(), own = folder.path + "/" + file.directoryName + "/.a-directory"
        try file.write([1])
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: false)
        try file.remove()
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(FileManager.default.fileExists(atPath: own))
    }

    @Test(.needs(.root)) func `another user's directory is neither used nor removed`() throws {
        let theirs = folder.path + "/credmgr-exec.0123456789abcdef"
        try FileManager.default.createDirectory(
            atPath: theirs, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o777, .ownerAccountID: 54_323])
        let file = try file()
        #expect(FileManager.default.fileExists(atPath: theirs) && file.path.hasPrefix(theirs) == false)
        try file.remove()
        #expect(try names == ["credmgr-exec.0123456789abcdef"])
    }

    @Test func `a runtime directory on a disk is passed over`() throws {
        let disk = try TemporaryFolder()
        let file = try #require(try ExecTokenFile(runtime: disk.path))
        #expect(!file.path.hasPrefix(disk.path))
        try file.remove()
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path).isEmpty)
    }

    @Test func `one that is handed down is the next program's`() throws {
        let first = try file()
        try first.write(Array("one".utf8))
        let lock = first.handDown()
        #expect(fcntl(lock, F_GETFD) & FD_CLOEXEC == 0)
        let second = try taken(first.directoryName, lock)
        #expect(fcntl(lock, F_GETFD) & FD_CLOEXEC != 0)
        // It is locked: no process treats it as left behind.
        let other = try file()
        try second.write(Array("two".utf8))
        #expect(FileManager.default.contents(atPath: first.path) == Data("two".utf8))
        try other.remove()
        try second.remove()
        #expect(try names.isEmpty)
    }

    @Test func `a file that is not this process's is not taken over`() throws {
        let own = try file(), other = try file()
        try own.write([1])
        try other.write([2])
        let lock = own.handDown()
        for name in [other.directoryName, "./" + own.directoryName, "..", "", "credmgr-exec.none", "credmgr"] {
            #expect(throws: CredentialError.self) { try taken(name, lock) }
        }
        for number in [-1, 0, 9_999, other.handDown()] as [Int32] {
            #expect(throws: CredentialError.self) { try taken(own.directoryName, number) }
        }
        // One that others can read.
        chmod(own.path, 0o644)
        #expect(throws: CredentialError.self) { try taken(own.directoryName, lock) }
        try own.remove()
        try other.remove()
    }
}
