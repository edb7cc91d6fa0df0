import CredentialCore
import CredmgrCommands
import EncryptedFileStore
import Foundation
import LocalFiles
import StrictJSON
import TestSupport
import Testing

@Suite struct DoctorTests {
    private let ids = ["00000000000000a1", "00000000000000b2"]

    @Test func `a home without faults has none, and one without anything too`() throws {
        let scene = try Scene()
        #expect(try scene.problems().isEmpty)
        try scene.signIn(ids, in: scene.file)
        #expect(try scene.problems().isEmpty)
        let outcome = try scene.run(["doctor"])
        #expect(outcome.exitStatus == 0)
        #expect(outcome.standardOutput.contains("ok       registry default: 2 accounts"))
    }

    @Test func `secrets without an account are taken up again`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        try scene.registry.update(scene.group) { (registry) throws(CredentialError) in registry[id: ids[0]] = nil }
        #expect(try scene.problems().count == 1)
        #expect(try scene.problems(["--fix", "--yes"]).isEmpty)
        #expect(try scene.registry.read(scene.group).accounts.map(\.id).sorted() == ids)
        #expect(try scene.problems().isEmpty)
    }

    @Test func `an account without secrets is marked as one that has to sign in`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        try scene.file.remove(scene.item(ids[0]))
        #expect(try scene.problems() == ["\(ids[0]) has no secrets in the encrypted file"])
        #expect(try scene.problems(["--fix", "--yes"]).isEmpty)
        #expect(
            try scene.registry.read(scene.group)[id: ids[0]]?.status == .needsLogin(reason: "its secrets are gone"))
    }

    @Test func `a damaged secret is named and removed`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        try scene.file.write([1, 2, 3], for: scene.item(ids[1]), label: "x")
        #expect(try scene.problems().first?.contains("\(ids[1]) in the encrypted file is damaged") == true)
        #expect(
            try scene.run(["doctor", "--fix", "--yes"]).standardError.contains("remove the damaged secret: done"))
        #expect(try scene.holders(scene.file) == [ids[0]])
    }

    @Test func `a lost registry and a damaged one are rebuilt, the damaged one by any command`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        let path = scene.groupFolder + "/accounts.json"
        try Data("{\"version\":1,\"acc".utf8).write(to: URL(fileURLWithPath: path))
        let listed = try scene.run(["accounts", "--json"])
        #expect(listed.exitStatus == 0)
        #expect(ids.allSatisfy(listed.standardOutput.contains))
        #expect(listed.standardError.contains("taken up from the stores again"))
        // The Secret Service may have had some: that it cannot be asked is not forgotten, but is no error either.
        #expect(try scene.registry.read(scene.group).needsRebuild)
        #expect(try scene.problems(["--fix", "--yes"]).isEmpty)
        #expect(try !scene.registry.read(scene.group).needsRebuild)
        try FileManager.default.removeItem(atPath: path)
        #expect(try scene.problems().count == 1)
        #expect(try scene.problems(["--fix", "--yes"]).isEmpty)
        #expect(try scene.registry.read(scene.group).accounts.map(\.id).sorted() == ids)
    }

    @Test func `a damaged registry whose secrets cannot be read is never an empty one`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        try FileManager.default.removeItem(atPath: scene.dataHome + "/credmgr/file-store.key")
        try Data("{}".utf8).write(to: URL(fileURLWithPath: scene.groupFolder + "/accounts.json"))
        for words in [["accounts"], ["token"], ["logout", "--account", ids[0]]] {
            let outcome = try scene.run(words)
            #expect(outcome.exitStatus == 5, "\(words): \(outcome.standardError)")
            #expect(outcome.standardOutput.isEmpty)
        }
    }

    @Test func `a missing key file is the problem that is named, and no other`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        try FileManager.default.removeItem(atPath: scene.dataHome + "/credmgr/file-store.key")
        let problems = try scene.problems()
        #expect(problems.count == 1)
        #expect(problems.first?.contains("file-store.key is missing") == true)
        let outcome = try scene.run(["doctor"])
        #expect(outcome.standardOutput.contains("restore the key file from a backup"))
        #expect(!outcome.standardOutput.contains("secrets where they should be"))
        #expect(!outcome.standardOutput.contains("store unlock"))
        try Data("{}".utf8).write(to: URL(fileURLWithPath: scene.groupFolder + "/accounts.json"))
        #expect(try !scene.run(["doctor"]).standardOutput.contains("store unlock"))
    }

    @Test func `that no provider was asked is said`() throws {
        let scene = try Scene()
        #expect(try !scene.run(["doctor"]).standardOutput.contains("endpoints"))
        let added = try scene.run(["types", "add", "Tasks", "--issuer", "https://id.invalid", "--client-id", "c"])
        #expect(added.exitStatus == 0)
        let outcome = try scene.run(["doctor"])
        #expect(outcome.exitStatus == 0)
        #expect(outcome.standardOutput.contains("note     endpoints: no provider was asked"))
    }

    @Test func `that accounts may be missing is said once a day, and by doctor each time`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        try Data("{}".utf8).write(to: URL(fileURLWithPath: scene.groupFolder + "/accounts.json"))
        #expect(try scene.run(["accounts"]).standardError.contains("may be missing"))
        #expect(try !scene.run(["accounts"]).standardError.contains("may be missing"))
        #expect(try scene.problems().contains { $0.contains("may be missing") })
        try scene.registry.update(scene.group) { (registry) throws(CredentialError) in
            registry.rebuildToldAt = registry.rebuildToldAt?.adding(-86_400)
        }
        #expect(try scene.run(["accounts"]).standardError.contains("may be missing"))
    }

    @Test func `a store that is not there has no words on its protection`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        let status = try scene.run(["store", "status"]).standardOutput
        #expect(status.contains("secret-service: unavailable"))
        #expect(!status.contains("desktop's keyring"))
        #expect(status.contains("encrypted with the key file"))
    }

    @Test func `modes and files left behind are found and put right`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        let store = scene.groupFolder + "/store.v1", stale = scene.groupFolder + "/.accounts.json.0011.tmp"
        #expect(chmod(store, 0o644) == 0)
        _ = FileManager.default.createFile(atPath: stale, contents: nil, attributes: [.posixPermissions: 0o600])
        #expect(utimes(stale, [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]) == 0)
        let found = try scene.problems()
        #expect(found.contains { $0.contains("others can open \(store)") })
        #expect(found.contains { $0.contains(stale) })
        #expect(try scene.problems(["--fix", "--yes"]).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: stale))
        #expect(try scene.holders(scene.file) == ids)
        #expect(symlink("/etc/passwd", scene.groupFolder + "/link") == 0)
        #expect(try scene.problems(["--fix", "--yes"]).first?.contains("is a link") == true)
    }

    @Test func `a repair without a person needs to be agreed to`() throws {
        let scene = try Scene()
        let outcome = try scene.run(["doctor", "--fix"])
        #expect(outcome.exitStatus == 2)
        #expect(outcome.standardError.contains("--yes"))
    }

    @Test func `the report tells neither names nor ids nor the home folder`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        try scene.file.remove(scene.item(ids[0]))
        #expect(chmod(scene.groupFolder + "/store.v1", 0o644) == 0)
        let outcome = try scene.run(["doctor", "--report"], ["USER": "ada"])
        #expect(outcome.exitStatus == 1)
        for word in [scene.folder.path, "user-", "subject-", "refresh-"] + ids {
            #expect(!outcome.standardOutput.contains(word), "\(word) in \(outcome.standardOutput)")
        }
        #expect(outcome.standardOutput.contains("~/data/credmgr"))
    }

    @Test func `longer words are hidden first`() {
        var redaction = Redaction()
        redaction.hide("/home/ada", as: "~")
        redaction.hide("ada", as: "X")
        #expect(redaction.applied(to: "/home/ada/x ada é") == "~/x X é")
    }
}
