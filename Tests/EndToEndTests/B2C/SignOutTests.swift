import CredentialCore
import DemoProvider
import StrictJSON
import TestSupport
import Testing

@Suite struct `Signing out of B2C` {
    /// Alice for two policies and Bob for one, in the group of the seeds, and Alice in another group.
    private func world() throws -> (home: Home, tenant: DemoTenant, alice: String, bob: String) {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.definePolicies(at: home, ["keychain_group": "work"])
        let alice = try tenant.signIn(at: home, policy: "sign-in")
        try tenant.signIn(at: home, policy: "edit")
        let bob = try tenant.signIn(at: home, policy: "sign-in", DemoTenant.bob)
        try tenant.signIn(at: home)
        return (home, tenant, alice, bob)
    }

    private func ids(_ home: Home, _ more: [String] = []) throws -> Set<String> {
        let accounts = try home.json(["accounts", "--json"] + more).array ?? []
        return Set(accounts.compactMap { $0.object?["id"]?.string })
    }

    @Test func `A policy of an account, an account, a type, a group: each level forgets its own and no more`()
        throws
    {
        let (home, tenant, alice, bob) = try world()
        let all = try ids(home)
        #expect(all.count == 3)
        try home.run(["logout", "--account", alice, "--policy", "edit"])
        #expect(try ids(home) == all)
        try home.run(["logout", "--account", alice])
        #expect(try ids(home) == all.subtracting([alice]))
        try home.run(["token", "--type", "Tasks", "--account", bob])
        #expect(try tenant.signIn(at: home, policy: "sign-in") != alice)
        try home.run(["logout", "--type", "Tasks", "--all"], exits: 2)
        try home.run(["logout", "--type", "Tasks", "--all", "--yes"])
        #expect(try ids(home).count == 1)
        try tenant.signIn(at: home, policy: "sign-in")
        try home.run(["logout", "--group", DemoTenant.group, "--all", "--yes"])
        #expect(try ids(home) == ids(home, ["--group", "work"]))
        #expect(try ids(home).count == 1)
    }

    @Test func `One policy of every account of a type can go`() throws {
        let (home, _, alice, bob) = try world()
        try home.run(["logout", "--type", "Tasks", "--all", "--yes", "--policy", "edit"])
        let accounts = try home.json(["accounts", "--json", "--group", "work"]).array ?? []
        #expect(Set(accounts.compactMap { $0.object?["id"]?.string }) == [alice, bob])
        #expect(accounts.allSatisfy { $0.object?["policies"] == ["b2c_1_sign_in"] })
    }

    @Test func `The browser's session is ended at each policy, with the id token as hint`() throws {
        let (home, tenant, alice, _) = try world()
        let idToken = try home.run(["token", "--type", "Tasks", "--account", alice, "--id-token"]).line
        let browser = try home.write(
            "#!/bin/sh\necho \"$1\" >> '\(home.path)/pages'\nexec curl -s -o /dev/null \"$1\"\n", to: "browser",
            mode: 0o700)
        let outcome = try home.run(
            ["logout", "--account", alice, "--browser"], environment: ["BROWSER": browser])
        let shown = outcome.standardError.split(separator: "\n").filter { $0.hasPrefix("  http") }
        #expect(shown.count == 2)
        #expect(shown.contains { $0.contains("/b2c_1_edit_profile/oauth2/v2.0/logout?") })
        #expect(!outcome.standardError.contains("id_token_hint"))
        // The browser may be a moment behind.
        let limit = ContinuousClock.now.advanced(by: .seconds(20))
        var opened: [Substring] = []
        while opened.count < 2, ContinuousClock.now < limit {
            opened = home.text(of: "pages")?.split(separator: "\n") ?? []
        }
        #expect(
            opened.contains {
                $0.contains("/b2c_1_sign_in/oauth2/v2.0/logout?") && $0.contains("id_token_hint=\(idToken)")
            })
        #expect(tenant.provider.counters.tokenRequests > 0)
    }

    @Test func `A grant that B2C cannot revoke is kept, unless the user forces its removal`() throws {
        let (home, tenant, alice, _) = try world()
        let refused = try home.run(["logout", "--account", alice, "--revoke"], exits: 2)
        #expect(
            refused.standardError.contains(
                "not revoked, so the account is kept: the provider Azure AD B2C does not support revocation"))
        #expect(try ids(home).contains(alice))
        let hint = try #require(refused.standardError.split(separator: "hint: ").last).prefix { !$0.isNewline }
        #expect(hint.hasPrefix("credmgr logout --account \(alice) --group ") && hint.hasSuffix(" --revoke --force"))
        let outcome = try home.run(hint.split(separator: " ").dropFirst().map(String.init))
        #expect(
            outcome.standardError.contains(
                "were not revoked: the provider Azure AD B2C does not support revocation"))
        #expect(try !ids(home).contains(alice))
        #expect(tenant.provider.counters.refreshes == 0)
    }
}
