package import CredentialCore
package import StrictJSON

/// The UserInfo endpoint (OpenID Connect Core §5.3).
package struct UserInfo: Sendable {
    private let client: OAuthClient

    /// Makes it for a client.
    package init(_ client: OAuthClient) { self.client = client }

    /// The claims about the user of an access token just issued; `nil` if the provider has no such endpoint.
    ///
    /// - Throws: ``ErrorCode/temporary``; ``ErrorCode/denied`` when the token is not good there;
    ///   ``ErrorCode/malformedReply``; ``ErrorCode/unsupported`` for a signed or encrypted reply.
    package func members(of reply: TokenResponse) throws(CredentialError) -> JSONObject? {
        guard let token = reply.accessToken, let endpoint = try client.metadata.usable(.userInfo) else {
            return nil
        }
        let request = HTTPRequest(
            address: endpoint, headers: [("accept", "application/json")] + client.type.sortedHeaders)
        let response = try ResourceRequest(
            token: Secret(token), type: reply.tokenType, prover: client.prover
        ).send(request, in: client.context)
        let place: LocalizedMessage = "userinfo endpoint of \(endpoint.origin)"
        // OpenID Connect Core §5.3.2.
        guard response.value(of: "content-type")?.lowercased().hasPrefix("application/jwt") != true else {
            throw CredentialError(
                .unsupported, "the \(place) returned a JWT, which credmgr does not support",
                hint: "register the client without userinfo_signed_response_alg")
        }
        switch try EndpointResponse.sort(response, from: place) {
        case .object(let members): return members
        case .refused(let refusal):
            throw CredentialError(
                .denied, "the \(place) refused the access token", details: OAuthErrorMapping.details(of: refusal))
        }
    }
}
