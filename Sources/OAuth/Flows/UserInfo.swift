package import CredentialCore
package import StrictJSON

/// The UserInfo endpoint (OpenID Connect Core §5.3).
package struct UserInfo: Sendable {
    private let client: OAuthClient

    /// Makes it for a client.
    package init(_ client: OAuthClient) { self.client = client }

    /// The claims about the person; `nil` where the provider has no such endpoint.
    ///
    /// - Throws: ``ErrorCode/temporary``, ``ErrorCode/denied``, ``ErrorCode/malformedReply``.
    package func members(accessToken: String) throws(CredentialError) -> JSONObject? {
        guard let endpoint = client.metadata.userInfo else { return nil }
        let response = try client.context.transport.send(
            HTTPRequest(
                address: endpoint,
                headers: [("accept", "application/json"), ("authorization", "Bearer " + accessToken)]))
        let place = "userinfo endpoint of \(endpoint.origin)"
        switch try EndpointReply.sort(response, from: place) {
        case .object(let members): return members
        case .refused(let refusal):
            throw CredentialError(
                .denied, "the \(place) refused the access token", details: RefusalMapping.details(of: refusal))
        }
    }
}
