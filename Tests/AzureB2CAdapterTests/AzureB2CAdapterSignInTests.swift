import AzureB2CAdapter
import CredentialCore
import CryptoSupport
import OAuth
import StrictJSON
import TestAdapters
import TestPorts
import Testing

/// The B2C adapter before a tenant in memory.
struct B2CFixture {
    static let clientID = "580e250c-8f26-49d0-bee8-1c078add1609"
    static let tenantID = "7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77"
    static let base = "https://exampleb2c.b2clogin.com/exampleb2c.onmicrosoft.com/b2c_1_sign_in"
    static let issuer = "https://exampleb2c.b2clogin.com/\(tenantID)/v2.0/"
    static let discovery = base + "/v2.0/.well-known/openid-configuration"
    static let keys = base + "/discovery/v2.0/keys"
    static let token = base + "/oauth2/v2.0/token"
    static let metadata: JSONValue = [
        "issuer": .string(issuer), "authorization_endpoint": .string(base + "/oauth2/v2.0/authorize"),
        "token_endpoint": .string(token), "end_session_endpoint": .string(base + "/oauth2/v2.0/logout"),
        "jwks_uri": .string(keys), "id_token_signing_alg_values_supported": ["RS256"],
    ]
    private static let signer = Result { try Signer() }

    var world: AdapterWorld
    let adapter = AzureB2CAdapter()
    var type = AccountType(name: "Tasks", adapter: "azure-b2c", clientID: clientID)

    init() throws {
        world = AdapterWorld(try Self.signer.get())
        type.tenant = "exampleb2c"
        type.policies = ["sign-in": "b2c_1_sign_in", "sign-up": "B2C_1_Sign_Up", "reset": "b2c_1_reset"]
        type.defaultPolicy = "sign-in"
    }

    var provider: ScriptedProvider { world.provider }

    func request(_ flow: SignInFlow = .code) -> SignInRequest {
        SignInRequest(
            type: type, flow: flow, policy: "b2c_1_sign_in", scope: type.scope.isEmpty ? ["openid"] : type.scope,
            redirectURI: "http://127.0.0.1:4711/")
    }

    /// The claims of a current tenant; the policy in its own case, as B2C gives it back.
    func claims(nonce: String?) -> JSONValue {
        [
            "iss": .string(Self.issuer), "sub": "3f0c9a52", "oid": "3f0c9a52", "aud": .string(Self.clientID),
            "exp": 1_700_003_600, "nbf": 1_700_000_000, "iat": 1_700_000_000, "nonce": JSONValue(nonce),
            "tfp": "B2C_1_Sign_In", "name": "Ada Example", "emails": ["ada@example.com"], "ver": "1.0",
        ]
    }

    /// A reply as old tenants send it: numbers as strings.
    func reply(idToken: String) -> JSONValue {
        [
            "access_token": "at-1", "id_token": .string(idToken), "token_type": "Bearer",
            "not_before": "1700000000",
            "expires_in": "3600", "expires_on": "1700003600", "resource": .string(Self.clientID),
            "id_token_expires_in": "3600",
            "profile_info":
                "eyJ2ZXIiOiIxLjAiLCJ0aWQiOiI3ZDNjMWUwYS01MmI0LTRmMGUtOWE2MS0wYzJmNGU4YjFkNzciLCJzdWIiOm51bGwsIm5hbWUiOiJBZGEgRXhhbXBsZSIsInByZWZlcnJlZF91c2VybmFtZSI6bnVsbCwiaWRwIjpudWxsfQ",
            "scope": .string(Self.clientID + " offline_access openid"), "refresh_token": "rt-1",
            "refresh_token_expires_in": "1209600",
        ]
    }

    func begin(
        metadata: JSONValue = metadata, at discovery: String = discovery
    ) throws -> (address: URI, fields: [String: String], pending: JSONObject) {
        provider.expect("GET", discovery, metadata)
        return try adapter.begin(request(), in: world.context).opened()
    }

    func answer(_ fields: [String: String]) -> InteractionReply {
        .redirect("http://localhost:4711/?state=\(fields["state"] ?? "")&code=c-1")
    }

    /// Signs in by code, with claims and reply changed.
    func signIn(claims changes: JSONValue = [:], reply replyChanges: JSONValue = [:]) throws -> SignInResult {
        let (_, fields, pending) = try begin()
        provider.expect("GET", Self.keys, world.signer.keySet)
        let idToken = try world.signer.sign(claims(nonce: fields["nonce"]).with(changes))
        provider.expect("POST", Self.token, reply(idToken: idToken).with(replyChanges))
        return try adapter.resume(request(), pending: pending, with: answer(fields), in: world.context).result()
    }
}

@Suite struct AzureB2CAdapterSignInTests {
    @Test func `signs in as B2C really answers`() throws {
        let fixture = try B2CFixture()
        let (address, fields, pending) = try fixture.begin()
        #expect(address.description.hasPrefix(B2CFixture.base + "/oauth2/v2.0/authorize?response_type=code&"))
        // The portal registers localhost and no IP literals.
        #expect(fields["redirect_uri"] == "http://localhost:4711/")
        #expect(fields["scope"] == "openid \(B2CFixture.clientID) offline_access")
        #expect(fields["client_info"] == "1")
        #expect(fields["response_mode"] == "query")
        #expect(fields["code_challenge_method"] == "S256")
        let idToken = try fixture.world.signer.sign(fixture.claims(nonce: fields["nonce"]))
        fixture.provider.expect("GET", B2CFixture.keys, fixture.world.signer.keySet)
        let reply = fixture.reply(idToken: idToken)
        fixture.provider.expect("POST", B2CFixture.token) { received in
            #expect(received.form["client_secret"] == nil)
            #expect(received.form["client_id"] == B2CFixture.clientID)
            #expect(received.form["p"] == nil)
            #expect(received.form["scope"] == "openid \(B2CFixture.clientID) offline_access")
            #expect(received.form["redirect_uri"] == "http://localhost:4711/")
            #expect(received.header("client-request-id")?.utf8.count == 36)
            return HTTPResponse(status: 200, body: reply.bytes())
        }
        let result = try fixture.adapter.resume(
            fixture.request(), pending: pending, with: fixture.answer(fields), in: fixture.world.context
        ).result()
        #expect(
            result.identity
                == Identity(
                    issuer: B2CFixture.issuer, subject: "3f0c9a52", username: "ada@example.com",
                    displayName: "Ada Example"))
        let token = try #require(result.tokens.accessToken)
        #expect(token.expiresAt.epochSeconds == 1_700_003_600)
        #expect(token.key.policy == "b2c_1_sign_in")
        #expect(result.tokens.grant.refreshExpiresAt?.epochSeconds == 1_701_209_600)
        #expect(result.tokens.grant.adapterState["tid"]?.string == B2CFixture.tenantID)
    }

    @Test(arguments: [
        (
            "https://login.microsoftonline.com/exampleb2c.onmicrosoft.com?p=b2c_1_sign_in",
            "https://login.microsoftonline.com/exampleb2c.onmicrosoft.com/v2.0/.well-known/openid-configuration?p=b2c_1_sign_in",
            "https://login.microsoftonline.com/exampleb2c.onmicrosoft.com/oauth2/v2.0/authorize?p=b2c_1_sign_in&response_type",
            "https://login.microsoftonline.com/\(B2CFixture.tenantID)/v2.0/"
        ),
        (
            "https://login.example.com/tfp/\(B2CFixture.tenantID)/b2c_1_sign_in",
            "https://login.example.com/tfp/\(B2CFixture.tenantID)/b2c_1_sign_in/v2.0/.well-known/openid-configuration",
            "https://login.example.com/tfp/\(B2CFixture.tenantID)/b2c_1_sign_in/oauth2/v2.0/authorize?response_type",
            "https://login.example.com/tfp/\(B2CFixture.tenantID)/b2c_1_sign_in/v2.0/"
        ),
    ]) func `keeps the form of the URLs`(
        authority: String, discovery: String, start: String, issuer: String
    ) throws {
        var fixture = try B2CFixture()
        fixture.type.tenant = nil
        fixture.type.authority = authority
        let (address, _, _) = try fixture.begin(
            metadata: ["issuer": .string(issuer)], at: discovery)
        #expect(address.description.hasPrefix(start))
    }

    @Test(arguments: [
        "https://evil.example/\(B2CFixture.tenantID)/v2.0/",
        "https://exampleb2c.b2clogin.com:444/\(B2CFixture.tenantID)/v2.0/",
        "http://exampleb2c.b2clogin.com/\(B2CFixture.tenantID)/v2.0/",
        "https://exampleb2c.b2clogin.com/common/v2.0/",
        "https://exampleb2c.b2clogin.com/",
        "https://exampleb2c.b2clogin.com/tfp/\(B2CFixture.tenantID)/b2c_1_other/v2.0/",
        "https://exampleb2c.b2clogin.com/tfp/\(B2CFixture.tenantID)/", "not a url",
    ]) func `refuses metadata with an issuer that is not the tenant's`(issuer: String) throws {
        let fixture = try B2CFixture()
        let error = #expect(throws: CredentialError.self) {
            try fixture.begin(metadata: B2CFixture.metadata.with(["issuer": .string(issuer)]))
        }
        #expect(error?.code == .validationFailed)
    }

    @Test func `refuses an issuer of another tenant than the one configured by its GUID`() throws {
        var fixture = try B2CFixture()
        fixture.type.tenant = nil
        fixture.type.authority =
            "https://exampleb2c.b2clogin.com/00000000-52b4-4f0e-9a61-0c2f4e8b1d77/b2c_1_sign_in"
        let error = #expect(throws: CredentialError.self) {
            try fixture.begin(
                at: "https://exampleb2c.b2clogin.com/00000000-52b4-4f0e-9a61-0c2f4e8b1d77/b2c_1_sign_in"
                    + "/v2.0/.well-known/openid-configuration")
        }
        #expect(error?.code == .validationFailed)
    }

    @Test(arguments: [
        ("https://login.example.com/\(B2CFixture.tenantID)/v2.0/", true),
        ("https://login.example.com/tfp/\(B2CFixture.tenantID)/b2c_1_sign_in/v2.0/", true),
        (B2CFixture.issuer, false), ("https://login.example.com/00000000-52b4-4f0e-9a61-0c2f4e8b1d77/v2.0/", false),
        ("https://login.example.org/\(B2CFixture.tenantID)/v2.0/", false),
    ]) func `accepts the issuer of a custom domain only if the type names it`(
        issuer: String, isGood: Bool
    ) throws {
        var fixture = try B2CFixture()
        fixture.type.issuer = "https://login.example.com/\(B2CFixture.tenantID)/v2.0/"
        let metadata = B2CFixture.metadata.with(["issuer": .string(issuer)])
        guard !isGood else {
            _ = try fixture.begin(metadata: metadata)
            return
        }
        let error = #expect(throws: CredentialError.self) { try fixture.begin(metadata: metadata) }
        #expect(error?.code == .validationFailed)
    }

    @Test(arguments: [
        "https://login.example.com/v2.0/", "https://login.example.com/exampleb2c.onmicrosoft.com/v2.0/",
    ]) func `an issuer must name the tenant by its GUID`(issuer: String) throws {
        var fixture = try B2CFixture()
        fixture.type.issuer = issuer
        let error = #expect(throws: CredentialError.self) { try fixture.adapter.check(fixture.type) }
        #expect(error?.code == .configuration)
    }

    @Test func `registers no clients, and says so before anything is sent`() throws {
        let fixture = try B2CFixture()
        let error = #expect(throws: CredentialError.self) { try fixture.adapter.checkRegistration() }
        #expect(error?.code == .unsupported)
        #expect(error?.message == "the provider Azure AD B2C does not support dynamic client registration")
        #expect(fixture.provider.received.isEmpty)
    }

    @Test func `refuses keys at another host`() throws {
        let fixture = try B2CFixture()
        let error = #expect(throws: CredentialError.self) {
            try fixture.begin(metadata: B2CFixture.metadata.with(["jwks_uri": "https://evil.example/keys"]))
        }
        #expect(error?.code == .validationFailed)
    }

    @Test(
        arguments: [
            ["tfp": "b2c_1_sign_up"], ["tfp": .null], ["tfp": .null, "acr": "b2c_1_sign_in_2"],
            ["tfp": "b2c_1_sign_in2"],
            ["tfp": "b2c_1_sign_up", "acr": "b2c_1_sign_in"], ["tid": "00000000-52b4-4f0e-9a61-0c2f4e8b1d77"],
            ["iss": "https://exampleb2c.b2clogin.com/7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77/v2.0"],
            ["nonce": "other"],
            ["aud": "other"], ["exp": 1_699_999_000], ["nbf": 1_700_001_000], ["c_hash": "AAAA"],
            ["sub": "Not supported currently. Use oid claim.", "oid": .null],
        ] as [JSONValue])
    func `gives out nothing when the id token does not hold up`(changes: JSONValue) throws {
        let fixture = try B2CFixture()
        let error = #expect(throws: CredentialError.self) { try fixture.signIn(claims: changes) }
        #expect(error?.code == .validationFailed)
    }

    @Test(
        arguments: [
            (["tfp": .null, "acr": "b2c_1_sign_in"], "3f0c9a52", "ada@example.com"),
            (["tid": "7D3C1E0A-52B4-4F0E-9A61-0C2F4E8B1D77"], "3f0c9a52", "ada@example.com"),
            (["sub": "Not supported currently. Use oid claim."], "3f0c9a52", "ada@example.com"),
            (["oid": .null, "sub": "s-1"], "s-1", "ada@example.com"),
            (["emails": .null, "preferred_username": "ada"], "3f0c9a52", "ada"),
            (["emails": [], "signInNames.emailAddress": "a@b"], "3f0c9a52", "a@b"),
            (["emails": .null, "name": .null], "3f0c9a52", nil),
        ] as [(JSONValue, String, String?)])
    func `derives the identity of the user from the claims of the policy`(
        changes: JSONValue, subject: String, username: String?
    ) throws {
        let identity = try B2CFixture().signIn(claims: changes).identity
        #expect(identity.subject == subject)
        #expect(identity.username == username)
        #expect(identity.displayName == "Ada Example")
    }

    @Test func `survives an old profile_info, none and a broken one`() throws {
        for profile in [.null, "", "!", "W10", "e30", 7] as [JSONValue] {
            #expect(try B2CFixture().signIn(reply: ["profile_info": profile]).identity.subject == "3f0c9a52")
        }
    }

    @Test func `accepts an ID token alone only if the type uses it as bearer token`() throws {
        let alone: JSONValue = [
            "access_token": .null, "refresh_token": .null, "expires_in": .null, "expires_on": .null,
            "scope": "openid",
        ]
        let error = #expect(throws: CredentialError.self) { try B2CFixture().signIn(reply: alone) }
        #expect(error?.code == .malformedReply)
        var fixture = try B2CFixture()
        fixture.type.bearer = .idToken
        let result = try fixture.signIn(reply: alone)
        #expect(result.tokens.accessToken?.token == result.tokens.grant.idToken)
        #expect(result.tokens.accessToken?.expiresAt.epochSeconds == 1_700_003_600)
        #expect(fixture.adapter.effectiveScope(["openid"], of: fixture.type) == ["openid", "offline_access"])
    }

    @Test func `accepts the pasted URL of an out-of-band redirect`() throws {
        var fixture = try B2CFixture()
        fixture.type.redirectURI = "urn:ietf:wg:oauth:2.0:oob"
        var request = fixture.request()
        request.redirectURI = "urn:ietf:wg:oauth:2.0:oob"
        fixture.provider.expect("GET", B2CFixture.discovery, B2CFixture.metadata)
        fixture.provider.expect("GET", B2CFixture.keys, fixture.world.signer.keySet)
        for paste in ["urn:ietf:wg:oauth:2.0:oob?code=c-1&state=STATE", "code=c-1&state=STATE", "c-1"] {
            let (_, fields, pending) = try fixture.adapter.begin(request, in: fixture.world.context).opened()
            #expect(fields["redirect_uri"] == "urn:ietf:wg:oauth:2.0:oob")
            let idToken = try fixture.world.signer.sign(fixture.claims(nonce: fields["nonce"]))
            fixture.provider.expect("POST", B2CFixture.token, fixture.reply(idToken: idToken))
            let text = paste.split(separator: "STATE", omittingEmptySubsequences: false)
                .joined(separator: fields["state"] ?? "")
            _ = try fixture.adapter.resume(
                request, pending: pending, with: .text(Secret(text)), in: fixture.world.context
            ).result()
            #expect(fixture.provider.received.last?.form["code"] == "c-1")
        }
    }

    // MARK: Without the network

    @Test(
        arguments: [
            ([], "\(B2CFixture.clientID) openid offline_access"),
            ([""], "\(B2CFixture.clientID) openid offline_access"),
            (["openid"], "openid \(B2CFixture.clientID) offline_access"),
            (["OpenID", "profile"], "OpenID profile \(B2CFixture.clientID) offline_access"),
            (["https://t/api/read"], "https://t/api/read openid offline_access"),
            (["openid", B2CFixture.clientID, "offline_access"], "openid \(B2CFixture.clientID) offline_access"),
            (["https://t/api/.default"], "https://t/api/.default"),
        ] as [([String], String)])
    func `adds the scopes that B2C needs, once`(scope: [String], expected: String) throws {
        let fixture = try B2CFixture()
        let effective = fixture.adapter.effectiveScope(scope, of: fixture.type)
        #expect(effective.joined(separator: " ") == expected)
        #expect(fixture.adapter.effectiveScope(effective, of: fixture.type) == effective)
    }

    @Test(
        arguments: [
            (["openid"], [], "\(B2CFixture.clientID) openid"),
            ([B2CFixture.clientID], [B2CFixture.clientID], "\(B2CFixture.clientID) openid"),
            (["https://t/api/read"], ["https://t/api/write"], "https://t/api/write openid"),
            (["openid", "Offline_Access"], ["openid"], "openid \(B2CFixture.clientID) offline_access"),
        ] as [([String], [String], String)])
    func `omits offline_access if the scope of the type omits it`(
        own: [String], asked: [String], expected: String
    ) throws {
        var fixture = try B2CFixture()
        fixture.type.scope = own
        #expect(fixture.adapter.effectiveScope(asked, of: fixture.type).joined(separator: " ") == expected)
    }

    @Test(arguments: [SignInFlow.device, .jwtBearer, .password])
    func `refuses flows that B2C lacks, by name`(flow: SignInFlow) throws {
        let fixture = try B2CFixture()
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(fixture.request(flow), in: fixture.world.context)
        }
        #expect(error?.code == .unsupported)
        #expect(error?.message.contains(flow == .jwtBearer ? "jwt_bearer" : flow.rawValue) ?? false)
        #expect(fixture.provider.received.isEmpty)
    }

    @Test(arguments: ["dpop_bound_access_tokens", "token_exchange", "require_pushed_authorization_requests"])
    func `refuses the keys of a type that B2C does not support, by name`(key: String) throws {
        var fixture = try B2CFixture()
        fixture.type.bindsAccessTokens = key == "dpop_bound_access_tokens"
        fixture.type.exchangesTokens = key == "token_exchange"
        fixture.type.pushesAuthorizationRequests = key == "require_pushed_authorization_requests"
        let error = #expect(throws: CredentialError.self) { try fixture.adapter.check(fixture.type) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains(key) ?? false)
        #expect(fixture.provider.received.isEmpty)
    }

    @Test func `says that B2C has no revocation`() throws {
        let fixture = try B2CFixture()
        let grant = Grant(flow: .code, obtainedAt: fixture.world.clock.now)
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.revoke(grant, of: fixture.type, in: fixture.world.context)
        }
        #expect(error?.code == .unsupported)
        let early = #expect(throws: CredentialError.self) { try fixture.adapter.checkRevocation() }
        #expect(early?.code == .unsupported)
        let address = try fixture.adapter.endSessionAddress(
            nil, policy: "b2c_1_sign_in", of: fixture.type, in: fixture.world.context)
        #expect(address?.description == B2CFixture.base + "/oauth2/v2.0/logout?client_id=" + B2CFixture.clientID)
        #expect(fixture.provider.received.isEmpty)
    }

    @Test func `finds policies by alias and by name in any case`() throws {
        let fixture = try B2CFixture()
        #expect(try fixture.adapter.policy(nil, of: fixture.type) == "b2c_1_sign_in")
        #expect(try fixture.adapter.policy("sign-up", of: fixture.type) == "b2c_1_sign_up")
        #expect(try fixture.adapter.policy("B2C_1_SIGN_UP", of: fixture.type) == "b2c_1_sign_up")
        #expect(throws: CredentialError.self) { try fixture.adapter.policy("sign-out", of: fixture.type) }
        #expect(
            try fixture.adapter.provider(of: fixture.type)
                == "b2c:https://exampleb2c.b2clogin.com/exampleb2c.onmicrosoft.com")
    }

    @Test(
        arguments: [
            { $0.clientID = "" }, { $0.tenant = nil }, { $0.issuer = "https://login.example.com/" },
            { $0.flow = .device },
            { $0.defaultPolicy = "nope" }, { $0.defaultPolicy = "no thing" },
            { $0.passwordResetPolicy = "no thing" },
            { $0.authorizeParameters = ["p": "x"] },
            { $0.endpoints[.revocation] = "https://exampleb2c.b2clogin.com/revoke" },
            { $0.authority = "http://b2c.example/t" },
            { $0.tokenParameters = ["client_secret": "x"] }, { $0.policies["bad"] = "b2c 1" },
        ] as [@Sendable (inout AccountType) -> Void])
    func `finds fault with a definition`(change: @Sendable (inout AccountType) -> Void) throws {
        var fixture = try B2CFixture()
        try fixture.adapter.check(fixture.type)
        change(&fixture.type)
        let error = #expect(throws: CredentialError.self) { try fixture.adapter.check(fixture.type) }
        #expect(error?.code == .configuration)
    }
}
