import CredentialCore
import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct `Policies of B2C` {
    @Test func `One user has one account, and tokens for each policy`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        let id = try tenant.signIn(at: home, policy: "sign-in")
        #expect(try tenant.signIn(at: home, policy: "facebook") == id)
        #expect(try tenant.signIn(at: home, policy: "B2C_1_EDIT_PROFILE", name: "Alice Renamed") == id)
        let accounts = try #require(home.json(["accounts", "--json"]).array)
        #expect(accounts.count == 1)
        #expect(
            accounts.first?.object?["policies"] == ["b2c_1_edit_profile", "b2c_1_fb_sign_in", "b2c_1_sign_in"])
        #expect(accounts.first?.object?["name"] == "Alice Renamed")
        let tokens = try ["sign-in", "facebook", "edit"].map { policy in
            try home.json(["token", "--policy", policy, "--format", "json"]).object ?? JSONObject()
        }
        #expect(tokens.map { $0["policy"]?.string } == ["b2c_1_sign_in", "b2c_1_fb_sign_in", "b2c_1_edit_profile"])
        #expect(Set(tokens.compactMap { $0["access_token"]?.string }).count == 3)
        #expect(try home.json(["claims", "--policy", "facebook", "--json"]).object?["idp"] == "facebook.com")
        #expect(try home.json(["claims", "--json"]).object?["tfp"] == "B2C_1_sign_in")
        // Each policy is refreshed by its own refresh token: another's would be refused (AADB2C90088).
        for policy in ["sign-in", "facebook", "edit"] {
            try home.run(["token", "--policy", policy, "--force-refresh"])
        }
        #expect(tenant.provider.counters.refreshes == 3)
    }

    private static let tenantID = "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77"

    @Test(arguments: [
        "\(DemoTenant.tenant)/", "\(DemoTenant.tenant)?p=b2c_1_sign_in", "\(DemoTenant.tenant)/b2c_1_sign_in/",
        "tfp/\(DemoTenant.tenant)/b2c_1_sign_in/", "\(tenantID)/", "\(tenantID)?p=b2c_1_sign_in",
        "\(tenantID)/b2c_1_sign_in/", "tfp/\(tenantID)/b2c_1_sign_in/",
    ]) func `Every form of URL signs in, and refreshes`(authority: String) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home, ["authority": .string("\(tenant.base)/\(authority)")])
        let url = try home.run(["login", "--type", "Tasks", "--print-url"]).line
        #expect(url.hasPrefix("\(tenant.base)/\(authority.prefix { $0 != "/" && $0 != "?" })/"))
        #expect(url.contains("?p=b2c_1_sign_in&") == authority.contains("?p="))
        try home.run(["login", "--complete", try tenant.redirect(from: url)])
        try home.run(["token", "--force-refresh"])
        #expect(tenant.provider.counters.refreshes == 1)
    }

    @Test func `Signing up makes the user, and the account`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        let carol = DemoUser(email: "carol@example.com", password: Secret("pw"), objectID: "", name: "")
        let id = try tenant.signIn(at: home, policy: "sign-up", carol, name: "Carol Example")
        let account = try #require(home.json(["accounts", "--json"]).array?.first?.object)
        #expect(account["username"] == "carol@example.com" && account["name"] == "Carol Example")
        #expect(try tenant.signIn(at: home, policy: "sign-in", carol) == id)
    }

    @Test func `Prompt none is exit 4 without a session, and silent with one`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        let login = ["login", "--type", "Tasks", "--print-url", "--prompt"]
        var robot = DemoSignIn(username: DemoTenant.alice.email, password: DemoTenant.alice.password)
        let silent = try robot.run(home.run(login + ["none"]).line)
        #expect(try home.run(["login", "--complete", silent], exits: 4).standardError.contains("AADB2C90077"))
        // From the sign-in on the browser has a session.
        _ = try robot.run(home.run(login + ["login"]).line)
        let again = try robot.run(home.run(login + ["none"]).line)
        #expect(try home.run(["login", "--complete", again]).line.hasSuffix("\talice@example.com"))
    }

    @Test func `A social sign-in names its provider by domain_hint`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(
            at: home, ["extra_parameters": ["authorize": ["domain_hint": "facebook.com", "ui_locales": "ru"]]])
        let url = try home.run(["login", "--type", "Tasks", "--policy", "facebook", "--print-url"]).line
        #expect(url.contains("&domain_hint=facebook.com") && url.contains("&ui_locales=ru"))
        #expect(url.contains("/b2c_1_fb_sign_in/oauth2/v2.0/authorize?"))
    }

    @Test func `A policy without a sign-in is told with the command that makes one`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        let id = try tenant.signIn(at: home, policy: "sign-in")
        for command in [["token"], ["claims"], ["request", "GET", "/tasks"]] {
            let outcome = try home.run(command + ["--policy", "edit"], exits: 4)
            #expect(
                outcome.standardError.contains("credmgr login --account \(id) --policy b2c_1_edit_profile\n"))
        }
        let unknown = try home.run(["token", "--policy", "edti"], exits: 2)
        #expect(unknown.standardError.contains("did you mean 'edit'?"))
    }

    @Test func `A lost sign-in is made again with the scopes that were asked for`() throws {
        let home = try Home(), tenant = try DemoTenant()
        let read = "https://exampleb2c.onmicrosoft.com/tasks/read"
        let write = "https://exampleb2c.onmicrosoft.com/tasks/write"
        try tenant.definePolicies(at: home, ["scope": ["offline_access", .string(read)]])
        let id = try tenant.signIn(at: home, policy: "sign-in")
        tenant.provider.revokeRefreshTokens()
        let login = "hint: credmgr login --account \(id) --policy b2c_1_sign_in"
        let wider = try home.run(["token", "--scope", write], exits: 4).standardError
        #expect(wider.contains("\(login) --scope 'offline_access \(read) \(write)'\n"), "\(wider)")
        // The type's own scopes need no words.
        let own = try home.run(["token", "--force-refresh", "--scope", read], exits: 4).standardError
        #expect(own.contains("\(login)\n"), "\(own)")
    }

    @Test func `One policy is signed out and the others stay`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        let id = try tenant.signIn(at: home, policy: "sign-in")
        try tenant.signIn(at: home, policy: "edit")
        try home.run(["logout", "--account", id, "--policy", "edit"])
        #expect(try home.json(["accounts", "--json"]).array?.first?.object?["policies"] == ["b2c_1_sign_in"])
        try home.run(["token", "--policy", "edit"], exits: 4)
        try home.run(["token", "--force-refresh"])
        try home.run(["logout", "--account", id, "--policy", "edit"], exits: 3)
        try home.run(["logout", "--account", id, "--policy", "sign-in"])
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
    }

    @Test func `A policy with a refused refresh token leaves the other policies unchanged`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        let id = try tenant.signIn(at: home, policy: "sign-in")
        let old = try home.run(["token"]).line
        tenant.provider.revokeRefreshTokens()
        try tenant.signIn(at: home, policy: "edit")
        func status() throws -> JSONValue? {
            try home.json(["accounts", "--json"]).array?.first?.object?["status"]
        }
        try home.run(["token", "--force-refresh"], exits: 4)
        #expect(try status() == "active")
        try home.run(["token", "--policy", "edit", "--force-refresh"])
        let edit = try home.run(["token", "--policy", "edit"]).line
        // The refused one's last token is good until it ends, and the provider is not asked again.
        let refreshes = tenant.provider.counters.tokenRequests
        #expect(try home.run(["token"]).line == old)
        let refused = try home.run(["token", "--force-refresh"], exits: 4)
        #expect(refused.standardError.contains("credmgr login --account \(id) --policy b2c_1_sign_in\n"))
        #expect(tenant.provider.counters.tokenRequests == refreshes)
        // Without a token that can be refreshed, the account has to sign in again, and still gives the tokens that
        // have not ended.
        tenant.provider.revokeRefreshTokens()
        try home.run(["token", "--policy", "edit", "--force-refresh"], exits: 4)
        #expect(try status() == "needs-login")
        #expect(try home.run(["token", "--policy", "edit"]).line == edit)
        // A sign-in at one policy is enough.
        try tenant.signIn(at: home, policy: "edit")
        #expect(try status() == "active")
        try home.run(["token", "--policy", "edit", "--force-refresh"])
    }

    // MARK: Forgotten passwords

    @Test func `A forgotten password is reset and the user signed in by one command`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home, ["redirect_uri": "http://localhost"])
        let robot = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Servers/oidc-login").path
        // Forgets the password on the first page, sets a new one on the second and uses it on the third.
        let browser = try home.write(
            """
            #!/bin/sh
            echo "$1" >> '\(home.path)/pages'
            case $(wc -l < '\(home.path)/pages') in
            1) exec python3 -c 'import sys, urllib.request as web; web.urlopen(sys.argv[1])' "$1&demo_action=forgot" ;;
            *) OIDC_LOGIN_PASSWORD='a new one' exec python3 '\(robot)' "$1" --user alice@example.com --deliver ;;
            esac

            """, to: "browser", mode: 0o700)
        let done = try home.run(["login", "--type", "Tasks"], environment: ["BROWSER": browser])
        #expect(done.line.hasSuffix("\talice@example.com"))
        let pages = home.text(of: "pages")?.split(separator: "\n") ?? []
        let policies = pages.map { page in
            ["b2c_1_sign_in", "b2c_1_reset"].first { page.contains("/\($0)/") } ?? ""
        }
        #expect(policies == ["b2c_1_sign_in", "b2c_1_reset", "b2c_1_sign_in"])
        #expect(try home.json(["accounts", "--json"]).array?.first?.object?["policies"] == ["b2c_1_sign_in"])
        try home.run(["token", "--force-refresh"])
    }

    @Test func `A forgotten password is reset in two steps too, each with its next step`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        let url = try home.run(["login", "--type", "Tasks", "--print-url"]).line
        let forgotten = try tenant.redirect(from: url, act: .forgotPassword)
        let first = try home.run(["login", "--complete", forgotten], exits: 4)
        #expect(first.standardError.contains("credmgr login --complete -"))
        let reset = try tenant.redirect(from: Self.address(in: first))
        let second = try home.run(["login", "--complete", reset], exits: 4)
        let again = try tenant.redirect(from: Self.address(in: second))
        #expect(try home.run(["login", "--complete", again]).line.hasSuffix("\talice@example.com"))
        // Each half counts once.
        try home.run(["login", "--complete", reset], exits: 7)
    }

    @Test func `Without a policy for it a forgotten password is said, and cancelling is something else`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home, ["password_reset_policy": .null])
        for (act, words) in [
            (DemoSignIn.Act.forgotPassword, "AADB2C90118"), (.cancel, "the sign-in was cancelled (AADB2C90091"),
        ] {
            let url = try home.run(["login", "--type", "Tasks", "--print-url"]).line
            let outcome = try home.run(
                ["login", "--verbose", "--complete", try tenant.redirect(from: url, act: act)], exits: 7)
            #expect(outcome.standardError.contains(words))
            #expect(outcome.standardError.contains("detail: correlation id: "))
            #expect(outcome.standardError.contains("detail: timestamp: "))
        }
    }

    @Test func `Running the reset policy by itself leaves the account as it is`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home)
        let id = try tenant.signIn(at: home, policy: "sign-in")
        let before = try #require(home.json(["accounts", "--json"]).array?.first?.object)
        tenant.provider.change { $0.accessTokenLifetime = 120 }
        #expect(try tenant.signIn(at: home, policy: "reset") == id)
        let after = try #require(home.json(["accounts", "--json"]).array?.first?.object)
        for fact in ["status", "expires_on", "refresh_expires_at", "scope"] {
            #expect(after[fact] == before[fact], "\(fact)")
        }
        // The reset's own token is valid until it ends, and no longer.
        try home.run(["token", "--policy", "reset"])
        try home.run(["token", "--policy", "reset", "--force-refresh"], exits: 4)
        #expect(
            try home.json(["accounts", "--json"]).array?.first?.object?["status"] == "active")
        try home.run(["token", "--force-refresh"])
    }

    private static func address(in outcome: ChildProcess.Outcome) throws -> String {
        let line = outcome.standardError.split(separator: "\n").first { $0.hasPrefix("  http") }
        return try String(#require(line).dropFirst(2))
    }
}
