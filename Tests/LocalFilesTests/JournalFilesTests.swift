import CredentialCore
import Foundation
import LocalFiles
import Platform
import TestSupport
import Testing

@Suite struct JournalFilesTests {
    @Test func `a record is kept, replaced and dropped`() throws {
        let temporary = try TemporaryFolder()
        let journal = JournalFiles(GroupFolders(dataHome: temporary.path))
        let group = try KeychainGroup("work")
        #expect(try journal.read("a1", in: group) == nil)
        try journal.remove("a1", in: group)
        try journal.write([1, 2], for: "a1", in: group)
        try journal.write([3], for: "a1", in: group)
        #expect(try journal.read("a1", in: group) == [3])
        #expect(try journal.read("a2", in: group) == nil)
        #expect(FileManager.default.fileExists(atPath: temporary.path + "/credmgr/groups/work/journal/a1"))
        try journal.remove("a1", in: group)
        #expect(try journal.read("a1", in: group) == nil)
    }

    @Test func `all records are given, and nothing else that lies beside them`() throws {
        let temporary = try TemporaryFolder()
        let folders = GroupFolders(dataHome: temporary.path)
        let journal = JournalFiles(folders)
        let group = try KeychainGroup("work")
        try journal.eachRecord(in: group) { id, _ in Issue.record("\(id) is not there") }
        try journal.write([1, 2], for: "a1", in: group)
        try journal.write([3], for: "login-a2-mark", in: group)
        try journal.reserve(100, for: "a3", in: group)
        try folders.create(.journal, of: group).write([4], to: ".a4.5.tmp")
        var found: [String: [UInt8]] = [:]
        try journal.eachRecord(in: group) { found[$0] = $1 }
        #expect(found == ["a1": [1, 2], "login-a2-mark": [3]])
        #expect(try journal.accounts(in: group).sorted() == ["a1", "login-a2-mark"])
    }

    @Test func `a refresh that another process has on its way keeps others out, as long as that process lives`()
        throws
    {
        let temporary = try TemporaryFolder()
        let folders = GroupFolders(dataHome: temporary.path)
        let journal = JournalFiles(folders), group = KeychainGroup.standard
        let path = temporary.path + "/credmgr/groups/default/journal/a1.reserve"
        // A process of this program may begin again, and others reserve room for other accounts.
        try journal.reserveForSending(20_000, of: "a1", in: group)
        try journal.reserveForSending(20_000, of: "a1", in: group)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 20_000)
        #expect(try journal.isMarkedForSending("a1", in: group) && !journal.isMarkedForSending("a2", in: group))
        let own = try #require(ProcessMark.own)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).prefix(own.bytes.count) == Data(own.bytes))

        var launch = SpawnConfiguration("/bin/cat", [], environment: [:])
        launch.standardInput = .pipe
        let other = try launch.start()
        let mark = try #require(ProcessMark(of: other.process))
        #expect(ProcessMark(mark.bytes) == mark && mark.isAnotherLivingProcess)
        try Data(mark.bytes + [UInt8](repeating: 0, count: 100)).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: CredentialError.self) {
            try journal.reserveForSending(20_000, of: "a1", in: group)
        }
        #expect(error?.code == .lockTimeout)
        #expect(try !journal.isMarkedForSending("a1", in: group))
        // Nor does one that has lost its own mark remove that of another.
        journal.releaseReserve(for: "a1", in: group)
        #expect(FileManager.default.fileExists(atPath: path))
        #expect(error?.message.contains("process \(other.process) is refreshing account a1") == true)
        try journal.reserveForSending(20_000, of: "a2", in: group)

        other.send(signal: SIGKILL)
        _ = other.wait()
        #expect(!mark.isAnotherLivingProcess)
        try journal.reserveForSending(20_000, of: "a1", in: group)
        // An entry dropped meanwhile is not the mark.
        try journal.remove("a1", in: group)
        #expect(try journal.isMarkedForSending("a1", in: group))
        // The record takes the reserved room, and the mark goes with it.
        try journal.write([1, 2], for: "a1", in: group)
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try !journal.isMarkedForSending("a1", in: group))
        #expect(try journal.read("a1", in: group) == [1, 2])
    }

    @Test func `a group of an earlier layout is left alone while a process of an earlier program refreshes there`()
        throws
    {
        let temporary = try TemporaryFolder()
        let folders = GroupFolders(dataHome: temporary.path)
        let journal = JournalFiles(folders), group = KeychainGroup.standard
        try folders.create(of: group).write(Array("1\n".utf8), to: "format")
        var launch = SpawnConfiguration("/bin/cat", [], environment: [:])
        launch.standardInput = .pipe
        let other = try launch.start()
        let mark = try #require(ProcessMark(of: other.process))
        try folders.create(.journal, of: group).write(mark.bytes, to: "a1.reserve")
        func layout() throws -> [UInt8]? { try folders.open(of: group)?.read("format", limit: 100) }
        let error = #expect(throws: CredentialError.self) {
            try journal.reserveForSending(20_000, of: "a2", in: group)
        }
        #expect(error?.code == .lockTimeout)
        #expect(error?.message.contains("process \(other.process) of an older credmgr") == true)
        #expect(try layout() == Array("1\n".utf8))
        // credmgr keeps received tokens in spite of the layout's file, and no process removes the mark of another.
        try journal.write([1], for: "a2", in: group)
        try journal.remove("a1", in: group)
        #expect(
            try journal.read("a2", in: group) == [1]
                && folders.open(.journal, of: group)?.contains("a1.reserve") == true)
        other.send(signal: SIGKILL)
        _ = other.wait()
        // Once that process has gone, its room goes with the record.
        try journal.remove("a1", in: group)
        #expect(try folders.open(.journal, of: group)?.contains("a1.reserve") == false)
        try journal.reserveForSending(20_000, of: "a2", in: group)
        #expect(try layout() == Array("2\n".utf8))
    }
}
