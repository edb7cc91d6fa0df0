import CredentialCore
import CryptoSupport
import GenericOAuth2Adapter
import OAuth
import StrictJSON
import TestAdapters
import TestPorts
import Testing

@Suite struct GenericOAuth2GrantTests {
    private func machineFixture() throws -> GenericFixture {
        var fixture = try GenericFixture()
        fixture.type.issuer = nil
        fixture.type.scope = ["api"]
        fixture.type.flow = .clientCredentials
        fixture.type.endpoints = [.token: "https://op.example/token"]
        return fixture
    }

    // MARK: Device

    private static let deviceReply: JSONValue = [
        "device_code": "dc", "user_code": "WDJB-MJHT", "verification_uri": "https://op.example/enter",
        "expires_in": 1800, "interval": 5,
    ]

    private func beginDevice(_ fixture: GenericFixture) throws -> JSONObject {
        fixture.provider.expect("GET", GenericFixture.discovery, GenericFixture.metadata)
        fixture.provider.expect("POST", "https://op.example/device", Self.deviceReply)
        let (code, interval, pending) = try fixture.adapter.begin(
            fixture.request(.device), in: fixture.world.context
        ).shown()
        #expect(code == "WDJB-MJHT")
        #expect(interval == 5)
        #expect(fixture.provider.received.last?.form == ["client_id": "app", "scope": "openid api"])
        return pending
    }

    @Test func `signs in on another device, slower when told so and through trouble`() throws {
        let fixture = try GenericFixture()
        var pending = try beginDevice(fixture)
        func poll(_ status: Int, _ reply: JSONValue) throws -> SignInStep {
            fixture.provider.expect("POST", "https://op.example/token", status, reply)
            return try fixture.adapter.resume(
                fixture.request(.device), pending: pending, with: .poll, in: fixture.world.context)
        }
        var interval = 0
        (_, interval, pending) = try poll(400, ["error": "authorization_pending"]).shown()
        #expect(interval == 5)
        (_, interval, pending) = try poll(400, ["error": "slow_down"]).shown()
        #expect(interval == 10)
        (_, interval, pending) = try poll(503, [:]).shown()
        #expect(interval == 20)
        fixture.provider.expect("POST", "https://op.example/token") { received throws(CredentialError) in
            #expect(received.form["device_code"] == "dc")
            throw CredentialError(.temporary, "no route to host")
        }
        (_, interval, pending) = try fixture.adapter.resume(
            fixture.request(.device), pending: pending, with: .poll, in: fixture.world.context
        ).shown()
        #expect(interval == 40)

        let idToken = try fixture.world.signer.sign(fixture.claims(nonce: nil))
        fixture.provider.expect("POST", "https://op.example/token", fixture.reply(idToken: idToken))
        fixture.provider.expect("GET", "https://op.example/keys", fixture.world.signer.keySet)
        let result = try fixture.adapter.resume(
            fixture.request(.device), pending: pending, with: .poll, in: fixture.world.context
        ).result()
        #expect(result.identity.username == "ada")
        #expect(result.tokens.grant.flow == .device)
        #expect(result.tokens.accessToken?.key.scope == ["api", "openid"])
    }

    @Test func `polls on after an invalid token response, and reports it at the end`() throws {
        let fixture = try GenericFixture()
        var pending = try beginDevice(fixture)
        let answers: [(status: Int, type: String, body: String)] = [
            (404, "text/html", "<html>nf</html>"), (200, "text/html", "<html>"),
            (400, "text/plain", "no healthy upstream"), (200, "application/json", "[]"),
            (400, "application/json", #"{"status":400,"message":"authorization_pending"}"#),
            (400, "application/json", "\u{FEFF}{\"error\":\"authorization_pending\"}"),
            (404, "text/html", "<html>nf</html>"),
        ]
        func poll() throws -> SignInStep {
            try fixture.adapter.resume(
                fixture.request(.device), pending: pending, with: .poll, in: fixture.world.context)
        }
        for answer in answers {
            fixture.provider.expect("POST", "https://op.example/token") { _ in
                HTTPResponse(
                    status: answer.status, headers: [("content-type", answer.type)], body: Array(answer.body.utf8))
            }
            (_, _, pending) = try poll().shown()
        }
        fixture.world.clock.pass(1_801)
        let error = #expect(throws: CredentialError.self) { _ = try poll() }
        #expect(error?.code == .temporary)
        #expect(error?.message.contains("the code was not entered in time") == true)
        #expect(error?.message.contains("HTTP status 404") == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        ("access_denied", ErrorCode.denied), ("expired_token", .temporary), ("invalid_client", .configuration),
        ("invalid_grant", .signInRequired),
    ]) func `ends a device sign-in that was refused`(error: String, code: ErrorCode) throws {
        let fixture = try GenericFixture()
        let pending = try beginDevice(fixture)
        fixture.provider.expect("POST", "https://op.example/token", 400, ["error": .string(error)])
        let failure = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(.device), pending: pending, with: .poll, in: fixture.world.context)
        }
        #expect(failure?.code == code)
    }

    @Test func `needs no authorization endpoint for a flow without one`() throws {
        var fixture = try GenericFixture()
        fixture.type.issuer = nil
        fixture.type.scope = ["api"]
        fixture.type.endpoints = [
            .deviceAuthorization: "https://op.example/device", .token: "https://op.example/token",
        ]
        fixture.provider.expect("POST", "https://op.example/device", Self.deviceReply)
        _ = try fixture.adapter.begin(fixture.request(.device), in: fixture.world.context).shown()
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(fixture.request(), in: fixture.world.context)
        }
        #expect(error?.code == .unsupported)
    }

    // MARK: The page of a device code

    private func deviceRefusal(_ fixture: GenericFixture, _ changes: JSONValue) -> CredentialError? {
        fixture.provider.expect("POST", "https://op.example/device", Self.deviceReply.with(changes))
        return #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(fixture.request(.device), in: fixture.world.context)
        }
    }

    @Test(
        arguments: [
            ["verification_uri": "http://127.0.0.1:631/jobs"], ["verification_uri": "https://localhost/enter"],
            ["verification_uri_complete": "http://[::1]:631/?code=WDJB-MJHT"],
        ] as [JSONValue])
    func `a remote issuer names no page on this machine`(page: JSONValue) throws {
        let fixture = try GenericFixture()
        fixture.provider.expect("GET", GenericFixture.discovery, GenericFixture.metadata)
        let error = try #require(deviceRefusal(fixture, page))
        #expect(error.code == .validationFailed && error.code.exitStatus == 7)
        let rule = ", on this machine or its network: the issuer at op.example must not use this address"
        #expect(error.message.hasPrefix("verification_uri is at http"), "\(error.message)")
        #expect(error.message.hasSuffix(rule), "\(error.message)")
    }

    @Test func `an endpoint of a definition names a page on this machine only if it is here itself`() throws {
        var fixture = try GenericFixture()
        fixture.type.issuer = nil
        fixture.type.scope = ["api"]
        fixture.type.endpoints = [
            .deviceAuthorization: "https://op.example/device", .token: "https://op.example/token",
        ]
        let page: JSONValue = ["verification_uri": "http://127.0.0.1:631/jobs"]
        #expect(deviceRefusal(fixture, page)?.code == .validationFailed)
        let here = "http://127.0.0.1:8400/device"
        fixture.type.endpoints[.deviceAuthorization] = here
        fixture.provider.expect("POST", here, Self.deviceReply.with(page))
        let step = try fixture.adapter.begin(fixture.request(.device), in: fixture.world.context)
        guard case .interaction(.showCode(_, let shown, _, _, _), _) = step else {
            Issue.record("no code is shown")
            return
        }
        #expect(shown.description == "http://127.0.0.1:631/jobs")
        #expect(shown.author == .issuer(host: "127.0.0.1"))
    }

    @Test(arguments: ["https://honest.example/device", "https://10.0.0.1/enter", "http://127.0.0.1:631/jobs"])
    func `a server that an API named names no page of another server`(page: String) throws {
        var fixture = try GenericFixture()
        fixture.type.apiBase = "https://api.example/mcp"
        fixture.type.issuerIsNamedByAPI = true
        fixture.provider.expect("GET", GenericFixture.discovery, GenericFixture.metadata)
        let error = try #require(deviceRefusal(fixture, ["verification_uri": .string(page)]))
        #expect(error.code == .validationFailed)
        let named = "https://api.example named the authorization server https://op.example, and the server names "
        #expect(error.message.hasPrefix(named), "\(error.message)")
    }

    @Test func `a server that an API named opens no page of another server at a sign-out`() throws {
        var fixture = try GenericFixture()
        fixture.type.apiBase = "https://api.example/mcp"
        fixture.type.issuerIsNamedByAPI = true
        let metadata = GenericFixture.metadata.with(["end_session_endpoint": "https://honest.example/logout"])
        fixture.provider.expect("GET", GenericFixture.discovery, metadata)
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.endSessionAddress(nil, policy: "", of: fixture.type, in: fixture.world.context)
        }
        #expect(error?.code == .validationFailed)
    }

    @Test func `asks no more once the code has ended`() throws {
        let fixture = try GenericFixture()
        let pending = try beginDevice(fixture)
        fixture.world.clock.pass(1_800)
        let failure = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(.device), pending: pending, with: .poll, in: fixture.world.context)
        }
        #expect(failure?.code == .temporary)
        #expect(fixture.provider.received.count == 2)
    }

    // MARK: Without a browser

    @Test func `signs in by password only if the type allows it`() throws {
        var fixture = try GenericFixture()
        fixture.type.scope = ["api"]
        fixture.type.endpoints[.token] = "https://op.example/token"
        var request = fixture.request(.password)
        (request.username, request.password) = ("ada", Secret("p&w"))
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(request, in: fixture.world.context)
        }
        #expect(error?.code == .unsupported)
        #expect(fixture.provider.received.isEmpty)

        fixture.type.flow = .password
        request.type = fixture.type
        fixture.provider.expect("POST", "https://op.example/token", ["access_token": "at"])
        let result = try fixture.adapter.begin(request, in: fixture.world.context).result()
        #expect(fixture.provider.received.last?.form["password"] == "p&w")
        #expect(result.identity.subject == "ada")
        fixture.provider.expect("POST", "https://op.example/token", 400, ["error": "invalid_grant"])
        let wrong = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(request, in: fixture.world.context)
        }
        #expect(wrong?.code == .denied)
    }

    @Test(
        arguments: [
            (nil, true, "Basic YXBwOnMlMkIx"), ("client_secret_basic", true, "Basic YXBwOnMlMkIx"),
            ("client_secret_post", true, nil), ("none", false, nil),
        ] as [(String?, Bool, String?)])
    func `authenticates the client as the type says`(
        method: String?, sendsSecret: Bool, authorization: String?
    ) throws {
        var fixture = try machineFixture()
        fixture.world.secrets.secret = Secret("s+1")
        fixture.type.clientSecret = .store
        fixture.type.tokenEndpointAuthMethod = method
        fixture.provider.expect("POST", "https://op.example/token", ["access_token": "at", "expires_in": "60"])
        let result = try fixture.adapter.begin(
            fixture.request(.clientCredentials), in: fixture.world.context
        ).result()
        let received = try #require(fixture.provider.received.last)
        #expect(received.header("authorization") == authorization)
        #expect((received.form["client_secret"] == "s+1") == (sendsSecret && authorization == nil))
        #expect((received.form["client_id"] == "app") == (authorization == nil))
        #expect(result.identity.subject == "app")
        #expect(result.tokens.accessToken?.expiresAt.epochSeconds == 1_700_000_060)
    }

    @Test func `authenticates with a signed assertion for the token endpoint`() throws {
        var fixture = try machineFixture()
        let (privateKey, publicKey) = try LibCryptography().generateKey(.es256)
        fixture.world.secrets.key = privateKey
        fixture.type.privateKey = .store
        fixture.provider.expect("POST", "https://op.example/token") { received throws(CredentialError) in
            #expect(
                received.form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            let token = try CompactJWT(received.form["client_assertion"] ?? "")
            #expect(token.claims["aud"]?.string == "https://op.example/token")
            #expect(token.claims["iss"]?.string == "app")
            #expect(token.claims["sub"]?.string == "app")
            #expect(
                try LibCryptography().verify(
                    token.signature, of: token.signingInput, algorithm: .es256, key: publicKey))
            return HTTPResponse(
                status: 200, body: Array(#"{"access_token":"at","token_type":"access_token"}"#.utf8))
        }
        _ = try fixture.adapter.begin(fixture.request(.clientCredentials), in: fixture.world.context).result()
    }

    @Test func `makes no assertion for a token endpoint that is not the issuer's`() throws {
        var fixture = try GenericFixture()
        fixture.type.scope = ["api"]
        fixture.world.secrets.key = try LibCryptography().generateKey(.es256).privateKey
        fixture.type.privateKey = .store
        fixture.provider.expect(
            "GET", GenericFixture.discovery,
            GenericFixture.metadata.with(["token_endpoint": "https://foreign.example/token"]))
        fixture.provider.expect("POST", "https://foreign.example/token") { received throws(CredentialError) in
            let token = try CompactJWT(received.form["client_assertion"] ?? "")
            #expect(token.claims["aud"]?.string == GenericFixture.issuer)
            return HTTPResponse(status: 200, body: Array(#"{"access_token":"at"}"#.utf8))
        }
        _ = try fixture.adapter.begin(fixture.request(.clientCredentials), in: fixture.world.context).result()
    }

    @Test func `signs in by assertion, and not without a key`() throws {
        var fixture = try machineFixture()
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(fixture.request(.jwtBearer), in: fixture.world.context)
        }
        #expect(error?.code == .unsupported)
        fixture.world.secrets.key = try LibCryptography().generateKey(.rs256).privateKey
        fixture.type.privateKey = .store
        fixture.type.tokenEndpointAuthMethod = "none"
        var request = fixture.request(.jwtBearer)
        request.username = "ada"
        for _ in 0..<2 {
            fixture.provider.expect("POST", "https://op.example/token") { received throws(CredentialError) in
                #expect(received.form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
                let token = try CompactJWT(received.form["assertion"] ?? "")
                #expect(token.claims["sub"]?.string == "ada")
                #expect(token.claims["scope"]?.string == "api")
                return HTTPResponse(status: 200, body: Array(#"{"access_token":"at"}"#.utf8))
            }
        }
        let result = try fixture.adapter.begin(request, in: fixture.world.context).result()
        #expect(result.identity.subject == "ada")
        // Without a refresh token the flow is simply run again.
        _ = try fixture.adapter.refresh(
            RefreshRequest(
                type: fixture.type, key: TokenRequestKey(scope: ["api"]), scope: ["api"],
                grant: result.tokens.grant,
                subject: "ada"), in: fixture.world.context)
        #expect(fixture.provider.missing == 0)
    }

    // MARK: Signing out

    @Test(
        arguments: [
            (200, "", nil), (200, "anything", nil), (503, "", ErrorCode.temporary), (401, "", .unsupported),
            (400, #"{"error":"unsupported_token_type"}"#, .unsupported),
        ] as [(Int, String, ErrorCode?)])
    func `revokes the refresh token`(status: Int, body: String, code: ErrorCode?) throws {
        let fixture = try GenericFixture()
        let grant = try fixture.signIn().tokens.grant
        fixture.provider.expect("POST", "https://op.example/revoke") { received in
            #expect(received.form == ["token": "rt-1", "token_type_hint": "refresh_token", "client_id": "app"])
            return HTTPResponse(status: status, body: Array(body.utf8))
        }
        let outcome = Result { try fixture.adapter.revoke(grant, of: fixture.type, in: fixture.world.context) }
        switch outcome {
        case .success: #expect(code == nil)
        case .failure(let error): #expect((error as? CredentialError)?.code == code)
        }
    }

    /// If an access token outlives its refresh token, it is revoked, too. A provider that reports the refresh token
    /// gone, or that it revokes no token, is right.
    @Test(
        arguments: [
            (200, "", nil), (400, #"{"error":"unsupported_token_type"}"#, nil),
            (400, #"{"error":"invalid_token"}"#, nil),
            (503, "", ErrorCode.temporary),
        ] as [(Int, String, ErrorCode?)])
    func `revokes the access tokens besides`(status: Int, body: String, code: ErrorCode?) throws {
        let fixture = try GenericFixture()
        let tokens = try fixture.signIn().tokens
        let access = try #require(tokens.accessToken)
        fixture.provider.expect("POST", "https://op.example/revoke") { received in
            #expect(received.form["token_type_hint"] == "refresh_token")
            return HTTPResponse(status: 200)
        }
        fixture.provider.expect("POST", "https://op.example/revoke") { received in
            #expect(received.form["token"] == access.token.reveal())
            #expect(received.form["token_type_hint"] == "access_token")
            return HTTPResponse(status: status, body: Array(body.utf8))
        }
        let revocable = RevocationRequest(grant: tokens.grant, accessTokens: [access])
        let outcome = Result { try fixture.adapter.revoke(revocable, of: fixture.type, in: fixture.world.context) }
        switch outcome {
        case .success: #expect(code == nil)
        case .failure(let error): #expect((error as? CredentialError)?.code == code)
        }
    }

    @Test func `reports that revocation is not supported`() throws {
        let fixture = try machineFixture()
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.revoke(
                Grant(flow: .clientCredentials, obtainedAt: fixture.world.clock.now), of: fixture.type,
                in: fixture.world.context)
        }
        #expect(error?.code == .unsupported)
    }

    @Test func `knows the URL that ends the browser's session`() throws {
        let fixture = try GenericFixture()
        let grant = try fixture.signIn().tokens.grant
        let address = try fixture.adapter.endSessionAddress(
            grant, policy: "", of: fixture.type, in: fixture.world.context)
        #expect(address?.description.hasPrefix("https://op.example/logout?client_id=app&id_token_hint=ey") ?? false)
        let plain = try machineFixture()
        #expect(
            try plain.adapter.endSessionAddress(nil, policy: "", of: plain.type, in: plain.world.context) == nil)
    }

    // MARK: Introspection

    @Test func `a client without a secret is told that it may not ask about tokens`() throws {
        var fixture = try GenericFixture()
        fixture.type.endpoints[.introspection] = "https://op.example/introspect"
        let signedIn = try fixture.signIn()
        let token = try #require(signedIn.tokens.accessToken)
        func ask(_ status: Int, _ reply: JSONValue) -> CredentialError? {
            fixture.provider.expect("POST", "https://op.example/introspect", status, reply)
            return #expect(throws: CredentialError.self) {
                try fixture.adapter.introspect(
                    token, grant: signedIn.tokens.grant, of: fixture.type, in: fixture.world.context)
            }
        }
        for (status, reply) in [(401, [:]), (403, [:]), (400, ["error": "invalid_client"])] as [(Int, JSONValue)] {
            let error = ask(status, reply)
            #expect(error?.code == .configuration)
            #expect(
                error?.message.hasPrefix(
                    "the provider does not support token introspection without a client secret")
                    == true)
            #expect(error?.hint?.hasSuffix("credmgr claims --access-token --type Tasks") == true)
        }
        fixture.world.secrets.secret = Secret("s")
        fixture.type.clientSecret = .store
        #expect(ask(401, ["error": "invalid_client"])?.message.hasPrefix("the provider refused the client") == true)
    }
}
