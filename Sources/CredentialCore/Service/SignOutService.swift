/// Forgets accounts: their secrets first, then the registry's entry, so that no secret is left without one.
package struct SignOutService: Sendable {
    private let repository: TokenSetRepository
    private let registry: any RegistryStore
    private let locks: any AccountLocks
    private let cache: TokenCache
    private let events: any EventLog
    private let clock: any WallClock
    private let lockWait: Int

    /// Makes a service on its parts; `lockWait` in seconds.
    package init(
        repository: TokenSetRepository, registry: any RegistryStore, locks: any AccountLocks, cache: TokenCache,
        events: any EventLog, clock: any WallClock, lockWait: Int
    ) {
        self.repository = repository
        self.registry = registry
        self.locks = locks
        self.cache = cache
        self.events = events
        self.clock = clock
        self.lockWait = lockWait
    }

    /// Forgets an account, or one policy of it.
    ///
    /// - Parameters:
    ///   - policy: only the grant of this policy; the account goes with its last one.
    ///   - beforehand: is given the grants that are about to be forgotten, under the lock, to revoke them.
    /// - Throws: the errors of the store; then the account is as it was.
    package func forget(
        _ account: Account, policy: String?, in group: KeychainGroup,
        beforehand: ([String: Grant]) throws(CredentialError) -> Void
    ) throws(CredentialError) {
        let lock = try locks.lock(account.id, in: group, seconds: lockWait)
        defer { lock.release() }
        var set = try repository.readUndamaged(account, in: group)
        let forgotten = set?.grants.filter { policy == nil || $0.key == policy } ?? [:]
        if let policy, forgotten.isEmpty {
            throw CredentialError(.noSuchAccount, "account \(account.id) has no sign-in for policy \(policy)")
        }
        try beforehand(forgotten)
        defer { cache.drop(account.id, in: group) }
        if let policy, set?.grants.count ?? 0 > 1 {
            set?.grants[policy] = nil
            set?.accessTokens.removeAll { $0.key.policy == policy }
            set?.account.policies.removeAll { $0 == policy }
            if var remaining = set, case .overtaken = try repository.save(&remaining, in: group) {
                throw CredentialError(
                    .temporary, "another process has changed \(account.id) meanwhile", hint: "try again")
            }
            try repository.forgetPast(of: account, in: group)
            try registry.update(group) { (registry) throws(CredentialError) in
                registry[id: account.id]?.policies.removeAll { $0 == policy }
            }
        } else {
            try repository.remove(account, in: group)
            try registry.update(group) { (registry) throws(CredentialError) in registry[id: account.id] = nil }
        }
        events.append(
            AccountEvent(
                kind: .accountRemoved, time: clock.now, group: group, type: account.type, account: account.id,
                policy: policy))
    }
}
