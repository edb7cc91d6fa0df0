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
}
