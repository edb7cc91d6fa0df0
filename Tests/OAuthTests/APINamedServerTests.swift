import CredentialCore
import OAuth
import Testing

/// The endpoints that an authorization server may name if only an API named the server.
@Suite struct APINamedServerTests {
    private static let issuer = "https://as.example"

    /// The metadata of the issuer, with endpoints in place of its own.
    private func check(
        _ endpoints: [AccountType.Endpoint: String], sendsIssuer: Bool = false,
        api: String = "https://api.example/mcp",
        isNamedByAPI: Bool = true, explicit: [AccountType.Endpoint: String] = [:]
    ) throws(CredentialError) {
        var type = AccountType(name: "T", adapter: "oauth2", clientID: "c")
        type.issuer = Self.issuer
        type.apiBase = api
        type.issuerIsNamedByAPI = isNamedByAPI
        type.endpoints = explicit
        var metadata = ServerMetadata(issuer: Self.issuer)
        metadata.sendsIssuer = sendsIssuer
        let own: [AccountType.Endpoint: String] = [
            .authorization: Self.issuer + "/authorize", .token: Self.issuer + "/token",
        ]
        metadata.endpoints = own.merging(endpoints) { $1 }.compactMapValues(URI.init)
        try type.checkAuthor(of: metadata)
    }

    private func refusal(
        _ endpoints: [AccountType.Endpoint: String], sendsIssuer: Bool = false,
        api: String = "https://api.example/mcp"
    ) -> CredentialError? {
        do throws(CredentialError) { try check(endpoints, sendsIssuer: sendsIssuer, api: api) } catch {
            return error
        }
        return nil
    }

    @Test(
        arguments: [
            // All on the issuer's origin, or all on one other.
            [:], [.revocation: "https://as.example/revoke"],
            [.token: "https://oauth.example/token", .revocation: "https://oauth.example/revoke"],
            [.token: "https://oauth.example/token", .authorization: "https://oauth.example/authorize"],
            [.token: "https://oauth.example/token", .registration: "https://as.example/register"],
            // The page that ends a session is checked when it is opened.
            [.endSession: "https://elsewhere.example/logout"],
        ] as [[AccountType.Endpoint: String]])
    func `one origin beside the issuer's may have the endpoints and the page`(
        endpoints: [AccountType.Endpoint: String]
    ) throws {
        try check(endpoints)
    }

    @Test(
        arguments: [
            // The mix-up: an honest page beside the attacker's token endpoint.
            [.authorization: "https://honest.example/authorize"],
            [.authorization: "https://honest.example/authorize", .token: "https://evil.example/token"],
            // The refresh token would go to the attacker at a sign-out, or an access token at once.
            [.revocation: "https://evil.example/revoke"], [.userInfo: "https://evil.example/userinfo"],
            [.introspection: "https://evil.example/introspect"],
            [
                .token: "https://honest.example/token", .authorization: "https://honest.example/authorize",
                .revocation: "https://evil.example/revoke",
            ],
            // An API's own server in front of an honest one: the tokens of that one would go to it.
            [
                .token: "https://honest.example/token", .authorization: "https://honest.example/authorize",
                .revocation: "https://as.example/revoke",
            ],
            [
                .token: "https://honest.example/token", .authorization: "https://honest.example/authorize",
                .userInfo: "https://as.example/userinfo",
            ],
            [
                .token: "https://honest.example/token", .authorization: "https://honest.example/authorize",
                .introspection: "https://as.example/introspect",
            ],
            [.token: "https://honest.example/token", .deviceAuthorization: "https://as.example/device"],
            [.token: "https://honest.example/token", .pushedAuthorizationRequest: "https://as.example/par"],
            [.registration: "https://evil.example/register"], [.deviceAuthorization: "https://evil.example/device"],
            // The network of this machine.
            [.token: "https://127.0.0.1/token"], [.authorization: "https://localhost/authorize"],
            [.token: "https://192.168.1.1/token", .authorization: "https://192.168.1.1/authorize"],
            [.registration: "https://169.254.169.254/latest"], [.token: "https://10.1/token"],
            [.token: "https://[fd00::1]/token"], [.token: "https://2130706433/token"],
        ] as [[AccountType.Endpoint: String]])
    func `any other is refused, with the address and the rule`(endpoints: [AccountType.Endpoint: String]) throws {
        let error = try #require(refusal(endpoints))
        #expect(error.code == .validationFailed && error.code.exitStatus == 7)
        #expect(error.message.hasPrefix("https://api.example named the authorization server https://as.example"))
        #expect(
            error.hint?.hasSuffix("credmgr types add as.example --issuer https://as.example --register") == true)
    }

    @Test func `with iss in the response the page may be anywhere, but not in this network`() throws {
        try check([.authorization: "https://login.example/authorize"], sendsIssuer: true)
        #expect(refusal([.authorization: "https://10.0.0.1/authorize"], sendsIssuer: true) != nil)
        #expect(refusal([.revocation: "https://evil.example/revoke"], sendsIssuer: true) != nil)
    }

    @Test func `a token endpoint of the definition bounds the endpoints of the metadata`() throws {
        let explicit: [AccountType.Endpoint: String] = [.token: "https://oauth.example/token"]
        try check([.revocation: "https://oauth.example/revoke"], explicit: explicit)
        #expect(throws: CredentialError.self) {
            try check([.revocation: "https://as.example/revoke"], explicit: explicit)
        }
    }

    @Test func `an API of this network may name a server there`() throws {
        try check([.token: "http://127.0.0.1:8/token"], api: "http://localhost:9/mcp")
    }

    @Test func `a server that the user named may name any endpoint`() throws {
        try check(
            [.token: "https://oauth.example/token", .authorization: "https://accounts.example/authorize"],
            isNamedByAPI: false)
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("127.1", true), ("0", true), ("0.0.0.0", true), ("2130706433", true),
        ("0x7f000001", true), ("0177.0.0.1", true), ("0x7f.1", true), ("127.0.1", true), ("localhost", true),
        ("app.localhost", true), ("localhost.", true), ("127.0.0.1.", true), ("[::1]", true), ("[::]", true),
        ("128.0.0.1", false),
        ("localhost.example", false),
        ("127.example", false), ("1.2.3.4.5", false), ("0x", true), ("127.0.0.256", false), ("256", false),
        ("example.com", false), ("127.0.0.0.1", false), ("127..1", false), ("099.1", false),
    ])
    func `the loopback is known in every form`(host: String, expected: Bool) throws {
        #expect(try #require(URI("https://\(host)/")).isLoopback == expected)
    }
}
