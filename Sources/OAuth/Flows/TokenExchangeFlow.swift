package import CredentialCore
import StrictJSON

/// Exchanges an access token for one that another service takes (RFC 8693).
package struct TokenExchangeFlow: Sendable {
    private let client: OAuthClient

    private static let idTokenType = "urn:ietf:params:oauth:token-type:id_token"
    private static let identityAssertionType = "urn:ietf:params:oauth:token-type:id-jag"
    private static let accessTokenType = "urn:ietf:params:oauth:token-type:access_token"

    /// Makes the flow for a client.
    package init(_ client: OAuthClient) { self.client = client }

    /// Exchanges an id token for an assertion about its person that another authorization server takes
    /// (draft-ietf-oauth-identity-assertion-authz-grant §4.3).
    ///
    /// - Throws: as ``run(_:exchanging:scope:)``.
    package func identityAssertion(
        _ request: IdentityAssertionRequest, for idToken: Secret
    ) throws(CredentialError) -> Secret {
        let members = try client.requestTokens(
            TokenRequest(
                grant: .tokenExchange(subjectToken: idToken, subjectTokenType: Self.idTokenType),
                scope: request.scope, resource: request.resource, audience: request.audience,
                extra: ["requested_token_type": Self.identityAssertionType]),
            .exchangeToken)
        guard members["issued_token_type"]?.string == Self.identityAssertionType,
            let assertion = members["access_token"]?.string, !assertion.isEmpty, assertion.utf8.count <= 1 << 16
        else {
            throw CredentialError(
                .malformedReply,
                "the identity provider issued no assertion for \(UntrustedText.shown(request.audience))")
        }
        return Secret(assertion)
    }

    /// Exchanges `token`; the grant stays as it is, even if the response has other tokens.
    ///
    /// - Parameter scope: the scopes to send; empty to leave them to the provider.
    /// - Throws: ``ErrorCode/denied`` or ``ErrorCode/configuration`` for a refusal; ``ErrorCode/temporary``;
    ///   ``ErrorCode/malformedReply`` when the reply holds no access token.
    package func run(
        _ request: RefreshRequest, exchanging token: AccessToken, scope: [String]
    ) throws(CredentialError) -> IssuedTokens {
        let members = try client.requestTokens(
            TokenRequest(
                grant: .tokenExchange(subjectToken: token.token, subjectTokenType: Self.accessTokenType),
                scope: scope, resource: request.key.resource, audience: request.key.audience),
            .exchangeToken)
        if let issued = members["issued_token_type"]?.string,
            ![Self.accessTokenType, "urn:ietf:params:oauth:token-type:jwt"].contains(issued)
        {
            throw CredentialError(
                .malformedReply,
                "the token exchange returned a token of type '\(UntrustedText.shown(issued, limit: 80))'",
                hint: "set extra_parameters.token.requested_token_type in the account type")
        }
        // An ID token of the response is not about a sign-in here, and a refresh token would belong to another
        // grant.
        var rest = members
        rest["id_token"] = nil
        rest["refresh_token"] = nil
        let received = try client.receive(rest)
        var grant = request.grant
        client.prover?.keep(in: &grant.adapterState)
        return IssuedTokens(
            accessToken: try client.bearer(received, key: request.key, scope: scope), grant: grant)
    }
}
