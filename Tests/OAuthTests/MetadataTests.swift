import CredentialCore
import OAuth
import StrictJSON
import Testing

@Suite struct MetadataTests {
    private static let example = """
        {"issuer":"https://server.example.com","authorization_endpoint":"https://server.example.com/authorize",
        "token_endpoint":"https://server.example.com/token",
        "token_endpoint_auth_methods_supported":["client_secret_basic","private_key_jwt"],
        "token_endpoint_auth_signing_alg_values_supported":["RS256","ES256"],
        "userinfo_endpoint":"https://server.example.com/userinfo","jwks_uri":"https://server.example.com/jwks.json",
        "registration_endpoint":"https://server.example.com/register",
        "scopes_supported":["openid","profile","email","address","phone","offline_access"],
        "response_types_supported":["code","code token"],
        "service_documentation":"http://server.example.com/service_documentation.html",
        "ui_locales_supported":["en-US","en-GB","en-CA","fr-FR","fr-CA"]}
        """

    private func read(_ text: String, issuer: String = "https://server.example.com") throws -> ServerMetadata {
        let document = try #require(try JSONValue.parse(text).object)
        return try ServerMetadata(document, issuerRule: ServerMetadata.exactIssuer(issuer))
    }

    @Test(arguments: [
        "token_endpoint", "registration_endpoint", "authorization_endpoint", "jwks_uri", "revocation_endpoint",
    ]) func `a remote provider names no endpoint on this machine`(name: String) throws {
        for place in ["http://127.0.0.1:9200/_bulk", "https://localhost/x", "http://[::1]:1/"] {
            let text = #"{"issuer":"ISSUER","\#(name)":"\#(place)"}"#
            let endpoint = try #require(AccountType.Endpoint(rawValue: name))
            let error = #expect(throws: CredentialError.self) {
                try read(text.replacing("ISSUER", with: "https://server.example.com")).required(endpoint)
            }
            #expect(error?.message.hasPrefix("\(name) is at ") == true, "\(error?.message ?? "")")
            #expect(error?.message.hasSuffix("the issuer at server.example.com must not use this address") == true)
            // A provider on this machine may.
            _ = try read(
                text.replacing("ISSUER", with: "http://127.0.0.1:8080"), issuer: "http://127.0.0.1:8080")
        }
    }

    @Test func `reads the example of RFC 8414`() throws {
        let metadata = try read(Self.example)
        #expect(metadata.endpoints[.token]?.description == "https://server.example.com/token")
        #expect(metadata.endpoints[.jwks]?.description == "https://server.example.com/jwks.json")
        #expect(metadata.endpoints[.userInfo]?.path == "/userinfo")
        #expect(metadata.signingAlgorithms == SignatureAlgorithm.allCases)
        #expect(!metadata.sendsIssuer)
        #expect(throws: CredentialError.self) { try metadata.required(.deviceAuthorization) }
    }

    @Test(arguments: [
        "https://server.example.com/", "https://SERVER.example.com", "https://server.example.com:443",
        "http://server.example.com", "https://evil.example",
    ]) func `wants the issuer byte for byte`(issuer: String) {
        let error = #expect(throws: CredentialError.self) { try read(Self.example, issuer: issuer) }
        #expect(error?.code == .validationFailed)
    }

    @Test(arguments: [
        #""http://op/token""#, #""ftp://op/token""#, #""file:///etc/passwd""#, #""https://user@op/token""#,
        #""/token""#, #""https://op/token#f""#, "7", #""""#,
    ]) func `refuses endpoints that are not https`(value: String) {
        let error = #expect(throws: CredentialError.self) {
            try read(#"{"issuer":"https://op","token_endpoint":\#(value)}"#, issuer: "https://op")
        }
        #expect(error?.code == .validationFailed)
    }

    @Test(arguments: [
        (#""""#, "''"), (#""/register""#, "'/register'"), (#""http://op/r""#, "'http://op/r'"), ("7", "'7'"),
        (#""https://op/#/apps""#, "'https://op/#/apps'"), (#""https://op/r ""#, "'https://op/r'"),
    ]) func `omits an endpoint that cannot be used, and refuses it if it is needed`(
        value: String, shown: String
    ) throws {
        for endpoint in AccountType.Endpoint.allCases where endpoint != .token {
            let metadata = try read(
                #"{"issuer":"https://op","token_endpoint":"https://op/t","\#(endpoint.rawValue)":\#(value)}"#,
                issuer: "https://op")
            #expect(metadata.endpoints.keys.map(\.self) == [.token])
            let error = #expect(throws: CredentialError.self) { try metadata.required(endpoint) }
            #expect(error?.code == .validationFailed)
            #expect(error?.message.contains(endpoint.rawValue) == true)
            #expect(error?.message.hasSuffix(shown) == true)
        }
    }

    @Test func `takes loopback endpoints and passes over null ones`() throws {
        let metadata = try read(
            #"{"issuer":"http://127.0.0.1:9","token_endpoint":"http://127.0.0.1:9/t","jwks_uri":null}"#,
            issuer: "http://127.0.0.1:9")
        #expect(metadata.endpoints[.token] != nil)
        #expect(metadata.endpoints[.jwks] == nil)
    }

    @Test(arguments: ["{}", #"{"issuer":1}"#, #"{"issuer":""}"#]) func `wants an issuer`(text: String) {
        let error = #expect(throws: CredentialError.self) { try read(text) }
        #expect(error?.code == .malformedReply)
    }

    @Test(arguments: [
        (#"["RS256","HS256","none"]"#, [SignatureAlgorithm.rs256]), (#"["ES256","EdDSA"]"#, [.es256, .edDSA]),
        (#"["none","HS256"]"#, [.rs256]), ("[]", [.rs256]),
    ]) func `never allows none or a symmetric algorithm`(listed: String, expected: [SignatureAlgorithm]) throws {
        let metadata = try read(
            #"{"issuer":"https://op","id_token_signing_alg_values_supported":\#(listed)}"#, issuer: "https://op")
        #expect(metadata.signingAlgorithms == expected)
    }

    @Test(arguments: [
        ("", ["openid-configuration", "oauth-authorization-server"]),
        ("/", ["openid-configuration", "oauth-authorization-server"]),
    ]) func `knows the addresses of the metadata`(root: String, names: [String]) throws {
        let locations = ServerMetadata.locations(of: try #require(URI("https://example.com" + root)))
        #expect(locations.map(\.description) == names.map { "https://example.com/.well-known/" + $0 })
    }

    @Test func `knows the three places of an issuer with a path`() throws {
        let locations = ServerMetadata.locations(of: try #require(URI("https://example.com/issuer1")))
        #expect(
            locations.map(\.path) == [
                "/issuer1/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/issuer1",
                "/.well-known/openid-configuration/issuer1",
            ])
    }

    @Test(arguments: [
        ("https://as.example", "https://as.example/", true), ("https://as.example/", "https://as.example", true),
        ("https://as.example/a", "https://as.example/a/", false),
        ("https://as.example", "https://AS.example", false),
        ("https://as.example", "https://as.example:443", false),
        ("https://as.example", "https://as.example//", false),
        ("https://as.example?", "https://as.example/?", false),
    ]) func `forgives the slash of a bare origin and nothing else`(named: String, told: String, isSame: Bool) {
        #expect(ServerMetadata.isSameIssuer(named, told) == isSame)
        #expect(ServerMetadata.isSameIssuer(told, named) == isSame)
        #expect(((try? ServerMetadata.namedIssuer(named)(told)) != nil) == isSame)
    }

    // MARK: Device authorization

    private func device(_ text: String) throws -> DeviceAuthorization {
        try DeviceAuthorization(
            try #require(try JSONValue.parse(text).object), from: "the response",
            now: Timestamp(epochSeconds: 1_000))
    }

    @Test func `reads the example of RFC 8628`() throws {
        let reply = try device(
            #"""
            {"device_code":"GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS","user_code":"WDJB-MJHT",
            "verification_uri":"https://example.com/device",
            "verification_uri_complete":"https://example.com/device?user_code=WDJB-MJHT","expires_in":1800,"interval":5}
            """#)
        #expect(reply.userCode == "WDJB-MJHT")
        #expect(reply.expires.epochSeconds == 2_800)
        #expect(reply.interval == 5)
        #expect(reply.complete?.query == "user_code=WDJB-MJHT")
    }

    @Test func `gives defaults and limits absurd values`() throws {
        let start = #"{"device_code":"d","user_code":"u","verification_url":"https://e/d""#
        #expect(try device(start + "}").interval == 5)
        #expect(try device(start + #","interval":-3,"expires_in":1e99}"#).interval == 1)
        #expect(try device(start + #","interval":"1e99","expires_in":1e99}"#).interval == 300)
        #expect(try device(start + #","expires_in":1e99}"#).expires.epochSeconds == 87_400)
    }

    @Test(arguments: [
        "{}", #"{"device_code":"d","user_code":"u"}"#,
        #"{"device_code":"d","user_code":"u","verification_uri":""}"#,
        #"{"device_code":"d","user_code":"u\u001b[2J","verification_uri":"https://e/d"}"#,
        #"{"device_code":"d","user_code":"","verification_uri":"https://e/d"}"#,
        #"{"device_code":7,"user_code":"u","verification_uri":"https://e/d"}"#,
    ]) func `refuses device replies that cannot be shown`(text: String) {
        let error = #expect(throws: CredentialError.self) { try device(text) }
        #expect(error?.code == .malformedReply)
    }
}
