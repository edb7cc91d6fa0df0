import CredentialCore
import EncryptedFileStore
import Foundation
import Platform
import SealedCache
import TestSupport
import Testing

@Suite struct StoreKeyCommandTests {
    private let id = "00000000000000a1"

    /// Whether the program can open the file: a migration to the current store reads no secret, doctor does.
    private func opens(_ scene: Scene, _ variables: [String: String] = [:]) throws -> Bool {
        try scene.run(["doctor"], variables).standardOutput.contains("ok       file store default")
    }

    @Test func `a key file gives way to a passphrase, and the other way round`() throws {
        let scene = try Scene()
        try scene.signIn([id], in: scene.file)
        #expect(try scene.run(["store", "rekey"]).exitStatus == 2)
        #expect(
            try scene.run(["store", "rekey", "--passphrase-file", "-"], input: "correct horse\n").exitStatus == 0)
        #expect(try !opens(scene))
        let path = scene.folder.path + "/passphrase"
        _ = FileManager.default.createFile(
            atPath: path, contents: Data("correct horse\n".utf8), attributes: [.posixPermissions: 0o600])
        #expect(try opens(scene, ["CREDMGR_PASSPHRASE_FILE": path]))
        #expect(try opens(scene, ["CREDMGR_PASSPHRASE_COMMAND": "cat \(path)"]))
        #expect(try scene.run(["store", "rekey", "--key-file"], ["CREDMGR_PASSPHRASE_FILE": path]).exitStatus == 0)
        #expect(try opens(scene))
        #expect(try scene.holders(scene.file) == [id])
    }

    @Test func `sign-ins that wait are in group default, and hints of a short passphrase lead on`() throws {
        let scene = try Scene()
        try scene.define(clientID: "c", group: "work")
        let type =
            #"{"authorization_endpoint": "https://id.example/a", "token_endpoint": "https://id.example/t", "#
            + #""client_id": "c", "keychain_group": "work"}"#
        try Data(type.utf8).write(
            to: URL(fileURLWithPath: scene.folder.path + "/config/credmgr/types/Tasks.json"))
        let path = scene.folder.path + "/passphrase"
        _ = FileManager.default.createFile(
            atPath: path, contents: Data("short\n".utf8), attributes: [.posixPermissions: 0o600])
        let variables = ["CREDMGR_PASSPHRASE_FILE": path]
        let login = ["login", "--type", "Tasks", "--print-url"]
        let refused = try scene.run(login, variables)
        #expect(refused.exitStatus == 2)
        let hint = "credmgr store rekey --group default --weak-passphrase"
        #expect(refused.standardError.contains("hint: \(hint)\n"))
        // The hint asks for a passphrase at the terminal, or is given a file.
        let pasted = hint.split(separator: " ").dropFirst().map(String.init) + ["--passphrase-file", path]
        let rekeyed = try scene.run(pasted, variables)
        #expect(rekeyed.exitStatus == 0)
        #expect(!rekeyed.standardError.contains("pending sign-ins are stored"))
        #expect(try scene.run(login, variables).exitStatus == 0)
        // Another group's new passphrase does not open it, and that is said.
        let long = try scene.run(
            ["store", "rekey", "--group", "work", "--passphrase-file", "-"], variables, input: "correct horse\n")
        #expect(long.exitStatus == 0)
        #expect(
            long.standardError.contains(
                "note: pending sign-ins are stored in the file of group default, which has not changed"
            ))
        // One passphrase that is configured opens one of the two now, and the other is named.
        let locked = try scene.run(login, variables)
        #expect(locked.exitStatus == 5)
        #expect(locked.standardError.contains("/groups/work/store.v1"))
        // Without --group it is the file of each group.
        let both = try scene.run(
            ["store", "rekey", "--group", "work", "--key-file"],
            [
                "CREDMGR_PASSPHRASE_COMMAND": "echo correct horse"
            ])
        #expect(both.exitStatus == 0, "\(both.standardError)")
        let all = try scene.run(["store", "rekey", "--key-file"], variables)
        #expect(all.exitStatus == 0, "\(all.standardError)")
        for group in ["default", "work"] {
            #expect(
                all.standardError.contains(
                    "the encrypted file of group \(group) is now opened only by its key file"))
        }
        #expect(try scene.run(login).exitStatus == 0)
    }

    @Test func `the passphrase that systemd hands to a service opens the file`() throws {
        let scene = try Scene()
        try scene.signIn([id], in: scene.file)
        #expect(
            try scene.run(["store", "rekey", "--passphrase-file", "-"], input: "correct horse\n").exitStatus == 0)
        let credentials = scene.folder.path + "/credentials"
        try FileManager.default.createDirectory(atPath: credentials, withIntermediateDirectories: true)
        let variables = ["CREDENTIALS_DIRECTORY": credentials]
        #expect(try !opens(scene, variables))
        // With an access control list for the service's user, a mode looks like this.
        _ = FileManager.default.createFile(
            atPath: credentials + "/credmgr-passphrase", contents: Data("correct horse".utf8),
            attributes: [.posixPermissions: 0o440])
        #expect(try opens(scene, variables))
    }

    @Test(.needs(.kernelKeys))
    func `an unlocked file needs no passphrase until it is locked`() throws {
        let scene = try Scene()
        try scene.signIn([id], in: scene.file)
        #expect(
            try scene.run(["store", "rekey", "--passphrase-file", "-"], input: "correct horse\n").exitStatus == 0)
        let path = scene.folder.path + "/passphrase"
        _ = FileManager.default.createFile(
            atPath: path, contents: Data("correct horse".utf8), attributes: [.posixPermissions: 0o600])
        let unlocked = try scene.run(["store", "unlock", "--for", "1h"], ["CREDMGR_PASSPHRASE_FILE": path])
        #expect(unlocked.exitStatus == 0)
        #expect(unlocked.standardError.contains("unlocked for 1 h"))
        #expect(try opens(scene))
        #expect(try scene.run(["store", "lock"]).standardError.contains("is locked"))
        #expect(try !opens(scene))
        #expect(try scene.run(["store", "unlock"]).exitStatus == 5)
        for time in ["0", "8x", "-1h", "2000d", ""] {
            #expect(try scene.run(["store", "unlock", "--for", time]).exitStatus == 2)
        }
    }

    @Test(.needs(.kernelKeys))
    func `one file that stays locked leaves no other one so`() throws {
        let scene = try Scene()
        try scene.signIn([id], in: scene.file)
        try scene.define(clientID: "c", group: "work")
        for (group, passphrase) in [("default", "wrong horse"), ("work", "correct horse")] {
            let words = ["store", "rekey", "--group", group, "--passphrase-file", "-"]
            #expect(try scene.run(words, input: passphrase + "\n").exitStatus == 0)
        }
        let variables = ["CREDMGR_PASSPHRASE_COMMAND": "echo correct horse"]
        let unlocked = try scene.run(["store", "unlock"], variables)
        #expect(unlocked.exitStatus == 5)
        #expect(unlocked.standardError.contains("the encrypted file of group work is unlocked for 8 h"))
        #expect(unlocked.standardError.contains("/groups/default/store.v1"))
        // A file that cannot be read at all keeps no other file from it, either.
        #expect(chmod(scene.groupFolder + "/store.v1", 0o644) == 0)
        for (words, done) in [(["lock"], "locked"), (["unlock"], "unlocked for 8 h")] {
            let outcome = try scene.run(["store"] + words, variables)
            #expect(outcome.exitStatus != 0, "\(words)")
            #expect(outcome.standardError.contains("the encrypted file of group work is \(done)"), "\(words)")
        }
    }

    @Test(.needs(.kernelKeys))
    func `locking drops the cached tokens`() throws {
        let scene = try Scene()
        let cache = SealedCache(runtime: scene.folder.path + "/run", clock: SystemClock())
        let name = CacheKey.token(dataFolder: scene.dataHome, group: "default", account: "x", key: "k")
        cache.write([1], name: name, seconds: 60)
        #expect(cache.read(name) == [1])
        #expect(try scene.run(["store", "lock"]).exitStatus == 0)
        #expect(cache.read(name) == nil)
    }

    @Test func `a file with a key file has nothing to lock`() throws {
        let scene = try Scene()
        try scene.signIn([id], in: scene.file)
        let outcome = try scene.run(["store", "unlock"])
        #expect(outcome.exitStatus == 0)
        #expect(outcome.standardError.contains("nothing to unlock"))
        #expect(try scene.run(["store", "lock"]).standardError.contains("cannot lock"))
    }

    @Test func `a person at the terminal is asked, but never by token`() throws {
        let scene = try Scene()
        try scene.signIn([id], in: scene.file)
        #expect(
            try scene.run(["store", "rekey", "--passphrase-file", "-"], input: "correct horse\n").exitStatus == 0)
        let typed = try atTerminal(scene, ["store", "unlock"], answers: ["wrong", "correct horse"])
        #expect(typed.exitStatus == 0, "\(typed.standardOutput)")
        #expect(typed.standardOutput.contains("Wrong passphrase."))
        #expect(!typed.standardOutput.contains("correct horse"))
        _ = try scene.run(["store", "lock"])
        #expect(try atTerminal(scene, ["store", "unlock"], answers: ["a", "b", "c"]).exitStatus == 5)
        let rekeyed = try atTerminal(scene, ["store", "rekey"], answers: ["correct horse", "new", "other"])
        #expect(rekeyed.exitStatus == 2, "\(rekeyed.standardOutput)")
        #expect(
            try atTerminal(scene, ["store", "rekey"], answers: ["correct horse", "new horse", "new horse"])
                .exitStatus == 0)
        _ = try scene.run(["store", "lock"])
        for words in [["token"], ["token", "--account", id]] {
            let outcome = try atTerminal(scene, words, answers: [])
            #expect(outcome.exitStatus == 5, "\(outcome.standardOutput)")
            #expect(!outcome.standardOutput.contains("Passphrase of"))
        }
        _ = try scene.run(["store", "lock"])
    }

    /// Runs the program on a terminal of its own and types an answer at each question.
    private func atTerminal(
        _ scene: Scene, _ words: [String], answers: [String]
    ) throws -> ChildProcess.Outcome {
        var command = scene.command(words)
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Fixtures/type-at-terminal.py").path
        command.arguments = [script] + answers + ["--", command.program] + command.arguments
        command.program = "/usr/bin/python3"
        return try command.run()
    }
}
