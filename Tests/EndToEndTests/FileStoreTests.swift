import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct `With the encrypted file` {
    @Test func `A passphrase of fewer than eight characters takes a word of its own`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let short = try home.write("seven77\n", to: "outside/short")
        let keyed = ["CREDMGR_PASSPHRASE_FILE": short]
        try tenant.define(at: home)
        // The first sign-in makes no file with it, and starts no browser.
        let words = ["login", "--type", DemoTenant.typeName, "--print-url"]
        let refused = try home.run(words, environment: keyed, exits: 2)
        #expect(refused.standardError.contains("has fewer than 8 characters"))
        #expect(
            refused.standardError.contains(
                "hint: credmgr store rekey --group default --weak-passphrase\n"))
        // The same if the sign-in is done in one go: the browser and the provider see no sign of it.
        let browser = try home.write(
            "#!/bin/sh\necho \"$1\" > '\(home.path)/outside/opened'\n", to: "outside/browser", mode: 0o700)
        let print = try home.write(
            "#!/bin/sh\necho run >> '\(home.path)/outside/runs'\necho seven77\n",
            to: "outside/print", mode: 0o700)
        for given in [keyed, ["CREDMGR_PASSPHRASE_COMMAND": print]] {
            let before = tenant.provider.counters
            let inOne = try home.run(
                ["login", "--type", DemoTenant.typeName], environment: given.merging(["BROWSER": browser]) { $1 },
                exits: 2)
            #expect(inOne.standardError.contains("has fewer than 8 characters"))
            #expect(
                inOne.standardError.contains(
                    "hint: credmgr store rekey --group \(DemoTenant.group) --weak-passphrase\n"))
            #expect(home.text(of: "outside/opened") == nil && tenant.provider.counters == before)
        }
        #expect(home.text(of: "outside/runs") == "run\n", "the command that gives it is run once")
        let rekey = ["store", "rekey", "--group", DemoTenant.group, "--passphrase-file", short]
        let again = try home.run(rekey, exits: 2)
        #expect(again.standardError.contains("--passphrase-file \(short) --weak-passphrase\n"))
        #expect(!home.files.keys.contains { $0.contains("store.v1") })
        try home.run(rekey + ["--weak-passphrase"])
        // A sign-in that waits for its redirect is kept in the group default, also if its type has another group.
        try home.run(["store", "rekey", "--group", "default", "--passphrase-file", short, "--weak-passphrase"])
        let url = try home.run(words, environment: keyed).line
        try home.run(["login", "--complete", try tenant.redirect(from: url)], environment: keyed)
        try home.run(["store", "lock"])
        try home.run(["token"], exits: 5)
        let token = try home.run(["token"], environment: keyed).line
        // An archive leaves the machine: it is warned of.
        let export = ["accounts", "export", home.path + "/outside/archive", "--passphrase-file", short]
        let exported = try home.run(export, environment: keyed)
        #expect(exported.standardError.contains("warning: the passphrase has fewer than 8 characters"))
        // Eight are enough, by people's count.
        let eight = try home.write("pässwört", to: "outside/eight")
        try home.run(
            ["store", "rekey", "--group", DemoTenant.group, "--passphrase-file", eight], environment: keyed)
        #expect(try home.run(["token"], environment: ["CREDMGR_PASSPHRASE_FILE": eight]).line == token)
    }

    @Test func `A sign-in that there is no room for is not finished, and waits`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        let redirect = try tenant.redirect(from: url)
        // Another file is in the place at which the room would be reserved.
        let journal = home.path + "/data/credmgr/groups/default/journal"
        try? FileManager.default.removeItem(atPath: journal)
        #expect(FileManager.default.createFile(atPath: journal, contents: nil))
        let refused = try home.run(["login", "--complete", redirect], exits: 5)
        #expect(refused.standardError.contains("cannot start a sign-in: not enough space"))
        try FileManager.default.removeItem(atPath: journal)
        try home.run(["login", "--complete", redirect])
        try home.run(["token"])
    }

    @Test func `A child of the command that prints the passphrase does not outlive it`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let path = home.path + "/outside/child"
        let command = try home.write(
            "#!/bin/sh\nsleep 1000 &\necho $! > '\(path)'\necho correct horse\n", to: "outside/command", mode: 0o700
        )
        let keyed = ["CREDMGR_PASSPHRASE_COMMAND": command]
        try tenant.define(at: home)
        try home.run(["login", "--type", DemoTenant.typeName, "--print-url"], environment: keyed)
        let child = try #require(home.text(of: "outside/child").flatMap { Int32($0.dropLast()) })
        // Its end is sent; that it has arrived may take a moment.
        for _ in 0..<6_000 where isAlive(child) { usleep(10_000) }
        #expect(!isAlive(child))
    }

    @Test func `A command for the passphrase that hangs is given up on at the time allowed, with exit 5`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let right = try home.write("correct horse\n", to: "outside/right")
        let hanging = try home.write("#!/bin/sh\nexec sleep 1000\n", to: "outside/hanging", mode: 0o700)
        let keyed = ["CREDMGR_PASSPHRASE_FILE": right], stuck = ["CREDMGR_PASSPHRASE_COMMAND": hanging]
        try tenant.define(at: home)
        let login = ["login", "--type", DemoTenant.typeName, "--print-url"]
        let url = try home.run(login, environment: keyed).line
        try home.run(["login", "--complete", try tenant.redirect(from: url)], environment: keyed)
        // The unlocked key may stay with the session.
        try home.run(["store", "lock"])
        for words in [["token"], ["token", "--force-refresh"], ["claims"], login] {
            let refused = try home.run(words + ["--timeout", "1"], environment: stuck, exits: 5).standardError
            #expect(refused.contains("(CREDMGR_PASSPHRASE_COMMAND): "), "\(words): \(refused)")
            // Without the option it gets ten.
            #expect(refused.contains("did not end within 1 s"), "\(words): \(refused)")
        }
        try home.run(["token", "--force-refresh"], environment: keyed)
        #expect(tenant.provider.counters.refreshes == 1)
    }

    /// Whether a process runs: a dead one that its parent has not waited for does not count.
    private func isAlive(_ process: Int32) -> Bool {
        let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        return status.map { !$0.contains(") Z ") } ?? false
    }

    @Test func `A command that prints the passphrase may ask on the terminal`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let command = try home.write(
            "#!/bin/sh\nprintf 'Which? ' >/dev/tty\nread -r line </dev/tty\necho \"$line\"\n",
            to: "outside/command",
            mode: 0o700)
        try tenant.define(at: home)
        let signIn = try home.onTerminal(
            ["login", "--type", DemoTenant.typeName, "--print-url"], [("Which? ", "correct horse\n")],
            environment: ["CREDMGR_PASSPHRASE_COMMAND": command])
        #expect(signIn.status == 0 && signIn.output.hasPrefix("http"), "\(signIn.text)")
        // Ctrl-C is the command's to take, and ends both.
        let interrupted = try home.onTerminal(
            ["login", "--type", DemoTenant.typeName, "--print-url"], [("Which? ", "\u{3}")],
            environment: ["CREDMGR_PASSPHRASE_COMMAND": command])
        #expect(interrupted.status == 130, "\(interrupted.text)")
    }

    @Test func `A data folder that others can replace is said to be one`() throws {
        let home = try Home()
        try home.run(["store", "rekey", "--key-file"])
        let doctor = ["doctor", "--json"]
        func said() throws -> String {
            try ChildProcess(Home.program, doctor, environment: home.environment).run().standardOutput
        }
        #expect(!(try said().contains("other users can replace")))
        chmod(home.path + "/data", 0o777)
        #expect(try said().contains("other users can replace"))
        chmod(home.path + "/data", 0o1777)
        #expect(!(try said().contains("other users can replace")))
    }

    @Test func `A wrong passphrase is exit 5 and loses nothing`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let right = try home.write("correct horse\n", to: "outside/right")
        let wrong = try home.write("battery staple\n", to: "outside/wrong")
        let loose = try home.write("correct horse\n", to: "outside/loose", mode: 0o644)
        let keyed = ["CREDMGR_PASSPHRASE_FILE": right]
        try tenant.define(at: home)
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"], environment: keyed).line
        try home.run(["login", "--complete", try tenant.redirect(from: url)], environment: keyed)
        #expect(!home.files.keys.contains { $0.hasSuffix("file-store.key") })
        let token = try home.run(["token"], environment: keyed).line
        // The unlocked key may stay with the session; a new session finds this.
        try home.run(["store", "lock"])
        let before = home.files.filter { $0.key.contains("store.v1") }
        for environment in [
            ["CREDMGR_PASSPHRASE_FILE": wrong], ["CREDMGR_PASSPHRASE_FILE": home.path + "/nowhere"],
            ["CREDMGR_PASSPHRASE_COMMAND": "false"], [:],
            ["CREDMGR_PASSPHRASE_COMMAND": "/nowhere/program"], ["CREDMGR_PASSPHRASE_COMMAND": "printf battery"],
        ] {
            try home.run(["token"], environment: environment, exits: 5)
            try home.run(["token", "--force-refresh"], environment: environment, exits: 5)
            try home.run(["logout", "--all", "--yes"], environment: environment, exits: 5)
            // Before a user has signed in in vain.
            let words = ["login", "--type", DemoTenant.typeName]
            let login = try home.run(words, environment: environment, exits: 5)
            #expect(!login.standardError.lowercased().contains("open this address"))
            try home.run(words + ["--print-url"], environment: environment, exits: 5)
        }
        // A secret that others can read is not a secret, even if a variable names the file: a fault of the
        // configuration.
        let refused = try home.run(["token"], environment: ["CREDMGR_PASSPHRASE_FILE": loose], exits: 2)
        #expect(refused.standardError.contains("CREDMGR_PASSPHRASE_FILE"))
        #expect(refused.standardError.contains("hint: chmod 600 \(loose)"))
        #expect(home.files.filter { $0.key.contains("store.v1") } == before)
        #expect(try home.json(["accounts", "--json"]).array?.count == 1)
        #expect(try home.run(["token"], environment: ["CREDMGR_PASSPHRASE_COMMAND": "cat \(right)"]).line == token)
        // With the cache off, no cache keeps the key for a call that has no passphrase, until you unlock it on
        // purpose.
        try home.run(["token"], exits: 5)
        try home.run(["store", "unlock"], environment: keyed)
        #expect(try home.run(["token"]).line == token)
        try home.run(["token", "--force-refresh"], environment: keyed)
        #expect(tenant.provider.counters.refreshes == 1)
        try home.run(["store", "lock"])
    }

    @Test func `Without a bus the file is taken, said once, and its protection told`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        let login = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"])
        #expect(login.standardError.isEmpty)
        let done = try home.run(["login", "--complete", try tenant.redirect(from: login.line)])
        #expect(done.standardError.components(separatedBy: "is stored in the encrypted file: ").count == 2)
        let quiet = try home.run(["token"])
        #expect(quiet.standardError.isEmpty)
        let status = try home.json(["store", "status", "--json"]).array
        let file = status?.first { $0.object?["store"]?.string == "file" }?.object
        #expect(file?["state"]?.string == "usable")
        #expect(file?["accounts"]?.integer == 1)
        let group = file?["groups"]?.array?.first?.object
        #expect(group?["does_not_protect_against"]?.string?.contains("both files") == true)
        #expect(
            status?.first { $0.object?["store"]?.string == "secret-service" }?.object?["state"]?.string
                == "unavailable")
    }

    @Test func `The Secret Service by name, if none is running, is exit 5`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        for words in [["--store", "secret-service"], []] {
            let environment = words.isEmpty ? ["CREDMGR_STORE": "secret-service"] : [:]
            try home.run(
                ["login", "--type", DemoTenant.typeName, "--print-url"] + words, environment: environment, exits: 5)
        }
        #expect(tenant.provider.counters.authorizeRequests == 0)
    }

    @Test func `Every file and folder is its owner's alone`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        try home.run(["token", "--force-refresh"])
        let manager = FileManager.default
        for folder in ["data/credmgr", "config/credmgr"] {
            for case let name as String in manager.enumerator(atPath: home.path + "/" + folder) ?? .init() {
                let attributes = try manager.attributesOfItem(atPath: "\(home.path)/\(folder)/\(name)")
                let mode = (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
                #expect(mode & 0o077 == 0, "\(folder)/\(name)")
            }
        }
    }

    @Test func `A damaged record is reported, and signing in again replaces it`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        let record = "data/credmgr/groups/\(DemoTenant.group)/accounts/\(id)"
        try home.write("{\"version\": [", to: record)
        let listed = try home.run(["accounts", "--json"], exits: 5)
        #expect(listed.standardError.contains("the record \(home.path)/\(record) is damaged"))
        try home.run(["token", "--type", DemoTenant.typeName], exits: 5)
        #expect(try tenant.signIn(at: home) == id)
        #expect(try home.json(["accounts", "--json"]).array?.map { $0.object?["id"]?.string } == [id])
        #expect(home.files.keys.contains { $0.contains("/.\(id).corrupt-") })
        try home.run(["token", "--type", DemoTenant.typeName])
    }

    @Test func `A sign-in over a damaged record reports no other default if it is the default itself`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let alice = try tenant.signIn(at: home), bob = try tenant.signIn(DemoTenant.bob, at: home)
        try home.run(["use", alice])
        try home.run(["label", alice, "ally"])
        for (id, user) in [(alice, DemoTenant.alice), (bob, DemoTenant.bob)] {
            try home.write("{", to: "data/credmgr/groups/\(DemoTenant.group)/accounts/\(id)")
            let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
            let done = try home.run(["login", "--complete", try tenant.redirect(from: url, user: user)])
            #expect(done.line.hasPrefix(id))
            #expect(done.standardError.contains("stays ally; to make this account the default: ") == (id == bob))
        }
    }

    @Test func `An index that is lost, cut or behind costs no account`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        let index = "data/credmgr/groups/\(DemoTenant.group)/index"
        let token = try home.run(["token", "--account", id]).line
        let whole = try #require(home.text(of: index))
        for text in ["", "not an index", String(whole.dropLast(3)), String(whole.prefix(30)), whole + "-\t\(id)\n"]
        {
            try home.write(text, to: index)
            #expect(try home.run(["token", "--account", id]).line == token)
            #expect(try home.json(["accounts", "--json"]).array?.first?.object?["id"]?.string == id)
            #expect(try home.json(["accounts", "--json"]).array?.first?.object?["default"]?.bool == true)
        }
    }

    @Test func `A record of another account or group gives no token`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        let folder = "data/credmgr/groups/\(DemoTenant.group)/accounts/"
        let record = try #require(home.files.first { $0.key.hasSuffix(folder + id) }?.value)
        let other = "00000000000000ff"
        try record.write(to: URL(fileURLWithPath: home.path + "/" + folder + other))
        #expect(chmod(home.path + "/" + folder + other, 0o600) == 0)
        #expect(try home.run(["accounts"]).standardError.contains("it belongs to account \(id)"))
        let refused = try home.run(["token", "--type", DemoTenant.typeName, "--account", other], exits: 5)
        #expect(refused.standardError.contains("it belongs to account \(id)"))
        try home.run(["token", "--type", DemoTenant.typeName, "--account", id])
        let foreign = home.path + "/data/credmgr/groups/other"
        try FileManager.default.copyItem(
            atPath: home.path + "/data/credmgr/groups/\(DemoTenant.group)", toPath: foreign)
        let swapped = try home.run(["accounts", "--group", "other"], exits: 5)
        #expect(swapped.standardError.contains("it belongs to group \(DemoTenant.group)"))
    }

    @Test func `An account in the file store signs in again although new ones go to another store`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        let words = ["login", "--account", id, "--print-url"], elsewhere = ["CREDMGR_STORE": "secret-service"]
        let url = try home.run(words, environment: elsewhere).line
        let done = try home.run(["login", "--complete", try tenant.redirect(from: url)], environment: elsewhere)
        #expect(done.line.hasPrefix(id))
    }

    @Test(arguments: [false, true])
    func `An account with a lost key can sign in again or out`(isAnothersThere: Bool) throws {
        let home = try Home(), tenant = try DemoTenant()
        let alice = try tenant.signIn(at: home), bob = try tenant.signIn(DemoTenant.bob, at: home)
        let folder = home.path + "/data/credmgr/groups/\(DemoTenant.group)/"
        for name in ["store.v1", "store.v1.prev"] { try? FileManager.default.removeItem(atPath: folder + name) }
        if isAnothersThere {
            // credmgr checks everything before it changes anything, so this call makes no change.
            try home.run(["store", "rekey", "--key-file", "--group", DemoTenant.group], exits: 5)
            #expect(!FileManager.default.fileExists(atPath: folder + "store.v1"))
            try home.run(["store", "rekey", "--key-file", "--group", "other"])
            try FileManager.default.copyItem(
                atPath: home.path + "/data/credmgr/groups/other/store.v1", toPath: folder + "store.v1")
        }
        #expect(FileManager.default.fileExists(atPath: folder + "store.v1") == isAnothersThere)
        let words = ["token", "--type", DemoTenant.typeName, "--force-refresh", "--account"]
        let refused = try home.run(words + [bob], exits: 5).standardError
        let login = "credmgr login --account \(bob)"
        #expect(refused.contains("or sign in again: \(login)"))
        let doctor = try ChildProcess(Home.program, ["doctor"], environment: home.environment).run()
        #expect(doctor.exitStatus == 1)
        #expect(doctor.standardOutput.contains("PROBLEM  registry \(DemoTenant.group): the secret of \(bob)"))
        #expect(
            doctor.standardOutput.contains(login)
                && !doctor.standardOutput.contains("the secret of \(bob) in the keyring"))
        #expect(try tenant.signIn(DemoTenant.bob, at: home) == bob)
        try home.run(words + [bob])
        try home.run(words + [alice], exits: 5)
        try home.run(["logout", "--account", alice])
        #expect(try home.json(["accounts", "--json"]).array?.map { $0.object?["id"]?.string } == [bob])
        try home.run(["logout", "--all", "--yes"])
    }

    @Test func `The hint of a damaged store works after the store is moved away`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        let store = "data/credmgr/groups/\(DemoTenant.group)/store.v1"
        try? FileManager.default.removeItem(atPath: home.path + "/" + store + ".prev")
        try home.write("CREDMGR1", to: store)
        for words in [["token", "--force-refresh"], ["login", "--type", DemoTenant.typeName, "--print-url"]] {
            #expect(
                try home.run(words, exits: 5).standardError.contains("move it away and sign in again"), "\(words)")
        }
        try FileManager.default.moveItem(atPath: home.path + "/" + store, toPath: home.path + "/aside")
        #expect(try tenant.signIn(at: home) == id)
        try home.run(["token", "--force-refresh"])
    }

    @Test func `A damaged store is exit 5 or its last good generation, never no account`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        let folder = "data/credmgr/groups/\(DemoTenant.group)/"
        for name in ["store.v1", "store.v1.prev"] where home.text(of: folder + name) != nil {
            try home.write("not a store", to: folder + name)
        }
        try home.run(["token"], exits: 5)
        #expect(try home.json(["accounts", "--json"]).array?.first?.object?["id"]?.string == id)
    }
}
