import CredentialCore
import OAuth
import StrictJSON
import TestAdapters
import TestPorts
import Testing

/// The refusals of addresses that their authors may not name: one line for each.
@Suite struct AddressRefusalTests {
    /// An address in a document, and its refusal.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The three facts that the details of the error name.
        let address: String
        let author: String
        let rule: AddressAuthor.Rule
        /// The words of the message for the author.
        let saidAuthor: String
        let code: ErrorCode
        let read: @Sendable (AdapterWorld) throws -> Void

        init(
            _ description: String, _ address: String, by author: String, said: String? = nil,
            _ rule: AddressAuthor.Rule, code: ErrorCode = .validationFailed,
            _ read: @escaping @Sendable (AdapterWorld) throws -> Void
        ) {
            testDescription = description
            self.address = address
            self.author = author
            self.rule = rule
            saidAuthor = said ?? author
            self.code = code
            self.read = read
        }
    }

    private static let signer = Result { try Signer() }

    static let rows: [Row] = [definitions, issuers, serversOfAPIs, apis, registrations, pages].flatMap { $0 }

    @Test(arguments: rows) func `a refusal names the address, its author and the rule`(row: Row) throws {
        let world = AdapterWorld(try Self.signer.get())
        let error = try #require(throws: CredentialError.self) { try row.read(world) }
        #expect(error.code == row.code, "\(error)")
        #expect(error.code.exitStatus == (row.code == .configuration ? 2 : 7))
        let facts = ["address: " + row.address, "author: " + row.author, "rule: " + row.rule.rawValue]
        #expect(error.details == facts)
        // The user sees the address and the author without --verbose.
        #expect(error.message.contains(row.address), "\(error)")
        #expect(error.message.contains(row.saidAuthor), "\(error)")
        #expect(world.provider.missing == 0)
    }

    @Test func `each rule of this layer has a line`() {
        // Plugins and helpers have the others.
        let others: Set<AddressAuthor.Rule> = [.pages, .destination]
        #expect(Set(Self.rows.map(\.rule)) == Set(AddressAuthor.Rule.allCases).subtracting(others))
    }

    // MARK: The user

    private static let definitions = [
        Row(
            "a well-known place of the user over http", "http://op.example", by: "the user", said: "op.example",
            .https, code: .configuration
        ) { world in try fetch("http://op.example", named: .user, world) },
        Row(
            "a client's document about another client", "https://app.example/c.json", by: "the client's document",
            .clientDocument, code: .configuration
        ) { _ in
            _ = try ClientIDMetadataDocument(
                JSONObject(["client_id": "https://evil.example/c.json"]), at: "https://app.example/c.json")
        },
    ]

    private static func fetch(_ origin: String, named author: AddressAuthor, _ world: AdapterWorld) throws {
        let place = try #require(URI(origin + "/.well-known/openid-configuration")).named(by: author)
        _ = try MetadataFetcher().metadata(
            at: [place], in: world.context, issuerRule: ServerMetadata.exactIssuer(origin))
    }

    // MARK: The issuer that the user named

    private static let issuer = "https://op.example"
    private static let ofIssuer = "the metadata of https://op.example"

    private static let issuers = [
        Row(
            "metadata of another issuer", "https://evil.example", by: ofIssuer,
            said: "the metadata of 'https://op.example'", .issuer
        ) { _ in
            try read(["issuer": "https://evil.example"], .token)
        },
        Row("a token endpoint over http", "http://op.example/token", by: ofIssuer, .https) { _ in
            try read(["token_endpoint": "http://op.example/token"], .token)
        },
        Row("keys over http", "http://169.254.169.254/keys", by: ofIssuer, .https) { _ in
            try read(["jwks_uri": "http://169.254.169.254/keys"], .jwks)
        },
        Row("keys in a file", "file:///etc/passwd", by: ofIssuer, .https) { _ in
            try read(["jwks_uri": "file:///etc/passwd"], .jwks)
        },
        Row(
            "a token endpoint on this machine", "http://127.0.0.1:9200", by: ofIssuer,
            said: "the issuer at op.example", .network
        ) { _ in
            try read(["token_endpoint": "http://127.0.0.1:9200/_bulk"], .token)
        },
        Row(
            "a registration on this machine", "https://localhost", by: ofIssuer, said: "the issuer at op.example",
            .network
        ) { _ in
            try read(["registration_endpoint": "https://localhost/register"], .registration)
        },
        Row(
            "the end of a session on this machine", "https://127.1", by: ofIssuer, said: "the issuer at op.example",
            .network
        ) { _ in
            try read(["end_session_endpoint": "https://127.1/logout"], .endSession)
        },
        Row(
            "another issuer in a response", "https://evil.example", by: "the response of the sign-in page",
            .response
        ) { _ in
            let redirect = "http://127.0.0.1:4711/"
            let answer = redirect + "?code=c&state=s&iss=https%3A%2F%2Fevil.example"
            try AuthorizationResponse.parse(answer, redirectURI: redirect)
                .check(state: "s", issuer: issuer, requiresIssuer: true)
        },
    ]

    /// Reads the metadata of the issuer with changes, and uses an endpoint.
    private static func read(
        _ changes: JSONValue, _ endpoint: AccountType.Endpoint, named author: AddressAuthor = .user
    ) throws {
        let document: JSONValue = ["issuer": .string(issuer), "token_endpoint": "https://op.example/token"]
        let source = try #require(URI(issuer)).named(by: author)
        let metadata = try ServerMetadata(
            try #require(document.with(changes).object), from: source,
            issuerRule: ServerMetadata.exactIssuer(issuer))
        _ = try metadata.required(endpoint)
    }

    // MARK: A server that only an API named

    private static let ofNamedServer = "the authorization server https://op.example of https://api.example"
    private static let namedByAPI = "https://api.example named the authorization server https://op.example"

    private static let serversOfAPIs = [
        Row(
            "an endpoint in the network of this machine", "https://192.168.1.1", by: ofIssuer,
            said: "the API at api.example", .network
        ) { _ in
            try read(["token_endpoint": "https://192.168.1.1/token"], .token, named: .api(host: "api.example"))
        },
        Row(
            "metadata over http", "http://op.example", by: "the API at api.example", said: "op.example", .https
        ) { world in
            try fetch("http://op.example", named: .api(host: "api.example"), world)
        },
        Row(
            "a revocation endpoint elsewhere", "https://evil.example", by: ofNamedServer, said: namedByAPI,
            .oneOrigin
        ) { _ in
            try check([.revocation: "https://evil.example/revoke"])
        },
        Row(
            "an authorization page elsewhere", "https://honest.example", by: ofNamedServer, said: namedByAPI,
            .page
        ) { _ in
            try check([.authorization: "https://honest.example/authorize"])
        },
        Row(
            "an authorization page in the network of this machine", "https://10.0.0.1", by: ofNamedServer,
            said: namedByAPI, .network
        ) { _ in
            try check([.authorization: "https://10.0.0.1/authorize"])
        },
        Row(
            "the end of a session elsewhere", "https://honest.example", by: ofNamedServer, said: namedByAPI,
            .page
        ) { world in
            let client = try client([.endSession: "https://honest.example/logout"], isNamedByAPI: true, world)
            _ = try SignOut(client).endSessionAddress(nil)
        },
    ]

    private static func accountType(isNamedByAPI: Bool) -> AccountType {
        var type = AccountType(name: "T", adapter: "oauth2", clientID: "c")
        type.issuer = issuer
        type.apiBase = api
        type.issuerIsNamedByAPI = isNamedByAPI
        return type
    }

    private static func metadata(_ endpoints: [AccountType.Endpoint: String]) -> ServerMetadata {
        let own: [AccountType.Endpoint: String] = [
            .authorization: issuer + "/authorize", .token: issuer + "/token",
        ]
        let places = own.merging(endpoints) { $1 }.compactMapValues(URI.init)
        return ServerMetadata(
            issuer: issuer, endpoints: places.mapValues { $0.named(by: .issuer(host: "op.example")) })
    }

    private static func check(_ endpoints: [AccountType.Endpoint: String]) throws {
        try accountType(isNamedByAPI: true).checkAuthor(of: metadata(endpoints))
    }

    private static func client(
        _ endpoints: [AccountType.Endpoint: String], isNamedByAPI: Bool, _ world: AdapterWorld
    ) throws -> OAuthClient {
        OAuthClient(
            type: accountType(isNamedByAPI: isNamedByAPI), metadata: metadata(endpoints), dialect: PlainDialect(),
            source: MetadataFetcher(), context: world.context)
    }

    // MARK: An API

    private static let api = "https://api.example/v1"
    private static let ofAPI = "the metadata of https://api.example"
    private static let ofChallenge = "the challenge of https://api.example/v1"
    private static let place = "https://api.example/.well-known/oauth-protected-resource/v1"

    private static let apis = [
        Row("metadata of another resource", "https://evil.example/v1", by: ofAPI, .resource) { world in
            try find(["resource": "https://evil.example/v1"], world)
        },
        Row(
            "an authorization server over http", "http://op.example", by: ofAPI, said: "https://api.example names",
            .https
        ) { world in
            try find(["authorization_servers": ["http://op.example"]], world)
        },
        Row(
            "an authorization server on this machine", "http://127.0.0.1:9200", by: ofAPI,
            said: "https://api.example names", .network
        ) { world in
            try find(["authorization_servers": ["http://127.0.0.1:9200"]], world)
        },
        Row("metadata of a resource over http", "http://api.example/meta", by: ofChallenge, .https) { world in
            try find(nil, at: "http://api.example/meta", world)
        },
        Row(
            "metadata of a resource elsewhere", "https://evil.example/meta", by: ofChallenge, .sameOrigin
        ) { world in
            try find(nil, at: "https://evil.example/meta", world)
        },
    ]

    /// Asks the API, which has metadata with changes at a place.
    private static func find(_ changes: JSONValue?, at named: String = place, _ world: AdapterWorld) throws {
        world.provider.expect("GET", api) { _ in
            HTTPResponse(
                status: 401, headers: [("www-authenticate", "Bearer resource_metadata=\"\(named)\"")])
        }
        if let changes {
            let document: JSONValue = ["resource": .string(api), "authorization_servers": [.string(issuer)]]
            world.provider.expect("GET", named, document.with(changes))
        } else {
            // The value is passed over, and is the reason if no well-known place answers.
            for place in [place, "https://api.example/.well-known/oauth-protected-resource"] {
                world.provider.expect("GET", place, 404, [:])
            }
        }
        _ = try ResourceDiscovery(in: world.context).find(try #require(URI(api)))
    }

    // MARK: The response to a registration

    private static let ofRegistration = "the response of the registration endpoint of https://op.example"

    private static let registrations = [
        Row(
            "a registration that is managed elsewhere", "https://evil.example", by: ofRegistration, .sameOrigin
        ) { world in
            try register(["registration_client_uri": "https://evil.example/c"], world)
        },
        Row(
            "a registration that is managed on this machine", "http://127.0.0.1:631", by: ofRegistration,
            .sameOrigin
        ) { world in
            try register(["registration_client_uri": "http://127.0.0.1:631/c"], world)
        },
        Row("a registration that is managed over http", "http://op.example", by: ofRegistration, .https) { world in
            try register(["registration_client_uri": "http://op.example/c"], world)
        },
        Row("a URL as the ID of a client", "https://evil.example/c.json", by: ofRegistration, .clientID) { world in
            try register(["client_id": "https://evil.example/c.json"], world)
        },
    ]

    private static func register(_ changes: JSONValue, _ world: AdapterWorld) throws {
        let response: JSONValue = ["client_id": "c", "registration_access_token": "t"]
        world.provider.expect("POST", issuer + "/register", 201, response.with(changes))
        _ = try DynamicClientRegistration(in: world.context).register(
            .init(name: "credmgr", redirectURI: "http://127.0.0.1:4711/", scope: []),
            at: metadata([.registration: issuer + "/register"]))
    }

    // MARK: The pages of a sign-in on another device

    private static let ofDevice = "the response of the device authorization endpoint of https://op.example"

    private static let pages = [
        Row("a verification page over http", "http://op.example/enter", by: ofDevice, .https) { world in
            try begin(["verification_uri": "http://op.example/enter"], world)
        },
        Row("a verification page that is no page", "javascript:alert(1)", by: ofDevice, .https) { world in
            try begin(["verification_uri": "javascript:alert(1)"], world)
        },
        Row(
            "a verification page on this machine", "http://127.0.0.1:631", by: ofDevice,
            said: "the issuer at op.example", .network
        ) { world in
            try begin(["verification_uri": "http://127.0.0.1:631/jobs"], world)
        },
        Row(
            "a page with the code on this machine", "https://localhost", by: ofDevice,
            said: "the issuer at op.example", .network
        ) { world in
            try begin(["verification_uri_complete": "https://localhost/enter?code=U"], world)
        },
        Row(
            "a verification page elsewhere, of a server that an API named", "https://honest.example",
            by: ofNamedServer,
            said: namedByAPI, .page
        ) { world in
            try begin(["verification_uri": "https://honest.example/enter"], isNamedByAPI: true, world)
        },
        Row(
            "a device authorization endpoint over http", "http://op.example", by: "the issuer at op.example",
            said: "op.example", .https
        ) { world in
            let client = try client([.deviceAuthorization: "http://op.example/device"], isNamedByAPI: false, world)
            _ = try DeviceFlow(client).begin(request(client), scope: [])
        },
    ]

    private static func request(_ client: OAuthClient) -> SignInRequest {
        SignInRequest(
            type: client.type, flow: .device, policy: "", scope: [], redirectURI: "http://127.0.0.1:4711/")
    }

    private static func begin(_ changes: JSONValue, isNamedByAPI: Bool = false, _ world: AdapterWorld) throws {
        let response: JSONValue = [
            "device_code": "d", "user_code": "U", "verification_uri": "https://op.example/enter",
        ]
        world.provider.expect("POST", issuer + "/device", response.with(changes))
        let client = try client(
            [.deviceAuthorization: issuer + "/device"], isNamedByAPI: isNamedByAPI, world)
        _ = try DeviceFlow(client).begin(request(client), scope: [])
    }
}

/// A provider without a peculiarity.
private struct PlainDialect: ProviderDialect {
    let authorizeParameters: [String: String] = [:]
    let tokenParameters: [String: String] = [:]
    let headers: [(name: String, value: String)] = []
    let requestFacts: [String] = []
    let secretMethod = ClientAuthentication.Method.secretBasic
    let alwaysSendsScope = false

    func error(for refusal: OAuthError, in operation: ProviderOperation) -> CredentialError {
        OAuthErrorMapping.error(refusal, in: operation, type: "T")
    }

    func check(_ claims: IDTokenClaims, against state: JSONObject) throws(CredentialError) {}

    func identity(
        of received: VerifiedTokenResponse, for request: SignInRequest, by client: OAuthClient
    ) throws(CredentialError) -> Identity { Identity(issuer: nil, subject: "ada") }

    func state(of received: VerifiedTokenResponse) -> JSONObject { JSONObject() }
}
