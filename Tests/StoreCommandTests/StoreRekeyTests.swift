import CredentialCore
import EncryptedFileStore
import Foundation
import LocalFiles
import Platform
import SecretServiceStore
import Synchronization
import TestSupport
import Testing

@Suite struct StoreRekeyTests {
    private let ids = (0..<20).map { "00000000000000" + String(10 + $0) }

    /// Runs calls at once.
    private func atOnce(_ scene: Scene, _ calls: [[String]]) throws -> [ChildProcess.Outcome] {
        let outcomes = Mutex<[Int: Result<ChildProcess.Outcome, any Error>]>([:])
        DispatchQueue.concurrentPerform(iterations: calls.count) { number in
            let outcome = Result { try scene.run(calls[number]) }
            outcomes.withLock { $0[number] = outcome }
        }
        return try outcomes.withLock { outcomes in
            try calls.indices.map { try #require(outcomes[$0]).get() }
        }
    }

    @Test func `two at once leave every account its key`() throws {
        let scene = try Scene(), words = ["store", "rekey", "--key-file"]
        try scene.signIn(ids, in: scene.file)
        for _ in 0..<3 {
            for outcome in try atOnce(scene, [words, words]) {
                #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
            }
            #expect(try scene.holders(scene.file) == ids)
        }
        #expect(try scene.problems().isEmpty)
    }

    @Test func `a first sign-in that waits in the journal is sealed anew, too`() throws {
        let scene = try Scene(), id = ids[0]
        try scene.signIn([ids[1]], in: scene.file)
        let set = try Scene.tokenSet(id, in: .file)
        var record = AccountRecord(group: scene.group, account: set.account)
        record.sealed = try scene.file.seal(set.encoded(), of: id, generation: set.generation, in: scene.group)
        record.generation = 1
        let journal = JournalFiles(GroupFolders(dataHome: scene.dataHome))
        try journal.write(record.bytes, for: id, in: scene.group)
        for _ in 0..<2 { #expect(try scene.run(["store", "rekey", "--key-file"]).exitStatus == 0) }
        let kept = try #require(try journal.read(id, in: scene.group))
        #expect(try AccountRecord(kept, of: id, in: scene.group).sealed?.key != record.sealed?.key)
        #expect(try scene.run(["accounts"]).exitStatus == 0)
        #expect(try scene.holders(scene.file) == [id, ids[1]])
    }

    @Test func `one that fails has checked first, and names the method that opens the file`() throws {
        let scene = try Scene()
        try scene.signIn([ids[0], ids[1]], in: scene.file)
        let store = URL(fileURLWithPath: scene.groupFolder + "/store.v1"), before = try Data(contentsOf: store)
        let path = URL(fileURLWithPath: scene.path(ids[0])), good = try Data(contentsOf: path)
        let text = String(decoding: good.prefix { $0 != 0x0A }, as: UTF8.self)
        let newer = Data(text.replacingOccurrences(of: #""version":1"#, with: #""version":2"#).utf8)
        for (content, status) in [(good.dropLast(3), Int32(5)), (newer + good.drop { $0 != 0x0A }, 2)] {
            try content.write(to: path)
            #expect(chmod(path.path, 0o600) == 0)
            let refused = try scene.run(["store", "rekey", "--passphrase-file", "-"], input: "correct horse\n")
            #expect(refused.exitStatus == status)
            #expect(
                refused.standardError.contains(
                    "the key has not changed: the encrypted file of group default is opened by its key file, as before"
                ),
                "\(refused.standardError)")
            #expect(try Data(contentsOf: store) == before)
        }
        try good.write(to: path)
        #expect(chmod(path.path, 0o600) == 0)
        #expect(try scene.holders(scene.file) == [ids[0], ids[1]])
    }
}

/// Repairs beside a migration, with a real gnome-keyring.
@Suite(.needs(.keyring)) struct RepairBesideMigrationTests {
    @Test func `doctor --fix beside a migration loses no secret, and marks no account`() async {
        await #expect(processExitsWith: .success) {
            let keyring = try PrivateKeyring()
            defer { keyring.stop() }
            let scene = try Scene(keyring), ids = (0..<8).map { "00000000000000" + String(10 + $0) }
            let service = SecretServiceStore(busAddress: keyring.busAddress, canPrompt: false) { _ in }
            try scene.signIn(ids, in: service)
            for (number, target) in ["file", "secret-service", "file", "secret-service"].enumerated() {
                let migrate = ["store", "migrate", "--to", target], fix = ["doctor", "--fix", "--yes"]
                let outcomes = Mutex<[Int32]>([])
                DispatchQueue.concurrentPerform(iterations: 3) { place in
                    let status = try? scene.run(place == 0 ? migrate : fix).exitStatus
                    if place == 0 { outcomes.withLock { $0.append(status ?? -1) } }
                }
                #expect(outcomes.withLock { $0 } == [0], "round \(number)")
                let store: any SecretStore = target == "file" ? scene.file : service
                #expect(try scene.holders(store) == ids, "round \(number)")
                #expect(try scene.accounts().accounts.allSatisfy { $0.status == .active && $0.store == store.kind })
            }
        }
    }
}
