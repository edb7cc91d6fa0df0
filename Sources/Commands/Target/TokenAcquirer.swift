import CredentialCore
import FastToken
import OAuth
import StrictJSON

/// A call of a form that the fast path answers the next time, if the token is still good then.
struct MemoizedCall: Sendable {
    /// All of it that decides the answer, as it was given.
    let words: CallSignature
    /// The user name beside the token in an answer to git.
    var gitUsername: String?
}

/// A token for a target: from the cache, else from the store, else by a refresh.
struct TokenAcquirer: Sendable {
    private let session: CommandSession

    init(_ session: CommandSession) { self.session = session }

    /// A valid token.
    ///
    /// - Parameter call: the call, if it is of a form that the fast path answers the next time.
    func token(
        _ query: TokenQuery, _ target: Target, for call: MemoizedCall? = nil
    ) throws(CredentialError) -> TokenService.Answer {
        var request = try query.demand.request(
            of: target.account, under: target.type, in: target.group,
            by: try session.context.adapters.adapter(of: target.type))
        // The parameters of a key tell tokens apart; they are not sent.
        if let owner = query.owner { request.key.parameters["credmgr_broker"] = owner }
        // A forced refresh looks at the grant itself: the saved verdict of its provider may be in doubt.
        if !query.forceRefresh, case .needsLogin(let reason) = target.account.status,
            target.account.policies.count < 2
        {
            try refuseDead(request, LocalizedMessage(kept: reason))
        }
        let now = session.context.clock.now
        if !query.demand.bypassesCache, !query.wantsIDToken {
            if let token = session.cache.token(for: request.key, of: target.account.id, in: target.group),
                query.freshness.allows(token, now: now)
            {
                remember(token, target, call)
                return TokenService.Answer(token: token, idToken: nil, refreshed: false, warnings: [])
            }
        }
        let service = session.services(session.stores(mayPrompt: false)).tokens
        let answer =
            query.wantsIDToken ? try service.tokenWithIDToken(request, now: now) : try service.token(request)
        remember(answer.token, target, call)
        return answer
    }

    /// Reports the notes of an answer to the user; the reason why there is no newer token, with a hint.
    func tell(_ answer: TokenService.Answer) {
        for warning in answer.warnings {
            if let failure = answer.failure {
                session.notices.warning(
                    CredentialError(failure.code, warning, hint: failure.advice, details: failure.details))
            } else {
                session.notices.warning(warning)
            }
        }
    }

    /// Keeps the results of this call, for the next one with the same words. The token itself is in the cache
    /// already, if it is to be: it is written to the cache under the account's lock only.
    private func remember(_ token: AccessToken, _ target: Target, _ call: MemoizedCall?) {
        let context = session.context
        // A memo knows no folder that it was made in, and no validity but that of the options. If the type was not
        // known first, an account of any other group could take precedence.
        guard let call, session.isCaching, session.configuration.minimumValidity == nil, target.isOfKnownType,
            session.configuration.rules.allSatisfy({ $0.directory == nil }),
            let definitions = try? definitions(target, call)
        else { return }
        let ties = CacheValidators(
            definitions + [context.configurationFile]
                + CacheDependencies(dataFolder: context.dataHome).choice(in: target.group.name), context.fileStates)
        // A file that was changed after this call had begun may differ from the version that this call has read.
        guard ties.areOlder(than: session.began) else { return }
        ResolvedCall(
            key: TokenCache.text(of: token.key), group: target.group.name,
            account: (target.account.id, target.type.name, target.account.username), policy: token.key.policy,
            gitUsername: call.gitUsername
        ).keep(for: call.words, ties, in: context.fastPlace)
    }

    /// The definitions that were looked at. If the asker gives the token's destination, these are all, for another
    /// definition may have appeared for that server.
    private func definitions(_ target: Target, _ call: MemoizedCall) throws(CredentialError) -> [String] {
        call.words.asker == .caller
            ? session.catalog.candidates(of: target.type.name)
            : try session.catalog.everything() + session.context.machine.trust.files
    }

    /// Returns the prover of possession of the key that a token is bound to; `nil` for a token that is not bound.
    ///
    /// - Throws: the errors of the store.
    func prover(
        of answer: TokenService.Answer, _ target: Target
    ) throws(CredentialError) -> DPoPKey? {
        guard answer.token.tokenType != "Bearer" else { return nil }
        return try grant(of: answer.token, target).flatMap { DPoPKey.kept(in: $0.adapterState) }
    }

    /// The grant that a token was issued for.
    ///
    /// - Throws: the errors of the store.
    func grant(of token: AccessToken, _ target: Target) throws(CredentialError) -> Grant? {
        try session.services(session.stores(mayPrompt: false)).repository
            .read(target.account, in: target.group, isLocked: false)?.grant(of: token)
    }

    /// A token, and the grant that it was issued for, to ask about it.
    ///
    /// - Throws: as ``token(_:_:)``.
    func issued(
        _ query: TokenQuery, _ target: Target
    ) throws(CredentialError) -> (token: AccessToken, grant: Grant) {
        let answer = try token(query, target)
        tell(answer)
        guard let grant = try grant(of: answer.token, target) else {
            throw CredentialError(
                .signInRequired, "account \(target.account.id) no longer has a grant",
                hint: LoginHint(for: target.account, in: target.group, as: target.type).hint)
        }
        return (answer.token, grant)
    }

    /// If an account has to sign in again, the user gets the error without a second request to the provider. Its
    /// last token is still given out while it is valid, by the token service, which also saves a sign-in that
    /// waits.
    private func refuseDead(_ request: TokenService.Request, _ reason: LocalizedMessage) throws(CredentialError) {
        if let expiresAt = request.account.expiresAt, expiresAt > session.context.clock.now { return }
        let repository = session.services(session.stores(mayPrompt: false)).repository
        if try repository.hasWaitingLogin(of: request.account.id, in: request.group) { return }
        var request = request
        // A token set that cannot be read gives no flow.
        let set = try? repository.read(request.account, in: request.group, isLocked: false)
        request.flow = set?.grants[request.key.policy]?.flow
        throw request.signInRequired(reason)
    }
}

extension TokenOutput {
    /// Presents the token that was found for a target.
    ///
    /// - Throws: ``ErrorCode/unsupported`` when the ID token is requested and there is no ID token.
    init(
        _ answer: TokenService.Answer, _ target: Target, wantsIDToken: Bool = false
    ) throws(CredentialError) {
        self.init(
            accessToken: answer.token.token, tokenType: answer.token.tokenType, expiresAt: answer.token.expiresAt,
            scope: answer.token.scope, policy: answer.token.key.policy.isEmpty ? nil : answer.token.key.policy,
            accountID: target.account.id, accountType: target.type.name, username: target.account.username,
            refreshed: answer.refreshed)
        isEndGuessed = answer.token.isEndGuessed
        if wantsIDToken {
            guard let idToken = answer.idToken else {
                throw CredentialError(
                    .unsupported, "account \(target.account.id) has no ID token",
                    hint: "add 'openid' to the scope of the type")
            }
            self.idToken = (idToken, try StoredIDToken(idToken).expiresAt)
        }
    }
}
