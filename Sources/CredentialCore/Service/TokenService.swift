/// Gives valid access tokens: from the store while they are fresh, else by exactly one refresh.
///
/// The order of things is the product's promise: lock the account, read the store again, refresh, persist, and only
/// then give the token out. Nothing is refreshed without the lock. Where a peer holds the lock, a token that is still
/// good is given at once; only who needs a new one waits.
///
/// The cache is filled under the lock only: a sign-out, which holds it too, then leaves nothing behind.
package struct TokenService: Sendable {
    private let repository: TokenSetRepository
    private let registry: any RegistryStore
    private let locks: any AccountLocks
    private let refresher: any GrantRefresher
    private let cache: TokenCache
    private let clock: any WallClock
    private let lockWait: Int

    /// Makes a service.
    ///
    /// - Parameter lockWait: how long to wait for a peer's refresh, in seconds.
    package init(
        repository: TokenSetRepository, registry: any RegistryStore, locks: any AccountLocks,
        refresher: any GrantRefresher, cache: TokenCache, clock: any WallClock, lockWait: Int
    ) {
        self.repository = repository
        self.registry = registry
        self.locks = locks
        self.refresher = refresher
        self.cache = cache
        self.clock = clock
        self.lockWait = lockWait
    }

    /// What is asked for.
    package struct Request: Sendable {
        /// The keychain group of the account.
        package var group: KeychainGroup
        /// The account.
        package var account: Account
        /// The type it is asked for under.
        package var type: AccountType
        /// What the token is wanted for.
        package var key: TokenRequestKey
        /// The scopes in the order written.
        package var scope: [String]
        /// What the token to exchange for it is (RFC 8693); `nil` to have it by a refresh.
        package var subject: (key: TokenRequestKey, scope: [String])?
        /// How long it must still be valid.
        package var freshness: Freshness
        /// Whether a token from before this request will not do.
        package var forceRefresh: Bool

        /// Makes a request.
        package init(
            group: KeychainGroup, account: Account, type: AccountType, key: TokenRequestKey, scope: [String],
            freshness: Freshness = Freshness(), forceRefresh: Bool = false
        ) {
            self.group = group
            self.account = account
            self.type = type
            self.key = key
            self.scope = scope
            self.freshness = freshness
            self.forceRefresh = forceRefresh
        }
    }

    /// A valid token.
    package struct Answer: Sendable {
        /// The token.
        package var token: AccessToken
        /// The newest id token of its policy.
        package var idToken: Secret?
        /// Whether it was renewed for this request.
        package var refreshed: Bool
        /// What the user should know.
        package var warnings: [String]
        /// Why it was not renewed although it lives shorter than asked for; the warnings tell of it, too.
        package var failure: CredentialError?

        /// Makes an answer.
        package init(
            token: AccessToken, idToken: Secret?, refreshed: Bool, warnings: [String] = [],
            failure: CredentialError? = nil
        ) {
            self.token = token
            self.idToken = idToken
            self.refreshed = refreshed
            self.warnings = warnings
            self.failure = failure
        }
    }

    /// Gives a token.
    ///
    /// - Throws: ``ErrorCode/signInRequired`` when there is no usable grant; ``ErrorCode/temporary`` and
    ///   ``ErrorCode/lockTimeout`` when trying again may help; the errors of the store.
    package func token(_ request: Request) throws(CredentialError) -> Answer {
        let free: (any HeldLock)?
        do throws(CredentialError) {
            free = try locks.tryLock(request.account.id, in: request.group)
        } catch {
            // Nothing is refreshed where locks do not work. What is fresh needs none.
            guard !request.forceRefresh, let set = try? read(request),
                let answer = fresh(in: set, request)
            else { throw error }
            return answer
        }
        if let free { return try answer(request, holding: free, sinceSeeing: nil) }
        // A peer is at work. What is still good needs no waiting for it.
        let seen = try read(request)
        if !request.forceRefresh, let answer = fresh(in: seen, request) { return answer }
        let lock: any HeldLock
        do throws(CredentialError) {
            lock = try locks.lock(request.account.id, in: request.group, seconds: lockWait)
        } catch {
            guard error.isTransient, !request.forceRefresh,
                let answer = stillValid(in: seen, request, because: error)
            else { throw error }
            return answer
        }
        return try answer(request, holding: lock, sinceSeeing: seen)
    }

    /// - Parameter seen: the token set as it was when the waiting for the lock began; `nil` where it was free.
    private func answer(
        _ request: Request, holding lock: any HeldLock, sinceSeeing seen: TokenSet?
    ) throws(CredentialError) -> Answer {
        defer { lock.release() }
        let stored = try repository.read(request.account, in: request.group, isLocked: true)
        if !request.forceRefresh, let stored, let answer = fresh(in: stored, request) {
            cache.keep(answer.token, of: request.account.id, in: request.group, now: clock.now)
            return answer
        }
        // Before anything is sent: the account may have been signed out since the caller looked it up.
        guard let account = try registry.read(request.group)[id: request.account.id] else {
            throw signInRequired(request, "it was signed out meanwhile")
        }
        var request = request
        request.account = account
        guard let set = stored else { throw secretsAreGone(request) }
        if let answer = renewed(in: set, sinceSeeing: seen, request) { return answer }
        return try refresh(set, request, lock)
    }

    /// What a peer obtained while this process waited for the lock, or what a move to another store brought along: as
    /// new as a refresh of our own would be.
    private func renewed(in set: TokenSet, sinceSeeing seen: TokenSet?, _ request: Request) -> Answer? {
        if !request.forceRefresh, let answer = fresh(in: set, request) { return answer }
        guard let seen, let token = set.accessToken(for: request.key), seen.accessToken(for: request.key) != token,
            Freshness().allows(token, now: clock.now)
        else { return nil }
        return Answer(
            token: token, idToken: set.grants[request.key.policy]?.idToken, refreshed: false,
            warnings: shortLife(of: token, request))
    }

    private func refresh(
        _ set: TokenSet, _ request: Request, _ lock: any HeldLock
    ) throws(CredentialError) -> Answer {
        guard let grant = set.grants[request.key.policy] else {
            throw signInRequired(request, "no sign-in for policy \(request.key.policy)")
        }
        guard grant.isRenewable || subjectToken(in: set, request) != nil else {
            let reason = grant.lostReason ?? "the provider gave no refresh token"
            let failure = signInRequired(request, reason)
            if !request.forceRefresh, let answer = stillValid(in: set, request, because: failure) { return answer }
            throw failure
        }
        do throws(CredentialError) {
            let (job, renewal) = try job(set, request, lock)
            let outcome = try refresher.refresh(job, holding: lock)
            return Answer(
                token: outcome.token, idToken: outcome.idToken, refreshed: true,
                warnings: (renewal?.warnings ?? []) + outcome.warnings + shortLife(of: outcome.token, request))
        } catch {
            if error.isTransient, let answer = stillValid(in: set, request, because: error) { return answer }
            throw error.code == .signInRequired ? error.withHint(loginCommand(request)) : error
        }
    }

    /// The refresh to be done; for a token exchange the token to exchange is renewed first where it has ended.
    private func job(
        _ set: TokenSet, _ request: Request, _ lock: any HeldLock
    ) throws(CredentialError) -> (RefreshJob, renewal: RefreshOutcome?) {
        var job = RefreshJob(
            group: request.group, type: request.type, key: request.key, scope: request.scope, tokenSet: set)
        guard let subject = request.subject else { return (job, nil) }
        job.subjectKey = subject.key
        if subjectToken(in: set, request) != nil { return (job, nil) }
        let renewal = try refresher.refresh(
            RefreshJob(
                group: request.group, type: request.type, key: subject.key, scope: subject.scope, tokenSet: set),
            holding: lock)
        guard let set = try repository.read(request.account, in: request.group, isLocked: true) else {
            throw secretsAreGone(request)
        }
        job.tokenSet = set
        return (job, renewal)
    }

    private func subjectToken(in set: TokenSet, _ request: Request) -> AccessToken? {
        guard let key = request.subject?.key, let token = set.accessToken(for: key),
            Freshness().allows(token, now: clock.now)
        else { return nil }
        return token
    }

    private func shortLife(of token: AccessToken, _ request: Request) -> [String] {
        guard let wanted = request.freshness.minimumValidity, token.expiresAt.seconds(since: clock.now) < wanted
        else { return [] }
        return ["the provider's tokens live shorter than the \(wanted) s asked for"]
    }

    private func read(_ request: Request) throws(CredentialError) -> TokenSet {
        guard let set = try repository.read(request.account, in: request.group, isLocked: false) else {
            throw secretsAreGone(request)
        }
        return set
    }

    private func secretsAreGone(_ request: Request) -> CredentialError {
        signInRequired(request, "its secrets are gone from the \(request.account.store.shownName)")
    }

    private func fresh(in set: TokenSet, _ request: Request) -> Answer? {
        guard let token = set.accessToken(for: request.key), request.freshness.allows(token, now: clock.now) else {
            return nil
        }
        return Answer(
            token: token, idToken: set.grants[request.key.policy]?.idToken, refreshed: false, warnings: [])
    }

    /// The token that cannot be renewed now but has not ended yet.
    private func stillValid(in set: TokenSet, _ request: Request, because error: CredentialError) -> Answer? {
        guard let token = set.accessToken(for: request.key),
            Freshness(minimumValidity: 1).allows(token, now: clock.now)
        else { return nil }
        let left = token.expiresAt.seconds(since: clock.now)
        return Answer(
            token: token, idToken: set.grants[request.key.policy]?.idToken, refreshed: false,
            warnings: ["this token ends in \(left) s; it could not be renewed: \(error.message)"], failure: error)
    }

    private func signInRequired(_ request: Request, _ reason: String) -> CredentialError {
        CredentialError(
            .signInRequired,
            "\(ForeignText.shown(request.account.shownName)) (\(request.account.id)) has to sign in again: \(reason)",
            hint: loginCommand(request))
    }

    private func loginCommand(_ request: Request) -> String {
        let policy = request.key.policy.isEmpty ? "" : " --policy \(request.key.policy)"
        let group = request.group == request.type.keychainGroup ? "" : " --group \(request.group)"
        return "credmgr login --type \(request.type.name)\(policy)\(group)"
    }
}
