package import CredentialCore

/// A call of a protected resource with all its steps: along redirects within its origin, and once more with a new
/// token if the resource refuses the first one.
package struct ResourceCall {
    /// A token, and the settings that apply to it.
    package struct Access {
        /// The token.
        package let token: AccessToken
        /// Why it is not a newer one though it ends soon.
        package let failure: CredentialError?
        /// Gives the grant it was issued for, `nil` if there is no grant any more; called only when it is needed,
        /// for it is in the store.
        package let grant: () throws(CredentialError) -> Grant?

        /// Puts them together.
        package init(
            token: AccessToken, failure: CredentialError? = nil,
            grant: @escaping () throws(CredentialError) -> Grant?
        ) {
            self.token = token
            self.failure = failure
            self.grant = grant
        }
    }

    /// Called with each address within the origin that a redirect names; throws if the token may not go there.
    package var check: (URI) throws(CredentialError) -> Void = { _ throws(CredentialError) in }
    /// The hint for a caller that is redirected to another origin.
    package var hintOfRedirect: (_ method: String, _ address: URI) -> LocalizedMessage? = { _, _ in nil }

    private let account: Account
    private let group: KeychainGroup
    private let type: AccountType
    private let context: AdapterContext
    private let access: (_ isRefused: Bool) throws(CredentialError) -> Access

    /// Prepares a call.
    ///
    /// - Parameter access: gives the token; a new one if the last was refused.
    package init(
        of account: Account, in group: KeychainGroup, under type: AccountType, context: AdapterContext,
        access: @escaping (_ isRefused: Bool) throws(CredentialError) -> Access
    ) {
        self.account = account
        self.group = group
        self.type = type
        self.context = context
        self.access = access
    }

    /// The longest way along redirects.
    private static let redirects = 10

    /// Sends a request whose address may have the token.
    ///
    /// - Parameter observer: makes the observer of each request that is sent; the last one has seen the reply.
    /// - Throws: ``ErrorCode/signInRequired`` with a ``CredentialError/stepUp`` if the resource requires more than
    ///   the token has, or accepts tokens of another authorization server by now; ``ErrorCode/denied`` for a
    ///   redirect to another origin; the errors of the transport. If the resource refuses a token that could not be
    ///   renewed, throws the reason.
    package func send(
        _ request: HTTPRequest, observing observer: () -> TransferObserver = { TransferObserver() }
    ) throws(CredentialError) -> HTTPResponse {
        var access = try access(false)
        var response = try follow(request, access, observer)
        try refuseStepUp(response, from: request.address, access)
        let challenges = AuthenticationChallenge.parse(response.values(of: "www-authenticate"))
        guard response.status == 401, challenges.contains(where: \.asksForFreshToken) else { return response }
        // If the API accepts tokens of another authorization server, no refresh helps.
        if let moved = try ResourceTypeDiscovery.moved(type, request.address, response, in: context) { throw moved }
        // The token was to be renewed just now: the failed step is not tried again at once.
        if let failure = access.failure { throw failure }
        context.note("the service refused the token; refreshing it once")
        access = try self.access(true)
        response = try follow(request, access, observer)
        try refuseStepUp(response, from: request.address, access)
        return response
    }

    /// The request with its token, as it is now.
    ///
    /// - Throws: the errors of getting the token.
    package func signed(_ request: HTTPRequest) throws(CredentialError) -> HTTPRequest {
        try resource(try access(false)).authorized(bare(request), in: context)
    }

    private func follow(
        _ request: HTTPRequest, _ access: Access, _ observer: () -> TransferObserver
    ) throws(CredentialError) -> HTTPResponse {
        let resource = try resource(access)
        var request = bare(request)
        for _ in 0..<Self.redirects {
            let response = try resource.send(request, in: context, observing: observer)
            guard [301, 302, 303, 307, 308].contains(response.status),
                let location = response.value(of: "location")
            else { return response }
            let origin = request.address.origin
            guard let next = request.address.resolving(location), next.isWeb else {
                throw CredentialError(.malformedReply, "the redirect of \(origin) is not a valid URL")
            }
            guard next.origin == origin else {
                throw CredentialError(
                    .denied, "\(origin) redirects to \(next.origin): credmgr sends no token to another origin",
                    hint: hintOfRedirect(request.method, next))
            }
            try check(next)
            request.address = next
            // 303, and 301 and 302 after a POST, ask for a GET (RFC 9110 §15.4).
            if response.status == 303 || (response.status < 303 && request.method == "POST") {
                request.method = request.method == "HEAD" ? "HEAD" : "GET"
                request.body = .none
                request.headers.removeAll { $0.name.lowercased() == "content-type" }
            }
        }
        throw CredentialError(.denied, "more than \(Self.redirects) redirects from \(request.address.origin)")
    }

    private func resource(_ access: Access) throws(CredentialError) -> ResourceRequest {
        let token = access.token
        var prover: DPoPKey?
        if token.tokenType != "Bearer" {
            prover = try access.grant().flatMap { DPoPKey.kept(in: $0.adapterState) }
        }
        return ResourceRequest(token: token.token, type: token.tokenType, prover: prover)
    }

    /// Without the fields that are set here; a token may be bound to the certificate (RFC 8705 §3).
    private func bare(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        request.headers.removeAll { ["authorization", "dpop"].contains($0.name.lowercased()) }
        if !request.headers.contains(where: { $0.name.lowercased() == "accept" }) {
            request.headers.append(("Accept", "application/json, */*;q=0.5"))
        }
        request.clientCertificate = request.clientCertificate ?? type.clientCertificate
        return request
    }

    /// Ends a call whose refusal can be resolved only by another sign-in.
    private func refuseStepUp(
        _ response: HTTPResponse, from address: URI, _ access: Access
    ) throws(CredentialError) {
        guard let advice = StepUpHint(response, from: address) else { return }
        throw advice.error(
            of: account, in: group, under: type, token: access.token, grant: try access.grant(),
            now: context.clock.now)
    }
}
