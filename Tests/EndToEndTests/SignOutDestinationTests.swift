import Foundation
import StrictJSON
import TestSupport
import Testing

/// A sign-out sends tokens to the account's own provider only.
@Suite struct SignOutDestinationTests {
    private let home: Home
    private let provider: ScriptedProvider
    private let other: ScriptedProvider

    init() throws {
        home = try Home()
        provider = try ScriptedProvider { $0.rotation = .keeps }
        other = try ScriptedProvider()
        try define([:])
        try provider.signIn(at: home)
    }

    /// Defines the type, with endpoints of the other server in place of its own.
    private func define(_ members: [String: String]) throws {
        var definition = JSONObject([
            "issuer": .string(provider.base), "client_id": "app", "scope": "openid",
            "revocation_endpoint": .string(provider.base + "/revoke"),
        ])
        for (name, path) in members { definition[name] = .string(other.base + path) }
        let text = String(decoding: JSONValue.object(definition).bytes(), as: UTF8.self)
        let file = try home.write(text, to: "Work.json")
        try home.run(["types", "import", file, "--name", "Work", "--force"])
    }

    private var accounts: [String] {
        get throws {
            (try home.json(["accounts", "--json"]).array ?? []).compactMap { $0.object?["id"]?.string }
        }
    }

    @Test(arguments: [true, false])
    func `logout --revoke sends no token to the server of a replaced definition`(isAll: Bool) throws {
        let id = try #require(try accounts.first)
        try define(["revocation_endpoint": "/revoke"])
        let named = isAll ? ["--all", "--yes"] : ["--account", id]
        let refused = try home.run(["logout", "--revoke"] + named, exits: 3)
        #expect(refused.standardError.contains("account type Work does not see account \(id)"))
        #expect(other.forms.isEmpty && !other.paths.contains("/revoke"))
        #expect(try accounts == [id])
        try home.run(["logout", "--account", id, "--revoke", "--force"])
        #expect(other.forms.isEmpty && !other.paths.contains("/revoke"))
        #expect(try accounts.isEmpty)
    }

    @Test func `logout --browser opens no page of an unconfirmed definition`() throws {
        let id = try #require(try accounts.first)
        // An import counts from its second on: that of the sign-in has to be over.
        let signedIn = time(nil)
        while time(nil) == signedIn { usleep(10_000) }
        try define(["end_session_endpoint": "/end"])
        let browser = try home.write("#!/bin/sh\necho \"$1\" >>'\(home.path)/opened'\n", to: "browser", mode: 0o700)
        let refused = try home.run(
            ["logout", "--account", id, "--browser"], environment: ["BROWSER": browser], exits: 7)
        #expect(refused.standardError.contains("hint: credmgr types trust Work\n"), "\(refused.standardError)")
        #expect(home.text(of: "opened") == nil)
        #expect(try accounts == [id])
        let forced = try home.run(
            ["logout", "--account", id, "--browser", "--force"], environment: ["BROWSER": browser])
        #expect(forced.standardError.contains("hint: credmgr types trust Work\n"), "\(forced.standardError)")
        #expect(home.text(of: "opened") == nil)
        #expect(other.paths.isEmpty)
        #expect(try accounts.isEmpty)
    }

    @Test(arguments: ["edit", "B2C_1_edit_profile"])
    func `logout --force forgets a policy of an account whose definition was replaced`(policy: String) throws {
        let home = try Home(), tenant = try DemoTenant(), other = try DemoTenant()
        try tenant.definePolicies(at: home)
        let id = try tenant.signIn(at: home, policy: "sign-in")
        #expect(try tenant.signIn(at: home, policy: "edit") == id)
        try other.definePolicies(at: home)
        let words = ["logout", "--account", id, "--policy", policy, "--revoke"]
        let refused = try home.run(words, exits: 3)
        #expect(refused.standardError.contains("account type Tasks does not see account \(id)"))
        let outcome = try home.run(words + ["--force"])
        let forced = outcome.standardError
        #expect(forced.contains("the tokens of \(id) were not revoked: "), "\(forced)")
        let left = try home.json(["accounts", "--json"]).array ?? []
        #expect(left.count == 1)
        #expect(left.first?.object?["policies"] == ["b2c_1_sign_in"])
        #expect(other.provider.counters.tokenRequests == 0)
    }
}
