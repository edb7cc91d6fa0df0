import CredentialCore
import CryptoSupport
import GenericOAuth2Adapter
import OAuth
import StrictJSON
import Synchronization
import TestAdapters
import TestPorts
import Testing

/// Refreshes of the generic adapter, by a provider in memory.
@Suite struct GenericOAuth2RefreshTests {
    private func refresh(
        _ fixture: GenericFixture, _ grant: Grant, scope: [String] = ["openid", "api"]
    ) throws -> IssuedTokens {
        try fixture.adapter.refresh(
            RefreshRequest(
                type: fixture.type, key: TokenRequestKey(scope: scope), scope: scope, grant: grant, subject: "ada-1"
            ),
            in: fixture.world.context)
    }

    @Test func `refreshes with one request and keeps the refresh token`() throws {
        let fixture = try GenericFixture()
        let signedIn = try fixture.signIn()
        let before = fixture.provider.received.count
        fixture.world.clock.pass(3_000)
        fixture.provider.expect("POST", "https://op.example/token", ["access_token": "at-2", "expires_in": 100])
        let issued = try refresh(fixture, signedIn.tokens.grant)
        #expect(fixture.provider.received.count == before + 1)
        #expect(
            fixture.provider.received.last?.form
                == ["grant_type": "refresh_token", "refresh_token": "rt-1", "client_id": "app"])
        #expect(issued.accessToken?.token.reveal() == "at-2")
        #expect(issued.accessToken?.expiresAt.epochSeconds == 1_700_003_100)
        #expect(issued.grant.refreshToken?.reveal() == "rt-1")
        #expect(issued.grant.idToken == signedIn.tokens.grant.idToken)
        #expect(issued.grant.obtainedAt.epochSeconds == 1_700_003_000)
    }

    @Test
    func `another process refreshes without discovery, checks the id token and takes the new refresh token`()
        throws
    {
        var fixture = try GenericFixture()
        fixture.world.metadataCache = MemoryMetadataCache()
        let grant = try fixture.signIn().tokens.grant
        let refreshed = GenericOAuth2Adapter()
        let idToken = try fixture.world.signer.sign(fixture.claims(nonce: nil))
        fixture.provider.expect(
            "POST", "https://op.example/token",
            fixture.reply(idToken: idToken).with(["refresh_token": "rt-2", "scope": "other"]))
        let issued = try refreshed.refresh(
            RefreshRequest(
                type: fixture.type, key: TokenRequestKey(scope: ["other"]), scope: ["other"], grant: grant,
                subject: "ada-1"), in: fixture.world.context)
        #expect(fixture.provider.received.last?.form["scope"] == "other")
        #expect(issued.grant.refreshToken?.reveal() == "rt-2")
        #expect(issued.grant.idToken?.reveal() == idToken)
    }

    @Test(
        arguments: [
            ["error": "invalid_request", "error_description": "unknown parameter: resource"],
            ["error": "invalid_target"], ["error": "invalid_resource"],
        ] as [JSONValue])
    func `a resource that is refused at the refresh is left out, and remembered`(refusal: JSONValue) throws {
        var fixture = try GenericFixture()
        fixture.type.resource = "https://api.example/"
        let grant = try fixture.signIn().tokens.grant
        func refresh(_ grant: Grant, resource: String?) throws -> IssuedTokens {
            let scope = ["openid", "api"]
            var key = TokenRequestKey(scope: scope)
            key.resource = resource
            return try fixture.adapter.refresh(
                RefreshRequest(type: fixture.type, key: key, scope: scope, grant: grant, subject: "ada-1"),
                in: fixture.world.context)
        }
        func sent() -> [String?] { fixture.provider.received.map { $0.form["resource"] } }
        let before = fixture.provider.received.count, wantsScope = refusal.object?["error"] == "invalid_request"
        for _ in 0..<(wantsScope ? 2 : 1) {
            fixture.provider.expect("POST", "https://op.example/token", 400, refusal)
        }
        fixture.provider.expect(
            "POST", "https://op.example/token", ["access_token": "at-2", "refresh_token": "rt-2"])
        let issued = try refresh(grant, resource: "https://api.example/")
        #expect(issued.accessToken?.token.reveal() == "at-2" && issued.grant.refreshToken?.reveal() == "rt-2")
        let own = "https://api.example/" as String?
        #expect(Array(sent()[before...]) == (wantsScope ? [own, own, nil] : [own, nil]))
        // The first resource is not requested in vain a second time; another resource is, and its refusal is final.
        fixture.provider.expect("POST", "https://op.example/token", ["access_token": "at-3"])
        _ = try refresh(issued.grant, resource: own)
        #expect(sent().last == .some(nil))
        for _ in 0..<(wantsScope ? 2 : 1) {
            fixture.provider.expect("POST", "https://op.example/token", 400, refusal)
        }
        let error = #expect(throws: CredentialError.self) {
            try refresh(issued.grant, resource: "https://other.example/")
        }
        #expect(error?.code == .configuration && sent().last == "https://other.example/")
        #expect(fixture.provider.missing == 0)
    }

    @Test func `a new token in a malformed response to the refresh without resource is saved`() throws {
        var fixture = try GenericFixture()
        fixture.type.resource = "https://api.example/"
        let grant = try fixture.signIn().tokens.grant
        fixture.provider.expect("POST", "https://op.example/token", 400, ["error": "invalid_target"])
        fixture.provider.expect("POST", "https://op.example/token") { _ in
            HTTPResponse(
                status: 200, headers: [],
                body: Array(#"{"refresh_token": "rt-2-newer", "access_token": "a",}"#.utf8))
        }
        let saved = Mutex<[String?]>([])
        var context = fixture.world.context
        context.saveFirst = { (finding) throws(CredentialError) in
            saved.withLock { $0.append(finding.refreshToken?.reveal()) }
        }
        var key = TokenRequestKey(scope: ["openid", "api"])
        key.resource = fixture.type.resource
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.refresh(
                RefreshRequest(
                    type: fixture.type, key: key, scope: ["openid", "api"], grant: grant, subject: "ada-1"),
                in: context)
        }
        #expect(error?.code == .malformedReply)
        #expect(saved.withLock { $0 } == ["rt-2-newer"])
    }

    @Test func `a refusal of the refresh without resource is the one that is reported`() throws {
        var fixture = try GenericFixture()
        fixture.type.resource = "https://api.example/"
        let grant = try fixture.signIn().tokens.grant
        fixture.provider.expect("POST", "https://op.example/token", 400, ["error": "invalid_target"])
        fixture.provider.expect("POST", "https://op.example/token", 400, ["error": "invalid_grant"])
        var key = TokenRequestKey(scope: ["openid", "api"])
        key.resource = fixture.type.resource
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.refresh(
                RefreshRequest(
                    type: fixture.type, key: key, scope: ["openid", "api"], grant: grant, subject: "ada-1"),
                in: fixture.world.context)
        }
        #expect(error?.code == .signInRequired)
    }

    @Test func `discovers anew after a day`() throws {
        let fixture = try GenericFixture()
        let grant = try fixture.signIn().tokens.grant
        fixture.world.clock.pass(86_400)
        fixture.provider.expect(
            "GET", GenericFixture.discovery,
            GenericFixture.metadata.with(["token_endpoint": "https://op.example/token2"]))
        fixture.provider.expect("GET", "https://op.example/keys", fixture.world.signer.keySet)
        fixture.provider.expect("POST", "https://op.example/token2", ["access_token": "at-2"])
        let issued = try refresh(fixture, grant)
        fixture.provider.expect("POST", "https://op.example/token2", ["access_token": "at-3"])
        fixture.world.clock.pass(4_000)
        _ = try refresh(fixture, issued.grant)
    }

    @Test func `endpoints in a grant are never used, and are dropped at its refresh`() throws {
        // An imported archive, or another host of a shared group, can write any text here.
        let fixture = try GenericFixture()
        var grant = try fixture.signIn().tokens.grant
        #expect(grant.adapterState.members.allSatisfy { !$0.value.text().contains("https://") })
        grant.adapterState["metadata"] = [
            "issuer": "https://op.example", "obtained_at": 1_700_000_000,
            "token_endpoint": "https://evil.example/token", "jwks_uri": "https://evil.example/keys",
            "revocation_endpoint": "https://evil.example/revoke",
        ]
        fixture.provider.expect("POST", "https://op.example/token", ["access_token": "at-2"])
        let issued = try refresh(fixture, grant)
        #expect(issued.grant.adapterState["metadata"] == nil)
        #expect(fixture.provider.missing == 0)
    }

    @Test func `refuses a refresh for another person`() throws {
        let fixture = try GenericFixture()
        let grant = try fixture.signIn().tokens.grant
        let idToken = try fixture.world.signer.sign(fixture.claims(nonce: nil).with(["sub": "eve"]))
        fixture.provider.expect("POST", "https://op.example/token", fixture.reply(idToken: idToken))
        let error = #expect(throws: CredentialError.self) { try refresh(fixture, grant) }
        #expect(error?.code == .validationFailed)
    }

    @Test func `sends no refresh token while the keys cannot be had`() throws {
        let fixture = try GenericFixture()
        let grant = try fixture.signIn().tokens.grant
        let before = fixture.provider.received.count
        fixture.provider.expect("GET", GenericFixture.discovery, GenericFixture.metadata)
        fixture.provider.expect("GET", "https://op.example/keys", 500, [:])
        let error = #expect(throws: CredentialError.self) {
            try GenericOAuth2Adapter().refresh(
                RefreshRequest(
                    type: fixture.type, key: TokenRequestKey(scope: []), scope: [], grant: grant, subject: "ada-1"),
                in: fixture.world.context)
        }
        #expect(error?.code == .temporary)
        #expect(fixture.provider.received.count == before + 2)
    }

    @Test func `loses no rotated refresh token for want of a new key`() throws {
        let fixture = try GenericFixture()
        let grant = try fixture.signIn().tokens.grant
        let newer = try Signer(kid: "k2")
        fixture.provider.expect(
            "POST", "https://op.example/token",
            fixture.reply(idToken: try newer.sign(fixture.claims(nonce: nil))).with(["refresh_token": "rt-2"]))
        fixture.provider.expect("GET", "https://op.example/keys", 503, [:])
        let issued = try refresh(fixture, grant)
        #expect(issued.grant.refreshToken?.reveal() == "rt-2")
        #expect(issued.grant.idToken == grant.idToken)
        #expect(fixture.world.notes.all.contains { $0.hasPrefix("the new id token is dropped") })
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_grant"}"#, ErrorCode.signInRequired),
        (401, #"{"error":"invalid_grant"}"#, .signInRequired),
        (400, "", .signInRequired), (403, #"{"error":"invalid_grant"}"#, .signInRequired),
        (404, #"{"error":"invalid_grant"}"#, .denied), (403, "", .configuration),
        (400, #"{"error":"invalid_grant","suberror":"consent_required","error_codes":[65001]}"#, .denied),
        (400, #"{"error":"invalid_grant","error_codes":[50076]}"#, .denied),
        (400, #"{"error":"invalid_grant","error_codes":[70000]}"#, .denied),
        (400, #"{"error":"invalid_grant","suberror":"basic_action"}"#, .denied),
        (400, "<html>", .temporary), (200, "<html>", .temporary), (500, #"{"error":"invalid_grant"}"#, .temporary),
        (429, "", .temporary), (302, "", .temporary), (400, "oops", .denied),
        (400, #"{"error":"invalid_client"}"#, .configuration),
        (200, #"{"access_token":"#, .malformedReply), (200, "{}", .malformedReply),
        (200, #"{"access_token":"a\nb"}"#, .malformedReply),
    ]) func `tells a lost grant from everything else`(status: Int, body: String, code: ErrorCode) throws {
        let fixture = try GenericFixture()
        let grant = try fixture.signIn().tokens.grant
        fixture.provider.expect("POST", "https://op.example/token") { _ in
            HTTPResponse(status: status, body: Array(body.utf8))
        }
        let error = #expect(throws: CredentialError.self) { try refresh(fixture, grant) }
        #expect(error?.code == code)
        for text in [error?.message ?? "", error?.hint ?? ""] + (error?.details ?? []) {
            #expect(!text.contains("rt-1"))
        }
    }

    @Test func `a response of another person is quarantined, even if its keys are unavailable`() throws {
        let fixture = try GenericFixture()
        let grant = try fixture.signIn().tokens.grant
        let idToken = try Signer(kid: "k2").sign(fixture.claims(nonce: nil).with(["sub": "eve"]))
        fixture.provider.expect(
            "POST", "https://op.example/token",
            fixture.reply(idToken: idToken).with(["refresh_token": "rt-2-of-eve"]))
        fixture.provider.expect("GET", "https://op.example/keys", 503, [:])
        let saved = Mutex<[RefreshFinding]>([])
        var context = fixture.world.context
        context.saveFirst = { (finding) throws(CredentialError) in saved.withLock { $0.append(finding) } }
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.refresh(
                RefreshRequest(
                    type: fixture.type, key: TokenRequestKey(scope: ["openid", "api"]), scope: ["openid", "api"],
                    grant: grant, subject: "ada-1"),
                in: context)
        }
        #expect(error?.code == .validationFailed && error?.hint == "credmgr login --type Tasks")
        let quarantined = RefreshFinding(refreshToken: Secret("rt-2-of-eve"), isForeign: true)
        #expect(saved.withLock { $0 } == [quarantined])
        // No key is asked for.
        #expect(fixture.provider.missing == 1)
    }

    // MARK: Scopes

    /// The end of a refresh, and the refresh tokens that were saved before it.
    private struct Outcome {
        var issued: IssuedTokens?
        var error: CredentialError?
        var saved: [String?] = []
        /// The scope of each refresh request.
        var sent: [String?] = []
    }

    /// Signs in for the scopes of the type, of which the provider grants `openid api`, and refreshes for `scope`.
    private func outcome(
        of scope: [String], under type: [String] = ["openid", "api", "admin"],
        _ responses: [(status: Int, body: JSONValue)]
    ) throws -> Outcome {
        var fixture = try GenericFixture()
        fixture.type.scope = type
        let grant = try fixture.signIn().tokens.grant
        let before = fixture.provider.received.count
        for response in responses {
            fixture.provider.expect("POST", "https://op.example/token", response.status, response.body)
        }
        let saved = Mutex<[String?]>([])
        var context = fixture.world.context
        context.saveFirst = { (finding) throws(CredentialError) in
            saved.withLock { $0.append(finding.refreshToken?.reveal()) }
        }
        var outcome = Outcome()
        do throws(CredentialError) {
            outcome.issued = try fixture.adapter.refresh(
                RefreshRequest(
                    type: fixture.type, key: TokenRequestKey(scope: scope), scope: scope, grant: grant,
                    subject: "ada-1"), in: context)
        } catch { outcome.error = error }
        outcome.saved = saved.withLock { $0 }
        outcome.sent = fixture.provider.received[before...].map { $0.form["scope"] }
        #expect(fixture.provider.missing == 0)
        return outcome
    }

    private static let narrow: JSONValue = [
        "access_token": "at-2", "scope": "openid", "refresh_token": "rt-2-narrow",
    ]

    @Test func `a narrower response is asked for again with the scope of the grant`() throws {
        let wide: JSONValue = ["access_token": "at-3", "scope": "openid api", "refresh_token": "rt-3-wide"]
        let outcome = try outcome(of: ["openid", "api", "admin"], [(200, Self.narrow), (200, wide)])
        #expect(outcome.sent == [nil, "openid api"] && outcome.saved == ["rt-2-narrow"])
        #expect(outcome.issued?.accessToken?.token.reveal() == "at-3")
        #expect(outcome.issued?.grant.refreshToken?.reveal() == "rt-3-wide")
        #expect(outcome.issued?.grant.scope == ["openid", "api"])
    }

    @Test(arguments: ["invalid_scope", "invalid_request", "invalid_grant", "consent_required"])
    func `a narrower response counts if the provider refuses the scope of the grant`(refusal: String) throws {
        let outcome = try outcome(
            of: ["openid", "api", "admin"], [(200, Self.narrow), (400, ["error": .string(refusal)])])
        #expect(outcome.error == nil && outcome.sent == [nil, "openid api"])
        #expect(outcome.issued?.accessToken?.token.reveal() == "at-2")
        #expect(outcome.issued?.accessToken?.scope == ["openid"])
        #expect(outcome.issued?.grant.refreshToken?.reveal() == "rt-2-narrow")
        #expect(outcome.issued?.grant.scope == ["openid"])
        #expect(
            outcome.issued?.warnings.map(\.description) == ["the provider grants less than at the sign-in: openid"])
    }

    @Test func `a response that names the granted scope in another way counts, with a warning`() throws {
        let renamed: JSONValue = ["access_token": "at-2", "scope": "mail", "refresh_token": "rt-2-renamed"]
        let outcome = try outcome(of: ["mail.read"], [(200, renamed)])
        #expect(outcome.error == nil && outcome.issued?.accessToken?.token.reveal() == "at-2")
        #expect(outcome.issued?.grant.refreshToken?.reveal() == "rt-2-renamed")
        #expect(outcome.issued?.warnings.map(\.description) == ["the provider granted mail instead of mail.read"])
    }

    @Test func `a second response that is no refusal is not passed over`() throws {
        let odd: JSONValue = ["access_token": "a b", "refresh_token": "rt-3-odd-one"]
        let outcome = try outcome(of: ["openid", "api", "admin"], [(200, Self.narrow), (200, odd)])
        #expect(outcome.error?.code == .malformedReply)
        #expect(outcome.saved == ["rt-2-narrow", "rt-3-odd-one"])
    }

    @Test func `a response without scope grants all that was granted`() throws {
        let outcome = try outcome(of: ["openid", "api", "admin"], [(200, ["access_token": "at-2"])])
        #expect(outcome.sent == [nil] && outcome.saved.isEmpty)
        #expect(outcome.issued?.accessToken?.scope == ["openid", "api"])
    }

    @Test func `a scope that neither sign-in nor response has is missing`() throws {
        let outcome = try outcome(of: ["other"], [(200, Self.narrow)])
        #expect(outcome.error?.code == .configuration && outcome.error?.refusesScope == true)
        #expect(outcome.sent == ["other"] && outcome.saved == ["rt-2-narrow"])
    }

    @Test(
        arguments: [
            (["other"], ["access_token": "at-2"]), (["other"], ["access_token": "at-2", "scope": "api other"]),
            // The sign-in asked for it, or it is no scope of an access token.
            (["admin"], ["access_token": "at-2", "scope": "api"]),
            (["api", "profile", "offline_access"], ["access_token": "at-2", "scope": "api"]),
        ] as [([String], JSONValue)])
    func `no scope is missing`(scope: [String], response: JSONValue) throws {
        let outcome = try outcome(of: scope, [(200, response)])
        #expect(outcome.error == nil && outcome.issued?.accessToken?.token.reveal() == "at-2")
    }

    @Test(
        arguments: [
            ["error": "invalid_scope"], ["error": "invalid_request"],
            [
                "error": "invalid_request", "error_codes": [90009],
                "error_description": "AADSTS90009: Application 'app' is requesting a token for itself.",
            ],
        ] as [JSONValue])
    func `a refresh that is refused without scope is sent once more with it`(refusal: JSONValue) throws {
        let asked = ["openid", "api"]
        let outcome = try outcome(of: asked, under: asked, [(400, refusal), (200, ["access_token": "at-2"])])
        #expect(outcome.sent == [nil, "openid api"])
        #expect(outcome.issued?.accessToken?.token.reveal() == "at-2")
        // A second refusal is final.
        let refused = try self.outcome(of: asked, under: asked, [(400, refusal), (400, refusal)])
        #expect(refused.error?.code == .configuration)
    }

    @Test(
        arguments: [
            ("login.microsoftonline.com", "api"), ("contoso.ciamlogin.com", "api"), ("op.example", nil),
        ] as [(String, String?)])
    func `a refresh at Microsoft Entra ID names its scope`(host: String, sent: String?) throws {
        var fixture = try GenericFixture()
        let token = "https://\(host)/contoso/oauth2/v2.0/token"
        fixture.type.issuer = nil
        fixture.type.scope = ["api"]
        fixture.type.endpoints[.token] = token
        var grant = Grant(flow: .code, obtainedAt: fixture.world.clock.now)
        grant.refreshToken = Secret("rt-1")
        grant.scope = ["api"]
        grant.adapterState["requested_scope"] = ["api"]
        fixture.provider.expect("POST", token, ["access_token": "at-2"])
        let issued = try refresh(fixture, grant, scope: ["api"])
        #expect(issued.accessToken?.token.reveal() == "at-2")
        #expect(fixture.provider.received.last?.form["scope"] == sent)
    }

    @Test func `cannot refresh a person's sign-in without a refresh token`() throws {
        let fixture = try GenericFixture()
        var grant = try fixture.signIn().tokens.grant
        grant.refreshToken = nil
        let error = #expect(throws: CredentialError.self) { try refresh(fixture, grant) }
        #expect(error?.code == .signInRequired)
    }

    @Test func `returns the ID token as bearer token if the type requires it`() throws {
        var fixture = try GenericFixture()
        fixture.type.bearer = .idToken
        let result = try fixture.signIn()
        let token = try #require(result.tokens.accessToken)
        #expect(token.token == result.tokens.grant.idToken)
        #expect(token.key.bearer == .idToken)
        #expect(token.expiresAt.epochSeconds == 1_700_003_600)
    }
}
