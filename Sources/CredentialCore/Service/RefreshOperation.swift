/// One refresh: ask the adapter, persist, tell. Runs under the account's lock.
package struct RefreshOperation: GrantRefresher {
    private let adapters: AdapterRegistry
    private let context: AdapterContext
    private let repository: TokenSetRepository
    private let registry: any RegistryStore
    private let cache: TokenCache
    private let events: any EventLog

    /// Makes an operation on its parts.
    package init(
        adapters: AdapterRegistry, context: AdapterContext, repository: TokenSetRepository,
        registry: any RegistryStore, cache: TokenCache, events: any EventLog
    ) {
        self.adapters = adapters
        self.context = context
        self.repository = repository
        self.registry = registry
        self.cache = cache
        self.events = events
    }

    package func refresh(_ job: RefreshJob, holding lock: any HeldLock) throws(CredentialError) -> RefreshOutcome {
        let adapter = try adapters.adapter(of: job.type)
        guard let grant = job.tokenSet.grants[job.key.policy] else {
            throw CredentialError(.internalFault, "a refresh without a grant for policy '\(job.key.policy)'")
        }
        var request = RefreshRequest(
            type: job.type, key: job.key, scope: job.scope, grant: grant, subject: job.tokenSet.account.subject)
        if let key = job.subjectKey {
            guard let token = job.tokenSet.accessToken(for: key) else {
                throw CredentialError(.internalFault, "a token exchange without a token to exchange")
            }
            request.subjectToken = token
        }
        let issued: IssuedTokens
        do throws(CredentialError) {
            issued = try adapter.refresh(request, in: context)
        } catch {
            if error.code == .signInRequired { try markLost(job, grant, error) }
            throw error
        }
        guard let token = issued.accessToken else {
            throw CredentialError(.malformedReply, "the provider's reply to the refresh holds no token")
        }
        return try persist(issued, token, job)
    }

    private func persist(
        _ issued: IssuedTokens, _ token: AccessToken, _ job: RefreshJob
    ) throws(CredentialError) -> RefreshOutcome {
        let now = context.clock.now
        var set = job.tokenSet
        set.grants[job.key.policy] = issued.grant
        set.keep(token, now: now)
        set.account.status = .active
        if job.subjectKey == nil {
            set.account.expiresAt = token.expiresAt
            set.account.refreshExpiresAt = issued.grant.refreshExpiresAt
            set.account.scope = token.scope
        }
        set.account.updatedAt = now
        var warnings: [String] = []
        if case .journaled(let failure) = try repository.save(&set, in: job.group) {
            warnings.append(
                "the \(set.account.store.shownName) did not take the new tokens (\(failure.message)); "
                    + "they are kept encrypted beside the registry and will be put there by the next run")
        }
        let account = set.account
        // The tokens are safe now; what follows only mirrors them, and must not turn a success into a failure.
        do throws(CredentialError) {
            try registry.update(job.group) { (registry) throws(CredentialError) in
                guard var known = registry[id: account.id] else { return }
                known.adoptFacts(of: account)
                registry[id: account.id] = known
            }
        } catch {
            warnings.append("the registry was not updated: \(error.message)")
        }
        cache.replace(token, of: account.id, in: job.group, now: now)
        events.append(
            AccountEvent(
                kind: .tokenRefreshed, time: now, group: job.group, type: job.type.name, account: account.id,
                policy: job.key.policy.isEmpty ? nil : job.key.policy))
        return RefreshOutcome(token: token, idToken: issued.grant.idToken, warnings: warnings)
    }

    /// Notes that the provider takes the grant no more, unless the store holds another refresh token by now than the
    /// one that was sent.
    private func markLost(_ job: RefreshJob, _ sent: Grant, _ error: CredentialError) throws(CredentialError) {
        let account = job.tokenSet.account
        guard var set = try repository.read(account, in: job.group, isLocked: true),
            var grant = set.grants[job.key.policy], grant.refreshToken == sent.refreshToken
        else {
            throw CredentialError(
                .temporary, "another process has replaced the tokens of \(account.id) meanwhile", hint: "try again")
        }
        let now = context.clock.now
        grant.lostReason = error.message
        set.grants[job.key.policy] = grant
        set.accessTokens.removeAll { $0.key.policy == job.key.policy && $0.expiresAt <= now }
        if !set.grants.values.contains(where: \.isRenewable) {
            set.account.status = .needsLogin(reason: error.message)
        }
        set.account.updatedAt = now
        let marked = set.account
        _ = try repository.save(&set, in: job.group)
        try registry.update(job.group) { (registry) throws(CredentialError) in
            guard var known = registry[id: marked.id] else { return }
            known.adoptFacts(of: marked)
            registry[id: marked.id] = known
        }
        events.append(
            AccountEvent(
                kind: .tokenLost, time: now, group: job.group, type: job.type.name, account: marked.id,
                policy: job.key.policy.isEmpty ? nil : job.key.policy, reason: error.message))
    }
}

extension Account {
    /// Takes over what a token set knows better than the registry; label, type and creation stay.
    mutating func adoptFacts(of other: Account) {
        status = other.status
        policies = other.policies
        scope = other.scope
        expiresAt = other.expiresAt
        refreshExpiresAt = other.refreshExpiresAt
        issuer = other.issuer ?? issuer
        username = other.username ?? username
        displayName = other.displayName ?? displayName
        store = other.store
        updatedAt = other.updatedAt
    }
}
