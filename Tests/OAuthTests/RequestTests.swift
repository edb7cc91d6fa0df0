import CredentialCore
import CryptoSupport
import OAuth
import Testing

@Suite struct RequestTests {
    @Test func `derives the challenge of RFC 7636 appendix B`() throws {
        let proof = try PKCE(
            verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", cryptography: LibCryptography())
        #expect(proof.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }

    private func request(_ endpoint: String) throws -> AuthorizationRequest {
        AuthorizationRequest(
            endpoint: try #require(URI(endpoint)), clientID: "a b", redirectURI: "http://localhost:1/?x=1",
            scope: ["openid", "api"], state: "s", nonce: "n", challenge: "c")
    }

    @Test func `builds the authorization URL after the endpoint's own query`() throws {
        var request = try request("https://example.com/authorize?p=b2c_1_sign_in")
        request.prompt = "login"
        request.loginHint = "ada@example.com"
        request.extra = ["domain_hint": "x&y"]
        #expect(
            request.address.description
                == "https://example.com/authorize?p=b2c_1_sign_in&response_type=code&client_id=a+b"
                + "&redirect_uri=http%3A%2F%2Flocalhost%3A1%2F%3Fx%3D1&scope=openid+api&state=s&nonce=n"
                + "&code_challenge=c&code_challenge_method=S256&prompt=login&login_hint=ada%40example.com"
                + "&domain_hint=x%26y")
    }

    @Test func `never lets an extra parameter replace its own`() throws {
        var request = try request("https://example.com/authorize")
        request.extra = ["state": "evil", "code_challenge_method": "plain"]
        let query = try #require(request.address.query)
        #expect(!query.contains("evil"))
        #expect(!query.contains("plain"))
    }

    @Test func `encodes both halves of HTTP Basic`() {
        let plain = ClientAuthentication.secretBasic(Secret("gX1fBat3bV"))
        #expect(plain.headers(clientID: "s6BhdRkqt3").map(\.value) == ["Basic czZCaGRSa3F0MzpnWDFmQmF0M2JW"])
        #expect(plain.fields(clientID: "s6BhdRkqt3").isEmpty)
        let odd = ClientAuthentication.secretBasic(Secret("p:ä+"))
        let encoded = Base64URL.encodeOrdinary(Array("a%3Ab:p%3A%C3%A4%2B".utf8))
        #expect(odd.headers(clientID: "a:b").map(\.value) == ["Basic " + encoded])
    }

    @Test func `sends no secret field for a public client`() {
        let fields = ClientAuthentication.none.fields(clientID: "app")
        #expect(fields.map(\.name) == ["client_id"])
        #expect(ClientAuthentication.none.headers(clientID: "app").isEmpty)
    }

    @Test(arguments: [
        (
            TokenRequest.Grant.authorizationCode(code: "c==", redirectURI: "http://localhost/", verifier: "v"),
            "grant_type=authorization_code&code=c%3D%3D&redirect_uri=http%3A%2F%2Flocalhost%2F&code_verifier=v"
        ),
        (.refreshToken(Secret("r+1")), "grant_type=refresh_token&refresh_token=r%2B1"),
        (.clientCredentials, "grant_type=client_credentials"),
        (
            .password(username: "ada", password: Secret("p w")),
            "grant_type=password&username=ada&password=p+w"
        ),
        (
            .deviceCode(Secret("d")),
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=d"
        ),
        (
            .jwtBearer(assertion: Secret("a.b.c")),
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c"
        ),
        (
            .tokenExchange(subjectToken: Secret("t"), subjectTokenType: "x"),
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=t&subject_token_type=x"
        ),
    ]) func `builds the body of every grant`(grant: TokenRequest.Grant, expected: String) {
        var request = TokenRequest(grant: grant)
        #expect(FormURLEncoding.encode(request.fields) == expected)
        request.scope = ["b", "a", "b"]
        request.resource = "https://api"
        request.extra = ["grant_type": "evil", "z": "1"]
        #expect(FormURLEncoding.encode(request.fields) == expected + "&scope=b+a&resource=https%3A%2F%2Fapi&z=1")
    }

    @Test(arguments: [
        "state", "nonce", "code_challenge", "code_verifier", "client_secret", "redirect_uri", "response_type", "",
    ]) func `bars extra parameters that are its own`(name: String) {
        for part in ["authorize", "token"] {
            var type = AccountType(name: "T", adapter: "oauth2", clientID: "app")
            if part == "authorize" {
                type.authorizeParameters[name] = "x"
            } else {
                type.tokenParameters[name] = "x"
            }
            let error = #expect(throws: CredentialError.self) { try ReservedParameters.check(type) }
            #expect(error?.code == .configuration)
        }
    }

    @Test(arguments: [("Authorization", "x"), ("HOST", "x"), ("a b", "x"), ("", "x"), ("X", "a\r\nb")])
    func `bars header fields that are its own or malformed`(name: String, value: String) {
        var type = AccountType(name: "T", adapter: "oauth2", clientID: "app")
        type.headers = [name: value]
        #expect(throws: CredentialError.self) { try ReservedParameters.check(type) }
    }

    @Test func `lets ordinary extras pass`() throws {
        var type = AccountType(name: "T", adapter: "oauth2", clientID: "app")
        type.authorizeParameters = ["access_type": "offline"]
        type.headers = ["X-Api-Key": "k"]
        try ReservedParameters.check(type)
    }

    @Test(arguments: [
        ("!", true), ("#[]~", true), ("a b", false), ("\"", false), ("\\", false), ("\u{7F}", false), ("", false),
    ])
    func `knows the characters of a scope`(word: String, isValid: Bool) { #expect(Scope.isValid(word) == isValid) }

    @Test func `treats blank scopes as none`() { #expect(Scope.distinct(["", " ", "a b", "b"]) == ["a", "b"]) }
}
