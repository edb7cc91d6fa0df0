import CredentialCore
import OAuth
import StrictJSON

/// A token for a target: from the cache, else from the store, else by a refresh.
struct TokenAccess: Sendable {
    private let session: Session

    init(_ session: Session) { self.session = session }

    func token(_ query: TokenQuery, _ target: Target) throws(CredentialError) -> TokenService.Answer {
        var request = try query.request(for: target, adapters: session.context.adapters)
        if case .needsLogin(let reason) = target.account.status, target.account.policies.count < 2 {
            try refuseDead(request, reason)
        }
        let now = session.context.clock.now
        if !query.forceRefresh, !query.wantsIDToken {
            let name = session.cache.name(of: request.key, account: target.account.id, group: target.group)
            if let token = session.cache.token(named: name), query.freshness.allows(token, now: now) {
                CachedToken.remember(token, target, query, session)
                return TokenService.Answer(token: token, idToken: nil, refreshed: false, warnings: [])
            }
        }
        let service = session.tokenService(session.stores(mayPrompt: false))
        var answer = try service.token(request)
        if query.wantsIDToken, let idToken = answer.idToken, try IDTokenFacts(idToken).expiresAt <= now {
            request.forceRefresh = true
            answer = try service.token(request)
        }
        CachedToken.remember(answer.token, target, query, session)
        return answer
    }

    /// What proves the possession of the key that a token is bound to; `nil` for a token that is bound to none.
    ///
    /// - Throws: the errors of the store.
    func prover(
        of answer: TokenService.Answer, _ target: Target
    ) throws(CredentialError) -> DPoPProver? {
        guard answer.token.tokenType != "Bearer" else { return nil }
        return try grant(of: answer.token, target).flatMap { DPoPProver.kept(in: $0.adapterState) }
    }

    /// The grant that a token was issued for.
    ///
    /// - Throws: the errors of the store.
    func grant(of token: AccessToken, _ target: Target) throws(CredentialError) -> Grant? {
        try session.repository(session.stores(mayPrompt: false))
            .read(target.account, in: target.group, isLocked: false)?.grants[token.key.policy]
    }

    /// An account that has to sign in again is told so without asking the provider a second time. Its last token
    /// is still given out while it lives, by the token service.
    private func refuseDead(_ request: TokenService.Request, _ reason: String) throws(CredentialError) {
        guard let expiresAt = request.account.expiresAt, expiresAt > session.context.clock.now else {
            throw CredentialError(
                .signInRequired,
                "\(ForeignText.shown(request.account.shownName)) (\(request.account.id)) has to sign in again: \(reason)",
                hint: "credmgr login --type \(request.type.name)"
                    + (request.key.policy.isEmpty ? "" : " --policy \(request.key.policy)"))
        }
    }
}

/// What is read of an id token that was validated when it was stored.
struct IDTokenFacts: Sendable {
    /// When it ends.
    let expiresAt: Instant

    init(_ token: Secret) throws(CredentialError) {
        let claims = try CompactToken(token.reveal()).claims
        expiresAt = Instant(epochSeconds: claims["exp"]?.integer ?? 0)
    }
}
