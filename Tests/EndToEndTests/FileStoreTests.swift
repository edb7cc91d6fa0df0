import Foundation
import StrictJSON
import Testing

@Suite struct `With the encrypted file` {
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
        // The unlocked key may stay with the session; this is what a new session finds.
        try home.run(["store", "lock"])
        let before = home.files.filter { $0.key.contains("store.v1") }
        for environment in [
            ["CREDMGR_PASSPHRASE_FILE": wrong], ["CREDMGR_PASSPHRASE_FILE": loose],
            ["CREDMGR_PASSPHRASE_FILE": home.path + "/nowhere"], ["CREDMGR_PASSPHRASE_COMMAND": "false"], [:],
            ["CREDMGR_PASSPHRASE_COMMAND": "/nowhere/program"], ["CREDMGR_PASSPHRASE_COMMAND": "printf battery"],
        ] {
            try home.run(["token"], environment: environment, exits: 5)
            try home.run(["token", "--force-refresh"], environment: environment, exits: 5)
            try home.run(["logout", "--all", "--yes"], environment: environment, exits: 5)
            // Before a person has signed in for nothing.
            let words = ["login", "--type", DemoTenant.typeName]
            let login = try home.run(words, environment: environment, exits: 5)
            #expect(!login.standardError.contains("Open this address"))
            try home.run(words + ["--print-url"], environment: environment, exits: 5)
        }
        #expect(home.files.filter { $0.key.contains("store.v1") } == before)
        #expect(try home.json(["accounts", "--json"]).array?.count == 1)
        #expect(try home.run(["token"], environment: ["CREDMGR_PASSPHRASE_COMMAND": "cat \(right)"]).line == token)
        // With the cache off nothing keeps the key for a call that has no passphrase, until it is unlocked on purpose.
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
        #expect(done.standardError.components(separatedBy: "encrypted file").count == 2)
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

    @Test func `The Secret Service by name, where there is none, is exit 5`() throws {
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

    @Test func `A damaged registry is set aside, reported, and rebuilt from the store`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        let registry = "data/credmgr/groups/\(DemoTenant.group)/accounts.json"
        try home.write("{\"accounts\": [", to: registry)
        let outcome = try home.run(["accounts", "--json"])
        #expect(outcome.standardError.contains("corrupt"))
        #expect(home.files.keys.contains { $0.contains("accounts.json.corrupt-") })
        let accounts = try JSONValue.parse(Array(outcome.standardOutput.utf8)).array
        #expect(accounts?.first?.object?["id"]?.string == id)
        try home.run(["token", "--type", DemoTenant.typeName])
    }

    @Test func `A registry that waits for a locked file says so, and not that there is no keyring`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let keyed = ["CREDMGR_PASSPHRASE_FILE": try home.write("correct horse\n", to: "outside/passphrase")]
        try tenant.define(at: home)
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"], environment: keyed).line
        try home.run(["login", "--complete", try tenant.redirect(from: url)], environment: keyed)
        try home.run(["store", "lock"])
        try home.write("{", to: "data/credmgr/groups/\(DemoTenant.group)/accounts.json")
        for words in [["accounts"], ["token"]] {
            #expect(try home.run(words, exits: 5).standardError.contains("hint: run: credmgr store unlock"))
        }
        try home.run(["token"], environment: keyed)
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
