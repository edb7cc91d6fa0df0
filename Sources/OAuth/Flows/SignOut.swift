package import CredentialCore
import StrictJSON

/// Ends a sign-in at the provider: its tokens (RFC 7009) or the browser's session (OpenID Connect RP-Initiated
/// Logout 1.0).
package struct SignOut: Sendable {
    private let client: OAuthClient

    /// Makes it for a client.
    package init(_ client: OAuthClient) { self.client = client }

    /// Revokes the refresh token of a grant, and with it what was issued for it.
    ///
    /// - Throws: ``ErrorCode/unsupported`` when the provider has no revocation or the grant no refresh token; the
    ///   error that a refusal means.
    package func revoke(_ grant: Grant) throws(CredentialError) {
        let endpoint = try client.metadata.required(.revocation)
        guard let token = grant.refreshToken else {
            throw CredentialError(.unsupported, "there is no refresh token to revoke")
        }
        let response = try client.post(
            [("token", token.reveal()), ("token_type_hint", "refresh_token")], to: endpoint)
        // A reply of 200 has no body that means anything (RFC 7009 §2.2).
        if (200..<300).contains(response.status) { return }
        switch try EndpointReply.sort(response, from: "revocation endpoint of \(endpoint.origin)") {
        case .object: return
        case .refused(let refusal) where refusal.code == "unsupported_token_type":
            throw CredentialError(
                .unsupported, "the provider does not revoke refresh tokens",
                details: RefusalMapping.details(of: refusal))
        case .refused(let refusal)
        where [401, 403].contains(refusal.status) && client.type.clientSecret == nil
            && client.type.privateKey == nil:
            throw CredentialError(
                .unsupported, "the provider revokes nothing for a client without a secret",
                details: RefusalMapping.details(of: refusal))
        case .refused(let refusal): throw client.dialect.error(for: refusal, in: .revoke)
        }
    }

    /// The URL that ends the browser's session; `nil` where the provider has none.
    package func endSessionAddress(_ grant: Grant?) -> WebAddress? {
        guard let endpoint = client.metadata.endpoints[.endSession] else { return nil }
        var fields: [FormCoding.Field] = [("client_id", client.type.clientID)]
        if let token = grant?.idToken { fields.append(("id_token_hint", token.reveal())) }
        return endpoint.appending(query: FormCoding.encode(fields))
    }
}
