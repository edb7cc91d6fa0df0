import LoopbackHTTP
import StrictJSON
import TestSupport
import Testing

/// `claims --access-token`: the checks of RFC 9068 §4 for an access token, and how a user authenticated.
@Suite struct `What tokens say` {
    private let home: Home

    init() throws { home = try Home() }

    private func define(_ provider: ScriptedProvider, _ words: [String] = []) throws {
        try home.run(
            ["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "api"] + words)
    }

    private func signedIn(_ change: (inout ScriptedProvider.Script) -> Void) throws -> ScriptedProvider {
        let provider = try ScriptedProvider(change)
        try define(provider, ["--resource", "https://api.example.test"])
        try provider.signIn(at: home)
        return provider
    }

    @Test(arguments: ["at+jwt", "application/AT+JWT"])
    func `claims of an access token are shown once they hold`(type: String) throws {
        let provider = try signedIn {
            $0.accessTokenClaims = JSONObject(["aud": ["https://other.example.test", "https://api.example.test"]])
            $0.accessTokenType = .string(type)
        }
        let claims = try home.json(["claims", "--access-token", "--json"]).object
        #expect(claims?["iss"]?.string == provider.base && claims?["sub"] == "ada")
        #expect(try home.run(["claims", "--access-token"]).standardOutput.contains("client_id"))
    }

    @Test(
        arguments: [
            ("typ", "JWT", "its type is 'JWT'"), ("typ", nil, "its type is not given"),
            ("iss", "https://evil.example.test", "another issuer"),
            ("aud", "https://evil.example.test", "another audience"),
            ("aud", nil, "no audience"), ("client_id", "other", "another client"),
            ("client_id", nil, "no client_id"),
            ("exp", nil, "no expiry time"), ("sub", nil, "no sub"), ("jti", nil, "no jti"),
            ("iat", nil, "time of issue"),
        ] as [(String, String?, String)])
    func `an access token that does not hold up is exit 7, and says why`(
        name: String, value: String?, words: String
    ) throws {
        let value = value.map(JSONValue.string) ?? .null
        let provider = try signedIn {
            $0.accessTokenClaims = JSONObject()
            if name == "typ" { $0.accessTokenType = value } else { $0.accessTokenClaims?[name] = value }
        }
        let refused = try home.run(["claims", "--access-token"], exits: 7)
        #expect(refused.standardError.contains("the access token cannot be trusted: "))
        #expect(refused.standardError.contains(words))
        // It is the API's to refuse: a client hands it on as it is.
        try home.run(["token"])
        _ = provider
    }

    @Test func `an access token that has ended, or is signed by another key, is exit 7`() throws {
        let provider = try signedIn { $0.accessTokenClaims = JSONObject(["exp": 1_000_000_000]) }
        #expect(try home.run(["claims", "--access-token"], exits: 7).standardError.contains("it has expired"))
        // The same claims under a key of another provider, with the same name.
        let other = try ScriptedProvider { $0.accessTokenClaims = JSONObject(["iss": .string(provider.base)]) }
        let forged = try JSONValue.parse(LoopbackClient().send("POST", other.base + "/token").body).object
        provider.change {
            $0.accessTokenClaims = nil
            $0.token = .json(
                200, ["access_token": forged?["access_token"] ?? .null, "token_type": "Bearer", "expires_in": 3600])
        }
        try home.run(["token", "--force-refresh"])
        #expect(
            try home.run(["claims", "--access-token"], exits: 7).standardError.contains("its signature is wrong"))
    }

    @Test func `an opaque access token is said to be one`() throws {
        let provider = try signedIn { _ in }
        let refused = try home.run(["claims", "--access-token"], exits: 2)
        #expect(refused.standardError.contains("the access token is opaque"))
        let account = try #require(try home.json(["which", "--json"]).object?["id"]?.string)
        #expect(
            refused.standardError.contains("to ask the provider: credmgr token --introspect --type ")
                && refused.standardError.contains(" --account \(account)\n"))
        // The hint asks the provider for the same scopes and audience, too.
        let shaped = ["--scope", "api more", "--audience", "https://api.example.test"]
        let other = try home.run(["claims", "--access-token"] + shaped, exits: 2).standardError
        #expect(other.contains(" --account \(account) --scope 'api more' --audience https://api.example.test\n"))
        try home.run(["claims", "--resource", "https://api.example.test"], exits: 2)
        _ = provider
    }

    @Test func `a provider without introspection gets no introspection hint`() throws {
        try DemoTenant().signIn(at: home)
        let refused = try home.run(["claims", "--access-token"], exits: 2).standardError
        #expect(!refused.contains("--introspect"), "\(refused)")
    }

    // MARK: How the person authenticated

    @Test func `a sign-in that comes back with less than was demanded is exit 7, and nothing is kept`() throws {
        let provider = try ScriptedProvider { $0.idTokenSubject = "ada" }
        try home.run([
            "types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "openid",
        ])
        let demand = ["--acr-values", "urn:example:gold urn:example:platinum"]
        provider.change { $0.idTokenClaims = JSONObject(["acr": "urn:example:bronze"]) }
        let refused = try provider.signIn(at: home, more: demand, exits: 7)
        #expect(refused.standardError.contains("its acr is 'urn:example:bronze', but 'urn:example:gold urn:"))
        #expect(try home.json(["accounts", "--json"]) == [])
        provider.change { $0.idTokenClaims = JSONObject(["acr": "urn:example:platinum"]) }
        try provider.signIn(at: home, more: demand)
        // One that does not tell passes, as it need not tell (OpenID Connect Core §2), unless that was essential.
        provider.change { $0.idTokenClaims = JSONObject() }
        try provider.signIn(at: home, more: demand)
        let essential = ["--claims", #"{"id_token":{"acr":{"essential":true,"values":["urn:example:gold"]}}}"#]
        try provider.signIn(at: home, more: essential, exits: 7)
        provider.change { $0.idTokenClaims = JSONObject(["acr": "urn:example:gold"]) }
        try provider.signIn(at: home, more: essential)
    }

    @Test func `a sign-in that is older than was demanded is exit 7`() throws {
        let provider = try ScriptedProvider {
            $0.idTokenSubject = "ada"
            $0.idTokenClaims = JSONObject(["auth_time": 1_000_000_000])
        }
        try home.run([
            "types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "openid",
        ])
        let refused = try provider.signIn(at: home, more: ["--max-age", "300"], exits: 7)
        #expect(refused.standardError.contains("the sign-in is too old"))
        #expect(try home.json(["accounts", "--json"]) == [])
    }
}
