import CredentialCore
import CryptoSupport
import Glibc
import StrictJSON
import TestSupport
import Testing

/// Clients without a person, by the extensions of the Model Context Protocol's conformance suite.
@Suite struct `Machine scenarios` {
    private let home: Home

    init() throws { home = try Home() }

    private func define(_ scenario: AuthorizationScenario, _ words: [String]) throws {
        try home.run(
            [
                "types", "add", "Agent", "--issuer", scenario.issuer, "--resource", scenario.api, "--api-base",
                scenario.api, "--scope", "mcp:basic",
            ] + words)
    }

    @Test func `client-credentials-jwt`() throws {
        let key = try LibCryptography().generateKey(.es256)
        let client: JSONValue = ["agent": ["jwk": .object(key.publicJWK)]]
        let scenario = try AuthorizationScenario("client-credentials-jwt", clients: client.text())
        let file = try home.write(key.privateKey.reveal(), to: "outside/key")
        try define(scenario, ["--client-id", "agent", "--private-key-file", file, "--flow", "client_credentials"])
        try home.run(["login", "--type", "Agent"])
        try scenario.call(from: home)
        try home.run(["token", "--force-refresh"])
        let asked = try scenario.requests(to: "/token")
        #expect(asked.count == 2 && asked.allSatisfy { $0.form["grant_type"] == "client_credentials" })
        #expect(Set(asked.map { $0.form["client_assertion"] }).count == 2)
        #expect(try scenario.requests(to: "/register").isEmpty)
    }

    @Test func `client-credentials-basic`() throws {
        let scenario = try AuthorizationScenario(
            "client-credentials-basic", clients: #"{"agent": {"client_secret": "agent-secret"}}"#)
        let file = try home.write("agent-secret", to: "outside/secret")
        try define(
            scenario, ["--client-id", "agent", "--client-secret-file", file, "--flow", "client_credentials"])
        try home.run(["login", "--type", "Agent"])
        try scenario.call(from: home)
        let asked = try #require(try scenario.requests(to: "/token").first)
        #expect(asked.authorization?.hasPrefix("Basic ") == true && asked.form["client_secret"] == nil)
    }

    // MARK: Workloads

    /// A platform's token about a workload; the scenario's server looks at the claims alone.
    private func identityToken(for audience: String, _ number: Int64, subject: String = "workload") -> String {
        let claims: JSONValue = [
            "sub": .string(subject), "aud": .string(audience), "exp": .integer(Int64(time(nil)) + 300),
            "n": .integer(number),
        ]
        return Base64URL.encode(Array(#"{"alg":"ES256"}"#.utf8)) + "." + Base64URL.encode(claims.bytes())
            + ".c2ln"
    }

    @Test func `wif-jwt-bearer`() throws {
        let scenario = try AuthorizationScenario("wif-jwt-bearer")
        // As Kubernetes projects it: others may read it.
        let first = identityToken(for: scenario.issuer, 1), second = identityToken(for: scenario.issuer, 2)
        let file = try home.write(first + "\n", to: "outside/token", mode: 0o644)
        try define(scenario, ["--client-id", "workload", "--identity-token-file", file])
        try home.run(["login", "--type", "Agent"])
        try scenario.call(from: home)
        // Platforms replace it all the time.
        try home.write(second, to: "outside/token", mode: 0o644)
        try home.run(["token", "--force-refresh"])
        let asked = try scenario.requests(to: "/token")
        #expect(asked.map { $0.form["assertion"] } == [first, second])
        #expect(asked.allSatisfy { $0.form["client_secret"] == nil && $0.form["resource"] == scenario.api })
    }

    /// The other sources of a workload's identity: the output of a program (the SPIFFE Workload API's `spire-agent
    /// api fetch jwt` is one), a variable of the environment, and the file that a SPIFFE helper keeps.
    @Test(arguments: ["command", "env", "file"])
    func `wif-jwt-bearer from each source, read anew at each refresh`(source: String) throws {
        let scenario = try AuthorizationScenario("wif-jwt-bearer")
        let first = identityToken(for: scenario.issuer, 1, subject: "spiffe://example.org/agent")
        let second = identityToken(for: scenario.issuer, 2, subject: "spiffe://example.org/agent")
        let file = try home.write(first + "\n", to: "outside/svid")
        let place: JSONValue =
            switch source {
            case "command": ["command": ["/bin/cat", .string(file)]]
            case "env": ["env": "AGENT_IDENTITY"]
            default: ["file": .string(file)]
            }
        let type: JSONValue = [
            "adapter": "oauth2", "issuer": .string(scenario.issuer), "resource": .string(scenario.api),
            "api_base": .string(scenario.api), "scope": ["mcp:basic"], "client_id": "workload",
            "flow": "jwt_bearer", "identity_token": place,
        ]
        try home.write(type.text(), to: "config/credmgr/types/Agent.json")
        try home.run(["login", "--type", "Agent"], environment: ["AGENT_IDENTITY": first])
        try scenario.call(from: home)
        try home.write(second, to: "outside/svid")
        try home.run(["token", "--force-refresh"], environment: ["AGENT_IDENTITY": second])
        #expect(try scenario.requests(to: "/token").map { $0.form["assertion"] } == [first, second])
    }

    @Test func `a workload's token that is refused is sent once`() throws {
        let scenario = try AuthorizationScenario("wif-refused")
        let file = try home.write(identityToken(for: scenario.issuer, 1), to: "outside/token")
        try define(scenario, ["--client-id", "workload", "--identity-token-file", file])
        let refused = try home.run(["login", "--type", "Agent"], exits: 7)
        #expect(refused.standardError.contains("invalid_grant"))
        #expect(try scenario.requests(to: "/token").count == 1)
        let relative = ["--client-id", "c", "--identity-token-file", "relative"]
        try home.run(["types", "add", "Bad", "--issuer", scenario.issuer] + relative, exits: 2)
    }

    @Test func `enterprise-managed-authorization`() throws {
        let scenario = try AuthorizationScenario(
            "enterprise-managed-authorization", clients: #"{"agent": {"client_secret": "agent-secret"}}"#)
        let idp = try ScriptedProvider { $0.idTokenSubject = "ada" }
        try home.run([
            "types", "add", "Staff", "--issuer", idp.base, "--client-id", "app", "--scope", "openid",
        ])
        try idp.signIn(at: home, type: "Staff")
        // The exchange is at the provider's own token endpoint, which another server plays here.
        try home.run([
            "types", "set", "Staff", "token_endpoint=\(scenario.identityProvider)/token", "--move-accounts",
        ])
        let file = try home.write("agent-secret", to: "outside/secret")
        try define(scenario, ["--client-id", "agent", "--client-secret-file", file, "--idp", "Staff"])
        try home.run(["login", "--type", "Agent"])
        try scenario.call(from: home, ["--type", "Agent"])
        try home.run(["token", "--type", "Agent", "--force-refresh"])
        #expect(try scenario.requests(to: "/idp/token").count == 2)
        let asked = try scenario.requests(to: "/token")
        #expect(asked.count == 2 && asked.allSatisfy { $0.authorization?.hasPrefix("Basic ") == true })
    }
}
