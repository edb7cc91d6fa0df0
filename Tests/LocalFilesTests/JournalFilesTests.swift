import CredentialCore
import Foundation
import LocalFiles
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
}
