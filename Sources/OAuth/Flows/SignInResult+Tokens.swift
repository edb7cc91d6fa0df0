import CredentialCore
import StrictJSON

extension OAuthClient {
    /// A finished sign-in from a reply that has been checked.
    ///
    /// - Parameter scope: the scopes that the request sent.
    /// - Throws: ``ErrorCode/validationFailed`` when nobody can be told from the claims; ``ErrorCode/malformedReply``
    ///   when the token that shall serve as bearer is missing.
    func signInResult(
        _ received: ReceivedTokens, for request: SignInRequest, scope: [String]
    ) throws(CredentialError) -> SignInResult {
        var received = received
        let isRepeatable = [.clientCredentials, .jwtBearer].contains(request.flow)
        if !received.reply.saysEnd, received.reply.refreshToken == nil, !isRepeatable {
            // Nothing could renew it, and some providers' tokens last until they are revoked: GitHub's do. Taking
            // it for old after some minutes would have a person sign in again and again.
            received.reply.expiresAt = context.clock.now.adding(TokenReply.longestLifetime)
        }
        let identity = try dialect.identity(of: received, for: request, by: self)
        let key = TokenRequestKey(
            policy: request.policy, scope: scope, resource: request.resource ?? type.resource,
            audience: request.audience ?? type.audience, parameters: type.tokenShape, bearer: type.bearer)
        var grant = Grant(flow: request.flow, obtainedAt: context.clock.now)
        grant.scope = received.reply.scope ?? scope
        grant.refreshToken = received.reply.refreshToken.map(Secret.init)
        grant.refreshExpiresAt = received.reply.refreshExpiresAt
        grant.idToken = received.claims == nil ? nil : received.reply.idToken.map(Secret.init)
        grant.adapterState = GrantState.make(
            claims: received.claims, scope: scope, metadata: metadata, now: context.clock.now,
            also: dialect.state(of: received))
        prover?.keep(in: &grant.adapterState)
        return SignInResult(
            identity: identity,
            tokens: IssuedTokens(accessToken: try bearer(received, key: key, scope: scope), grant: grant))
    }

    /// The token that serves as bearer.
    func bearer(
        _ received: ReceivedTokens, key: TokenRequestKey, scope: [String]
    ) throws(CredentialError) -> AccessToken {
        let reply = received.reply
        let now = context.clock.now
        var token = reply.accessToken
        var end = reply.expiresAt
        if key.bearer == .idToken {
            token = received.claims == nil ? nil : reply.idToken
            end = received.claims?.expiresAt ?? end
            end = min(end, reply.idTokenExpiresAt ?? end, now.adding(TokenReply.longestLifetime))
        }
        guard let token else {
            throw CredentialError(
                .malformedReply, "the provider sent no \(key.bearer.rawValue)",
                hint: key.bearer == .idToken ? "ask for the scope openid" : nil)
        }
        return AccessToken(
            key: key, token: Secret(token), tokenType: key.bearer == .idToken ? "Bearer" : reply.tokenType,
            issuedAt: now, expiresAt: end,
            scope: reply.scope ?? scope)
    }
}
