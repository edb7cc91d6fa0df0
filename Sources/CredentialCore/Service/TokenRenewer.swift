/// Renews tokens under the account's lock.
///
/// ``TokenRenewal`` does it in this process; the command line hands it to a process of its own, so that the
/// reply is persisted even if the caller is killed meanwhile.
package protocol TokenRenewer: Sendable {
    /// Reads the store, and unless it holds a fresh token by now, refreshes and persists.
    ///
    /// - Parameter lock: the account's lock.
    /// - Throws: ``ErrorCode/signInRequired`` when the grant is gone (the account is marked so); ``ErrorCode/temporary``
    ///   when nothing has changed; the errors of the store.
    func renew(
        _ request: TokenService.Request, holding lock: any HeldLock
    ) throws(CredentialError) -> TokenService.Answer
}

/// Renews a token in this process.
///
/// The store is opened and read before anything is sent: one that does not open then costs no refresh token.
package struct TokenRenewal: TokenRenewer {
    private let repository: TokenSetRepository
    private let registry: any RegistryStore
    private let operation: RefreshOperation
    private let cache: TokenCache
    private let clock: any WallClock

    /// Makes a renewal on its parts.
    package init(
        repository: TokenSetRepository, registry: any RegistryStore, operation: RefreshOperation, cache: TokenCache,
        clock: any WallClock
    ) {
        self.repository = repository
        self.registry = registry
        self.operation = operation
        self.cache = cache
        self.clock = clock
    }

    package func renew(
        _ request: TokenService.Request, holding lock: any HeldLock
    ) throws(CredentialError) -> TokenService.Answer {
        // The account may have been signed out since the caller looked it up.
        guard let account = try registry.read(request.group)[id: request.account.id] else {
            throw request.signInRequired("it was signed out meanwhile")
        }
        var request = request
        request.account = account
        let set = try read(request)
        if !request.forceRefresh, let answer = request.fresh(in: set, now: clock.now) {
            cache.keep(answer.token, of: account.id, in: request.group, now: clock.now)
            return answer
        }
        guard let grant = set.grants[request.key.policy] else {
            throw request.signInRequired("no sign-in for policy \(request.key.policy)")
        }
        guard grant.isRenewable || subjectToken(in: set, request) != nil else {
            let failure = request.signInRequired(grant.lostReason ?? "the provider gave no refresh token")
            if !request.forceRefresh, let answer = request.stillValid(in: set, now: clock.now, because: failure) {
                return answer
            }
            throw failure
        }
        do throws(CredentialError) {
            return try refresh(set, request)
        } catch {
            var error = error
            // An adapter's hint knows neither the group nor what was asked for.
            if error.code == .signInRequired, request.loginCommand.hasPrefix(error.hint ?? "") {
                error.hint = request.loginCommand
            }
            throw error
        }
    }

    /// For a token exchange the token to exchange is renewed first where it has ended.
    private func refresh(
        _ set: TokenSet, _ request: TokenService.Request
    ) throws(CredentialError) -> TokenService.Answer {
        var job = RefreshJob(
            group: request.group, type: request.type, key: request.key, scope: request.scope, tokenSet: set)
        var warnings: [String] = []
        if let subject = request.subject {
            job.subjectKey = subject.key
            if subjectToken(in: set, request) == nil {
                warnings += try operation.refresh(
                    RefreshJob(
                        group: request.group, type: request.type, key: subject.key, scope: subject.scope,
                        tokenSet: set)
                ).warnings
                job.tokenSet = try read(request)
            }
        }
        let outcome = try operation.refresh(job)
        return TokenService.Answer(
            token: outcome.token, idToken: outcome.idToken, refreshed: true,
            warnings: warnings + outcome.warnings + request.shortLife(of: outcome.token, now: clock.now))
    }

    private func subjectToken(in set: TokenSet, _ request: TokenService.Request) -> AccessToken? {
        guard let key = request.subject?.key, let token = set.accessToken(for: key),
            Freshness().allows(token, now: clock.now)
        else { return nil }
        return token
    }

    private func read(_ request: TokenService.Request) throws(CredentialError) -> TokenSet {
        guard let set = try repository.readListed(request.account, in: request.group, isLocked: true) else {
            throw request.secretsAreGone
        }
        return set
    }
}
