import CredentialCore
import DemoProvider
import Foundation
import StrictJSON
import Testing

@Suite struct `A provider in trouble, or worse` {
    /// The contents of the records and the store, without locks and the log of events.
    private func kept(_ home: Home) -> [String: Data] {
        home.files.filter { $0.key.contains("/accounts/") || $0.key.hasSuffix("/store.v1") }
    }

    @Test(arguments: HostileReply.all)
    func `A hostile reply signs no user in`(reply: HostileReply) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        let redirect = try tenant.redirect(from: url)
        tenant.provider.change { $0.tokenReply = reply.body }
        let error = try home.run(["login", "--complete", redirect], exits: 1).standardError
        #expect(!error.contains("aaaaaaaaaaaaaaaaaaaa"))
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
    }

    @Test(arguments: HostileReply.all)
    func `A hostile reply to a refresh loses nothing`(reply: HostileReply) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let token = try home.run(["token"]).line
        let before = kept(home)
        tenant.provider.change { $0.tokenReply = reply.body }
        try home.run(["token", "--force-refresh"], exits: 1)
        #expect(kept(home) == before)
        #expect(try home.run(["token"]).line == token)
        tenant.provider.change { $0.tokenReply = "" }
        try home.run(["token", "--force-refresh"])
    }

    @Test func `A reply that breaks off is no reply`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let before = kept(home)
        tenant.provider.change { $0.truncatesReplies = true }
        try home.run(["token", "--force-refresh"], exits: 1)
        #expect(kept(home) == before)
    }

    @Test(arguments: [
        DemoSwitches.IDTokenFault.signature, .unsigned, .issuer, .audience, .nonce, .expired, .policy,
    ])
    func `An ID token that does not hold is exit 7, and a sign-in with it stores nothing`(
        fault: DemoSwitches.IDTokenFault
    ) throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.define(at: home)
        let url = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        let redirect = try tenant.redirect(from: url)
        tenant.provider.change { $0.idTokenFault = fault }
        try home.run(["login", "--complete", redirect], exits: 7)
        #expect(try home.json(["accounts", "--json"]).array?.isEmpty == true)
        tenant.provider.change { $0.idTokenFault = .none }

        try tenant.signIn(at: home)
        // A nonce is not expected in the reply to a refresh; one that is there may be that of the sign-in.
        guard fault != .nonce else { return }
        tenant.provider.change { $0.idTokenFault = fault }
        try home.run(["token", "--force-refresh"], exits: 7)
        // The new refresh token is kept, but not one of another issuer.
        tenant.provider.change { $0.idTokenFault = .none }
        try home.run(["token", "--force-refresh"], exits: fault == .issuer ? 4 : 0)
    }

    @Test func `An unknown key is refused`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        tenant.provider.change { $0.unknownKid = true }
        try home.run(["token", "--force-refresh"], exits: 7)
        tenant.provider.change { $0.unknownKid = false }
        try home.run(["token", "--force-refresh"])
    }

    @Test func `A new key that is published is taken`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        tenant.provider.change { $0.signingKey = 1 }
        try home.run(["token", "--force-refresh"])
        try tenant.signIn(DemoTenant.bob, at: home)
    }

    @Test func `Discovery that names another host is refused`() throws {
        let home = try Home(), tenant = try DemoTenant { $0.discoveryIssuerHost = "evil.example.com" }
        try tenant.define(at: home)
        let outcome = try home.run(["login", "--type", DemoTenant.typeName, "--print-url"], exits: 7)
        #expect(outcome.standardError.contains("issuer"))
    }

    /// Signs in for a second, and returns when the token's time is over.
    private func signInBriefly(_ tenant: DemoTenant, at home: Home) throws {
        tenant.provider.change { $0.accessTokenLifetime = 1 }
        try tenant.signIn(at: home)
        tenant.provider.change { $0.accessTokenLifetime = 3_600 }
        let end = try #require(try home.json(["accounts", "--json"]).array?.first?.object?["expires_on"]?.integer)
        while time(nil) <= Int(end) { usleep(20_000) }
    }

    @Test(arguments: [Int64(429), 500, 503])
    func `Trouble of the provider is exit 6, and changes nothing`(status: Int64) throws {
        let home = try Home(), tenant = try DemoTenant()
        try signInBriefly(tenant, at: home)
        let before = kept(home)
        tenant.provider.change {
            $0.failures = -1
            $0.failureStatus = status
            $0.retryAfter = 7
        }
        let error = try home.run(["token"], exits: 6).standardError
        #expect(error.contains(String(status)))
        #expect(error.contains("try again in 7 seconds"))
        #expect(kept(home) == before)
        tenant.provider.change { $0.failures = 0 }
        try home.run(["token"])
    }

    @Test func `A web page in the provider's place is trouble, not an answer`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try signInBriefly(tenant, at: home)
        tenant.provider.change { $0.tokenReply = "<html><body>Welcome to our hotel!</body></html>" }
        #expect(try home.run(["token"], exits: 6).standardError.contains("web page"))
        tenant.provider.change { $0.tokenReply = "" }
        try home.run(["token"])
    }

    @Test func `With the provider down a token that still lives is given out, with a warning`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try tenant.signIn(at: home)
        let token = try home.run(["token"]).line
        tenant.provider.stop()
        // A demand on the command line is met or fails: DemandedValidityTests.
        try home.write(#"{"min_valid": 7200}"#, to: "config/credmgr/config.json")
        let outcome = try home.run(["token"])
        #expect(outcome.line == token)
        #expect(outcome.standardError.hasPrefix("credmgr: warning: "))
        #expect(try home.json(["accounts", "--json"]).array?.first?.object?["status"]?.string == "active")
    }

    @Test func `With the provider down a dead token is exit 6, not a sign-in`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try signInBriefly(tenant, at: home)
        tenant.provider.stop()
        try home.run(["token"], exits: 6)
        try home.run(["request", "GET", "/tasks"], exits: 6)
        let other = try Home()
        try tenant.define(at: other)
        try other.run(["login", "--type", DemoTenant.typeName, "--print-url"], exits: 6)
        #expect(try home.json(["accounts", "--json"]).array?.first?.object?["status"]?.string == "active")
    }

    @Test(arguments: ["revoked", "gone"])
    func `A lost grant is exit 4 with the command that helps, and the account stays`(kind: String) throws {
        let home = try Home(), tenant = try DemoTenant()
        let id = try tenant.signIn(at: home)
        if kind == "gone" {
            tenant.provider.deleteUser(email: "alice@example.com")
        } else {
            tenant.provider.revokeRefreshTokens()
        }
        let error = try home.run(["token", "--force-refresh"], exits: 4).standardError
        #expect(error.contains("credmgr: hint: credmgr login --account \(id) --policy "))
        let account = try home.json(["accounts", "--json"]).array?.first?.object
        #expect(account?["id"]?.string == id)
        #expect(account?["status"]?.string == "needs-login")
        #expect(account?["status_reason"]?.string?.isEmpty == false)
        #expect(account?["username"]?.string == "alice@example.com")
        let requests = tenant.provider.counters.tokenRequests
        try home.run(["token", "--force-refresh"], exits: 4)
        #expect(tenant.provider.counters.tokenRequests == requests)
        if kind == "revoked" {
            #expect(try tenant.signIn(at: home) == id)
            #expect(try home.json(["accounts", "--json"]).array?.first?.object?["status"]?.string == "active")
        }
    }

    @Test func `A slow provider is given up on at the time allowed`() throws {
        let home = try Home(), tenant = try DemoTenant()
        try signInBriefly(tenant, at: home)
        let before = kept(home)
        tenant.provider.holdTokenReplies(1)
        let start = ContinuousClock.now
        try home.run(["token", "--timeout", "1"], exits: 6)
        #expect(ContinuousClock.now - start < .seconds(30))
        #expect(kept(home) == before)
    }

    @Test(arguments: [DemoSwitches.IssuerForm.tfp, .guid])
    func `Tenants of every shape work`(form: DemoSwitches.IssuerForm) throws {
        let home = try Home()
        let tenant = try DemoTenant {
            $0.issuerForm = form
            $0.numbersAsStrings = true
            $0.policyInACR = true
            $0.oldSubject = true
            $0.issuerEndsWithSlash = form == .guid
            $0.includesClientInfo = false
            $0.codeSize = 16_384
            $0.refusesPolicyInBody = true
            $0.requiresPKCE = true
        }
        try tenant.signIn(at: home)
        try home.run(["token", "--force-refresh"])
        let account = try home.json(["accounts", "--json"]).array?.first?.object
        #expect(account?["subject"]?.string == DemoTenant.alice.objectID)
    }
}
