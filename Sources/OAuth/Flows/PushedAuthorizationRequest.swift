import CredentialCore
import StrictJSON

/// Pushes an authorization request to the provider, so that the browser carries a reference only (RFC 9126).
struct PushedAuthorizationRequest {
    private let client: OAuthClient

    init(_ client: OAuthClient) { self.client = client }

    /// Pushes the request if the provider demands it, or the type requires it by
    /// `require_pushed_authorization_requests` or names the endpoint.
    ///
    /// - Returns: the URL to open; `nil` if the request is not to be pushed.
    /// - Throws: ``ErrorCode/unsupported`` when it shall be pushed and there is no endpoint; the error that a
    ///   refusal means; ``ErrorCode/malformedReply``.
    func address(of request: AuthorizationRequest) throws(CredentialError) -> URI? {
        guard
            client.metadata.demandsPushedRequests || client.type.pushesAuthorizationRequests
                || client.type.endpoints[.pushedAuthorizationRequest] != nil
        else { return nil }
        let endpoint = try client.metadata.required(.pushedAuthorizationRequest)
        let place: LocalizedMessage = "pushed authorization request endpoint of \(endpoint.origin)"
        switch try client.reply(to: request.fields, of: endpoint, from: place) {
        case .object(let members):
            guard let reference = members["request_uri"]?.string, (1...2_048).contains(reference.utf8.count),
                reference.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
            else { throw CredentialError(.malformedReply, "the \(place) returned no valid request_uri") }
            return request.address(ofPushed: reference)
        case .refused(let refusal): throw client.dialect.error(for: refusal, in: .pushRequest)
        }
    }
}
