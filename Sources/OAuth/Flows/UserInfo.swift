package import CredentialCore
package import StrictJSON

/// The UserInfo endpoint (OpenID Connect Core §5.3).
package struct UserInfo: Sendable {
    private let client: OAuthClient

    /// Makes it for a client.
    package init(_ client: OAuthClient) { self.client = client }

    /// The claims about the person that an access token just issued is of; `nil` where the provider has no such
    /// endpoint.
    ///
    /// - Throws: ``ErrorCode/temporary``, ``ErrorCode/denied``, ``ErrorCode/malformedReply``.
    package func members(of reply: TokenReply) throws(CredentialError) -> JSONObject? {
        guard let token = reply.accessToken, let endpoint = client.metadata.endpoints[.userInfo] else { return nil }
        let request = HTTPRequest(
            address: endpoint, headers: [("accept", "application/json")] + client.type.sortedHeaders)
        let response = try ResourceRequest(
            token: Secret(token), type: reply.tokenType, prover: client.prover
        ).send(request, in: client.context)
        let place = "userinfo endpoint of \(endpoint.origin)"
        switch try EndpointReply.sort(response, from: place) {
        case .object(let members): return members
        case .refused(let refusal):
            throw CredentialError(
                .denied, "the \(place) refused the access token", details: RefusalMapping.details(of: refusal))
        }
    }
}
