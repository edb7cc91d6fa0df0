import CredentialCore
import EncryptedFileStore
import Foundation
import LocalFiles
import Testing

/// Records that are too large, or that a fault has taken while they were replaced.
@Suite struct LostRecordTests {
    private let ids = ["00000000000000a1", "00000000000000b2"]

    @Test func `a record that is too large for every reader is set aside`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        let path = scene.path(ids[1])
        let large = Data(repeating: UInt8(ascii: " "), count: 8 << 20) + Data("{}".utf8)
        try large.write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o600) == 0)
        let refused = try scene.run(["token", "--type", "Tasks", "--account", ids[1]])
        #expect(refused.exitStatus == 5)
        #expect(
            refused.standardError.contains("is larger than")
                && refused.standardError.contains("credmgr doctor --fix"))
        #expect(
            try scene.problems(["--fix", "--yes"]) == [
                "user-\(ids[1])@example.com of account type Tasks requires a new sign-in: its record was damaged"
            ])
        #expect(try scene.holders(scene.file) == [ids[0]])
        #expect(try scene.run(["token", "--type", "Tasks", "--account", ids[1]]).exitStatus == 4)
    }

    /// NFS and FUSE give an open file another name before another one gets its place, and a fault may come in
    /// between.
    @Test(arguments: [false, true])
    func `of a record that was lost while it was replaced the newest generation that can be read is put back`(
        isCut: Bool
    ) throws {
        let scene = try Scene(), id = ids[1]
        try scene.signIn(ids, in: scene.file)
        let path = scene.path(id), folder = scene.groupFolder + "/accounts", files = FileManager.default
        try files.copyItem(atPath: path, toPath: folder + "/.fuse_hidden0000001200000003")
        try scene.change(id) { record in
            var set = try Scene.tokenSet(id, in: .file)
            set.generation = 4
            record.sealed = try scene.file.seal(set.encoded(), of: id, generation: 4, in: scene.group)
        }
        let newer = try Data(contentsOf: URL(fileURLWithPath: path)),
            temporary = "\(folder)/.\(id).0011223344556677.tmp"
        try files.moveItem(atPath: path, toPath: temporary)
        if isCut { #expect(truncate(temporary, off_t(newer.count / 2)) == 0) }
        // Even an old file may be the only one left: credmgr never offers it as left behind.
        if !isCut {
            #expect(utimes(temporary, [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]) == 0)
        }
        #expect(try scene.run(["token", "--type", "Tasks", "--account", id]).exitStatus == 5)
        #expect(try scene.problems().count == 1)
        #expect(try scene.problems(["--fix", "--yes"]).isEmpty)
        #expect(try scene.records.read(id, in: scene.group)?.sealed?.generation == (isCut ? 3 : 4))
        #expect(try scene.holders(scene.file) == ids)
        let left = try files.contentsOfDirectory(atPath: folder).filter { !ids.contains($0) }
        #expect(left == (isCut ? [".\(id).0011223344556677.tmp"] : []))
    }
}
