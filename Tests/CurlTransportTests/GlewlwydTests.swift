import CredentialCore
import CurlTransport
import Foundation
import StrictJSON
import TestSupport
import Testing

@Suite struct `A real authorization server` {
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"  // RFC 7636, appendix B
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    private func send(
        _ transport: CurlTransport, _ address: String, form: String? = nil
    ) throws -> (status: Int, fields: [String: Any]) {
        let response = try transport.send(
            HTTPRequest(
                method: form == nil ? "GET" : "POST", address: try #require(URI(address)),
                headers: form == nil ? [] : [("Content-Type", "application/x-www-form-urlencoded")],
                body: form.map { .bytes(Array($0.utf8)) } ?? .none))
        let value = try JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any]
        return (response.status, try #require(value))
    }

    @Test(arguments: [false, true])
    func `Discovery, a sign-in by the robot and the exchange of its code`(usesTLS: Bool) throws {
        var settings = Glewlwyd.Settings()
        settings.usesTLS = usesTLS
        settings.redirectURIs = ["http://127.0.0.1:43110/callback"]
        let server = try Glewlwyd(settings)
        let transport = CurlTransport(userAgent: "credmgr/test", certificateFile: server.certificateFile)

        let discovery = try send(transport, server.issuer + "/.well-known/openid-configuration")
        #expect(discovery.status == 200)
        #expect(discovery.fields["issuer"] as? String == server.issuer)
        #expect(discovery.fields["token_endpoint"] as? String == server.tokenEndpoint)
        #expect(server.issuer.hasPrefix(usesTLS ? "https://" : "http://"))

        let redirect = try server.signIn(
            authorizationURL: server.authorizationEndpoint
                + "?response_type=code&client_id=native&scope=openid&state=s1&nonce=n1"
                + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A43110%2Fcallback"
                + "&code_challenge=\(Self.challenge)&code_challenge_method=S256", user: "bob")
        #expect(redirect.hasPrefix("http://127.0.0.1:43110/callback?"))
        let items = try #require(URLComponents(string: redirect)?.queryItems)
        #expect(items.first { $0.name == "state" }?.value == "s1")
        let code = try #require(items.first { $0.name == "code" }?.value)

        let tokens = try send(
            transport, server.tokenEndpoint,
            form: "grant_type=authorization_code&client_id=native&code=\(code)&code_verifier=\(Self.verifier)"
                + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A43110%2Fcallback")
        #expect(tokens.status == 200)
        #expect(tokens.fields["id_token"] is String)
    }

    @Test func `A device sign-in is approved by the robot`() throws {
        let server = try Glewlwyd()
        let transport = CurlTransport(userAgent: "credmgr/test")
        let start = try send(
            transport, server.deviceAuthorizationEndpoint, form: "client_id=device&scope=openid%20api.read")
        let page = try #require(start.fields["verification_uri"] as? String)
        let code = try #require(start.fields["user_code"] as? String)
        let deviceCode = try #require(start.fields["device_code"] as? String)
        try server.approveDevice(verificationURI: page, userCode: code)
        let tokens = try send(
            transport, server.tokenEndpoint,
            form: "grant_type=urn:ietf:params:oauth:grant-type:device_code&client_id=device"
                + "&device_code=\(deviceCode)")
        #expect(tokens.fields["access_token"] is String)
    }

    @Test func `A wrong password ends in the robot's own words`() throws {
        let server = try Glewlwyd()
        let error = #expect(throws: ServerFailure.self) {
            _ = try server.signIn(
                authorizationURL: server.authorizationEndpoint
                    + "?response_type=code&client_id=native&scope=openid&state=s1&nonce=n1"
                    + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A43110%2Fcallback"
                    + "&code_challenge=\(Self.challenge)&code_challenge_method=S256", user: "nobody")
        }
        #expect(error?.description.contains("/api/auth/: status 401") == true)
    }

    @Test func `A stopped server is gone`() throws {
        let server = try Glewlwyd()
        #expect(kill(server.processIdentifier, 0) == 0)
        server.stop()
        #expect(kill(server.processIdentifier, 0) == -1)
    }
}
