import CredentialCore
import CryptoSupport
import GenericOAuth2Adapter
import OAuth
import StrictJSON
import TestAdapters
import TestPorts
import Testing

/// Pushed requests (RFC 9126), token exchange (RFC 8693), introspection (RFC 7662), parameters and response modes.
@Suite struct GenericOAuth2RequestTests {
    private static let par = "https://op.example/par"

    private func fixture() throws -> GenericFixture {
        var fixture = try GenericFixture()
        fixture.type.scope = ["api"]
        return fixture
    }

    private func begin(_ fixture: GenericFixture, metadata: JSONValue = GenericFixture.metadata) throws
        -> SignInStep
    {
        fixture.provider.expect("GET", GenericFixture.discovery, metadata)
        return try fixture.adapter.begin(fixture.request(), in: fixture.world.context)
    }

    // MARK: Pushed requests

    private static func metadata(_ more: JSONValue) -> JSONValue {
        GenericFixture.metadata.with(["pushed_authorization_request_endpoint": .string(par)]).with(more)
    }

    @Test func `a request is pushed if the provider requires it`() throws {
        let fixture = try fixture()
        fixture.provider.expect(
            "GET", GenericFixture.discovery, Self.metadata(["require_pushed_authorization_requests": true]))
        fixture.provider.expect("POST", Self.par, 201, ["request_uri": "urn:example:1", "expires_in": 60])
        let step = try fixture.adapter.begin(fixture.request(), in: fixture.world.context)
        guard case .interaction(.openURL(let address, let state), let pending) = step else {
            Issue.record("nothing to open")
            return
        }
        #expect(address.description == "https://op.example/authorize?client_id=app&request_uri=urn%3Aexample%3A1")
        let pushed = try #require(fixture.provider.received.last).form
        #expect(pushed["state"] == state && pushed["client_id"] == "app" && pushed["response_type"] == "code")
        #expect(pushed["code_challenge_method"] == "S256" && pushed["request_uri"] == nil)
        #expect(pending["state"]?.string == state)
    }

    @Test func `a request is not pushed only because it could be`() throws {
        let fixture = try fixture()
        _ = try begin(fixture, metadata: Self.metadata([:]))
        #expect(fixture.provider.received.count == 1)
    }

    @Test func `a type that wants its requests pushed needs a place for them`() throws {
        var fixture = try fixture()
        fixture.type.pushesAuthorizationRequests = true
        fixture.provider.expect("GET", GenericFixture.discovery, GenericFixture.metadata)
        // The other document does not exist either.
        fixture.provider.expect("GET", "https://op.example/.well-known/oauth-authorization-server") { _ in
            HTTPResponse(status: 404)
        }
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(fixture.request(), in: fixture.world.context)
        }
        #expect(error?.code == .unsupported)
    }

    @Test(arguments: [
        (201, #"{}"#, ErrorCode.malformedReply), (201, #"{"request_uri":7}"#, .malformedReply),
        (201, #"{"request_uri":""}"#, .malformedReply), (201, #"{"request_uri":"a b"}"#, .malformedReply),
        (201, #"{"request_uri":"a","request_uri":"b"}"#, .malformedReply), (201, "[]", .malformedReply),
        (400, #"{"error":"invalid_request"}"#, .configuration),
        (401, #"{"error":"invalid_client"}"#, .configuration),
        (500, "", .temporary), (302, "", .temporary),
    ]) func `a push that fails begins no sign-in`(status: Int, body: String, code: ErrorCode) throws {
        var fixture = try fixture()
        fixture.type.endpoints[.pushedAuthorizationRequest] = Self.par
        fixture.provider.expect("GET", GenericFixture.discovery, GenericFixture.metadata)
        fixture.provider.expect("POST", Self.par) { _ in HTTPResponse(status: status, body: Array(body.utf8)) }
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(fixture.request(), in: fixture.world.context)
        }
        #expect(error?.code == code)
    }

    // MARK: Parameters

    @Test func `claims, acr_values, max_age, resource, audience and response mode go along`() throws {
        var fixture = try fixture()
        fixture.type.authorizeParameters = [
            "claims": #"{"id_token":{"email":null}}"#, "acr_values": "silver", "max_age": "300",
        ]
        fixture.type.responseMode = .formPost
        fixture.type.resource = "https://api.example"
        fixture.type.audience = "api"
        let (_, fields, _) = try fixture.begin()
        #expect(fields["claims"] == #"{"id_token":{"email":null}}"#)
        #expect(fields["acr_values"] == "silver" && fields["max_age"] == "300")
        #expect(fields["response_mode"] == "form_post")
        #expect(fields["resource"] == "https://api.example" && fields["audience"] == "api")
    }

    @Test(arguments: [
        ("claims", "{"), ("claims", "[]"), ("max_age", "soon"), ("max_age", "-1"), ("max_age", "1e3"),
    ])
    func `a parameter without its form is a wrong type`(name: String, value: String) throws {
        var fixture = try fixture()
        fixture.type.authorizeParameters = [name: value]
        let error = #expect(throws: CredentialError.self) { try fixture.adapter.check(fixture.type) }
        #expect(error?.code == .configuration)
    }

    @Test(arguments: ["state", "request_uri", "dpop_jkt", "code_challenge", "subject_token", "client_assertion"])
    func `a reserved parameter cannot be set`(name: String) throws {
        var fixture = try fixture()
        fixture.type.tokenParameters = [name: "x"]
        #expect(throws: CredentialError.self) { try fixture.adapter.check(fixture.type) }
    }

    // MARK: Exchange

    private func exchange(_ status: Int, _ body: String) throws -> (IssuedTokens, Grant, [String: String]) {
        var fixture = try fixture()
        fixture.type.issuer = nil
        fixture.type.endpoints = [
            .token: "https://op.example/token", .authorization: "https://op.example/authorize",
        ]
        fixture.provider.expect("POST", "https://op.example/token") { _ in
            HTTPResponse(status: status, body: Array(body.utf8))
        }
        var grant = Grant(flow: .code, obtainedAt: fixture.world.clock.now)
        grant.refreshToken = Secret("rt-1")
        let now = fixture.world.clock.now
        var request = RefreshRequest(
            type: fixture.type, key: TokenRequestKey(scope: [], audience: "other"), scope: [], grant: grant,
            subject: "ada")
        request.subjectToken = AccessToken(
            key: TokenRequestKey(scope: ["api"]), token: Secret("at-own"), tokenType: "Bearer", issuedAt: now,
            expiresAt: now.adding(600), scope: ["api"])
        let issued = try fixture.adapter.refresh(request, in: fixture.world.context)
        return (issued, grant, try #require(fixture.provider.received.last).form)
    }

    @Test func `a token is exchanged, and the grant stays as it is`() throws {
        let (issued, grant, form) = try exchange(
            200,
            #"""
            {"access_token":"at-other","issued_token_type":"urn:ietf:params:oauth:token-type:access_token",
            "token_type":"Bearer","expires_in":60,"refresh_token":"rt-foreign","id_token":"x.y.z"}
            """#)
        #expect(issued.accessToken?.token == Secret("at-other"))
        #expect(issued.accessToken?.key.audience == "other")
        #expect(issued.grant == grant)
        #expect(
            form == [
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": "at-own",
                "subject_token_type": "urn:ietf:params:oauth:token-type:access_token", "audience": "other",
                "client_id": "app",
            ])
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_grant"}"#, ErrorCode.denied),
        (400, #"{"error":"invalid_target"}"#, .configuration),
        (400, #"{"error":"invalid_request"}"#, .configuration), (503, "", .temporary), (200, "{}", .malformedReply),
        (
            200, #"{"access_token":"a","issued_token_type":"urn:ietf:params:oauth:token-type:saml2"}"#,
            .malformedReply
        ),
        (200, #"{"access_token":"a","token_type":"N_A"}"#, .malformedReply),
        (200, #"{"access_token":7}"#, .malformedReply), (200, #"{"access_token":"a\u0000b"}"#, .malformedReply),
    ]) func `a refused exchange loses no sign-in`(status: Int, body: String, code: ErrorCode) throws {
        let error = #expect(throws: CredentialError.self) { _ = try exchange(status, body) }
        #expect(error?.code == code)
    }

    // MARK: Introspection

    private func introspect(_ status: Int, _ body: String) throws -> JSONObject {
        var fixture = try fixture()
        fixture.type.endpoints[.introspection] = "https://op.example/introspect"
        fixture.provider.expect("POST", "https://op.example/introspect") { received in
            #expect(received.form == ["token": "at-1", "token_type_hint": "access_token", "client_id": "app"])
            return HTTPResponse(status: status, body: Array(body.utf8))
        }
        let now = fixture.world.clock.now
        let token = AccessToken(
            key: TokenRequestKey(scope: ["api"]), token: Secret("at-1"), tokenType: "Bearer", issuedAt: now,
            expiresAt: now.adding(600), scope: ["api"])
        return try fixture.adapter.introspect(
            token, grant: Grant(flow: .code, obtainedAt: now), of: fixture.type, in: fixture.world.context)
    }

    @Test func `a token is asked about`() throws {
        #expect(try introspect(200, #"{"active":true,"exp":1.5}"#)["active"] == true)
        #expect(try introspect(200, #"{"active":false}"#)["active"] == false)
    }

    @Test(arguments: [
        (200, "{}", ErrorCode.malformedReply), (200, #"{"active":"yes"}"#, .malformedReply),
        (200, #"{"active":true,"active":false}"#, .malformedReply), (200, "", .malformedReply),
        (401, "", .configuration), (403, #"{"error":"access_denied"}"#, .denied), (429, "", .temporary),
    ]) func `an answer about a token that says nothing is refused`(status: Int, body: String, code: ErrorCode)
        throws
    {
        let error = #expect(throws: CredentialError.self) { _ = try introspect(status, body) }
        #expect(error?.code == code)
    }
}
