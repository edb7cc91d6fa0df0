import CredentialCore
import DemoProvider
import Glibc
import StrictJSON
import TestSupport
import Testing

/// A sign-in is for the person it was asked for.
@Suite struct `Whom a sign-in is for` {
    private let home: Home
    private let tenant: DemoTenant

    init() throws {
        home = try Home(["CREDMGR_STORE": "file"])
        tenant = try DemoTenant()
        try tenant.definePolicies(at: home, ["redirect_uri": "http://localhost"])
    }

    private func login(_ words: [String], as user: DemoUser, exits status: Int32 = 0) throws -> ChildProcess.Outcome
    {
        try home.run(words, environment: try Browser(in: home, user).environment, exits: status)
    }

    /// The words of the hint of an error.
    private func hint(_ outcome: ChildProcess.Outcome) throws -> [String] {
        let line = try #require(
            outcome.standardError.split(separator: "\n").first { $0.hasPrefix("credmgr: hint: credmgr ") })
        return line.dropFirst("credmgr: hint: credmgr ".count).split(separator: " ").map(String.init)
    }

    @Test func `The hint of a dead account signs only its user in again`() throws {
        let first = try login(["login", "--type", "Tasks"], as: DemoTenant.alice).line
        let alice = String(first.prefix { $0 != "\t" })
        let second = try login(["login", "--type", "Tasks"], as: DemoTenant.bob).line
        let bob = String(second.prefix { $0 != "\t" })
        tenant.provider.revokeRefreshTokens()
        let dead = try home.run(["token", "--type", "Tasks", "--account", alice, "--force-refresh"], exits: 4)
        let words = try hint(dead)
        #expect(words == ["login", "--account", alice, "--policy", "b2c_1_sign_in"])
        let before = try home.json(["accounts", "--json"])

        let refused = try login(words, as: DemoTenant.bob, exits: 7)
        #expect(refused.standardError.contains("bob@example.com has signed in, not alice@example.com (\(alice))"))
        #expect(try hint(refused) == ["login", "--account", alice, "--prompt", "login"])
        #expect(try home.json(["accounts", "--json"]) == before)
        try home.run(["token", "--account", alice, "--force-refresh"], exits: 4)
        try home.run(["token", "--account", bob, "--force-refresh"], exits: 4)

        let browser = try Browser(in: home, DemoTenant.alice)
        try home.run(words, environment: browser.environment)
        #expect(browser.receivedAddress.contains("login_hint=alice%40example.com"))
        try home.run(["token", "--account", alice, "--force-refresh"])
        #expect(try home.json(["accounts", "--json"]).array?.count == 2)
    }

    @Test func `Of several dead accounts each has its own hint, which signs its person in`() throws {
        func id(_ outcome: ChildProcess.Outcome) -> String { String(outcome.line.prefix { $0 != "\t" }) }
        let alice = id(try login(["login", "--type", "Tasks"], as: DemoTenant.alice))
        let bob = id(try login(["login", "--type", "Tasks"], as: DemoTenant.bob))
        tenant.provider.revokeRefreshTokens()
        let words = ["refresh", "--all", "--min-valid", "24h"]
        let dead = try home.run(words, exits: 4)
        let hints = dead.standardError.split(separator: "\n").filter { $0.hasPrefix("credmgr: hint: ") }
        let wanted = [alice, bob].map { "credmgr: hint: credmgr login --account \($0) --policy b2c_1_sign_in" }
        #expect(hints.map(String.init).sorted() == wanted.sorted())
        for (hint, person) in zip(wanted, [DemoTenant.alice, DemoTenant.bob]) {
            let login = hint.dropFirst("credmgr: hint: credmgr ".count).split(separator: " ").map(String.init)
            _ = try self.login(login, as: person)
        }
        try home.run(words)
    }

    @Test func `Both steps of a sign-in know the expected user`() throws {
        let alice = try login(["login", "--type", "Tasks"], as: DemoTenant.alice).line.prefix { $0 != "\t" }
        let url = try home.run(["login", "--account", String(alice), "--print-url"]).line
        #expect(url.contains("login_hint=alice%40example.com"))
        let redirect = try tenant.redirect(from: url, user: DemoTenant.bob)
        let refused = try home.run(["login", "--complete", redirect], exits: 7)
        #expect(refused.standardError.contains("bob@example.com has signed in, not alice@example.com"))
        #expect(try home.json(["accounts", "--json"]).array?.count == 1)
    }

    @Test func `After a sign-in by a different user, the next attempt uses the same policy`() throws {
        let first = try login(["login", "--type", "Tasks"], as: DemoTenant.alice).line
        let alice = String(first.prefix { $0 != "\t" })
        let asked = ["login", "--account", alice, "--policy", "edit", "--param", "ui_locales=de"]
        let wanted = [
            "login", "--account", alice, "--policy", "b2c_1_edit_profile", "--prompt", "login", "--param",
            "ui_locales=de",
        ]
        // The option that the provider was given did not help; asked twice it is refused.
        for more in [[], ["--prompt", "select_account"]] {
            #expect(try hint(login(asked + more, as: DemoTenant.bob, exits: 7)) == wanted)
            let url = try home.run(asked + more + ["--print-url"]).line
            let redirect = try tenant.redirect(from: url, user: DemoTenant.bob)
            #expect(try hint(home.run(["login", "--complete", redirect], exits: 7)) == wanted)
        }
        _ = try login(wanted, as: DemoTenant.alice)
        let account = try home.json(["accounts", "--json"]).array?.first?.object
        #expect(account?["policies"] == ["b2c_1_edit_profile", "b2c_1_sign_in"])
    }

    @Test func `An account is found in its own group, and by its name`() throws {
        let words = ["login", "--type", "Tasks", "--group", "Elsewhere"]
        let alice = try login(words, as: DemoTenant.alice).line.prefix { $0 != "\t" }
        tenant.provider.revokeRefreshTokens()
        let dead = try home.run(["token", "--account", String(alice), "--force-refresh"], exits: 4)
        #expect(try hint(dead).suffix(2) == ["--group", "Elsewhere"])
        _ = try login(try hint(dead), as: DemoTenant.alice)
        _ = try login(["login", "--account", "alice@example.com"], as: DemoTenant.alice)
        let accounts = try #require(home.json(["accounts", "--json"]).array)
        #expect(accounts.map { $0.object?["group"]?.string } == ["Elsewhere"])
        try home.run(["login", "--account", "nobody"], exits: 3)
        try home.run(["login", "--account", "alice@example.com", "--new"], exits: 2)
    }

    @Test func `A sign-in by a different user than the login hint warns`() throws {
        let warning = "bob@example.com has signed in instead of alice@example.com from --login-hint"
        let words = ["login", "--type", "Tasks", "--login-hint", "alice@example.com"]
        #expect(try login(words, as: DemoTenant.bob).standardError.contains(warning))
        #expect(!(try login(words, as: DemoTenant.alice).standardError.contains("from --login-hint")))
        let short = ["login", "--type", "Tasks", "--login-hint", "BOB"]
        #expect(!(try login(short, as: DemoTenant.bob).standardError.contains("from --login-hint")))
    }

    @Test func `A policy beside the one that signs in is for the one person known`() throws {
        func hint(_ words: [String]) throws -> Bool {
            try home.run(["login", "--type", "Tasks", "--print-url"] + words).line.contains("login_hint=alice")
        }
        #expect(try !hint(["--policy", "edit"]))
        _ = try login(["login", "--type", "Tasks"], as: DemoTenant.alice)
        #expect(try hint(["--policy", "edit"]))
        #expect(try hint(["--policy", "reset"]))
        // Another sign-in may be another person's.
        #expect(try !hint([]))
        #expect(try !hint(["--policy", "edit", "--new"]))
        _ = try login(["login", "--type", "Tasks"], as: DemoTenant.bob)
        #expect(try !hint(["--policy", "edit"]))
    }

    @Test func `Parameters of one sign-in go along, and set nothing that it sets itself`() throws {
        let login = ["login", "--type", "Tasks", "--print-url"]
        let url = try home.run(login + ["--param", "domain_hint=a b", "--param=ui_locales=de"]).line
        #expect(url.contains("&domain_hint=a+b") || url.contains("&domain_hint=a%20b"))
        #expect(url.contains("&ui_locales=de"))
        #expect(!(try home.run(login).line.contains("ui_locales")))
        let own = [
            "state", "nonce", "code_challenge", "redirect_uri", "client_id", "scope", "response_type", "login_hint",
            "prompt", "p", "response_mode",
        ]
        for name in own {
            let refused = try home.run(login + ["--param", "\(name)=x"], exits: 2)
            #expect(refused.standardError.contains("'\(name)'"), "\(name)")
        }
        try home.run(login + ["--param", "nothing"], exits: 2)
        try home.run(login + ["--param", "a=1", "--param", "a=2"], exits: 2)
    }

    @Test func `If needed, no user is asked while the account works`() throws {
        let needed = ["login", "--type", "Tasks", "--if-needed"]
        let first = try login(needed, as: DemoTenant.alice).line
        let requests = tenant.provider.counters
        #expect(try home.run(needed).line == first)
        let shown = try #require(home.json(needed + ["--json"]).object)
        #expect(shown["username"] == "alice@example.com" && shown["default"] == true)
        #expect(try home.run(needed + ["--login-hint", "alice@example.com"]).line == first)
        #expect(tenant.provider.counters == requests)
        // A different user's account does not satisfy the request, nor does an account if only a sign-in can.
        let bob = try login(needed + ["--login-hint", "bob@example.com"], as: DemoTenant.bob).line
        #expect(bob.hasSuffix("bob@example.com"))
        try home.run(["logout", "--account", String(bob.prefix { $0 != "\t" })])
        let again = tenant.provider.counters.tokenRequests
        #expect(try login(needed + ["--prompt", "login"], as: DemoTenant.alice).line == first)
        #expect(tenant.provider.counters.tokenRequests > again)
        // The refresh token is refused: now a person is needed, and the same one.
        tenant.provider.revokeRefreshTokens()
        try home.run(["token", "--force-refresh"], exits: 4)
        let id = String(first.prefix { $0 != "\t" })
        #expect(try home.run(needed).line == first, "the last token is still valid")
        try home.run(["logout", "--account", id])
        #expect(
            try login(needed + ["--json"], as: DemoTenant.alice).standardOutput.contains("\"alice@example.com\""))
    }

    @Test func `A bridge for a dead account signs only its user in`() throws {
        tenant.provider.change { $0.accessTokenLifetime = 1 }
        let alice = try login(["login", "--type", "Tasks"], as: DemoTenant.alice).line
        let end = try #require(try home.json(["accounts", "--json"]).array?.first?.object?["expires_on"]?.integer)
        tenant.provider.revokeRefreshTokens()
        while time(nil) <= Int(end) { usleep(20_000) }
        let hello = #"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}"# + "\n"
        let words = ["mcp", tenant.base + "/api/tasks", "--type", "Tasks"]
        let browser = try Browser(in: home, DemoTenant.bob).environment
        let refused = try home.run(words, input: hello, environment: browser, exits: 7)
        #expect(
            refused.standardError.contains("bob@example.com") && refused.standardError.contains("alice@example.com")
        )
        let accounts = try #require(try home.json(["accounts", "--json"]).array)
        #expect(accounts.map { $0.object?["id"]?.string } == [String(alice.prefix { $0 != "\t" })])
    }

    @Test func `Without a type a person picks one of several`() throws {
        try tenant.definePolicies(at: home, ["redirect_uri": "urn:ietf:wg:oauth:2.0:oob"])
        try tenant.define("Another", at: home)
        let refused = try home.run(["login"], exits: 2)
        #expect(refused.standardError.contains("use one of 2 types: Another, Tasks"))
        let picked = try home.onTerminal(
            ["login", "--no-browser"],
            [("a part of the name: ", "7\n"), ("a part of the name: ", "2\n"), ("paste", "\u{3}")])
        #expect(picked.text.contains("1  Another") && picked.text.contains("2  Tasks"))
        #expect(picked.text.contains("p=b2c_1_sign_in") == false && picked.text.contains("b2c_1_sign_in/oauth2"))
    }
}
