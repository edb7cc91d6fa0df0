package import CredentialCore
package import StrictJSON

/// Asks the provider about a token (RFC 7662).
package struct Introspection: Sendable {
    private let client: OAuthClient

    /// Makes it for a client.
    package init(_ client: OAuthClient) { self.client = client }

    /// What the provider says of an access token, `active` among it.
    ///
    /// - Throws: ``ErrorCode/unsupported`` when the provider has no such endpoint; the error that a refusal means;
    ///   ``ErrorCode/malformedReply`` when the reply does not say whether the token is active.
    package func members(of token: AccessToken) throws(CredentialError) -> JSONObject {
        let endpoint = try client.metadata.required(.introspection)
        let response = try client.post(
            [("token", token.token.reveal()), ("token_type_hint", "access_token")], to: endpoint)
        let place = "introspection endpoint of \(endpoint.origin)"
        switch try EndpointReply.sort(response, from: place) {
        case .object(let members):
            guard members["active"]?.bool != nil else {
                throw CredentialError(.malformedReply, "the \(place) does not say whether the token is active")
            }
            return members
        case .refused(let refusal): throw client.dialect.error(for: refusal, in: .introspect)
        }
    }
}
