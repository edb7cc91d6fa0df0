import CredentialCore
import Testing

/// Why a sign-in brings no refresh token, by the known facts of its provider.
@Suite struct RefreshTokenAdviceTests {
    private static func type(
        _ issuer: String, _ scope: String, _ parameters: [String: String] = [:], flow: SignInFlow? = nil
    ) -> AccountType {
        var type = AccountType(name: "Work", adapter: "oauth2", clientID: "tool")
        type.issuer = issuer
        type.scope = scope.split(separator: " ").map(String.init)
        type.authorizeParameters = parameters
        type.flow = flow
        return type
    }

    private static let entra = "https://login.microsoftonline.com/7d3c1e0a-52b4-4f0e-9a61-0c2f4e8b1d77/v2.0"
    private static let google = "https://accounts.google.com"
    private static let keycloak = "https://sso.example.com/realms/staff"

    @Test(
        arguments: [
            (
                type(entra, "openid profile"), nil,
                "credmgr types set Work 'scope=openid profile offline_access' && credmgr login --type Work"
            ),
            (
                type(google, "openid"), nil,
                "credmgr types set Work extra_parameters.authorize.access_type=offline && credmgr login --type Work"
            ),
            (
                type(google, "openid", ["access_type": "offline"]), nil,
                "credmgr login --type Work --prompt consent"
            ),
            (
                type("https://op.example", "openid"), nil,
                "credmgr types set Work 'scope=openid offline_access' && credmgr login --type Work"
            ),
            (type("https://op.example", "openid offline_access"), ["openid"], "credmgr login --type Work"),
            (
                type("https://op.example", "openid offline_access"), ["openid", "offline_access"],
                "allow refresh tokens for client tool at the provider, then: credmgr login --type Work"
            ),
            (
                type("https://op.example", "read"), nil,
                "allow refresh tokens for client tool at the provider, then: credmgr login --type Work"
            ),
            (
                type(keycloak, "openid"), nil,
                "allow refresh tokens for client tool at the provider, then: credmgr login --type Work"
            ),
        ] as [(AccountType, [String]?, String)])
    func `the hint changes the missing setting, and then signs in`(
        type: AccountType, asked: [String]?, hint: String
    ) {
        let advice = RefreshTokenAdvice(type, scope: type.scope, asked: asked)
        #expect(advice.hint(LoginHint(type: "Work")).description == hint)
        #expect(!advice.cause.description.isEmpty)
    }

    @Test(
        arguments: [
            (type(entra, "openid"), nil, true), (type(entra, "openid offline_access"), nil, false),
            (type(google, "openid"), nil, true),
            (type(google, "openid", ["access_type": "offline"]), nil, false),
            (type(keycloak, "openid"), ["openid", "offline_access"], false),
            (type("https://op.example", "openid"), nil, true),
            (type("https://op.example", "openid"), ["openid", "offline_access"], true),
            // The provider lists its scopes, and has no such one.
            (type("https://op.example", "openid"), ["openid", "profile"], false),
            (type("https://op.example", "read"), nil, false),
            (type(entra, "openid", flow: .clientCredentials), nil, false),
        ] as [(AccountType, [String]?, Bool)])
    func `a new type gets a warning if a prerequisite is known to be missing`(
        type: AccountType, offered: [String]?, isExpected: Bool
    ) {
        let advice = RefreshTokenAdvice.expected(of: type, scope: type.scope, offered: offered)
        #expect((advice != nil) == isExpected)
    }
}
