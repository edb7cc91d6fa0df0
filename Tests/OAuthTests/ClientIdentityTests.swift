import CredentialCore
import OAuth
import StrictJSON
import TestAdapters
import TestPorts
import Testing

/// Dynamic registration (RFC 7591, RFC 7592) and protected resources (RFC 9728).
@Suite struct ClientIdentityTests {
    private static let redirect = "http://127.0.0.1:4711/"
    private let world: AdapterWorld

    init() throws { world = AdapterWorld(try Signer()) }

    // MARK: Registration

    private func register(
        _ status: Int, _ body: String, methods: [String]? = nil
    ) throws -> DynamicClientRegistration.Client {
        var metadata = ServerMetadata(
            issuer: "https://op.example",
            endpoints: [.registration: try #require(URI("https://op.example/register"))])
        metadata.authenticationMethods = methods
        world.provider.expect("POST", "https://op.example/register") { _ in
            HTTPResponse(status: status, body: Array(body.utf8))
        }
        return try DynamicClientRegistration(in: world.context).register(
            .init(name: "credmgr", redirectURI: Self.redirect, scope: ["openid", "api"]), at: metadata)
    }

    private func sent() throws -> JSONObject {
        guard case .bytes(let bytes)? = world.provider.received.last?.request.body else { return JSONObject() }
        return try #require(try JSONValue.parse(bytes).object)
    }

    @Test func `a public client is registered for one redirect URI`() throws {
        let client = try register(
            201,
            #"""
            {"client_id":"c-1","client_secret":"of no use","token_endpoint_auth_method":"none",
            "redirect_uris":["http://127.0.0.1:4711/"],"registration_access_token":"rat",
            "registration_client_uri":"https://op.example/register/c-1"}
            """#)
        #expect(client.clientID == "c-1" && client.secret == nil)
        #expect(client.management?.address.description == "https://op.example/register/c-1")
        #expect(client.management?.address.author == .api(host: "op.example"))
        let body = try sent()
        #expect(body["redirect_uris"] == ["http://127.0.0.1:4711/"])
        #expect(body["token_endpoint_auth_method"] == "none")
        #expect(body["scope"] == "openid api")
        #expect(body["application_type"] == "native")
    }

    @Test func `a provider without public clients gives a secret`() throws {
        let client = try register(
            201, #"{"client_id":"c-1","client_secret":"s","client_secret_expires_at":0}"#,
            methods: ["client_secret_basic"])
        #expect(client.secret == Secret("s"))
        #expect(client.management == nil)
        #expect(try sent()["token_endpoint_auth_method"] == "client_secret_basic")
    }

    @Test(arguments: [
        (201, "{}", ErrorCode.malformedReply), (201, #"{"client_id":""}"#, .malformedReply),
        (201, #"{"client_id":7}"#, .malformedReply), (201, #"{"client_id":"a\u0007b"}"#, .malformedReply),
        (201, #"{"client_id":"a","client_id":"b"}"#, .malformedReply),
        // The ID of a client that is known by its document.
        (201, #"{"client_id":"https://evil.example/client.json"}"#, .validationFailed),
        (201, #"{"client_id":"a","redirect_uris":["https://evil.example/"]}"#, .malformedReply),
        (201, #"{"client_id":"a","client_secret":"x\ny"}"#, .malformedReply),
        (201, #"{"client_id":"a","client_secret":{}}"#, .malformedReply),
        (201, #"{"client_id":"a","token_endpoint_auth_method":"magic"}"#, .malformedReply),
        (
            201,
            #"{"client_id":"a","registration_access_token":"t","registration_client_uri":"http://op.example/c"}"#,
            .validationFailed
        ),
        (
            201, #"{"client_id":"a","registration_access_token":"t","registration_client_uri":"/register/c"}"#,
            .malformedReply
        ),
        (400, #"{"error":"invalid_redirect_uri"}"#, .configuration),
        (400, #"{"error":"invalid_client_metadata"}"#, .configuration),
        (401, #"{"error":"invalid_token"}"#, .denied), (500, "", .temporary), (307, "", .temporary),
        (201, "<html>", .temporary),
    ]) func `a registration that cannot be used is refused`(status: Int, body: String, code: ErrorCode) {
        let error = #expect(throws: CredentialError.self) { try register(status, body) }
        #expect(error?.code == code)
    }

    @Test(arguments: ["https://evil.example/c-1", "http://127.0.0.1:631/c-1", "https://op.example:8443/c-1"])
    func `a registration is managed at no other origin`(address: String) throws {
        let members = #"{"client_id":"a","registration_access_token":"t","registration_client_uri":"\#(address)"}"#
        let error = try #require(#expect(throws: CredentialError.self) { try register(201, members) })
        #expect(error.code == .validationFailed && error.code.exitStatus == 7)
        let named = "the response of the registration endpoint of https://op.example names "
        #expect(error.message.hasPrefix(named), "\(error.message)")
        #expect(error.message.hasSuffix(" as registration_client_uri, which is another origin"))
    }

    @Test(arguments: [true, false])
    func `a registration is managed on this machine only if its endpoint is here`(isHere: Bool) throws {
        let endpoint = isHere ? "http://127.0.0.1:8400/register" : "https://op.example/register"
        let metadata = ServerMetadata(
            issuer: "http://127.0.0.1:8400", endpoints: [.registration: try #require(URI(endpoint))])
        world.provider.expect(
            "POST", endpoint, 201,
            [
                "client_id": "a", "registration_access_token": "t",
                "registration_client_uri": "http://127.0.0.1:8400/register/a",
            ])
        var client: DynamicClientRegistration.Client?, failure: CredentialError?
        do throws(CredentialError) {
            client = try DynamicClientRegistration(in: world.context).register(
                .init(name: "credmgr", redirectURI: Self.redirect, scope: []), at: metadata)
        } catch { failure = error }
        if isHere {
            #expect(failure == nil)
            #expect(client?.management?.address.author == .api(host: "127.0.0.1"))
        } else {
            #expect(failure?.code == .validationFailed)
        }
    }

    @Test func `a huge client id is refused`() {
        let body = #"{"client_id":""# + String(repeating: "c", count: 2_000) + #""}"#
        #expect(throws: CredentialError.self) { try register(201, body) }
    }

    @Test(arguments: [(204, nil), (200, nil), (401, ErrorCode.denied), (404, .configuration), (503, .temporary)])
    func `a registration is ended`(status: Int, code: ErrorCode?) throws {
        world.provider.expect("DELETE", "https://op.example/register/c-1") { received in
            #expect(received.header("authorization") == "Bearer rat")
            return HTTPResponse(status: status)
        }
        let registration = DynamicClientRegistration(in: world.context)
        let address = try #require(URI("https://op.example/register/c-1"))
        var failure: CredentialError?
        do { try registration.remove(at: address, token: Secret("rat")) } catch { failure = error }
        #expect(failure?.code == code)
    }

    @Test(arguments: [400, 401, 503])
    func `a registration that is not ended shows no token of the request`(status: Int) throws {
        world.provider.expect("DELETE", "https://op.example/register/c-1") { received in
            let echo = "no " + (received.header("authorization") ?? "")
            let body: JSONValue = ["error": "strange", "error_description": .string(echo)]
            return HTTPResponse(status: status, body: body.bytes())
        }
        let registration = DynamicClientRegistration(in: world.context)
        let address = try #require(URI("https://op.example/register/c-1"))
        let error = try #require(
            #expect(throws: CredentialError.self) {
                try registration.remove(at: address, token: Secret("a-registration-token-of-the-test"))
            })
        #expect(error.details.contains { $0.contains("no Bearer [redacted]") }, "\(error.details)")
        #expect(!error.details.contains { $0.contains("a-registration-token") })
    }

    // MARK: Protected resources

    private static let api = "https://api.example/v1/tasks"
    private static let server: JSONValue = [
        "issuer": "https://op.example", "token_endpoint": "https://op.example/token",
        "authorization_endpoint": "https://op.example/authorize",
    ]

    private func find(
        challenge: String?, at place: String?, _ document: JSONValue, servers: [(String, JSONValue)] = []
    ) throws -> ResourceDiscovery.DiscoveredResource {
        world.provider.expect("GET", Self.api) { _ in
            HTTPResponse(status: 401, headers: challenge.map { [("www-authenticate", $0)] } ?? [])
        }
        if let place { world.provider.expect("GET", place, document) }
        for (place, document) in servers { world.provider.expect("GET", place, document) }
        return try ResourceDiscovery(in: world.context).find(try #require(URI(Self.api)))
    }

    private static func document(_ changes: JSONValue = [:]) -> JSONValue {
        let document: JSONValue = [
            "resource": "https://api.example/v1", "authorization_servers": ["https://op.example"],
            "scopes_supported": ["tasks.read", "bad scope"],
        ]
        return document.with(changes)
    }

    @Test func `a challenge leads to the authorization server`() throws {
        world.provider.expect("GET", Self.api) { _ in
            HTTPResponse(
                status: 401,
                headers: [
                    (
                        "www-authenticate",
                        "Basic realm=\"x\", Bearer scope=\"tasks.read tasks.write\", "
                            + "resource_metadata=\"https://api.example/.well-known/oauth-protected-resource/v1\""
                    )
                ])
        }
        world.provider.expect("GET", "https://api.example/.well-known/oauth-protected-resource/v1", Self.document())
        world.provider.expect("GET", "https://op.example/.well-known/openid-configuration", Self.server)
        let finding = try ResourceDiscovery(in: world.context).find(try #require(URI(Self.api)))
        #expect(finding.challengedScope == ["tasks.read", "tasks.write"])
        #expect(finding.resource?.resource == "https://api.example/v1")
        #expect(finding.resource?.scopes == ["tasks.read"])
        #expect(finding.server.endpoints[.token]?.description == "https://op.example/token")
    }

    @Test func `without a challenge the well-known places are asked, the path's first`() throws {
        world.provider.expect("GET", Self.api) { _ in HTTPResponse(status: 200) }
        let root = "https://api.example/.well-known/oauth-protected-resource"
        world.provider.expect("GET", root + "/v1/tasks") { _ in HTTPResponse(status: 404) }
        world.provider.expect("GET", root, Self.document(["resource": "https://api.example"]))
        world.provider.expect("GET", "https://op.example/.well-known/openid-configuration", Self.server)
        let finding = try ResourceDiscovery(in: world.context).find(try #require(URI(Self.api)))
        #expect(finding.resource?.resource == "https://api.example")
    }

    @Test(
        arguments: [
            (["resource": "https://evil.example/v1"], .validationFailed),
            // A server that listens on this machine must not be asked at the request of others.
            (["authorization_servers": ["http://127.0.0.1:9200"]], .validationFailed),
            (["authorization_servers": ["https://localhost:8443/x"]], .validationFailed),
            (["resource": "https://api.example/v2"], .validationFailed),
            (["resource": "https://api.example/v1/tas"], .validationFailed),
            (["resource": "http://api.example/v1"], .validationFailed),
            (["authorization_servers": .null], .unsupported), (["authorization_servers": []], .unsupported),
            (["authorization_servers": ["http://op.example"]], .validationFailed),
            (["authorization_servers": ["javascript:x"]], .validationFailed),
            (["bearer_methods_supported": ["query"]], .unsupported),
            // The error is that of the first server.
            (["authorization_servers": ["http://127.0.0.1:9200", ""]], .validationFailed),
        ] as [(JSONValue, ErrorCode)])
    func `metadata with foreign addresses is refused`(changes: JSONValue, code: ErrorCode) throws {
        let error = #expect(throws: CredentialError.self) {
            try find(
                challenge:
                    "Bearer resource_metadata=\"https://api.example/.well-known/oauth-protected-resource/v1\"",
                at: "https://api.example/.well-known/oauth-protected-resource/v1",
                Self.document(changes))
        }
        #expect(error?.code == code)
    }

    @Test(arguments: [.null, 7] as [JSONValue])
    func `metadata of another resource is refused if the well-known places have none`(resource: JSONValue) throws {
        world.provider.expect("GET", Self.api) { _ in
            HTTPResponse(
                status: 401,
                headers: [
                    ("www-authenticate", "Bearer realm=\"a\""),
                    (
                        "www-authenticate",
                        "Bearer resource_metadata=\"https://api.example/.well-known/oauth-protected-resource/v1\""
                    ),
                ])
        }
        world.provider.expect(
            "GET", "https://api.example/.well-known/oauth-protected-resource/v1",
            Self.document(["resource": resource]))
        let root = "https://api.example/.well-known/oauth-protected-resource"
        for place in [root + "/v1/tasks", root] {
            world.provider.expect("GET", place) { _ in HTTPResponse(status: 404) }
        }
        let error = #expect(throws: CredentialError.self) {
            try ResourceDiscovery(in: world.context).find(try #require(URI(Self.api)))
        }
        #expect(error?.code == .malformedReply)
        #expect(world.provider.missing == 0)
    }

    private static let unusable = [
        "http://api.example/meta", "file:///etc/passwd", "meta", "/meta", "",
        "https://api.example/.well-known/oauth-protected-resource/v1/tasks#part", "https://evil.example/meta",
        "https://127.0.0.1:8443/meta",
    ]
    private static let root = "https://api.example/.well-known/oauth-protected-resource"
    /// The metadata of the server, and its place.
    private static let own = ("https://op.example/.well-known/openid-configuration", server)

    @Test(arguments: unusable)
    func `a challenge without https, or of another origin, is not followed`(place: String) throws {
        world.provider.expect("GET", Self.api) { _ in
            HTTPResponse(
                status: 401, headers: [("www-authenticate", "Bearer resource_metadata=\"\(place)\"")])
        }
        for place in [Self.root + "/v1/tasks", Self.root] {
            world.provider.expect("GET", place) { _ in HTTPResponse(status: 404) }
        }
        let error = #expect(throws: CredentialError.self) {
            try ResourceDiscovery(in: world.context).find(try #require(URI(Self.api)))
        }
        #expect(error?.code == .validationFailed)
        #expect(error?.message.hasPrefix("the challenge of \(Self.api) points to metadata ") == true)
        #expect(world.provider.missing == 0)
    }

    @Test(arguments: unusable.map { "Bearer resource_metadata=\"\($0)\"" } + ["Bearer resource_metadata=meta"])
    func `a challenge that is not followed does not hide the well-known place`(challenge: String) throws {
        let finding = try find(
            challenge: challenge, at: Self.root + "/v1/tasks", Self.document(["resource": .string(Self.api)]),
            servers: [Self.own])
        #expect(finding.resource?.resource == Self.api)
        #expect(world.provider.missing == 0)
        #expect(world.notes.all.contains { $0.contains("points to metadata") })
    }

    @Test func `a challenge whose address has no quotes is followed`() throws {
        let finding = try find(
            challenge: "Negotiate YII=, Bearer resource_metadata=\(Self.root)/v1, scope=a", at: Self.root + "/v1",
            Self.document(), servers: [Self.own])
        #expect(finding.resource?.resource == "https://api.example/v1")
        #expect(finding.challengedScope == ["a"])
    }

    @Test func `a request that gets no connection is followed by POST and the well-known places`() throws {
        world.provider.expectNoConnection("GET", Self.api)
        world.provider.expectNoConnection("POST", Self.api)
        world.provider.expect(
            "GET", Self.root + "/v1/tasks", Self.document(["resource": .string(Self.api)]))
        world.provider.expect("GET", "https://op.example/.well-known/openid-configuration", Self.server)
        let finding = try ResourceDiscovery(in: world.context).find(try #require(URI(Self.api)))
        #expect(finding.resource?.resource == Self.api)
    }

    @Test(arguments: ["", "/auth", "http://as.internal", "https://127.0.0.1:9200", "https://op.example/#part"])
    func `a server that cannot be used does not hide the next one`(first: String) throws {
        let finding = try find(
            challenge: "Bearer resource_metadata=\"\(Self.root)/v1\"", at: Self.root + "/v1",
            Self.document([
                "authorization_servers": [.string(first), "https://op.example"], "bearer_methods_supported": [],
            ]), servers: [Self.own])
        #expect(finding.server.issuer == "https://op.example")
        #expect(world.provider.missing == 0)
    }

    @Test func `a server whose metadata is another's does not hide the next one`() throws {
        let finding = try find(
            challenge: "Bearer resource_metadata=\"\(Self.root)/v1\"", at: Self.root + "/v1",
            Self.document(["authorization_servers": ["https://other.example", "https://op.example"]]),
            servers: [("https://other.example/.well-known/openid-configuration", Self.server), Self.own])
        #expect(finding.server.issuer == "https://op.example")
    }
}

@Suite struct ResourceIdentifierTests {
    private func names(_ resource: String, for address: String, at place: String) throws -> Bool {
        let document = JSONObject([
            "resource": .string(resource), "authorization_servers": ["https://as.example"],
        ])
        let address = try #require(URI(address)), place = try #require(URI(place))
        do throws(CredentialError) {
            _ = try ResourceMetadata(document, for: address, at: place)
            return true
        } catch {
            #expect(error.code == .validationFailed)
            return false
        }
    }

    private static let root = "https://api.example/.well-known/oauth-protected-resource"

    @Test(arguments: [
        ("https://api.example/a/b", root + "/a/b"), ("https://api.example/a/b/", root + "/a/b"),
        ("https://api.example/a/b", root), ("https://api.example", root), ("https://api.example/", root),
        ("https://api.example/a", root + "/a"), ("https://api.example/a/b", "https://api.example/metadata"),
    ])
    func `a resource is the address, or the identifier of its document's place`(resource: String, place: String)
        throws
    {
        #expect(try names(resource, for: "https://api.example/a/b", at: place))
    }

    @Test(arguments: [
        // A tenant of a shared host asks for the tokens of the whole host.
        ("https://api.example", root + "/a/b"), ("https://api.example/", "https://api.example/metadata"),
        ("https://api.example/a", root), ("https://api.example/a", "https://api.example/a/metadata"),
        ("https://api.example/c", root + "/c"), ("https://evil.example/a/b", root + "/a/b"),
        ("https://api.example/a/b?x", root + "/a/b"),
    ])
    func `no document names the resource of another place`(resource: String, place: String) throws {
        #expect(try !names(resource, for: "https://api.example/a/b", at: place))
    }
}
