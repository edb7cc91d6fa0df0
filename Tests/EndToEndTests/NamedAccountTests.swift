import Foundation
import StrictJSON
import TestSupport
import Testing

/// What is said of one account holds for that one, and what is gone is not taken for what never was.
@Suite struct `Accounts that are named` {
    private let home: Home
    private let tenant: DemoTenant

    init() throws { (home, tenant) = (try Home(), try DemoTenant()) }

    private func file(of account: String, in group: String = DemoTenant.group) -> String {
        home.path + "/data/credmgr/groups/\(group)/accounts/\(account)"
    }

    @Test func `Not all are forgotten where one is named`() throws {
        let alice = try tenant.signIn(at: home)
        let bob = try tenant.signIn(DemoTenant.bob, at: home)
        for name in [alice, "nobody@example.com"] {
            let said = try home.run(["logout", "--all", "--yes", "--account", name], exits: 2).standardError
            #expect(said.contains("--all and --account cannot go together"))
        }
        for id in [alice, bob] { #expect(FileManager.default.fileExists(atPath: file(of: id))) }
    }

    @Test func `A name whose record is lost is not one that nobody has`() throws {
        try tenant.signIn(at: home)
        let bob = try tenant.signIn(DemoTenant.bob, at: home)
        try FileManager.default.removeItem(atPath: file(of: bob))
        for words in [["--type", DemoTenant.typeName], [], ["--type", DemoTenant.typeName]] {
            let said = try home.run(["token", "--account", DemoTenant.bob.email] + words, exits: 5).standardError
            #expect(said.contains("the record of account \(bob) is missing"), "\(words)")
        }
        // An account that is not lost is nobody's loss.
        try home.run(["token", "--account", DemoTenant.alice.email, "--type", DemoTenant.typeName])
    }

    @Test func `A damaged record takes nothing from an account of another group`() throws {
        let alice = try tenant.signIn(at: home)
        try home.run(["types", "set", DemoTenant.typeName, "keychain_group=other"])
        let bob = try tenant.signIn(DemoTenant.bob, at: home)
        let record = try #require(home.text(of: "data/credmgr/groups/\(DemoTenant.group)/accounts/\(alice)"))
        try home.write(
            String(record.prefix(record.count / 2)), to: "data/credmgr/groups/\(DemoTenant.group)/accounts/\(alice)"
        )
        let listed = try #require(try home.json(["accounts", "--json"]).array)
        #expect(listed.compactMap { $0.object?["id"]?.string } == [bob])
        #expect(listed.first?.object?["default"] == true)
    }

    @Test func `A client's secret goes with the type`() throws {
        let provider = try ScriptedProvider()
        let secret = try home.write("hush-hush-of-the-client\n", to: "secret")
        let add = [
            "types", "add", "Machine", "--offline", "--token-endpoint", provider.base + "/token", "--client-id",
            "c",
            "--flow", "client_credentials",
        ]
        try home.run(add + ["--client-secret-file", secret])
        try home.run(["login", "--type", "Machine"])
        let definition = try #require(home.text(of: "config/credmgr/types/Machine.json"))
        let removed = try home.run(["types", "remove", "Machine"]).standardError
        #expect(!removed.contains("may still be in"))
        try home.write(definition, to: "config/credmgr/types/Machine.json")
        // Without a bus nobody knows whether the Secret Service has one.
        try home.run(["login", "--type", "Machine"], exits: 5)
    }
}
