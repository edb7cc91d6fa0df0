import CredentialCore
import OAuth
import StrictJSON
import TestAdapters
import TestPorts
import Testing

@Suite struct MetadataFetcherTests {
    private static let issuer = "https://op.example"
    private static let place = issuer + "/.well-known/openid-configuration"
    private static let keys = "https://op.example/keys"

    private let world: AdapterWorld
    private let cache = MemoryMetadataCache()

    init() throws { world = AdapterWorld(try Signer()) }

    private var context: AdapterContext {
        AdapterContext(
            transport: world.provider, clock: world.clock, random: SystemRandomness(),
            cryptography: world.context.cryptography, clientSecrets: MemorySecrets(), metadataCache: cache)
    }

    private func expect(
        _ status: Int = 200, _ headers: [(String, String)] = [], issuer: String = issuer,
        sent: [String: String?] = [:]
    ) {
        let body: JSONValue = ["issuer": .string(issuer), "token_endpoint": "https://op.example/token"]
        world.provider.expect("GET", Self.place) { received in
            for (name, value) in sent { #expect(received.header(name) == value) }
            return HTTPResponse(status: status, headers: headers, body: status == 200 ? body.bytes() : [])
        }
    }

    /// Each call is a process of its own: only the cache stays.
    private func discover() throws -> ServerMetadata {
        try MetadataFetcher().metadata(
            at: [try #require(URI(Self.place))], in: context,
            issuerRule: ServerMetadata.exactIssuer(Self.issuer))
    }

    @Test(
        arguments: [
            (nil, 3_600), ("max-age=86400", 3_600), ("public, max-age=900", 900), ("max-age=10", 300),
            ("max-age=0", 300), ("no-store", 300), ("no-cache, max-age=3000", 300), ("MAX-AGE=\"1200\"", 1_200),
            ("max-age=99999999999999999999", 3_600), ("max-age=-1", 3_600), ("max-age=", 3_600), ("\u{1}", 3_600),
        ] as [(String?, Int64)])
    func `metadata serves as long as it says, within bounds`(header: String?, seconds: Int64) throws {
        expect(200, header.map { [("cache-control", $0)] } ?? [])
        _ = try discover()
        world.clock.pass(seconds - 1)
        #expect(try discover().endpoints[.token]?.description == "https://op.example/token")
        #expect(world.provider.received.count == 1)
        world.clock.pass(1)
        expect()
        _ = try discover()
        #expect(world.provider.received.count == 2)
    }

    @Test func `an endpoint that the first document lacks is looked for in the others`() throws {
        let other = Self.issuer + "/.well-known/oauth-authorization-server"
        let issuer = try #require(URI(Self.issuer))
        expect()
        world.provider.expect(
            "GET", other,
            [
                "issuer": .string(Self.issuer), "token_endpoint": "https://op.example/other",
                "revocation_endpoint": "https://op.example/revoke",
            ])
        let source = MetadataFetcher()
        let metadata = try source.metadata(of: Self.issuer, issuer, needs: [.token, .revocation], in: context)
        #expect(metadata.endpoints[.revocation]?.path == "/revoke" && metadata.endpoints[.token]?.path == "/token")
        // Known metadata needs no second look, and metadata about another issuer is ignored.
        _ = try source.metadata(of: Self.issuer, issuer, needs: [.token], in: context)
        world.clock.pass(4_000)
        expect()
        world.provider.expect(
            "GET", other, ["issuer": "https://evil.example", "revocation_endpoint": "https://e/r"])
        let rest = try source.metadata(of: Self.issuer, issuer, needs: [.revocation], in: context)
        #expect(rest.endpoints[.revocation] == nil)
        #expect(world.provider.missing == 0)
    }

    @Test(arguments: [
        (200, "<!doctype html>", ErrorCode.temporary), (200, "{}", .malformedReply), (200, "", .malformedReply),
        (403, "<html>", .temporary), (403, "", .configuration), (500, "", .temporary), (502, "", .temporary),
        (302, "", .temporary), (404, "", .configuration),
    ]) func `a place that answers with anything else does not end the search`(
        status: Int, text: String, code: ErrorCode
    ) throws {
        let other = Self.issuer + "/.well-known/oauth-authorization-server"
        let issuer = try #require(URI(Self.issuer))
        func expectTrouble() {
            world.provider.expect("GET", Self.place) { _ in
                HTTPResponse(status: status, headers: [], body: Array(text.utf8))
            }
        }
        expectTrouble()
        world.provider.expect(
            "GET", other, ["issuer": .string(Self.issuer), "token_endpoint": "https://op.example/token"])
        let found = try MetadataFetcher().metadata(of: Self.issuer, issuer, in: context)
        #expect(found.endpoints[.token]?.path == "/token")
        // If no place has any, the first trouble is reported, with its address.
        world.clock.pass(4_000)
        expectTrouble()
        world.provider.expect("GET", other) { _ in HTTPResponse(status: 404, headers: [], body: []) }
        let error = #expect(throws: CredentialError.self) {
            try MetadataFetcher().metadata(of: Self.issuer, issuer, in: context)
        }
        #expect(error?.code == code)
        if code != .malformedReply { #expect(error?.message.contains(Self.place) == true) }
        #expect(world.provider.missing == 0)
    }

    @Test func `a document for another issuer ends the search`() throws {
        expect(issuer: "https://evil.example")
        let error = #expect(throws: CredentialError.self) {
            try MetadataFetcher().metadata(
                of: Self.issuer, try #require(URI(Self.issuer)), in: context)
        }
        #expect(error?.code == .validationFailed)
        #expect(world.provider.received.count == 1)
    }

    @Test func `an unusable endpoint is read from another document, or refused if it is required`() throws {
        let other = Self.issuer + "/.well-known/oauth-authorization-server"
        let issuer = try #require(URI(Self.issuer))
        func expectDocument(_ place: String, _ registration: JSONValue) {
            world.provider.expect(
                "GET", place,
                [
                    "issuer": .string(Self.issuer), "token_endpoint": "https://op.example/token",
                    "registration_endpoint": registration,
                ])
        }
        expectDocument(Self.place, "")
        expectDocument(other, "https://op.example/register")
        let source = MetadataFetcher()
        let found = try source.metadata(of: Self.issuer, issuer, needs: [.registration], in: context)
        #expect(try found.required(.registration).path == "/register")
        // The document with the fault is not kept.
        expectDocument(Self.place, "/register")
        world.clock.pass(4_000)
        world.provider.expect("GET", other) { _ in HTTPResponse(status: 404, headers: [], body: []) }
        let error = #expect(throws: CredentialError.self) {
            try source.metadata(of: Self.issuer, issuer, needs: [.registration], in: context)
        }
        #expect(error?.code == .validationFailed)
        #expect(error?.message.hasSuffix("registration_endpoint that is not a URL with https: '/register'") == true)
        #expect(world.provider.missing == 0)
    }

    @Test func `a pushed request endpoint is looked up if the provider requires it`() throws {
        let other = Self.issuer + "/.well-known/oauth-authorization-server"
        let issuer = try #require(URI(Self.issuer))
        let members: JSONObject = JSONObject([
            "issuer": .string(Self.issuer), "token_endpoint": "https://op.example/token",
            "authorization_endpoint": "https://op.example/authorize", "require_pushed_authorization_requests": true,
        ])
        var more = members
        more["pushed_authorization_request_endpoint"] = "https://op.example/par"
        world.provider.expect("GET", Self.place, .object(members))
        world.provider.expect("GET", other, .object(more))
        let found = try MetadataFetcher().metadata(of: Self.issuer, issuer, needs: [.authorization], in: context)
        #expect(found.endpoints[.pushedAuthorizationRequest]?.path == "/par")
    }

    @Test func `a stale document is asked for with its validators, and serves on when unchanged`() throws {
        expect(200, [("etag", "W/\"7\""), ("last-modified", "Tue, 14 Nov 2023 22:13:20 GMT"), ("age", "3000")])
        _ = try discover()
        world.clock.pass(3_600)
        expect(
            304, [("cache-control", "max-age=600")],
            sent: ["if-none-match": "W/\"7\"", "if-modified-since": "Tue, 14 Nov 2023 22:13:20 GMT"])
        #expect(try discover().issuer == Self.issuer)
        world.clock.pass(599)
        #expect(try discover().issuer == Self.issuer)
        #expect(world.provider.received.count == 2)
    }

    @Test func `an unsolicited 304 is not a document`() throws {
        expect(304, sent: ["if-none-match": nil])
        let error = #expect(throws: CredentialError.self) { try discover() }
        #expect(error?.code == .temporary)
        #expect(cache.count == 0)
    }

    @Test func `a validator with a control character is not sent back`() throws {
        expect(200, [("etag", "a\u{7}b"), ("last-modified", String(repeating: "x", count: 600))])
        _ = try discover()
        world.clock.pass(3_600)
        expect(sent: ["if-none-match": nil, "if-modified-since": nil])
        _ = try discover()
    }

    @Test func `a refused document is not cached`() throws {
        expect(issuer: "https://evil.example")
        let error = #expect(throws: CredentialError.self) { try discover() }
        #expect(error?.code == .validationFailed)
        #expect(cache.count == 0)
        expect()
        #expect(try discover().issuer == Self.issuer)
    }

    @Test func `a kept document that does not hold up is fetched anew and replaced`() throws {
        let bad: JSONValue = ["issuer": "https://evil.example"]
        cache.write(
            ProviderDocument(
                document: bad.object ?? JSONObject(), fetchedAt: world.clock.now,
                lifetime: 3_600, entityTag: "\"1\""), for: Self.place)
        expect(sent: ["if-none-match": nil])
        #expect(try discover().issuer == Self.issuer)
        #expect(try discover().issuer == Self.issuer)
        #expect(world.provider.received.count == 1)
    }

    @Test(arguments: [
        "http://169.254.169.254/latest", "https://10.0.0.1/internal", "file:///etc/passwd", "//other.example/x",
    ]) func `a redirect of the metadata is not followed`(target: String) throws {
        expect(302, [("location", target)])
        let error = #expect(throws: CredentialError.self) { try discover() }
        #expect(error?.code == .temporary)
        #expect(world.provider.received.count == 1)
        #expect(cache.count == 0)
    }

    @Test func `a lifetime in the cache is limited as one in a response is`() throws {
        expect()
        _ = try discover()
        var kept = try #require(cache.read(Self.place))
        kept.lifetime = .max
        cache.write(kept, for: Self.place)
        world.clock.pass(3_600)
        expect()
        _ = try discover()
        #expect(world.provider.received.count == 2)
    }

    @Test func `metadata serves a grant for a day, and for a week while the provider is unreachable`() throws {
        let issuer = try #require(URI(Self.issuer))
        let places = ServerMetadata.locations(of: issuer).map(\.description)
        func metadata() throws -> ServerMetadata {
            try MetadataFetcher().forGrants.metadata(of: Self.issuer, issuer, needs: [.token], in: context)
        }
        expect()
        _ = try metadata()
        world.clock.pass(86_399)
        #expect(try metadata().endpoints[.token]?.path == "/token")
        #expect(world.provider.received.count == 1)

        world.clock.pass(1)
        expect(503)
        for place in places.dropFirst() { world.provider.expect("GET", place, 404, [:]) }
        #expect(try metadata().endpoints[.token]?.path == "/token")
        world.clock.pass(518_399)
        world.provider.expectNoConnection("GET", Self.place)
        #expect(try metadata().endpoints[.token]?.path == "/token")
        // A sign-in uses no document that is older than it says.
        world.provider.expectNoConnection("GET", Self.place)
        #expect(throws: CredentialError.self) { try discover() }
        world.clock.pass(1)
        world.provider.expectNoConnection("GET", Self.place)
        #expect(throws: CredentialError.self) { try metadata() }
        #expect(world.provider.missing == 0)
    }

    @Test func `a key set serves a grant for a week while the provider does not send it`() throws {
        let address = try #require(URI(Self.keys))
        world.provider.expect("GET", Self.keys, world.signer.keySet)
        try MetadataFetcher().forGrants.prepareKeys(at: address, in: context)
        world.clock.pass(604_799)
        world.provider.expect("GET", Self.keys, 502, [:])
        let keys = try MetadataFetcher().forGrants.key(for: .rs256, kid: "k1", at: address, in: context)
        #expect(keys.count == 1)
        world.clock.pass(1)
        world.provider.expect("GET", Self.keys, 502, [:])
        #expect(throws: CredentialError.self) {
            try MetadataFetcher().forGrants.prepareKeys(at: address, in: context)
        }
    }

    @Test func `a document at a later place needs no second request to the first`() throws {
        let issuer = try #require(URI(Self.issuer))
        let other = Self.issuer + "/.well-known/oauth-authorization-server"
        world.provider.expect("GET", Self.place, 404, [:])
        world.provider.expect(
            "GET", other, ["issuer": .string(Self.issuer), "token_endpoint": "https://op.example/token"])
        _ = try MetadataFetcher().metadata(of: Self.issuer, issuer, in: context)
        _ = try MetadataFetcher().metadata(of: Self.issuer, issuer, in: context)
        #expect(world.provider.received.count == 2 && world.provider.missing == 0)
    }

    @Test func `an unknown key is looked for once, and again only after a minute`() throws {
        let address = try #require(URI(Self.keys))
        let signer = world.signer
        func key(_ kid: String) throws -> JSONObject? {
            try MetadataFetcher().key(for: .rs256, kid: kid, at: address, in: context).first
        }
        world.provider.expect("GET", Self.keys, signer.keySet)
        #expect(try key("k1") != nil)
        #expect(try key("k1") != nil)
        #expect(world.provider.received.count == 1)

        world.provider.expect("GET", Self.keys, signer.keySet)
        for name in ["x1", "x2", "x3"] { #expect(try key(name) == nil) }
        #expect(world.provider.received.count == 2)
        world.clock.pass(60)
        world.provider.expect("GET", Self.keys, signer.keySet)
        #expect(try key("x4") == nil)
        #expect(world.provider.received.count == 3)
    }

    @Test func `a key set that was fetched just now is not fetched twice for an unknown key`() throws {
        let address = try #require(URI(Self.keys))
        world.provider.expect("GET", Self.keys, world.signer.keySet)
        #expect(try MetadataFetcher().key(for: .rs256, kid: "x", at: address, in: context).isEmpty)
        #expect(world.provider.received.count == 1)
    }
}
