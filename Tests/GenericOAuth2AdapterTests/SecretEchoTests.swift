import CredentialCore
import CryptoSupport
import OAuth
import StrictJSON
import TestAdapters
import TestPorts
import Testing

/// Refusals that repeat the secrets of the request, with a status of success and with another one.
@Suite struct SecretEchoTests {
    private static let secret = "a-secret+of/the client"

    private func fixture() throws -> GenericFixture {
        var fixture = try GenericFixture()
        fixture.type.scope = ["api"]
        fixture.type.clientSecret = .store
        fixture.world.secrets.secret = Secret(Self.secret)
        return fixture
    }

    /// Expects a request and refuses it with its client secret, its header field and its form.
    private func expectEcho(_ fixture: GenericFixture, at address: String, _ status: Int) {
        fixture.provider.expect("POST", address) { received in
            let authorization = received.header("authorization") ?? ""
            let form = received.form.values.sorted().joined(separator: " ")
            let body: JSONValue = [
                "error": "strange", "error_description": .string("no \(Self.secret), \(authorization), \(form)"),
            ]
            return HTTPResponse(
                status: status, headers: [("content-type", "application/json")], body: body.bytes())
        }
    }

    private func check(_ refusal: CredentialError?) throws {
        let error = try #require(refusal)
        #expect(error.message.contains("no [redacted], Basic [redacted], "), "\(error.message)")
        for text in [error.message] + error.details {
            // The header field begins with the client ID, in base64.
            #expect(!text.contains("of/the client") && !text.contains("YXBw"), "\(text)")
        }
    }

    @Test(arguments: [200, 400]) func `the device authorization endpoint shows no secret`(status: Int) throws {
        let fixture = try fixture()
        fixture.provider.expect("GET", GenericFixture.discovery, GenericFixture.metadata)
        expectEcho(fixture, at: "https://op.example/device", status)
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(fixture.request(.device), in: fixture.world.context)
        }
        try check(error)
    }

    @Test(arguments: [200, 400]) func `the endpoint for pushed requests shows no secret`(status: Int) throws {
        var fixture = try fixture()
        fixture.type.endpoints[.pushedAuthorizationRequest] = "https://op.example/par"
        fixture.provider.expect("GET", GenericFixture.discovery, GenericFixture.metadata)
        expectEcho(fixture, at: "https://op.example/par", status)
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(fixture.request(), in: fixture.world.context)
        }
        try check(error)
    }

    @Test(arguments: [200, 400]) func `the introspection endpoint shows no secret or token`(status: Int) throws {
        var fixture = try fixture()
        fixture.type.endpoints[.introspection] = "https://op.example/introspect"
        let now = fixture.world.clock.now
        let token = AccessToken(
            key: TokenRequestKey(scope: ["api"]), token: Secret("an-access-token-of-the-test"),
            tokenType: "Bearer", issuedAt: now, expiresAt: now.adding(600), scope: ["api"])
        expectEcho(fixture, at: "https://op.example/introspect", status)
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.introspect(
                token, grant: Grant(flow: .code, obtainedAt: now), of: fixture.type, in: fixture.world.context)
        }
        try check(error)
        #expect(error?.message.contains("an-access-token-of-the-test") == false)
    }

    @Test func `the revocation endpoint shows no secret or token`() throws {
        var fixture = try fixture()
        fixture.type.endpoints[.revocation] = "https://op.example/revoke"
        var grant = Grant(flow: .code, obtainedAt: fixture.world.clock.now)
        grant.refreshToken = Secret("a-refresh-token-of-the-test")
        expectEcho(fixture, at: "https://op.example/revoke", 400)
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.revoke(grant, of: fixture.type, in: fixture.world.context)
        }
        try check(error)
        #expect(error?.message.contains("a-refresh-token-of-the-test") == false)
    }

    @Test(arguments: [200, 400]) func `the token endpoint shows no assertion of the client`(status: Int) throws {
        var fixture = try GenericFixture()
        fixture.type.issuer = nil
        fixture.type.scope = ["api"]
        fixture.type.flow = .clientCredentials
        fixture.type.endpoints = [.token: "https://op.example/token"]
        fixture.type.privateKey = .store
        fixture.world.secrets.key = try LibCryptography().generateKey(.es256).privateKey
        fixture.provider.expect("POST", "https://op.example/token") { received in
            let assertion = received.form["client_assertion"] ?? ""
            let body: JSONValue = ["error": "strange", "error_description": .string("no " + assertion)]
            return HTTPResponse(
                status: status, headers: [("content-type", "application/json")], body: body.bytes())
        }
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(fixture.request(.clientCredentials), in: fixture.world.context)
        }
        #expect(error?.message.contains("strange: no [redacted]") == true, "\(error?.message ?? "")")
    }
}
