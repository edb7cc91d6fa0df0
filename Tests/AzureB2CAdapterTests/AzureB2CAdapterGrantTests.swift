import AzureB2CAdapter
import CredentialCore
import CryptoSupport
import OAuth
import StrictJSON
import TestAdapters
import TestPorts
import Testing

@Suite struct AzureB2CAdapterGrantTests {
    private func refresh(
        _ fixture: B2CFixture, _ grant: Grant, adapter: AzureB2CAdapter? = nil
    ) throws -> IssuedTokens {
        let scope = fixture.adapter.effectiveScope(fixture.request().scope, of: fixture.type)
        return try (adapter ?? fixture.adapter).refresh(
            RefreshRequest(
                type: fixture.type, key: TokenRequestKey(policy: "b2c_1_sign_in", scope: scope), scope: scope,
                grant: grant, subject: "3f0c9a52"), in: fixture.world.context)
    }

    @Test func `refreshes at the policy's endpoint, with its scopes and without discovery`() throws {
        var fixture = try B2CFixture()
        fixture.world.metadataCache = MemoryMetadataCache()
        let grant = try fixture.signIn().tokens.grant
        fixture.world.clock.pass(100)
        let idToken = try fixture.world.signer.sign(fixture.claims(nonce: nil))
        fixture.provider.expect(
            "POST", B2CFixture.token, fixture.reply(idToken: idToken).with(["refresh_token": "rt-2"]))
        let issued = try refresh(fixture, grant, adapter: AzureB2CAdapter())
        let form = try #require(fixture.provider.received.last?.form)
        #expect(form["refresh_token"] == "rt-1")
        #expect(form["scope"] == "openid \(B2CFixture.clientID) offline_access")
        #expect(form["client_info"] == "1")
        #expect(form["client_secret"] == nil)
        #expect(issued.grant.refreshToken?.reveal() == "rt-2")
        #expect(issued.grant.adapterState["tid"]?.string == B2CFixture.tenantID)
    }

    @Test func `a refresh carries the type's header fields and parameters, as the sign-in did`() throws {
        var fixture = try B2CFixture()
        fixture.type.headers = ["X-Mine": "1"]
        fixture.type.tokenParameters = ["ui_locales": "ru"]
        let grant = try fixture.signIn().tokens.grant
        let idToken = try fixture.world.signer.sign(fixture.claims(nonce: nil))
        fixture.provider.expect("POST", B2CFixture.token, fixture.reply(idToken: idToken))
        _ = try refresh(fixture, grant)
        let sent = fixture.provider.received.filter { $0.form["grant_type"] != nil }
        #expect(sent.map { $0.form["grant_type"] } == ["authorization_code", "refresh_token"])
        for request in sent {
            #expect(request.header("x-mine") == "1" && request.form["ui_locales"] == "ru")
        }
    }

    @Test(
        arguments: [
            ["oid": "eve", "sub": "eve"], ["sub": "eve"], ["oid": "eve"], ["tfp": "b2c_1_sign_up"],
            ["tid": "00000000-52b4-4f0e-9a61-0c2f4e8b1d77"],
        ] as [JSONValue])
    func `refuses a refresh for another person, policy or tenant`(changes: JSONValue) throws {
        let fixture = try B2CFixture()
        let grant = try fixture.signIn().tokens.grant
        let idToken = try fixture.world.signer.sign(fixture.claims(nonce: nil).with(changes))
        fixture.provider.expect("POST", B2CFixture.token, fixture.reply(idToken: idToken))
        let error = #expect(throws: CredentialError.self) { try refresh(fixture, grant) }
        #expect(error?.code == .validationFailed)
    }

    @Test func `separates two users if sub carries no identity`() throws {
        let fixture = try B2CFixture()
        let old: JSONValue = ["sub": "Not supported currently. Use oid claim."]
        let grant = try fixture.signIn(claims: old).tokens.grant
        let other = try fixture.world.signer.sign(fixture.claims(nonce: nil).with(old).with(["oid": "eve"]))
        fixture.provider.expect("POST", B2CFixture.token, fixture.reply(idToken: other))
        let error = #expect(throws: CredentialError.self) { try refresh(fixture, grant) }
        #expect(error?.code == .validationFailed)
    }

    @Test func `pins the tenant of the first sign-in`() throws {
        let fixture = try B2CFixture()
        let grant = try fixture.signIn().tokens.grant
        fixture.world.clock.pass(700_000)
        let other = "00000000-52b4-4f0e-9a61-0c2f4e8b1d77"
        let issuer = "https://exampleb2c.b2clogin.com/\(other)/v2.0/"
        fixture.provider.expect(
            "GET", B2CFixture.discovery, B2CFixture.metadata.with(["issuer": .string(issuer)]))
        fixture.provider.expect("GET", B2CFixture.keys, fixture.world.signer.keySet)
        let idToken = try fixture.world.signer.sign(
            fixture.claims(nonce: nil).with([
                "iss": .string(issuer), "exp": 1_700_703_600, "iat": 1_700_700_000, "nbf": 1_700_700_000,
            ]))
        fixture.provider.expect("POST", B2CFixture.token, fixture.reply(idToken: idToken))
        let error = #expect(throws: CredentialError.self) { try refresh(fixture, grant) }
        #expect(error?.message.contains("tenant") ?? false)
        #expect(error?.code == .validationFailed)
    }

    // MARK: Reasons

    private static func text(_ number: String, _ sentence: String = "Something.") -> String {
        "AADB2C\(number): \(sentence)\r\nCorrelation ID: 5a1d0f6e-9d2b-4f61-8c8f-0d6f3b7e2a10\r\n"
            + "Timestamp: 2024-01-30 13:35:09Z\r\n"
    }

    @Test(arguments: [
        ("90080", "invalid_grant", 400, ErrorCode.signInRequired), ("90128", "invalid_grant", 400, .signInRequired),
        ("90129", "invalid_grant", 400, .signInRequired), ("90088", "invalid_grant", 400, .configuration),
        ("90085", "invalid_grant", 400, .denied), ("90081", "invalid_client", 401, .configuration),
        ("90084", "invalid_request", 400, .configuration), ("90079", "invalid_client", 400, .configuration),
        ("90055", "invalid_scope", 400, .configuration), ("90117", "invalid_request", 400, .configuration),
        ("90146", "invalid_request", 400, .configuration), ("90183", "invalid_grant", 400, .denied),
        ("90279", "invalid_grant", 400, .configuration), ("90244", "invalid_request", 400, .temporary),
        ("90037", "server_error", 400, .temporary), ("90114", "access_denied", 400, .temporary),
        ("90006", "redirect_uri_mismatch", 400, .configuration), ("99068", "invalid_scope", 400, .configuration),
        ("99999", "invalid_grant", 400, .signInRequired), ("99999", "invalid_request", 400, .configuration),
        ("90080", "invalid_grant", 500, .temporary),
    ]) func `understands the numbers on a refresh`(
        number: String, error: String, status: Int, code: ErrorCode
    ) throws {
        let fixture = try B2CFixture()
        let grant = try fixture.signIn().tokens.grant
        fixture.provider.expect(
            "POST", B2CFixture.token, status,
            ["error": .string(error), "error_description": .string(Self.text(number))])
        let failure = #expect(throws: CredentialError.self) { try refresh(fixture, grant) }
        #expect(failure?.code == code)
        if status == 400 {
            #expect(failure?.details.contains("AADB2C\(number): Something.") ?? false)
            #expect(
                failure?.details.contains("correlation id: 5a1d0f6e-9d2b-4f61-8c8f-0d6f3b7e2a10") ?? false)
            #expect(failure?.details.contains("timestamp: 2024-01-30 13:35:09Z") ?? false)
            #expect(failure?.details.contains { $0.hasPrefix("client-request-id: ") } ?? false)
        }
    }

    @Test func `names both policies when a grant is another policy's, and does not call it lost`() throws {
        let fixture = try B2CFixture()
        let grant = try fixture.signIn().tokens.grant
        fixture.provider.expect(
            "POST", B2CFixture.token, 400,
            [
                "error": "invalid_grant",
                "error_description": .string(
                    Self.text(
                        "90088",
                        "The provided grant has not been issued for this endpoint. Actual Value : B2C_1_signup and"
                            + " Expected Value : B2C_1_signin")),
            ])
        let error = #expect(throws: CredentialError.self) { try refresh(fixture, grant) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("B2C_1_signup") ?? false)
        #expect(error?.message.contains("B2C_1_signin") ?? false)
    }

    @Test(
        arguments: [
            (
                "access_denied", "90118", ErrorCode.denied,
                "set password_reset_policy in account type 'Tasks' to the policy that resets passwords"
            ),
            ("access_denied", "90091", .cancelled, nil), ("server_error", "90273", .temporary, "try again later"),
            ("interaction_required", "90077", .signInRequired, "credmgr login --type Tasks --policy b2c_1_sign_in"),
        ] as [(String, String, ErrorCode, String?)])
    func `understands the numbers in a redirect`(
        error: String, number: String, code: ErrorCode, hint: String?
    ) throws {
        let fixture = try B2CFixture()
        let (_, fields, pending) = try fixture.begin()
        let description = FormURLEncoding.encode(Self.text(number)).lowercased()
        let answer =
            "http://localhost:4711/?error=\(error)&error_description="
            + description.replacingPrefix("aadb2c", "AADB2C")
            + "&state=\(fields["state"] ?? "")"
        let failure = #expect(throws: CredentialError.self) {
            try fixture.adapter.resume(
                fixture.request(), pending: pending, with: .redirect(answer), in: fixture.world.context)
        }
        #expect(failure?.code == code)
        #expect(failure?.code.exitStatus == (code == .temporary ? 6 : code == .signInRequired ? 4 : 7))
        #expect(failure?.hint == hint)
        #expect(fixture.provider.received.count == 1)
    }

    @Test(arguments: [
        "AADB2C9011: x", "AADB2C901189: x", "AADB2C90118 x", "aadb2c90118: x", "x AADB2C90118: x", "", "AADB2C",
        "AADB2C9０118: x",
    ]) func `takes only a real number for one`(description: String) throws {
        var fixture = try B2CFixture()
        fixture.type.passwordResetPolicy = "reset"
        let grant = try fixture.signIn().tokens.grant
        fixture.provider.expect(
            "POST", B2CFixture.token, 400,
            ["error": "invalid_grant", "error_description": .string(description)])
        let error = #expect(throws: CredentialError.self) { try refresh(fixture, grant) }
        #expect(error?.code == .signInRequired)
    }

    @Test func `shows no control character of a reason`() throws {
        let fixture = try B2CFixture()
        let grant = try fixture.signIn().tokens.grant
        fixture.provider.expect(
            "POST", B2CFixture.token, 400,
            [
                "error": "invalid_grant",
                "error_description":
                    "AADB2C90080: \u{1B}]8;;https://evil\u{7}x\u{202E}\r\nCorrelation ID: \u{1B}[2J1\r\n",
            ])
        let error = try #require(
            #expect(throws: CredentialError.self) { try refresh(fixture, grant) })
        for text in [error.message, error.hint ?? ""] + error.details {
            #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E && $0.value != 0x7F })
        }
    }

    // MARK: Other grants

    @Test func `signs in with a password at a policy for it`() throws {
        var fixture = try B2CFixture()
        fixture.type.flow = .password
        fixture.provider.expect("GET", B2CFixture.discovery, B2CFixture.metadata)
        fixture.provider.expect(
            "POST", B2CFixture.token,
            fixture.reply(idToken: try fixture.world.signer.sign(fixture.claims(nonce: nil))))
        fixture.provider.expect("GET", B2CFixture.keys, fixture.world.signer.keySet)
        var request = fixture.request(.password)
        (request.username, request.password) = ("ada@example.com", Secret("pw"))
        let result = try fixture.adapter.begin(request, in: fixture.world.context).result()
        let form = try #require(fixture.provider.received.first { $0.request.method == "POST" }?.form)
        #expect(form["response_type"] == "token id_token")
        #expect(form["grant_type"] == "password")
        #expect(result.identity.subject == "3f0c9a52")
        fixture.provider.expect(
            "POST", B2CFixture.token, 400,
            ["error": "access_denied", "error_description": .string(Self.text("90225"))])
        let wrong = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(request, in: fixture.world.context)
        }
        #expect(wrong?.code == .denied)
    }

    @Test func `signs the client in with one scope that ends in default, and again to refresh`() throws {
        var fixture = try B2CFixture()
        fixture.type.scope = ["https://exampleb2c.onmicrosoft.com/api/.default"]
        fixture.type.clientSecret = .store
        fixture.world.secrets.secret = Secret("s")
        for _ in 0..<2 {
            fixture.provider.expect("POST", B2CFixture.token) { received in
                #expect(received.form["scope"] == "https://exampleb2c.onmicrosoft.com/api/.default")
                #expect(received.form["client_secret"] == "s")
                #expect(received.form["grant_type"] == "client_credentials")
                return HTTPResponse(
                    status: 200,
                    body: Array(
                        #"{"access_token":"at","token_type":"Bearer","not_before":1700000000,"expires_in":3600}"#
                            .utf8))
            }
        }
        let result = try fixture.adapter.begin(fixture.request(.clientCredentials), in: fixture.world.context)
            .result()
        #expect(result.identity.subject == B2CFixture.clientID)
        _ = try refresh(fixture, result.tokens.grant)
        #expect(fixture.provider.missing == 0)

        fixture.type.scope = ["openid"]
        let error = #expect(throws: CredentialError.self) {
            try fixture.adapter.begin(fixture.request(.clientCredentials), in: fixture.world.context)
        }
        #expect(error?.code == .configuration)
    }
}

extension String {
    fileprivate func replacingPrefix(_ prefix: String, _ other: String) -> String {
        hasPrefix(prefix) ? other + dropFirst(prefix.count) : self
    }
}
