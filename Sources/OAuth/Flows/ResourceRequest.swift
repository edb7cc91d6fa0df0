package import CredentialCore

/// A request to a protected resource with an access token: `Bearer` (RFC 6750 §2.1), or `DPoP` with a proof of the
/// key (RFC 9449 §7).
package struct ResourceRequest: Sendable {
    private let token: Secret
    private let tokenType: String
    private let prover: DPoPKey?

    /// Makes it for a token and its type; `prover` is that of its grant.
    package init(token: Secret, type: String, prover: DPoPKey?) {
        self.token = token
        tokenType = type
        self.prover = prover
    }

    /// Sends the request with the token; once more if the resource requires a nonce in the proof.
    ///
    /// The token is taken out of the challenges and of the body of an error, which end in messages. An observer
    /// gets the body as it comes.
    ///
    /// - Parameter observer: makes the observer of each of the two.
    /// - Throws: ``ErrorCode/signInRequired`` when the token is bound to a key that is not there; the errors of the
    ///   transport.
    package func send(
        _ request: HTTPRequest, in context: AdapterContext,
        observing observer: () -> TransferObserver = { TransferObserver() }
    ) throws(CredentialError) -> HTTPResponse {
        let response = try context.transport.send(try authorized(request, in: context), observer: observer())
        guard tokenType == Self.bound, let prover,
            prover.shouldRepeat(after: response, from: request.address)
        else { return cleaned(response) }
        context.note("the service wants a nonce in the proof; asking again with it")
        return cleaned(try context.transport.send(try authorized(request, in: context), observer: observer()))
    }

    /// The response without the token where credmgr may show its text.
    package func cleaned(_ response: HTTPResponse) -> HTTPResponse {
        guard response.status >= 400 else { return response }
        let removal = SecretRemoval([token.reveal()])
        var response = response
        response.headers = response.headers.map { header in
            header.name.lowercased() == "www-authenticate"
                ? (name: header.name, value: removal.cleaned(header.value)) : header
        }
        response.body = removal.cleaned(body: response.body)
        return response
    }

    private static let bound = "DPoP"

    /// The request with its token, for a caller that sends it itself.
    ///
    /// - Throws: ``ErrorCode/signInRequired`` when the token is bound to a key that is not there.
    package func authorized(
        _ request: HTTPRequest, in context: AdapterContext
    ) throws(CredentialError) -> HTTPRequest {
        var request = request
        request.headers.append(("Authorization", "\(tokenType) \(token.reveal())"))
        guard tokenType == Self.bound else { return request }
        guard let prover else {
            throw CredentialError(.signInRequired, "the access token is bound to a key that no longer exists")
        }
        let proof = try prover.proof(
            method: request.method, address: request.address, accessToken: token, in: context)
        request.headers.append(("dpop", proof))
        return request
    }
}
