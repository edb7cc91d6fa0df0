import Foundation
import StrictJSON
import TestSupport
import Testing

/// Records and the index of their names that disagree, or hold data that credmgr never wrote. Each call gives the
/// right account or a documented exit code, never another account's token.
@Suite struct `Records that do not agree with their index` {
    private static let folder = "data/credmgr/groups/\(DemoTenant.group)/"
    private let home: Home
    private let tenant: DemoTenant
    private let alice: String
    private let bob: String

    init() throws {
        home = try Home(["CREDMGR_CACHE": "off"])
        tenant = try DemoTenant()
        alice = try tenant.signIn(at: home)
        bob = try tenant.signIn(DemoTenant.bob, at: home)
    }

    private func found(_ words: [String] = []) throws -> String? {
        try home.json(["token", "--format", "json"] + words).object?["account"]?.object?["id"]?.string
    }

    /// It prints its findings, and fails.
    private func doctor(_ words: [String] = []) throws -> ChildProcess.Outcome {
        try ChildProcess(Home.program, ["doctor"] + words, environment: home.environment).run()
    }

    private func damage(_ id: String) throws {
        let file = home.path + "/" + Self.folder + "accounts/" + id
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
        try handle.truncate(atOffset: 300)
        try handle.close()
    }

    @Test
    func `an index from a backup gives no account the name of another, or the place of another as the default`()
        throws
    {
        let index = Self.folder + "index"
        try home.run(["label", alice, "work"])
        let older = try #require(home.text(of: index))
        try home.run(["label", alice, "ally"])
        try home.run(["label", bob, "work"])
        try home.write(older, to: index)
        #expect(try found(["--account", "work"]) == bob)
        try home.write(older, to: index)
        #expect(try home.run(["logout", "--account", "work", "--yes"]).standardError.contains(bob))
        #expect(try home.json(["accounts", "--json"]).array?.count == 1)

        bobIsBack: do {
            let bob = try tenant.signIn(DemoTenant.bob, at: home)
            let before = try #require(home.text(of: index))
            try home.run(["use", bob])
            try home.write(before, to: index)
            #expect(try found() == bob)
        }
    }

    @Test(arguments: [nil, ["username", "name"], ["username"]])
    func `exchanged metadata gives no account another's token`(members: [String]?) throws {
        func parts(_ id: String) throws -> (file: URL, facts: JSONObject, rest: Data) {
            let file = URL(fileURLWithPath: home.path + "/" + Self.folder + "accounts/" + id)
            let bytes = try Data(contentsOf: file), end = try #require(bytes.firstIndex(of: 0x0A))
            return (file, try #require(try JSONValue.parse(Array(bytes[..<end])).object), bytes[end...])
        }
        let his = try parts(bob), hers = try parts(alice)
        for (own, other, id) in [(his, hers, bob), (hers, his, alice)] {
            let others = try #require(other.facts["account"]?.object)
            var facts = own.facts, account = members == nil ? others : try #require(facts["account"]?.object)
            for member in members ?? [] { account[member] = others[member] }
            account["id"] = .string(id)
            facts["account"] = .object(account)
            try (Data(JSONValue.object(facts).bytes()) + own.rest).write(to: own.file)
        }
        try FileManager.default.removeItem(atPath: home.path + "/" + Self.folder + "index")
        for name in [DemoTenant.alice.email, DemoTenant.bob.email] {
            let refused = try home.run(["token", "--account", name], exits: 5).standardError
            #expect(refused.hasSuffix("hint: credmgr doctor --fix\n"), "\(refused)")
        }
        #expect(try doctor().exitStatus == 1)
        let fixed = try doctor(["--fix", "--yes"])
        #expect(fixed.exitStatus == 0, "\(fixed.standardOutput)")
        #expect(try found(["--account", DemoTenant.alice.email]) == alice)
        #expect(try found(["--account", DemoTenant.bob.email]) == bob)
    }

    @Test func `a list of the accounts fixes an outdated index`() throws {
        let index = Self.folder + "index"
        let before = try #require(home.text(of: index))
        try home.run(["label", bob, "robert"])
        let behind = home.text(of: index)
        try home.write(before, to: index)
        try home.run(["accounts"])
        #expect(home.text(of: index) != before && behind != before)
    }

    @Test func `a file that is no account's record is none`() throws {
        let record = try #require(home.text(of: Self.folder + "accounts/" + bob))
        try home.write(record, to: Self.folder + "accounts/\(bob).bak")
        #expect(try found() == alice)
        #expect(try home.run(["accounts"]).standardError.isEmpty)
    }

    @Test func `one account is made the default though the record of the other is damaged`() throws {
        try damage(alice)
        try home.run(["use", bob])
        #expect(try found() == bob)
    }

    @Test func `mending a damaged record keeps its id, its label and its place as the default`() throws {
        try home.run(["label", alice, "ally"])
        try damage(alice)
        let damaged = try home.run(["token"], exits: 5)
        #expect(damaged.standardError.contains("hint: credmgr doctor --fix"))
        #expect(try doctor(["--fix", "--yes"]).exitStatus == 1)
        let asked = try home.run(["token"], exits: 4)
        #expect(asked.standardError.contains("credmgr login --account \(alice)"), "\(asked.standardError)")
        try home.run(["token", "--account", "ally"], exits: 4)
        #expect(try tenant.signIn(at: home) == alice)
        #expect(try found() == alice)
        #expect(try found(["--account", "ally"]) == alice)
    }

    @Test func `a sign-in that waits for its store is not no account`() throws {
        let lock = home.path + "/" + Self.folder + "locks/new-account.lock"
        let file = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(file >= 0 && flock(file, LOCK_EX) == 0)
        let kept = try home.run(["logout", "--account", bob, "--yes"])
        #expect(kept.standardError.contains(bob))
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        let redirect = try tenant.redirect(from: url, user: DemoTenant.bob)
        let signedIn = try home.run(["login", "--complete", "-", "--timeout", "1"], input: redirect + "\n")
        let id = String(signedIn.line.prefix { $0 != "\t" })
        for words in [["token", "--account", id], ["token", "--account", DemoTenant.bob.email]] {
            let refused = try home.run(words + ["--timeout", "1"], exits: 5)
            #expect(refused.standardError.contains("the tokens are in the journal"), "\(refused.standardError)")
        }
        #expect(try home.run(["accounts"]).standardError.contains("(\(id)) has signed in"))
        #expect(try doctor().standardOutput.contains("(\(id)) has signed in"))
        close(file)
        #expect(try found(["--account", DemoTenant.bob.email]) == id)
    }

    @Test func `accounts of an older version are not taken up while the keyring that has them is away`() throws {
        let older = try Home(), file = "data/credmgr/groups/default/accounts.json"
        try older.write(
            #"{"version": 1, "accounts": [{"id": "a", "store": "secret-service"}], "defaults": {}}"#, to: file,
            mode: 0o600)
        let done = try ChildProcess(Home.program, ["doctor", "--fix", "--yes"], environment: older.environment)
            .run()
        #expect(done.exitStatus == 1 && older.text(of: file) != nil, "\(done.standardOutput)")
        #expect(
            try older.run(["accounts"], exits: 2).standardError.contains("an older credmgr has kept the accounts"))
    }

    @Test func `the command that a missing format is mended by works as it is pasted`() throws {
        let format = home.path + "/" + Self.folder + "format"
        try FileManager.default.removeItem(atPath: format)
        let refused = try home.run(["token"], exits: 5).standardError
        let hint = try #require(refused.split(separator: "\n").first { $0.contains("hint: ") })
        let command = String(hint.components(separatedBy: "hint: ")[1])
        #expect(try ChildProcess("/bin/sh", ["-c", command], environment: home.environment).run().exitStatus == 0)
        #expect(try found() == alice)
    }

    @Test func `one group that is locked hides no other from the status`() throws {
        try tenant.define("First", at: home)
        try home.run(["types", "set", "First", "keychain_group=a-first"])
        try tenant.signIn(at: home, type: "First")
        try home.run(["store", "rekey", "--passphrase-file", "-", "--group", "a-first"], input: "a passphrase\n")
        try home.run(["store", "lock"])
        let file = try home.json(["store", "status", "--json"]).array?
            .first { $0.object?["store"]?.string == "file" }?.object
        let groups = file?["groups"]?.array?.compactMap(\.object) ?? []
        #expect(groups.map { $0["group"]?.string } == ["a-first", DemoTenant.group])
        #expect(groups.map { $0["state"]?.string } == ["locked", "usable"])
    }
}
