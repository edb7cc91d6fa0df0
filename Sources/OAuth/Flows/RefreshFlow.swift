public import CredentialCore
import StrictJSON

/// Refreshes a grant: by its refresh token (RFC 6749 §6), or by running a flow again that needs no person.
public struct RefreshFlow: Sendable {
    private let client: OAuthClient

    /// Makes the flow for a client.
    public init(_ client: OAuthClient) { self.client = client }

    /// Refreshes.
    ///
    /// The reply's id token is checked as at the sign-in, without nonce (OpenID Connect Core §12.2). A reply without
    /// a refresh token keeps the old one.
    ///
    /// - Parameter scope: the scopes to send.
    /// - Throws: ``ErrorCode/signInRequired`` when the grant is gone or cannot be refreshed; ``ErrorCode/temporary``;
    ///   ``ErrorCode/validationFailed``, and anything else that leaves the grant as it was.
    public func run(_ request: RefreshRequest, scope: [String]) throws(CredentialError) -> IssuedTokens {
        let key = request.key
        let wide = GrantState.widened(scope, by: request.grant.adapterState)
        let tokenGrant = try grant(of: request, scope: wide)
        if request.grant.idToken != nil { try client.prepareKeys() }
        let (members, date) = try client.requestDatedTokens(
            TokenRequest(
                grant: tokenGrant, scope: scopeToSend(scope, request.grant),
                resource: request.key.resource, audience: request.key.audience),
            request.grant.refreshToken == nil ? .machine : .refresh)
        let received = try receive(members, request, judgedAt: timeToJudge(date))
        var grant = request.grant
        grant.obtainedAt = client.context.clock.now
        if let token = received.reply.refreshToken {
            grant.refreshToken = Secret(token)
            grant.refreshExpiresAt = received.reply.refreshExpiresAt
        } else if let end = received.reply.refreshExpiresAt {
            grant.refreshExpiresAt = end
        }
        if received.claims != nil, let token = received.reply.idToken { grant.idToken = Secret(token) }
        for (name, value) in client.dialect.state(of: received).members { grant.adapterState[name] = value }
        GrantState.keepFields(of: members, in: &grant.adapterState)
        client.prover?.keep(in: &grant.adapterState)
        GrantState.repin(&grant.adapterState, metadata: client.learnedMetadata, now: grant.obtainedAt)
        return IssuedTokens(
            accessToken: try client.bearer(received, key: key, scope: wide), grant: grant)
    }

    /// Checks the reply. Where the keys for its id token cannot be had just now, the id token is dropped and the old
    /// one stays: the reply may hold the only copy of a rotated refresh token.
    private func receive(
        _ members: JSONObject, _ request: RefreshRequest, judgedAt date: Instant?
    ) throws(CredentialError) -> ReceivedTokens {
        do throws(CredentialError) {
            return try client.receive(members, state: request.grant.adapterState, date: date)
        } catch {
            guard error.code == .temporary, request.key.bearer == .accessToken, members["access_token"] != nil
            else {
                throw error
            }
            client.context.note("the new id token is dropped: \(error)")
            var rest = members
            rest["id_token"] = nil
            return try client.receive(rest, state: request.grant.adapterState)
        }
    }

    /// When this machine's clock is far off, the provider's is what its tokens go by: a reply that is refused for the
    /// wrong clock of ours would take the rotated refresh token with it.
    private func timeToJudge(_ date: Instant?) -> Instant? {
        guard let date else { return nil }
        let difference = client.context.clock.now.seconds(since: date)
        guard !(-IDTokenValidator.leeway...IDTokenValidator.leeway).contains(difference) else { return nil }
        client.context.note("this machine's clock differs from the provider's by \(difference) s")
        return date
    }

    private func grant(
        of request: RefreshRequest, scope: [String]
    ) throws(CredentialError) -> TokenRequest.Grant {
        if let token = request.grant.refreshToken { return .refreshToken(token) }
        switch request.grant.flow {
        case .clientCredentials: return .clientCredentials
        case .jwtBearer:
            let subject = request.subject == client.type.clientID ? nil : request.subject
            return .jwtBearer(
                assertion: try client.bearerAssertion(
                    subject: subject, scope: scope, resource: request.key.resource))
        case .code, .device, .password:
            throw CredentialError(
                .signInRequired, "the provider gave no refresh token, so the sign-in cannot be refreshed",
                hint: "credmgr login --type \(client.type.name)")
        }
    }

    /// Without `scope` a refresh is for all that was granted (RFC 6749 §6): right where the provider granted less
    /// than the sign-in asked for, and would refuse to be asked for more.
    private func scopeToSend(_ scope: [String], _ grant: Grant) -> [String] {
        if grant.refreshToken == nil || client.dialect.alwaysSendsScope {
            return GrantState.widened(scope, by: grant.adapterState)
        }
        return GrantState.isScope(scope, of: grant.adapterState) ? [] : scope
    }
}
