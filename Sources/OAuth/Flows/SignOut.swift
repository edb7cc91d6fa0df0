public import CredentialCore
import StrictJSON

/// Ends a sign-in at the provider: its tokens (RFC 7009) or the browser's session (OpenID Connect RP-Initiated
/// Logout 1.0).
public struct SignOut: Sendable {
    private let client: OAuthClient

    /// Makes it for a client.
    public init(_ client: OAuthClient) { self.client = client }

    /// Revokes the refresh token of a grant, and then each access token: a provider need not end those with it
    /// (RFC 7009 §2.1).
    ///
    /// - Throws: ``ErrorCode/unsupported`` when the provider has no revocation or there is no token to revoke; the
    ///   error that a refusal means. If an access token is refused after its refresh token was revoked, that is no
    ///   failure: it ended with that token, or the provider does not revoke access tokens.
    public func revoke(_ revocable: RevocationRequest) throws(CredentialError) {
        let endpoint = try client.metadata.required(.revocation)
        let refreshToken = revocable.grant.refreshToken
        guard refreshToken != nil || !revocable.accessTokens.isEmpty else {
            throw CredentialError(.unsupported, "there is no token to revoke")
        }
        if let refreshToken, let refusal = try revoke(refreshToken, .refreshToken, at: endpoint) {
            throw error(for: refusal, .refreshToken)
        }
        for token in revocable.accessTokens {
            guard let refusal = try revoke(token.token, .accessToken, at: endpoint) else { continue }
            guard refreshToken != nil else { throw error(for: refusal, .accessToken) }
            client.context.note("the provider did not revoke an access token by itself: \(refusal.code)")
        }
    }

    /// A kind of token, as sent to the provider (RFC 7009 §2.1).
    private enum Hint: String {
        case refreshToken = "refresh_token"
        case accessToken = "access_token"
    }

    /// How providers say that they do not know a token any more.
    private static let gone: Set<String> = [
        "invalid_token", "invalid_grant", "token_expired", "expired_token", "token_inactive", "token_not_found",
    ]

    /// Revokes one token.
    ///
    /// - Returns: the provider's refusal; `nil` if the token has gone.
    private func revoke(
        _ token: Secret, _ hint: Hint, at endpoint: URI
    ) throws(CredentialError) -> OAuthError? {
        let raw = try client.rawReply(
            to: [("token", token.reveal()), ("token_type_hint", hint.rawValue)], of: endpoint,
            from: "revocation endpoint of \(endpoint.origin)")
        // A reply of 200 has no body that means anything (RFC 7009 §2.2).
        if (200..<300).contains(raw.response.status) { return nil }
        switch try raw.reply() {
        case .object: return nil
        // The token is invalid already, as the request wants it (RFC 7009 §2.2).
        case .refused(let refusal)
        where Self.gone.contains(refusal.code.lowercased()) || DeadGrantWords.contain(refusal):
            return nil
        case .refused(let refusal): return refusal
        }
    }

    private func error(for refusal: OAuthError, _ hint: Hint) -> CredentialError {
        if refusal.code == "unsupported_token_type" {
            return CredentialError(
                .unsupported, "the provider does not revoke \(hint == .refreshToken ? "refresh" : "access") tokens",
                details: OAuthErrorMapping.details(of: refusal))
        }
        if let status = refusal.status, [401, 403].contains(status), client.type.clientSecret == nil,
            client.type.privateKey == nil
        {
            return CredentialError(
                .unsupported, "the provider does not revoke tokens for a client without a secret",
                details: OAuthErrorMapping.details(of: refusal))
        }
        return client.dialect.error(for: refusal, in: .revoke)
    }

    /// The URL that ends the browser's session; `nil` if the provider has no such endpoint.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` if the provider names an address that cannot be used, or may not be
    ///   named by a server that only an API named.
    public func endSessionAddress(_ grant: Grant?) throws(CredentialError) -> URI? {
        guard let endpoint = try client.metadata.usable(.endSession) else { return nil }
        // A page of the definition is the user's word.
        if client.type.endpoints[.endSession] == nil {
            try client.type.apiNamedServer?.check(openedPage: endpoint, client.metadata)
        }
        var fields: [FormURLEncoding.Field] = [("client_id", client.type.clientID)]
        if let token = grant?.idToken { fields.append(("id_token_hint", token.reveal())) }
        return endpoint.appending(query: FormURLEncoding.encode(fields))
    }
}
