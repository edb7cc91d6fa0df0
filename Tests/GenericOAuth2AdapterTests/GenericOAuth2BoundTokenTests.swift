import CredentialCore
import CryptoSupport
import GenericOAuth2Adapter
import OAuth
import StrictJSON
import TestAdapters
import TestPorts
import Testing

/// DPoP (RFC 9449) and client certificates (RFC 8705).
@Suite struct GenericOAuth2BoundTokenTests {
    private func fixture() throws -> GenericFixture {
        var fixture = try GenericFixture()
        fixture.type.scope = ["api"]
        fixture.type.bindsAccessTokens = true
        return fixture
    }

    private static let nonceWanted = Array(#"{"error":"use_dpop_nonce"}"#.utf8)

    private func proof(_ received: ScriptedProvider.Received) throws -> CompactJWT {
        try CompactJWT(try #require(received.header("dpop")))
    }

    private static func reply(_ type: String = "DPoP", _ token: String = "at-1") -> JSONValue {
        ["access_token": .string(token), "token_type": .string(type), "expires_in": 600, "refresh_token": "rt-1"]
    }

    private func signIn(_ fixture: GenericFixture) throws -> SignInResult {
        let (_, fields, pending) = try fixture.begin()
        #expect(fields["dpop_jkt"]?.utf8.count == 43)
        fixture.provider.expect("POST", "https://op.example/token", Self.reply())
        return try fixture.adapter.resume(
            fixture.request(), pending: pending, with: fixture.answer(fields["state"]), in: fixture.world.context
        ).result()
    }

    @Test func `a proof is signed by the key of the sign-in, and the refresh has the same key`() throws {
        let fixture = try fixture()
        let result = try signIn(fixture)
        #expect(result.tokens.accessToken?.tokenType == "DPoP")
        let first = try proof(try #require(fixture.provider.received.last))
        #expect(first.header["typ"] == "dpop+jwt" && first.header["alg"] == "ES256")
        #expect(first.claims["htm"] == "POST" && first.claims["htu"] == "https://op.example/token")
        #expect(first.claims["iat"]?.integer == 1_700_000_000)
        #expect(first.claims["ath"] == nil)
        let key = try #require(first.header["jwk"]?.object)
        #expect(key["d"] == nil)
        #expect(
            try LibCryptography().verify(
                first.signature, of: first.signingInput, algorithm: .es256, key: key))

        fixture.provider.expect("POST", "https://op.example/token", Self.reply("DPoP", "at-2"))
        let request = RefreshRequest(
            type: fixture.type, key: try #require(result.tokens.accessToken?.key), scope: ["api"],
            grant: result.tokens.grant, subject: "default")
        let refreshed = try fixture.adapter.refresh(request, in: fixture.world.context)
        let second = try proof(try #require(fixture.provider.received.last))
        #expect(second.header["jwk"]?.object == key)
        #expect(second.claims["jti"] != first.claims["jti"])
        #expect(refreshed.accessToken?.token == Secret("at-2"))
    }

    @Test func `a nonce is taken up once, and kept for the next request`() throws {
        let fixture = try fixture()
        let (_, fields, pending) = try fixture.begin()
        let refusal = HTTPResponse(
            status: 400, headers: [("dpop-nonce", "n-1")], body: Self.nonceWanted)
        fixture.provider.expect("POST", "https://op.example/token") { _ in refusal }
        fixture.provider.expect("POST", "https://op.example/token", Self.reply())
        let result = try fixture.adapter.resume(
            fixture.request(), pending: pending, with: fixture.answer(fields["state"]), in: fixture.world.context
        ).result()
        let proofs = try fixture.provider.received.suffix(2).map(proof)
        #expect(proofs[0].claims["nonce"] == nil && proofs[1].claims["nonce"] == "n-1")
        #expect(proofs[0].claims["jti"] != proofs[1].claims["jti"])

        fixture.provider.expect("POST", "https://op.example/token", Self.reply())
        let request = RefreshRequest(
            type: fixture.type, key: try #require(result.tokens.accessToken?.key), scope: ["api"],
            grant: result.tokens.grant, subject: "default")
        _ = try fixture.adapter.refresh(request, in: fixture.world.context)
        #expect(try proof(try #require(fixture.provider.received.last)).claims["nonce"] == "n-1")
    }

    @Test func `a server that never has enough of nonces is asked twice, no more`() throws {
        let fixture = try fixture()
        let (_, fields, pending) = try fixture.begin()
        for number in 1...2 {
            fixture.provider.expect("POST", "https://op.example/token") { _ in
                HTTPResponse(
                    status: 400, headers: [("dpop-nonce", "n-\(number)")],
                    body: Self.nonceWanted)
            }
        }
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: fixture.answer(fields["state"]),
                in: fixture.world.context)
        }
        #expect(error?.code == .denied)
        #expect(fixture.provider.missing == 0)
    }

    @Test(arguments: ["a\"b", "a b", "a\\b", "\u{7F}", String(repeating: "n", count: 2_000), ""])
    func `a nonce that is none is not sent back`(nonce: String) throws {
        let fixture = try fixture()
        let (_, fields, pending) = try fixture.begin()
        fixture.provider.expect("POST", "https://op.example/token") { _ in
            HTTPResponse(
                status: 400, headers: [("dpop-nonce", nonce)], body: Self.nonceWanted)
        }
        #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: fixture.answer(fields["state"]),
                in: fixture.world.context)
        }
        #expect(fixture.provider.missing == 0)
    }

    @Test func `a token that is not bound is refused if a bound one was requested`() throws {
        let fixture = try fixture()
        let (_, fields, pending) = try fixture.begin()
        fixture.provider.expect("POST", "https://op.example/token", Self.reply("Bearer"))
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: fixture.answer(fields["state"]),
                in: fixture.world.context)
        }
        #expect(error?.code == .validationFailed)
    }

    @Test func `a bound token is refused if none was requested`() throws {
        var fixture = try fixture()
        fixture.type.bindsAccessTokens = false
        let (_, fields, pending) = try fixture.begin()
        #expect(fields["dpop_jkt"] == nil)
        fixture.provider.expect("POST", "https://op.example/token", Self.reply())
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: fixture.answer(fields["state"]),
                in: fixture.world.context)
        }
        #expect(error?.code == .malformedReply)
        #expect(error?.hint?.contains("dpop_bound_access_tokens") == true)
    }

    @Test func `a resource gets the token's hash, and its own nonce`() throws {
        let fixture = try fixture()
        let prover = try DPoPKey.make(in: fixture.world.context)
        let address = try #require(URI("https://api.example/things?page=2#x"))
        for challenge in ["DPoP error=\"use_dpop_nonce\", error_description=\"x\"", nil] {
            fixture.provider.expect("GET", address.description) { _ in
                HTTPResponse(
                    status: challenge == nil ? 200 : 401,
                    headers: [("dpop-nonce", "r-1")] + (challenge.map { [("www-authenticate", $0)] } ?? []))
            }
        }
        let response = try ResourceRequest(
            token: Secret("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"), type: "DPoP", prover: prover
        )
        .send(HTTPRequest(address: address), in: fixture.world.context)
        #expect(response.status == 200)
        let proofs = try fixture.provider.received.map(proof)
        #expect(
            proofs.map { $0.claims["htu"]?.string } == ["https://api.example/things", "https://api.example/things"])
        #expect(proofs.map { $0.claims["nonce"]?.string } == [nil, "r-1"])
        #expect(proofs[0].claims["ath"] == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
    }

    // MARK: Certificates

    @Test func `a certificate is shown at the provider's own place for it`() throws {
        var fixture = try GenericFixture()
        fixture.type.scope = ["api"]
        fixture.type.flow = .clientCredentials
        (fixture.type.tlsClientCertificate, fixture.type.tlsClientKey) = ("/keys/c.pem", "/keys/c.key")
        fixture.provider.expect(
            "GET", GenericFixture.discovery,
            GenericFixture.metadata.with([
                "mtls_endpoint_aliases": ["token_endpoint": "https://mtls.op.example/token"]
            ]))
        fixture.provider.expect("POST", "https://mtls.op.example/token", Self.reply("Bearer"))
        _ = try fixture.adapter.begin(fixture.request(.clientCredentials), in: fixture.world.context).result()
        let sent = try #require(fixture.provider.received.last)
        #expect(
            sent.request.clientCertificate
                == ClientCertificate(certificateFile: "/keys/c.pem", keyFile: "/keys/c.key"))
        #expect(sent.form["client_id"] == "app" && sent.header("authorization") == nil)
        #expect(sent.form["client_assertion"] == nil && sent.form["client_secret"] == nil)
    }

    @Test func `a certificate without its key, or a method without a certificate, is a wrong type`() throws {
        var fixture = try GenericFixture()
        fixture.type.tlsClientCertificate = "/keys/c.pem"
        #expect(throws: CredentialError.self) { try fixture.adapter.check(fixture.type) }
        fixture.type.tlsClientCertificate = nil
        fixture.type.tokenEndpointAuthMethod = "tls_client_auth"
        #expect(throws: CredentialError.self) { try fixture.adapter.check(fixture.type) }
    }
}
