import Commands
import CredentialCore
import CryptoSupport
import EncryptedFileStore
import Foundation
import LocalFiles
import Platform
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

    @Test func `secrets at the location of an older version are recovered`() throws {
        let scene = try Scene()
        try scene.define(clientID: "c")
        for id in ids {
            try scene.file.write(
                try Scene.tokenSet(id, in: .file).encoded(), for: scene.item(id), label: "credmgr: Tasks \(id)")
        }
        let older = scene.groupFolder + "/accounts.json"
        try Data(#"{"version": 1, "accounts": [], "defaults": {}}"#.utf8).write(to: URL(fileURLWithPath: older))
        #expect(chmod(older, 0o600) == 0)
        for words in [["accounts"], ["token"], ["logout", "--account", ids[0]]] {
            let refused = try scene.run(words)
            #expect(refused.exitStatus == 2, "\(words): \(refused.standardError)")
            #expect(refused.standardError.contains("an older credmgr has kept the accounts of group default"))
            #expect(refused.standardError.contains("hint: credmgr doctor --fix"))
            #expect(refused.standardOutput.isEmpty)
        }
        #expect(try scene.problems().count == 1)
        #expect(try scene.problems(["--fix", "--yes"]).isEmpty)
        #expect(try scene.accounts().accounts.map(\.id).sorted() == ids)
        #expect(try scene.holders(scene.file) == ids)
        #expect(try scene.file.items(of: scene.group, kind: .tokenSet).isEmpty)
        #expect(FileManager.default.fileExists(atPath: older + ".old"))
        #expect(try scene.problems().isEmpty)
    }

    @Test func `secrets of an older version in an unavailable store wait for it`() throws {
        for (accounts, isTaken) in [
            (#"[{"username": "secret-service", "store": "file"}]"#, true),
            (#"[{"username": "file", "store": "secret-service"}]"#, false), (#"[{"username": "x"}]"#, false),
            ("[", false),
        ] {
            let scene = try Scene(), older = scene.groupFolder + "/accounts.json"
            try scene.define(clientID: "c")
            try scene.file.write(
                try Scene.tokenSet(ids[0], in: .file).encoded(), for: scene.item(ids[0]), label: "credmgr: Tasks")
            try Data(#"{"version": 1, "accounts": \#(accounts)}"#.utf8).write(to: URL(fileURLWithPath: older))
            #expect(chmod(older, 0o600) == 0)
            let problems = try scene.problems(["--fix", "--yes"])
            #expect(problems.isEmpty == isTaken, "\(accounts): \(problems)")
            #expect(FileManager.default.fileExists(atPath: older) == !isTaken, "\(accounts)")
        }
    }

    @Test func `an account without secrets is marked as one that has to sign in`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        try scene.change(ids[0]) { $0.sealed = nil }
        #expect(try scene.problems() == ["\(ids[0]) has no secrets in the encrypted file"])
        #expect(
            try scene.problems(["--fix", "--yes"]) == [
                "user-\(ids[0])@example.com of account type Tasks requires a new sign-in: its secrets are gone"
            ])
        #expect(try scene.accounts()[id: ids[0]]?.status == .needsLogin(reason: "its secrets are gone"))
    }

    @Test func `an account with a type that is unusable now is not one that no type sees`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        let orphan = "no account type uses"
        #expect(!(try scene.problems().contains { $0.contains(orphan) }))
        let definition = scene.folder.path + "/config/credmgr/types/Tasks.json"
        let text = try String(contentsOfFile: definition, encoding: .utf8)
        for broken in [text.replacingOccurrences(of: "{", with: #"{"adapter": "not-installed", "#), "{"] {
            try Data(broken.utf8).write(to: URL(fileURLWithPath: definition))
            let outcome = try scene.run(["doctor"])
            #expect(outcome.exitStatus == 1, "\(broken)")
            #expect(!outcome.standardOutput.contains(orphan) && !outcome.standardOutput.contains("credmgr logout"))
        }
        try FileManager.default.removeItem(atPath: definition)
        #expect(try scene.run(["doctor"]).standardOutput.contains("credmgr logout --account \(ids[0])"))
    }

    @Test func `a damaged token set is named, and affects no other account`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        try scene.change(ids[1]) { $0.sealed?.bytes[40] ^= 1 }
        #expect(
            try scene.problems() == [
                "the secret of \(ids[1]) in the encrypted file is damaged: the token set of \(ids[1]) is damaged, or "
                    + "belongs to another account"
            ])
        #expect(try scene.holders(scene.file) == [ids[0]])
    }

    @Test func `a damaged record is named and quarantined, and affects no other account`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        let path = scene.path(ids[1])
        try Data(#"{"version":1,"gro"#.utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, 0o600) == 0)
        let listed = try scene.run(["accounts", "--json"])
        #expect(listed.exitStatus == 0)
        #expect(listed.standardOutput.contains(ids[0]) && !listed.standardOutput.contains(ids[1]))
        #expect(listed.standardError.contains("account \(ids[1]) of group default is left out"))
        let refused = try scene.run(["token", "--type", "Tasks", "--account", ids[1]])
        #expect(refused.exitStatus == 5)
        #expect(refused.standardError.contains(path) && refused.standardError.contains("credmgr doctor --fix"))
        #expect(try scene.problems().count == 1)
        // The index keeps its facts about it, so that no other account takes its place.
        #expect(
            try scene.problems(["--fix", "--yes"]) == [
                "user-\(ids[1])@example.com of account type Tasks requires a new sign-in: its record was damaged"
            ])
        #expect(try scene.accounts().accounts.map(\.id).sorted() == ids)
        #expect(try scene.run(["token", "--type", "Tasks", "--account", ids[1]]).exitStatus == 4)
        #expect(try scene.run(["doctor"]).standardOutput.contains("is damaged and was quarantined"))
    }

    /// Another person's token would be a wrong answer.
    @Test func `while a record cannot be read, none of the others is the only account`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        try Data(#"{"version":1,"gro"#.utf8).write(to: URL(fileURLWithPath: scene.path(ids[1])))
        #expect(chmod(scene.path(ids[1]), 0o600) == 0)
        func which(_ words: [String], _ account: String? = nil) throws -> ChildProcess.Outcome {
            try scene.run(["which"] + words, account.map { ["CREDMGR_ACCOUNT": $0] } ?? [:])
        }
        let user = "user-\(ids[0])@example.com", type = ["--type", "Tasks"]
        // There are two of them, as before.
        for words in [[], type] { #expect(try which(words).exitStatus == 3) }
        let said = "account \(ids[1]) of group default is left out"
        #expect(try scene.run(["accounts"]).standardError.contains(said))
        let status = try scene.run(["store", "status"])
        #expect(status.exitStatus == 0 && status.standardError.contains(said))
        for isKnown in [true, false] {
            // If the index is lost, too, the owner of the record is unknown: it may be of any name that no other
            // account has.
            if !isKnown { try FileManager.default.removeItem(atPath: scene.groupFolder + "/index") }
            for (words, name) in [([], "nobody"), ([], nil), (type, nil)] {
                let outcome = try which(words, name)
                #expect(
                    outcome.exitStatus == (isKnown ? 3 : 5), "\(words) \(name ?? ""): \(outcome.standardError)")
                #expect(outcome.standardOutput.isEmpty)
                if !isKnown { #expect(outcome.standardError.contains(scene.path(ids[1]))) }
            }
            // An account that is named is no question.
            for (words, name) in [([], ids[0]), (type, user), ([], user)] {
                #expect(try which(words, name).standardOutput.hasPrefix(ids[0]))
            }
        }
        // A new passphrase keeps the former key as long as the record may be restored.
        #expect(try scene.run(["store", "rekey", "--key-file"]).exitStatus == 5)
    }

    @Test func `a record that cannot be read is never an empty list`() throws {
        let scene = try Scene()
        try scene.signIn([ids[0]], in: scene.file)
        try Data("{}".utf8).write(to: URL(fileURLWithPath: scene.path(ids[0])))
        #expect(chmod(scene.path(ids[0]), 0o600) == 0)
        for words in [["accounts"], ["token", "--type", "Tasks"], ["token"]] {
            let outcome = try scene.run(words)
            #expect(outcome.exitStatus == 5, "\(words): \(outcome.standardError)")
            #expect(outcome.standardOutput.isEmpty)
        }
    }

    @Test func `a refresh token that is used up is named`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        UsedTokenFiles(stateHome: scene.folder.path + "/.local/state").record(
            Secret("refresh-\(ids[0])"), until: nil)
        let said = "the store is older than this machine has seen"
        #expect(try scene.problems() == ["the refresh token of \(ids[0]) was already used: \(said)"])
        let refused = try scene.run(["token", "--type", "Tasks", "--account", ids[0]])
        #expect(refused.exitStatus == 4)
        #expect(refused.standardError.contains(said))
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
        #expect(!outcome.standardOutput.contains("all secrets in the correct store"))
        #expect(!outcome.standardOutput.contains("store unlock"))
    }

    @Test func `that no provider was asked is said`() throws {
        let scene = try Scene()
        #expect(try !scene.run(["doctor"]).standardOutput.contains("endpoints"))
        let added = try scene.run([
            "types", "add", "Tasks", "--issuer", "https://id.invalid", "--client-id", "c", "--offline",
        ])
        #expect(added.exitStatus == 0)
        let outcome = try scene.run(["doctor"])
        #expect(outcome.exitStatus == 0)
        #expect(
            outcome.standardOutput.contains("note     endpoints: the providers and their clocks were not checked"))
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
        let store = scene.groupFolder + "/store.v1", stale = scene.groupFolder + "/.index.0011.tmp"
        #expect(chmod(store, 0o644) == 0)
        // Room that was reserved for an account; some process that lives has a mark in the last one.
        let journal = scene.groupFolder + "/journal", own = try #require(ProcessMark.own)
        let room = journal + "/new-account.reserve", used = journal + "/\(ids[0]).reserve"
        try FileManager.default.createDirectory(
            atPath: journal, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for (path, content) in [(stale, []), (room, [0, 0]), (used, own.bytes)] {
            _ = FileManager.default.createFile(
                atPath: path, contents: Data(content), attributes: [.posixPermissions: 0o600])
            #expect(utimes(path, [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]) == 0)
        }
        let found = try scene.problems()
        #expect(found.contains { $0.contains("other users can open \(store)") })
        #expect(found.contains { $0.contains(stale) } && found.contains { $0.contains(room) })
        #expect(!found.contains { $0.contains(used) })
        #expect(try scene.problems(["--fix", "--yes"]).isEmpty)
        #expect([stale, room, used].map { FileManager.default.fileExists(atPath: $0) } == [false, false, true])
        #expect(try scene.holders(scene.file) == ids)
        #expect(symlink("/etc/passwd", scene.groupFolder + "/link") == 0)
        #expect(try scene.problems(["--fix", "--yes"]).first?.contains("is a symbolic link") == true)
    }

    @Test func `files left behind for an account stay while another process has the account's lock`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        let journal = scene.groupFolder + "/journal"
        try FileManager.default.createDirectory(
            atPath: journal, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let left = ["\(journal)/\(ids[0]).reserve", scene.path(".\(ids[0]).1.tmp")]
        for path in left {
            _ = FileManager.default.createFile(
                atPath: path, contents: Data([0]), attributes: [.posixPermissions: 0o600])
            #expect(utimes(path, [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]) == 0)
        }
        let locks = AccountLockFiles(GroupFolders(dataHome: scene.dataHome))
        let lock = try #require(try locks.tryLock(ids[0], in: scene.group))
        let fixed = try scene.run(["doctor", "--fix", "--yes"])
        for path in left {
            #expect(fixed.standardError.contains("\(path) is in use now and was not removed"))
            #expect(FileManager.default.fileExists(atPath: path))
        }
        lock.release()
        #expect(try scene.problems(["--fix", "--yes"]).isEmpty)
        #expect(!left.contains { FileManager.default.fileExists(atPath: $0) })
        #expect(try scene.holders(scene.file) == ids)
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
        try scene.change(ids[0]) { $0.sealed = nil }
        #expect(chmod(scene.groupFolder + "/store.v1", 0o644) == 0)
        let outcome = try scene.run(["doctor", "--report"], ["USER": "ada"])
        #expect(outcome.exitStatus == 1)
        for word in [scene.folder.path, "user-", "subject-", "refresh-"] + ids {
            #expect(!outcome.standardOutput.contains(word), "\(word) in \(outcome.standardOutput)")
        }
        #expect(outcome.standardOutput.contains("~/data/credmgr"))
    }

    @Test func `an account that no type sees any more is named with the command that forgets it`() throws {
        let scene = try Scene()
        try scene.signIn([ids[0]], in: scene.file)
        try scene.define(clientID: "other")
        #expect(
            try scene.problems() == [
                "user-\(ids[0])@example.com of account type Tasks: no account type uses the account: the "
                    + "account has client ID c, and the account type has other"
            ])
        try scene.define(clientID: "c")
        #expect(try scene.problems().isEmpty)
        let removed = try scene.run(["types", "remove", "Tasks"])
        let forget = "credmgr logout --account \(ids[0]) --group default"
        #expect(removed.standardError.contains("warning: no account type sees user-\(ids[0])@example.com"))
        #expect(removed.standardError.contains(forget))
        #expect(try scene.run(["doctor"]).standardOutput.contains("           \(forget)\n"))
        #expect(try scene.run(Array(forget.split(separator: " ").dropFirst().map(String.init))).exitStatus == 0)
        #expect(try scene.problems().isEmpty)
    }

    @Test func `the holder of an account's lock is named, and a stopped one is a problem`() throws {
        let scene = try Scene()
        try scene.signIn([ids[0]], in: scene.file)
        let locks = AccountLockFiles(GroupFolders(dataHome: scene.dataHome))
        let lock = try #require(try locks.tryLock(ids[0], in: scene.group))
        #expect(try scene.problems().isEmpty)
        let shown = try scene.run(["doctor"]).standardOutput
        #expect(shown.contains("note     lock of \(ids[0]): process \(getpid()) has held the lock for "))
        let refused = try scene.run(["logout", "--account", ids[0], "--timeout", "1"])
        #expect(refused.exitStatus == 6)
        #expect(refused.standardError.contains("process \(getpid()) has held the lock of account \(ids[0]) for "))
        lock.release()
        #expect(try !scene.run(["doctor"]).standardOutput.contains("lock of"))
    }

    @Test func `a process that was stopped with an account's lock is a problem, until it goes on`() throws {
        let scene = try Scene()
        try scene.signIn([ids[0]], in: scene.file)
        let locks = AccountLockFiles(GroupFolders(dataHome: scene.dataHome))
        try #require(try locks.tryLock(ids[0], in: scene.group)).release()
        let lock = scene.groupFolder + "/locks/\(ids[0]).lock"
        // One that signs the lock's file as credmgr does, and stops; then it goes on and ends.
        let holder = try StoppedProcess(
            "/usr/bin/flock", ["--no-fork", lock, "/bin/sh", "-c", #"echo $$ > "$1"; kill -STOP $$"#, "sh", lock])
        let id = holder.id
        let problem = "process \(id), which is stopped, has held the lock for "
        #expect(try scene.problems().count == 1)
        #expect(try scene.problems().first?.hasPrefix(problem) == true)
        let shown = try scene.run(["doctor"])
        #expect(shown.exitStatus == 1)
        #expect(shown.standardOutput.contains("PROBLEM  lock of \(ids[0]): \(problem)"))
        #expect(shown.standardOutput.contains("           kill -CONT \(id)\n"))
        let refused = try scene.run(["logout", "--account", ids[0], "--timeout", "1"])
        #expect(refused.exitStatus == 6)
        #expect(refused.standardError.contains("process \(id), which is stopped, has held the lock of account"))
        #expect(refused.standardError.contains("hint: kill -CONT \(id)\n"))
        // The hint, as it is pasted.
        let mended = try ChildProcess("/bin/sh", ["-c", "kill -CONT \(id)"]).run()
        #expect(mended.exitStatus == 0)
        #expect(try holder.end() == 0)
        #expect(try scene.problems().isEmpty)
        #expect(try scene.run(["logout", "--account", ids[0]]).exitStatus == 0)
    }

    @Test func `a bus that has gone is named with its variable, and is not ok`() throws {
        let scene = try Scene(), address = "unix:path=/nonexistent/bus"
        let outcome = try scene.run(["doctor"], ["DBUS_SESSION_BUS_ADDRESS": address])
        #expect(outcome.exitStatus == 0)
        let named = "note     bus: DBUS_SESSION_BUS_ADDRESS names \(address), but the bus is unreachable: "
        #expect(outcome.standardOutput.contains(named), "\(outcome.standardOutput)")
        #expect(outcome.standardOutput.contains("unset DBUS_SESSION_BUS_ADDRESS"))
        // An account in the keyring makes it a problem.
        let store = try scene.run(
            ["doctor", "--store", "secret-service"], ["DBUS_SESSION_BUS_ADDRESS": address])
        #expect(store.exitStatus == 1 && store.standardOutput.contains("PROBLEM  bus: "))
    }

    @Test func `a program that its user may read is named, for its memory is open as it starts`() throws {
        let scene = try Scene()
        let outcome = try scene.run(["doctor"])
        #expect(outcome.exitStatus == 0)
        #expect(
            outcome.standardOutput.contains("note     memory: you can read the program, so your other processes"))
        #expect(
            outcome.standardOutput.contains("install the program as root with mode 0711: scripts/setup install"))
    }

    @Test(
        .needs(.root),
        arguments: [
            (0o755, "note     memory: you can read the program"),
            (0o711, "ok       memory: only root can read the program"),
        ])
    func `one that root owns and no user may read is not`(mode: Int, said: String) throws {
        let folder = try TemporaryFolder(), home = folder.path + "/home", program = folder.path + "/credmgr"
        #expect(chmod(folder.path, 0o755) == 0)
        try FileManager.default.createDirectory(
            atPath: home, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700, .ownerAccountID: 65_534])
        let copy = ["-m", String(mode, radix: 8), BuiltProgram.path, program]
        try #require(try ChildProcess("install", copy).run().exitStatus == 0)
        let outcome = try ChildProcess(
            "setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", program, "doctor"],
            environment: ["PATH": "/usr/bin:/bin", "HOME": home, "LC_ALL": "C.UTF-8", "CREDMGR_CACHE": "off"]
        ).run()
        #expect(outcome.standardOutput.contains(said), "\(outcome)")
    }

    @Test func `a configuration that cannot be read is a problem and stops nothing else`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        let file = URL(fileURLWithPath: scene.folder.path + "/config/credmgr/config.json")
        try Data(#"{"store": "cloud"}"#.utf8).write(to: file)
        #expect(try scene.problems().count == 1)
        #expect(try scene.problems().first?.contains("'store' must be one of") == true)
        let listed = try scene.run(["accounts", "--json"])
        #expect(listed.exitStatus == 0)
        #expect(ids.allSatisfy(listed.standardOutput.contains))
        #expect(listed.standardError.contains("this command ignores the file"))
        for words in [["help"], ["presets"], ["groups"], ["types"]] {
            #expect(try scene.run(words).exitStatus == 0, "\(words)")
        }
        #expect(try scene.run(["token"]).exitStatus == 2)
        try Data(#"{"rules": [{"directory": "/**", "type": "Nowhere"}]}"#.utf8).write(to: file)
        #expect(try scene.problems() == ["\(file.path):1: no account type 'Nowhere'"])
    }

    @Test func `one group of a newer program stops no other`() throws {
        let scene = try Scene()
        try scene.signIn(ids, in: scene.file)
        let other = scene.dataHome + "/credmgr/groups/later"
        try FileManager.default.createDirectory(
            atPath: other, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let format = other + "/format"
        try Data("99\n".utf8).write(to: URL(fileURLWithPath: format))
        #expect(chmod(format, 0o600) == 0)
        let listed = try scene.run(["accounts", "--json"])
        #expect(listed.exitStatus == 0)
        #expect(ids.allSatisfy(listed.standardOutput.contains))
        #expect(listed.standardError.contains("warning: the accounts of group later are left out"))
        #expect(try scene.run(["accounts", "--group", "later"]).exitStatus == 2)
        #expect(try scene.problems().contains { $0.contains("newer credmgr") })
    }

    @Test func `longer words are hidden first`() {
        var redaction = Redaction()
        redaction.hide("/home/ada", as: "~")
        redaction.hide("ada", as: "X")
        #expect(redaction.applied(to: "/home/ada/x ada é") == "~/x X é")
    }
}
