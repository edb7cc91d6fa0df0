import CredentialCore
import CryptoSupport
import GenericOAuth2Adapter
import OAuth
import StrictJSON
import TestAdapters
import TestPorts
import Testing

/// The generic adapter before a provider in memory.
struct GenericFixture {
    static let issuer = "https://op.example"
    static let discovery = issuer + "/.well-known/openid-configuration"
    static let metadata: JSONValue = [
        "issuer": "https://op.example", "authorization_endpoint": "https://op.example/authorize",
        "token_endpoint": "https://op.example/token", "jwks_uri": "https://op.example/keys",
        "device_authorization_endpoint": "https://op.example/device",
        "revocation_endpoint": "https://op.example/revoke", "end_session_endpoint": "https://op.example/logout",
        "id_token_signing_alg_values_supported": ["RS256"],
    ]
    private static let signer = Result { try Signer() }

    var world: AdapterWorld
    let adapter = GenericOAuth2Adapter()
    var type = AccountType(name: "Tasks", adapter: "oauth2", clientID: "app")

    init() throws {
        world = AdapterWorld(try Self.signer.get())
        type.issuer = Self.issuer
        type.scope = ["openid", "api"]
    }

    var provider: ScriptedProvider { world.provider }

    func request(_ flow: SignInFlow = .code) -> SignInRequest {
        SignInRequest(
            type: type, flow: flow, policy: "", scope: type.scope, redirectURI: "http://127.0.0.1:4711/cb")
    }

    func claims(nonce: String?) -> JSONValue {
        [
            "iss": .string(Self.issuer), "sub": "ada-1", "aud": "app", "exp": 1_700_003_600, "iat": 1_700_000_000,
            "nonce": JSONValue(nonce), "preferred_username": "ada", "name": "Ada Example",
        ]
    }

    func reply(idToken: String?) -> JSONValue {
        JSONValue.object(JSONObject()).with([
            "access_token": "at-1", "token_type": "bearer", "expires_in": 3600, "refresh_token": "rt-1",
            "id_token": JSONValue(idToken), "scope": "openid api",
        ])
    }

    /// Begins a code flow with discovery.
    func begin(
        metadata: JSONValue = metadata
    ) throws -> (address: URI, fields: [String: String], pending: JSONObject) {
        provider.expect("GET", Self.discovery, metadata)
        return try adapter.begin(request(), in: world.context).opened()
    }

    func answer(_ state: String?, _ more: String = "") -> InteractionReply {
        .redirect("http://127.0.0.1:4711/cb?code=c-1&state=\(state ?? "")\(more)")
    }

    /// Signs in by code.
    func signIn() throws -> SignInResult {
        let (_, fields, pending) = try begin()
        provider.expect("GET", "https://op.example/keys", world.signer.keySet)
        let idToken = try world.signer.sign(claims(nonce: fields["nonce"]))
        provider.expect("POST", "https://op.example/token", reply(idToken: idToken))
        return try adapter.resume(request(), pending: pending, with: answer(fields["state"]), in: world.context)
            .result()
    }
}

@Suite struct GenericOAuth2SignInTests {
    @Test func `signs in by code with PKCE, nonce and a checked id token`() throws {
        let fixture = try GenericFixture()
        let (address, fields, pending) = try fixture.begin()
        #expect(address.description.hasPrefix("https://op.example/authorize?response_type=code&client_id=app&"))
        #expect(fields["redirect_uri"] == "http://127.0.0.1:4711/cb")
        #expect(fields["scope"] == "openid api")
        #expect(fields["code_challenge_method"] == "S256")
        let nonce = try #require(fields["nonce"])
        #expect(nonce.utf8.count >= 43 && (fields["state"] ?? "").utf8.count >= 43 && nonce != fields["state"])

        let idToken = try fixture.world.signer.sign(fixture.claims(nonce: nonce))
        fixture.provider.expect("GET", "https://op.example/keys", fixture.world.signer.keySet)
        let challenge = fields["code_challenge"]
        let reply = fixture.reply(idToken: idToken)
        fixture.provider.expect("POST", "https://op.example/token") { received throws(CredentialError) in
            let proof = try PKCE(verifier: received.form["code_verifier"] ?? "", cryptography: LibCryptography())
            #expect(proof.challenge == challenge)
            #expect(
                received.form.filter { $0.key != "code_verifier" } == [
                    "grant_type": "authorization_code", "code": "c-1", "client_id": "app",
                    "redirect_uri": "http://127.0.0.1:4711/cb",
                ])
            #expect(received.header("content-type") == "application/x-www-form-urlencoded")
            #expect(received.header("authorization") == nil)
            return HTTPResponse(status: 200, body: reply.bytes())
        }
        let result = try fixture.adapter.resume(
            fixture.request(), pending: pending, with: fixture.answer(fields["state"]), in: fixture.world.context
        ).result()
        #expect(
            result.identity
                == Identity(
                    issuer: GenericFixture.issuer, subject: "ada-1", username: "ada", displayName: "Ada Example"))
        let token = try #require(result.tokens.accessToken)
        #expect(token.token.reveal() == "at-1")
        #expect(token.tokenType == "Bearer")
        #expect(token.expiresAt.epochSeconds == 1_700_003_600)
        #expect(token.key == TokenRequestKey(scope: ["openid", "api"]))
        #expect(result.tokens.grant.refreshToken?.reveal() == "rt-1")
        #expect(result.tokens.grant.idToken?.reveal() == idToken)
        #expect(fixture.provider.missing == 0)
    }

    @Test(arguments: [(true, 600), (false, 31_536_000)] as [(Bool, Int64)])
    func `a token without expiry stays valid if no refresh is possible`(refreshes: Bool, seconds: Int64)
        throws
    {
        let fixture = try GenericFixture()
        let (_, fields, pending) = try fixture.begin()
        fixture.provider.expect("GET", "https://op.example/keys", fixture.world.signer.keySet)
        let idToken = try fixture.world.signer.sign(fixture.claims(nonce: fields["nonce"]))
        var reply = try #require(fixture.reply(idToken: idToken).object)
        reply["expires_in"] = nil
        if !refreshes { reply["refresh_token"] = nil }
        fixture.provider.expect("POST", "https://op.example/token", .object(reply))
        let result = try fixture.adapter.resume(
            fixture.request(), pending: pending, with: fixture.answer(fields["state"]), in: fixture.world.context
        ).result()
        #expect(result.tokens.accessToken?.expiresAt == fixture.world.context.clock.now.adding(seconds))
    }

    @Test func `finishes in another process, found by the pending sign-in`() throws {
        let fixture = try GenericFixture()
        let (_, fields, pending) = try fixture.begin()
        let stored = try #require(try JSONValue.parse(JSONValue.object(pending).text()).object)
        fixture.provider.expect("GET", GenericFixture.discovery, GenericFixture.metadata)
        fixture.provider.expect("GET", "https://op.example/keys", fixture.world.signer.keySet)
        let idToken = try fixture.world.signer.sign(fixture.claims(nonce: fields["nonce"]))
        fixture.provider.expect("POST", "https://op.example/token", fixture.reply(idToken: idToken))
        let result = try GenericOAuth2Adapter().resume(
            fixture.request(), pending: stored, with: fixture.answer(fields["state"]), in: fixture.world.context
        ).result()
        #expect(result.identity.subject == "ada-1")
    }

    @Test(arguments: [
        "http://127.0.0.1:4711/cb?code=c-1&state=other", "http://127.0.0.1:4711/other?code=c-1&state=STATE",
        "http://127.0.0.1:4711/cb?code=c-1",
        "http://127.0.0.1:4711/cb?code=c-1&state=STATE&iss=https://evil.example",
        "http://127.0.0.1:4711/cb?code=c-1&state=STATE&code=c-2", "code=c-1&state=other", "c-1",
    ]) func `sends no code for an answer that does not hold up`(answer: String) throws {
        let fixture = try GenericFixture()
        let (_, fields, pending) = try fixture.begin()
        let text = answer.split(separator: "STATE", omittingEmptySubsequences: false)
            .joined(separator: fields["state"] ?? "")
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: .redirect(text), in: fixture.world.context)
        }
        #expect(error?.code == .validationFailed)
        #expect(fixture.provider.received.count == 1)
    }

    @Test func `refuses an answer without the issuer that the metadata promises`() throws {
        let fixture = try GenericFixture()
        let (_, fields, pending) = try fixture.begin(
            metadata: GenericFixture.metadata.with(["authorization_response_iss_parameter_supported": true]))
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: fixture.answer(fields["state"]),
                in: fixture.world.context)
        }
        #expect(error?.code == .validationFailed)
    }

    @Test func `sends no code to an endpoint that has changed since the sign-in began`() throws {
        let fixture = try GenericFixture()
        let (_, fields, pending) = try fixture.begin()
        fixture.provider.expect(
            "GET", GenericFixture.discovery,
            GenericFixture.metadata.with(["token_endpoint": "https://evil.example/token"]))
        let error = #expect(throws: CredentialError.self) {
            try GenericOAuth2Adapter().resume(
                fixture.request(), pending: pending, with: fixture.answer(fields["state"]),
                in: fixture.world.context)
        }
        #expect(error?.code == .validationFailed)
    }

    @Test(
        arguments: [
            ["nonce": "other"], ["iss": "https://evil.example"], ["aud": "other"], ["exp": 1_699_990_000],
            ["sub": .null], ["at_hash": "AAAA"],
        ] as [JSONValue])
    func `gives out nothing when the id token does not hold up`(changes: JSONValue) throws {
        let fixture = try GenericFixture()
        let (_, fields, pending) = try fixture.begin()
        fixture.provider.expect("GET", "https://op.example/keys", fixture.world.signer.keySet)
        let idToken = try fixture.world.signer.sign(fixture.claims(nonce: fields["nonce"]).with(changes))
        fixture.provider.expect("POST", "https://op.example/token", fixture.reply(idToken: idToken))
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: fixture.answer(fields["state"]),
                in: fixture.world.context)
        }
        #expect(error?.code == .validationFailed)
        #expect(error?.code.exitStatus == 7)
    }

    @Test(arguments: [(1_699_999_000, true), (1_699_990_000, false), (nil, false)] as [(Int64?, Bool)])
    func `checks the age of the sign-in if the type limits it`(signedIn: Int64?, isAccepted: Bool) throws {
        var fixture = try GenericFixture()
        fixture.type.authorizeParameters = ["max_age": "1000"]
        let (_, fields, pending) = try fixture.begin()
        #expect(fields["max_age"] == "1000")
        fixture.provider.expect("GET", "https://op.example/keys", fixture.world.signer.keySet)
        let claims = fixture.claims(nonce: fields["nonce"]).with(["auth_time": JSONValue(signedIn)])
        fixture.provider.expect(
            "POST", "https://op.example/token", fixture.reply(idToken: try fixture.world.signer.sign(claims)))
        let outcome = Result {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: fixture.answer(fields["state"]),
                in: fixture.world.context)
        }
        #expect(((try? outcome.get()) != nil) == isAccepted)
    }

    @Test func `refuses a reply without the id token that was asked for`() throws {
        let fixture = try GenericFixture()
        let (_, fields, pending) = try fixture.begin()
        fixture.provider.expect("GET", "https://op.example/keys", fixture.world.signer.keySet)
        fixture.provider.expect("POST", "https://op.example/token", fixture.reply(idToken: nil))
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: fixture.answer(fields["state"]),
                in: fixture.world.context)
        }
        #expect(error?.code == .validationFailed)
    }

    @Test(arguments: [true, false])
    func `fetches the keys once more for a kid it does not know`(isKnownThen: Bool) throws {
        let fixture = try GenericFixture()
        _ = try fixture.signIn()
        let newer = try Signer(kid: "k2")
        fixture.world.clock.pass(60)
        let (_, fields, pending) = try fixture.adapter.begin(fixture.request(), in: fixture.world.context).opened()
        fixture.provider.expect(
            "POST", "https://op.example/token",
            fixture.reply(idToken: try newer.sign(fixture.claims(nonce: fields["nonce"]))))
        fixture.provider.expect(
            "GET", "https://op.example/keys", isKnownThen ? newer.keySet : fixture.world.signer.keySet)
        let outcome = Result {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: fixture.answer(fields["state"]),
                in: fixture.world.context)
        }
        #expect(((try? outcome.get()) != nil) == isKnownThen)
        #expect(fixture.provider.missing == 0)
    }

    @Test func `sends no code while the keys cannot be had`() throws {
        let fixture = try GenericFixture()
        let (_, fields, pending) = try fixture.begin()
        fixture.provider.expect("GET", "https://op.example/keys", 503, [:])
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: fixture.answer(fields["state"]),
                in: fixture.world.context)
        }
        #expect(error?.code == .temporary)
        #expect(fixture.provider.received.allSatisfy { $0.request.method == "GET" })
    }

    // MARK: Finding the provider

    @Test func `falls back to the metadata of RFC 8414`() throws {
        let fixture = try GenericFixture()
        fixture.provider.expect("GET", GenericFixture.discovery, 404, [:])
        fixture.provider.expect(
            "GET", "https://op.example/.well-known/oauth-authorization-server", GenericFixture.metadata)
        _ = try fixture.adapter.begin(fixture.request(), in: fixture.world.context).opened()
    }

    @Test func `refuses metadata of another issuer and tries no other document`() throws {
        let fixture = try GenericFixture()
        let error = #expect(throws: CredentialError.self) {
            try fixture.begin(metadata: GenericFixture.metadata.with(["issuer": "https://evil.example"]))
        }
        #expect(error?.code == .validationFailed)
    }

    @Test func `refuses a provider that has PKCE only as plain`() throws {
        let fixture = try GenericFixture()
        let error = #expect(throws: CredentialError.self) {
            try fixture.begin(
                metadata: GenericFixture.metadata.with(["code_challenge_methods_supported": ["plain"]]))
        }
        #expect(error?.code == .unsupported)
    }

    @Test func `needs no discovery if the type has all endpoints, and its endpoints take precedence`() throws {
        var fixture = try GenericFixture()
        fixture.type.endpoints = [
            .authorization: "https://op.example/authorize2?tenant=1", .token: "https://op.example/token2",
        ]
        fixture.provider.expect("GET", GenericFixture.discovery, GenericFixture.metadata)
        let (address, _, pending) = try fixture.adapter.begin(fixture.request(), in: fixture.world.context).opened()
        #expect(address.description.hasPrefix("https://op.example/authorize2?tenant=1&response_type=code"))
        #expect(pending["token_endpoint"]?.string == "https://op.example/token2")
        fixture.type.endpoints[.jwks] = "https://op.example/keys"
        _ = try GenericOAuth2Adapter().begin(fixture.request(), in: fixture.world.context).opened()
        #expect(fixture.provider.received.count == 1)
    }

    @Test(
        arguments: [
            (nil, "default", nil), ("ada", "ada", "ada"),
        ] as [(String?, String, String?)])
    func `signs in to plain OAuth, without an identity of the user`(
        hint: String?, subject: String, username: String?
    ) throws {
        var fixture = try GenericFixture()
        fixture.type.issuer = nil
        fixture.type.scope = ["repo"]
        fixture.type.endpoints = [
            .authorization: "https://git.example/authorize", .token: "https://git.example/token",
        ]
        var request = fixture.request()
        request.loginHint = hint
        let (_, fields, pending) = try fixture.adapter.begin(request, in: fixture.world.context).opened()
        #expect(fields["nonce"] == nil)
        #expect(fields["code_challenge"] != nil)
        // An ID token that no key can check is not kept.
        fixture.provider.expect(
            "POST", "https://git.example/token",
            ["access_token": "gho_1", "scope": "repo,gist", "token_type": "bearer", "id_token": "not.checked.here"])
        let result = try fixture.adapter.resume(
            request, pending: pending, with: fixture.answer(fields["state"]), in: fixture.world.context
        ).result()
        #expect(result.identity.subject == subject)
        #expect(result.identity.username == username)
        #expect(result.tokens.grant.scope == ["repo", "gist"])
        #expect(result.tokens.grant.idToken == nil)
        #expect(
            try fixture.adapter.provider(of: fixture.type)
                == "oauth2 token_endpoint=\(fixture.type.endpoints[.token] ?? "")")
    }

    @Test func `asks userinfo if the ID token has no name, and trusts it only for the same subject`() throws {
        for (subject, isAccepted) in [("ada-1", true), ("eve", false)] {
            let fixture = try GenericFixture()
            let (_, fields, pending) = try fixture.begin(
                metadata: GenericFixture.metadata.with(["userinfo_endpoint": "https://op.example/me"]))
            let claims = fixture.claims(nonce: fields["nonce"]).with(["preferred_username": .null])
            fixture.provider.expect("GET", "https://op.example/keys", fixture.world.signer.keySet)
            fixture.provider.expect(
                "POST", "https://op.example/token", fixture.reply(idToken: try fixture.world.signer.sign(claims)))
            fixture.provider.expect("GET", "https://op.example/me") { received in
                #expect(received.header("authorization") == "Bearer at-1")
                let body: JSONValue = ["sub": .string(subject), "email": "ada@example.com"]
                return HTTPResponse(status: 200, body: body.bytes())
            }
            let outcome = Result {
                try fixture.adapter.resume(
                    fixture.request(), pending: pending, with: fixture.answer(fields["state"]),
                    in: fixture.world.context
                ).result()
            }
            #expect((try? outcome.get())?.identity.username == (isAccepted ? "ada@example.com" : nil))
            #expect(((try? outcome.get()) != nil) == isAccepted)
        }
    }

    @Test(
        arguments: [
            { $0.clientID = "" }, { $0.issuer = "http://op.example" }, { $0.issuer = "op.example" },
            { $0.issuer = nil }, { $0.tenant = "t" }, { $0.policies = ["a": "b"] },
            { $0.endpoints[.token] = "http://op.example/token" }, { $0.endpoints[.jwks] = "file:///keys" },
            { $0.tokenEndpointAuthMethod = "client_secret_jwt" }, { $0.authorizeParameters = ["state": "1"] },
            { $0.headers = ["Authorization": "x"] }, { $0.scope = ["a\"b"] },
        ] as [@Sendable (inout AccountType) -> Void])
    func `finds fault with a definition without the network`(change: @Sendable (inout AccountType) -> Void) throws {
        var fixture = try GenericFixture()
        try fixture.adapter.check(fixture.type)
        change(&fixture.type)
        let error = #expect(throws: CredentialError.self) { try fixture.adapter.check(fixture.type) }
        #expect(error?.code == .configuration)
        #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(fixture.request(), in: fixture.world.context)
        }
        #expect(fixture.provider.received.isEmpty)
    }

    @Test func `without an issuer userinfo identifies the user, and the ID token is ignored`() throws {
        var fixture = try GenericFixture()
        fixture.type.issuer = nil
        fixture.type.endpoints = [
            .authorization: "https://op.example/authorize", .token: "https://op.example/token",
        ]
        let error = #expect(throws: CredentialError.self) { try fixture.adapter.check(fixture.type) }
        #expect(error?.hint?.contains("userinfo_endpoint") == true)
        fixture.type.endpoints[.userInfo] = "https://op.example/me"
        let (_, fields, pending) = try fixture.adapter.begin(fixture.request(), in: fixture.world.context).opened()
        #expect(fields["scope"] == "openid api" && fields["nonce"] == nil)
        fixture.provider.expect("POST", "https://op.example/token", fixture.reply(idToken: "a.b.c"))
        fixture.provider.expect("GET", "https://op.example/me", ["sub": "782bbtaQ", "email": "ada@example.com"])
        let result = try fixture.adapter.resume(
            fixture.request(), pending: pending, with: fixture.answer(fields["state"]), in: fixture.world.context
        ).result()
        #expect(result.identity.subject == "782bbtaQ" && result.identity.username == "ada@example.com")
        #expect(result.tokens.grant.idToken == nil)
        // An ID token that is sent to APIs must be one that credmgr can check.
        fixture.type.bearer = .idToken
        #expect(throws: CredentialError.self) { try fixture.adapter.check(fixture.type) }
    }

    @Test func `an issuer that stands for each tenant is refused with how to name one`() throws {
        var fixture = try GenericFixture()
        fixture.type.issuer = "https://op.example/common/v2.0"
        fixture.provider.expect(
            "GET", "https://op.example/common/v2.0/.well-known/openid-configuration",
            GenericFixture.metadata.with(["issuer": "https://op.example/{tenantid}/v2.0"]))
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(fixture.request(), in: fixture.world.context)
        }
        #expect(error?.code == .validationFailed)
        #expect(error?.hint?.contains("your tenant ID") == true, "\(error?.hint ?? "")")
    }

    @Test func `knows no policies`() throws {
        let fixture = try GenericFixture()
        #expect(try fixture.adapter.policy(nil, of: fixture.type) == "")
        let error = #expect(throws: CredentialError.self) { try fixture.adapter.policy("x", of: fixture.type) }
        #expect(error?.code == .usage)
    }
}
