import CredentialCore
import Foundation
import Platform
import TestSupport
import Testing

@Suite struct UserInputFileTests {
    private let temporary: TemporaryFolder
    private let path: String

    init() throws {
        temporary = try TemporaryFolder()
        path = temporary.path + "/config.json"
        try "{}".write(toFile: path, atomically: false, encoding: .utf8)
        chmod(path, 0o644)
    }

    @Test func `content, mode and owner are told, also through a link`() throws {
        let link = temporary.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let file = try #require(try UserInputFile.read(link, limit: 2))
        #expect(file.content == Array("{}".utf8))
        #expect(file.mode == 0o644)
        #expect(file.owner == geteuid())
        #expect(!file.isPrivate)
        chmod(path, 0o600)
        #expect(try UserInputFile.read(path, limit: 2)?.isPrivate == true)
    }

    @Test func `a missing file is no error`() throws {
        #expect(try UserInputFile.read(temporary.path + "/none", limit: 1) == nil)
        #expect(try UserInputFile.read(path + "/below", limit: 1) == nil)
    }

    @Test func `files that others can write, FIFOs and files too large are refused`() throws {
        #expect(throws: CredentialError.self) { try UserInputFile.read(path, limit: 1) }
        chmod(path, 0o646)
        let refused = #expect(throws: CredentialError.self) { try UserInputFile.read(path, limit: 9) }
        #expect(refused?.message == "other users can write \(path)")
        #expect(refused?.hint == "chmod go-w '\(path)'")
        mkfifo(temporary.path + "/fifo", 0o600)
        #expect(throws: CredentialError.self) { try UserInputFile.read(temporary.path + "/fifo", limit: 9) }
        #expect(throws: CredentialError.self) { try UserInputFile.read(temporary.path, limit: 9) }
    }

    @Test(.needs(.root))
    func `a file of another user is refused, and one writable by a shared group`() throws {
        chmod(path, 0o664)
        #expect(try UserInputFile.read(path, limit: 9) != nil)
        chown(path, 0, 65534)
        #expect(throws: CredentialError.self) { try UserInputFile.read(path, limit: 9) }
        chown(path, 65534, 65534)
        let refused = #expect(throws: CredentialError.self) { try UserInputFile.read(path, limit: 9) }
        #expect(refused?.message == "\(path) belongs to another user (uid 65534)")
    }

    @Test func `names in a folder are sorted, and a missing folder has none`() throws {
        for name in ["b", "a", "B"] {
            try "".write(toFile: "\(temporary.path)/\(name)", atomically: false, encoding: .utf8)
        }
        #expect(try FileNames.inFolder(temporary.path) == ["B", "a", "b", "config.json"])
        #expect(try FileNames.inFolder(temporary.path + "/none") == [])
    }

    @Test(arguments: [
        ("/home/ada/my data/x", "df -h '/home/ada/my data'; df -i '/home/ada/my data'"), ("/x", "df -h /; df -i /"),
        ("standard output", nil),
    ])
    func `of a full file system it is said how to see that`(path: String, hint: String?) {
        #expect(CredentialError.system("cannot write", path, number: ENOSPC).hint == hint)
        #expect(CredentialError.system("cannot write", path, number: EACCES).hint == nil)
        #expect(CredentialError.system("cannot write", path, number: ENOSPC, hint: "other").hint == "other")
    }

    @Test func `a write to a full device says how much room there is`() {
        let refused = #expect(throws: CredentialError.self) {
            let file = try UserOutputFile("/dev/full")
            try file.write([1])
        }
        #expect(refused?.code == .inputOutput && refused?.hint == "df -h /dev; df -i /dev")
    }
}
