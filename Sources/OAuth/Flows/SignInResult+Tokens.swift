package import CredentialCore
import StrictJSON

extension OAuthClient {
    /// A finished sign-in from a reply that has been checked.
    ///
    /// - Parameter scope: the scopes that the request sent.
    /// - Throws: ``ErrorCode/validationFailed`` when the claims name no user; ``ErrorCode/malformedReply`` when the
    ///   token that shall serve as bearer is missing.
    func signInResult(
        _ received: VerifiedTokenResponse, for request: SignInRequest, scope: [String]
    ) throws(CredentialError) -> SignInResult {
        var received = received
        let isRepeatable = [.clientCredentials, .jwtBearer].contains(request.flow)
        if !received.reply.saysEnd, received.reply.refreshToken == nil, !isRepeatable {
            // It cannot be refreshed, and some providers' tokens last until they are revoked, as GitHub's do.
            // Taking it for old after some minutes would have a person sign in again and again.
            let longest = context.clock.now.adding(TokenResponse.longestLifetime)
            received.reply.expiresAt = received.reply.jwtEnd.map { min($0, longest) } ?? longest
        }
        let identity = try dialect.identity(of: received, for: request, by: self)
        // Scopes requested in addition to the type's own belong to the account from now on: a plain demand finds
        // the token, and a refresh for it does not narrow it again.
        let further = Set(request.scope).subtracting(type.scope)
        let isWider = !further.isEmpty && Set(type.scope).isSubset(of: request.scope)
        let base = isWider ? scope.filter { !further.contains($0) } : nil
        let key = TokenRequestKey(
            under: type, policy: request.policy, scope: base ?? scope, resource: request.resource,
            audience: request.audience)
        var grant = Grant(flow: request.flow, obtainedAt: context.clock.now)
        grant.scope = received.reply.scope ?? scope
        grant.refreshToken = received.reply.refreshToken.map(Secret.init)
        grant.refreshExpiresAt = received.reply.refreshExpiresAt
        grant.idToken = received.claims == nil ? nil : received.reply.idToken.map(Secret.init)
        grant.adapterState = GrantMetadata.make(
            claims: received.claims, scope: scope, base: base, parameters: type.authorizeParameters,
            now: context.clock.now, also: dialect.state(of: received))
        GrantMetadata.keep(wantsEndpointAudience: wantsEndpointAudience, in: &grant.adapterState)
        GrantMetadata.keepFields(of: received.reply.members, in: &grant.adapterState)
        prover?.keep(in: &grant.adapterState)
        return SignInResult(
            identity: identity,
            tokens: IssuedTokens(accessToken: try bearer(received, key: key, scope: scope), grant: grant))
    }

    /// The token that serves as bearer.
    func bearer(
        _ received: VerifiedTokenResponse, key: TokenRequestKey, scope: [String]
    ) throws(CredentialError) -> AccessToken {
        let reply = received.reply
        let now = context.clock.now
        var token = reply.accessToken
        var end = reply.expiresAt
        if key.bearer == .idToken {
            token = received.claims == nil ? nil : reply.idToken
            end = received.claims?.expiresAt ?? end
            end = min(end, reply.idTokenExpiresAt ?? end, now.adding(TokenResponse.longestLifetime))
        }
        guard let token else {
            throw CredentialError(
                .malformedReply, "the provider sent no \(key.bearer.rawValue)",
                hint: key.bearer == .idToken ? "ask for the scope openid" : nil)
        }
        var issued = AccessToken(
            key: key, token: Secret(token), tokenType: key.bearer == .idToken ? "Bearer" : reply.tokenType,
            issuedAt: now, expiresAt: end,
            scope: reply.scope ?? scope)
        issued.isEndGuessed = key.bearer == .accessToken && !reply.saysEnd && reply.jwtEnd == nil
        return issued
    }
}

extension SignInResult {
    /// Whether a login hint may mean the person who has signed in: a hint is a name in the provider's own way, an
    /// e-mail address, a part of one or a number.
    package func isOf(_ hint: String) -> Bool {
        let wanted = hint.lowercased()
        var names = [identity.subject, identity.username, identity.displayName].compactMap(\.self)
        if let token = tokens.grant.idToken, let claims = try? CompactJWT(token.reveal()).claims {
            for name in [
                "email", "emails", "preferred_username", "upn", "unique_name", "nickname", "phone_number", "oid",
            ] {
                names += claims[name]?.string.map { [$0] } ?? claims[name]?.array?.compactMap(\.string) ?? []
            }
        }
        return names.contains { name in
            let name = name.lowercased()
            return name == wanted || name.hasPrefix(wanted + "@")
        }
    }
}
