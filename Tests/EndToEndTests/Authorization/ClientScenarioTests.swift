import StrictJSON
import TestSupport
import Testing

/// Which client signs in, how it authenticates and its parameters, by the rules of the Model Context Protocol's
/// conformance suite.
@Suite struct `Client scenarios` {
    private let home: Home

    init() throws { home = try Home() }

    @Test(arguments: [
        ("token-endpoint-auth-basic", "client_secret_basic"), ("token-endpoint-auth-post", "client_secret_post"),
        ("token-endpoint-auth-none", "none"),
    ]) func `a client is registered for a method that is listed`(rule: String, method: String) throws {
        let scenario = try AuthorizationScenario(rule)
        try scenario.signIn(at: home)
        let registration = try #require(try scenario.requests(to: "/register").first?.json)
        #expect(registration["token_endpoint_auth_method"]?.string == method)
        #expect(registration["application_type"] == "native")
        let exchange = try #require(try scenario.requests(to: "/token").first)
        #expect((exchange.authorization != nil) == (method == "client_secret_basic"))
        #expect((exchange.form["client_secret"] != nil) == (method == "client_secret_post"))
        #expect(exchange.form["resource"] == scenario.api)
        #expect(try scenario.requests(to: "/authorize").first?.query["resource"] == scenario.api)
    }

    @Test func `no user is sent to a browser for a client that cannot authenticate`() throws {
        let scenario = try AuthorizationScenario("token-endpoint-auth-unusable")
        let refused = try home.run(["login", "--resource", scenario.api], exits: 2)
        #expect(refused.standardError.contains("--client-id"))
        #expect(try scenario.requests(to: "/register").isEmpty)
    }

    @Test func `sep-837: a refused registration is told in the server's words`() throws {
        let scenario = try AuthorizationScenario("registration-refused")
        let refused = try home.run(["login", "--resource", scenario.api], exits: 2)
        #expect(refused.standardError.contains("no such clients here"))
        #expect(try scenario.requests(to: "/register").count == 1)
        #expect(try scenario.requests(to: "/authorize").isEmpty)
        #expect(try home.json(["types", "--json"]) == [])
    }

    @Test func `pre-registration`() throws {
        let scenario = try AuthorizationScenario(
            "pre-registration", clients: #"{"known": {"client_secret": "s p+c"}}"#)
        let refused = try home.run(["login", "--resource", scenario.api], exits: 2)
        #expect(refused.standardError.contains("--client-id"))
        let secret = try home.write("s p+c", to: "outside/secret")
        try home.run([
            "types", "add", "Known", "--issuer", scenario.issuer, "--client-id", "known", "--client-secret-file",
            secret, "--resource", scenario.api, "--api-base", scenario.api, "--scope", "mcp:basic",
        ])
        try scenario.signIn(at: home, ["--type", "Known"])
        try scenario.call(from: home)
        #expect(try scenario.requests(to: "/register").isEmpty)
        // "known:s+p%2Bc", each half coded as a form has it (RFC 6749 §2.3.1).
        #expect(
            try scenario.requests(to: "/token").map(\.authorization) == ["Basic a25vd246cytwJTJCYw=="])
    }

    @Test(arguments: [
        ("scope-from-www-authenticate", "mcp:basic"),
        ("scope-from-scopes-supported", "mcp:basic mcp:read mcp:write"),
        ("scope-omitted-when-undefined", nil), ("offline-access-scope", "mcp:basic offline_access"),
        ("offline-access-not-supported", "mcp:basic"),
    ]) func `requests the scope that the API requires`(rule: String, scope: String?) throws {
        let scenario = try AuthorizationScenario(rule)
        try scenario.signIn(at: home)
        let asked = try #require(try scenario.requests(to: "/authorize").first).query
        #expect(asked["scope"] == scope)
        #expect(asked["code_challenge_method"] == "S256")
        let grants = try scenario.requests(to: "/register").first?.json["grant_types"]
        #expect(grants == ["authorization_code", "refresh_token"])
    }

    @Test(arguments: ["dpop", "dpop-nonce", "dpop-bound-access-tokens-required"])
    func `a challenge for DPoP alone, or the resource's document, binds the tokens`(rule: String) throws {
        let scenario = try AuthorizationScenario(rule)
        try scenario.signIn(at: home)
        try scenario.call(from: home)
        try scenario.call(from: home)
        let calls = try scenario.requests(to: "/mcp").filter { $0.authorization != nil }
        #expect(calls.allSatisfy { $0.authorization?.hasPrefix("DPoP ") == true && $0.proof != nil })
        #expect(Set(calls.map(\.proof)).count == calls.count)
        #expect(try home.run(["token", "--format", "header"]).line.hasPrefix("Authorization: DPoP "))
        // One repeat for the nonce at each server, and no repeat without a nonce.
        #expect(try scenario.requests(to: "/token").count == (rule == "dpop-nonce" ? 2 : 1))
        #expect((2...4).contains(calls.count))
    }

    // MARK: Documents about the client

    private static let document = "https://tools.invalid/credmgr/client.json"

    @Test(arguments: ["basic-cimd", "cimd-only"])
    func `a client known by its document registers nothing`(rule: String) throws {
        let scenario = try AuthorizationScenario(rule)
        try scenario.signIn(at: home, more: ["--client-id", Self.document])
        try scenario.call(from: home)
        let log = try scenario.log
        #expect(!log.contains { $0.path == "/register" })
        #expect(log.first { $0.path == "/authorize" }?.query["client_id"] == Self.document)
        let exchange = try #require(log.first { $0.path == "/token" })
        #expect(exchange.form["client_id"] == Self.document && exchange.authorization == nil)
    }

    @Test func `the document of the configuration comes before a registration`() throws {
        let scenario = try AuthorizationScenario("basic-cimd"),
            other = try AuthorizationScenario("metadata-default")
        try home.write(#"{"client_metadata_url": "\#(Self.document)"}"#, to: "config/credmgr/config.json")
        try scenario.signIn(at: home)
        #expect(try scenario.requests(to: "/register").isEmpty)
        try other.signIn(at: home)
        #expect(try other.requests(to: "/register").count == 1)
    }

    @Test func `a server that takes documents only is told of before a browser opens`() throws {
        let scenario = try AuthorizationScenario("cimd-only")
        let refused = try home.run(["login", "--resource", scenario.api], exits: 2)
        #expect(refused.standardError.contains("--client-id https://"))
        #expect(try scenario.requests(to: "/authorize").isEmpty)
    }

    @Test func `a document that the server cannot fetch is its refusal, and nothing is asked again`() throws {
        let scenario = try AuthorizationScenario("cimd-unfetchable")
        let url = try home.run(
            ["login", "--resource", scenario.api, "--client-id", Self.document, "--print-url"]
        ).line
        #expect(throws: (any Error).self) { try scenario.redirect(from: url) }
        #expect(try scenario.requests(to: "/register").isEmpty)
        #expect(try scenario.requests(to: "/authorize").count == 1)
        #expect(try scenario.requests(to: "/token").isEmpty)
    }

    @Test func `types add takes the document, too`() throws {
        let scenario = try AuthorizationScenario("cimd-only")
        try home.run([
            "types", "add", "Own", "--issuer", scenario.issuer, "--client-metadata-url", Self.document,
            "--resource",
            scenario.api, "--api-base", scenario.api, "--scope", "mcp:basic",
        ])
        try scenario.signIn(at: home, ["--type", "Own"])
        try scenario.call(from: home)
        for url in ["http://tools.invalid/c", "https://tools.invalid", "https://tools.invalid/a/../b", "client"] {
            try home.run(
                ["types", "add", "Bad", "--issuer", scenario.issuer, "--client-metadata-url", url], exits: 2)
        }
    }
}
