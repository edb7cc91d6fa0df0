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
            "POST", "https://op.example/token", fixture.reply(idToken: idToken).with(["refresh_token": "rt-2"]))
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
        (400, "<html>", .temporary), (200, "<html>", .temporary), (500, #"{"error":"invalid_grant"}"#, .temporary),
        (429, "", .temporary), (302, "", .temporary), (400, "oops", .denied),
        (400, #"{"error":"invalid_client"}"#, .configuration),
        (400, #"{"error":"invalid_scope"}"#, .configuration), (200, #"{"access_token":"#, .malformedReply),
        (200, "{}", .malformedReply), (200, #"{"access_token":"a\nb"}"#, .malformedReply),
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
