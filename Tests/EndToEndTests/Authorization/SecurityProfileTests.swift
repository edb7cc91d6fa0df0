import CryptoSupport
import StrictJSON
import TestSupport
import Testing

/// The requirements of the FAPI 2.0 Security Profile on a client (§5.3.3), all at once, at a server that accepts no
/// less.
@Suite struct `FAPI 2_0 Security` {
    private let home: Home

    init() throws { home = try Home() }

    /// A server with a client that has a key, and a type for it that has the certificate, too.
    private func bank(_ scenario: String, more: [String] = []) throws -> AuthorizationScenario {
        let key = try LibCryptography().generateKey(.es256)
        let client: JSONValue = ["bank": ["jwk": .object(key.publicJWK)]]
        let bank = try AuthorizationScenario(scenario, clients: client.text())
        let folder = try #require(bank.certificates)
        let file = try home.write(key.privateKey.reveal(), to: "outside/key")
        let method = scenario.hasSuffix("certificate") ? "tls_client_auth" : "private_key_jwt"
        try home.run(
            [
                "types", "add", "Bank", "--issuer", bank.issuer, "--client-id", "bank", "--auth-method", method,
                "--tls-certificate", folder + "/client.pem", "--tls-key", folder + "/client.key", "--dpop",
                "--scope", "accounts", "--resource", bank.api, "--api-base", bank.api,
            ] + (method == "private_key_jwt" ? ["--private-key-file", file] : []), environment: bank.trust)
        return bank
    }

    @Test(arguments: ["key", "certificate"])
    func `pushed, proved by key and certificate, bound, and by the right issuer`(way: String) throws {
        let bank = try bank("fapi-2-security-" + way)
        try bank.signIn(at: home, ["--type", "Bank"])
        try bank.call(from: home)
        try home.run(["token", "--force-refresh"], environment: bank.trust)
        try bank.call(from: home)
        let pushed = try #require(try bank.requests(to: "/par").first).form
        #expect(pushed["code_challenge_method"] == "S256" && pushed["response_type"] == "code")
        #expect(pushed["resource"] == bank.api)
        let opened = try #require(try bank.requests(to: "/authorize").first).query
        #expect(Set(opened.keys) == ["client_id", "request_uri"])
        // Each once for the nonce and once with it; no other request is repeated.
        let asked = try bank.requests(to: "/token")
        #expect(asked.allSatisfy { $0.proof != nil && $0.authorization == nil })
        #expect(Set(asked.map(\.proof)).count == asked.count)
        #expect(asked.contains { $0.form["grant_type"] == "refresh_token" })
        let assertions = try bank.requests(to: "/par").map(\.form) + asked.map(\.form)
        #expect(assertions.allSatisfy { ($0["client_assertion"] != nil) == (way == "key") })
        // Tokens travel in the header field, and never as Bearer.
        let calls = try bank.requests(to: "/mcp").filter { $0.authorization != nil }
        #expect(calls.allSatisfy { $0.authorization?.hasPrefix("DPoP ") == true && $0.query.isEmpty })
    }

    @Test func `without the issuer that was promised the code goes nowhere`() throws {
        let bank = try bank("fapi-2-security-no-issuer")
        try bank.signIn(at: home, ["--type", "Bank"], exits: 7)
        #expect(try bank.requests(to: "/token").isEmpty)
    }

    @Test func `without the certificate the same client is refused`() throws {
        let bank = try bank("fapi-2-security-key")
        try home.run(["types", "set", "Bank", "--unset", "tls_client_certificate", "--unset", "tls_client_key"])
        try home.run(["login", "--type", "Bank", "--print-url"], environment: bank.trust, exits: 2)
        #expect(try bank.requests(to: "/authorize").isEmpty)
    }
}
