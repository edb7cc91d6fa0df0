import CredentialCore
import Testing

/// The text that names the place to register a client.
@Suite struct RegistrationTextTests {
    private static func text(
        issuer: String? = nil, _ endpoints: [AccountType.Endpoint: String]
    ) -> String {
        var text = RegistrationText("oauth2")
        text.add(issuer: issuer, endpoints.compactMapValues(URI.init))
        return text.text
    }

    @Test(arguments: [
        ("oauth2 https://op.example", "https://op.example"),
        ("oauth2 https://op.example revocation_endpoint=https://x.example/r", "https://op.example"),
        ("oauth2 token_endpoint=https://sso.example/realms/a/token", "https://sso.example"),
        ("plugin Notes https://op.example setting.tenant=a%20b%25", "plugin:Notes https://op.example tenant=a b%"),
        ("plugin Notes token_endpoint=https://n.example/t", "plugin:Notes https://n.example"),
        ("plugin Notes", "plugin:Notes"),
    ])
    func `the earlier form of a registration is known from its text`(text: String, earlier: String) {
        let registration = ClientIdentity(provider: text, clientID: "c")
        #expect(registration.earlier == ClientIdentity(provider: earlier, clientID: "c"))
        #expect(ClientIdentity(provider: earlier, clientID: "c").earlier == nil)
    }

    @Test func `an issuer comes with every explicit endpoint, a token endpoint with those of other origins`() {
        let places: [AccountType.Endpoint: String] = [
            .token: "https://SSO.example:443/t?x=1", .revocation: "https://sso.example/r",
            .userInfo: "https://api.example/u", .authorization: "https://a.example/",
            .endSession: "https://e.example/",
            .jwks: "https://k.example/",
        ]
        #expect(
            Self.text(places)
                == "oauth2 token_endpoint=https://sso.example/t?x=1 userinfo_endpoint=https://api.example/u")
        #expect(
            Self.text(issuer: "https://op.example/x", places)
                == "oauth2 https://op.example/x token_endpoint=https://sso.example/t?x=1 "
                + "revocation_endpoint=https://sso.example/r userinfo_endpoint=https://api.example/u")
    }

    @Test func `a sealed record opens under the other form only with the same type`() {
        func account(_ provider: String, type: String = "Work") -> Account {
            Account(
                id: "0123456789abcdef", type: type, adapter: "oauth2",
                registration: ClientIdentity(provider: provider, clientID: "c"), subject: "s", store: .file,
                now: Timestamp(epochSeconds: 1))
        }
        let earlier = account("https://op.example"), now = account("oauth2 https://op.example")
        #expect(earlier.fits(now) && now.fits(earlier))
        #expect(!earlier.fits(account("oauth2 https://op.example", type: "Other")))
        #expect(!earlier.fits(account("oauth2 https://other.example")))
        let evil = account("oauth2 https://op.example token_endpoint=https://evil.example/t")
        #expect(!now.fits(evil) && !evil.fits(now))
    }
}
