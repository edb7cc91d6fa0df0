/// Turns a finished sign-in into an account: a new one, or a known one renewed.
package struct SignInService: Sendable {
    private let repository: TokenSetRepository
    private let registry: any RegistryStore
    private let locks: any AccountLocks
    private let cache: TokenCache
    private let events: any EventLog
    private let clock: any WallClock
    private let random: any RandomSource
    private let lockWait: Int

    /// Makes a service on its parts; `lockWait` in seconds.
    package init(
        repository: TokenSetRepository, registry: any RegistryStore, locks: any AccountLocks, cache: TokenCache,
        events: any EventLog, clock: any WallClock, random: any RandomSource, lockWait: Int
    ) {
        self.repository = repository
        self.registry = registry
        self.locks = locks
        self.cache = cache
        self.events = events
        self.clock = clock
        self.random = random
        self.lockWait = lockWait
    }

    /// What became of a sign-in.
    package struct Outcome: Sendable {
        /// The account.
        package let account: Account
        /// Whether it is new.
        package let isNew: Bool
        /// What the user should know.
        package let warnings: [String]
    }

    /// Keeps what a sign-in gave.
    ///
    /// An account of the same registration and subject is renewed, in the store where its secrets are; else a new
    /// one is made in `store`.
    ///
    /// - Parameter forceNew: makes a new account even for a known subject.
    /// - Throws: the errors of the store; then nothing has changed.
    package func keep(
        _ result: SignInResult, of type: AccountType, registration: Registration, policy: String,
        in group: KeychainGroup, store: StoreKind, forceNew: Bool
    ) throws(CredentialError) -> Outcome {
        repository.finishSignIns(in: group, locks: locks)
        var known = forceNew ? nil : try self.known(result, registration, group)
        var newcomers: (any HeldLock)?
        defer { newcomers?.release() }
        if known == nil, !forceNew {
            // Two first sign-ins of one person may meet. Who comes second looks again, and finds the other's account.
            newcomers = try locks.lock(Self.lockOfNewcomers, in: group, seconds: lockWait)
            known = try self.known(result, registration, group)
        }
        let now = clock.now
        let isNew = known == nil
        var account =
            known
            ?? Account(
                id: random.accountID(), type: type.name, adapter: type.adapter, registration: registration,
                subject: result.identity.subject, store: store, now: now)
        let lock = try locks.lock(account.id, in: group, seconds: lockWait)
        defer { lock.release() }

        var set = TokenSet(account: account, journalKey: random.bytes(32))
        if !isNew {
            if let stored = try repository.readUndamaged(account, in: group) { set = stored }
            // Between the look at the registry and the lock the account may have been moved.
            account.store = try repository.place(of: account, in: group)
        }
        set.grants[policy] = result.tokens.grant
        set.accessTokens.removeAll { $0.key.policy == policy }
        if let token = result.tokens.accessToken { set.keep(token, now: now) }

        account.issuer = result.identity.issuer ?? account.issuer
        account.username = result.identity.username ?? account.username
        account.displayName = result.identity.displayName ?? account.displayName
        account.policies = set.grants.keys.filter { !$0.isEmpty }.sorted()
        // A policy that gives no refresh token, as one that resets passwords, says nothing of how long the sign-in
        // lasts where another policy's can be renewed.
        let isLasting = set.grants.allSatisfy { $0.key == policy || !$0.value.isRenewable }
        if result.tokens.grant.isRenewable || isLasting {
            account.status = .active
            account.scope = result.tokens.grant.scope
            account.expiresAt = result.tokens.accessToken?.expiresAt
            account.refreshExpiresAt = result.tokens.grant.refreshExpiresAt
        }
        account.updatedAt = now
        set.account = account

        let warnings = try save(&set, isNew: isNew, in: group)
        try list(account, isNew: isNew, in: group)
        if isNew, account.store == .file { try? repository.forgetJournal(account, in: group) }
        cache.drop(account.id, in: group)
        events.append(
            AccountEvent(
                kind: isNew ? .accountAdded : .accountUpdated, time: now, group: group, type: type.name,
                account: account.id, policy: policy.isEmpty ? nil : policy))
        return Outcome(account: account, isNew: isNew, warnings: warnings)
    }

    /// Puts the token set into its store.
    ///
    /// - Returns: what the user should know.
    private func save(
        _ set: inout TokenSet, isNew: Bool, in group: KeychainGroup
    ) throws(CredentialError) -> [String] {
        let account = set.account
        switch try repository.save(&set, in: group) {
        case .stored: return []
        case .journaled(let failure):
            // A first sign-in has no older item that could open the journal. The store may have taken it all the
            // same: where it cannot be removed now, the journal leads the next sign-in there.
            if isNew {
                try? repository.remove(account, in: group)
                throw failure
            }
            return ["the \(account.store.shownName) did not take the new tokens: \(failure.message)"]
        case .overtaken:
            throw CredentialError(
                .temporary, "another process has changed \(account.id) meanwhile", hint: "sign in again")
        }
    }

    /// Puts the account into the registry.
    private func list(_ account: Account, isNew: Bool, in group: KeychainGroup) throws(CredentialError) {
        do throws(CredentialError) {
            try registry.update(group) { (registry) throws(CredentialError) in
                var entry = account
                entry.label = registry[id: account.id]?.label
                entry.leftover = registry[id: account.id]?.leftover
                registry[id: account.id] = entry
            }
        } catch {
            // Only the journal leads to the secrets of an account that is not listed. It may be listed all the same,
            // where only making it durable failed.
            if isNew, let listed = try? registry.read(group), listed[id: account.id] == nil {
                try? repository.remove(account, in: group)
            }
            throw error
        }
    }

    /// The account of the person who has signed in.
    private func known(
        _ result: SignInResult, _ registration: Registration, _ group: KeychainGroup
    ) throws(CredentialError) -> Account? {
        try registry.read(group).accounts(of: registration).first {
            ConstantTime.equal($0.subject, result.identity.subject)
        }
    }

    /// The name of the lock that is held while an account is added; no account has it, as their ids are of hexadecimal
    /// digits.
    private static let lockOfNewcomers = "new-account"
}
