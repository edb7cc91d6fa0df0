/// Moves sign-ins from one store to the other, one account at a time and under its lock.
///
/// The registry decides which copy counts, and it changes in one step. Around that step it notes where the other
/// copy is (``Account/leftover``), so that whatever moment a run is killed at, the next one knows what to remove.
/// The copy has the generation of the original: should the registry be lost too, the higher generation counts, and
/// equal ones are the same.
package struct StoreMigration: Sendable {
    private let repository: TokenSetRepository
    private let stores: any SecretStores
    private let registry: any RegistryStore
    private let locks: any AccountLocks
    private let lockWait: Int

    /// Makes a migration on its parts; `lockWait` in seconds.
    package init(
        repository: TokenSetRepository, stores: any SecretStores, registry: any RegistryStore,
        locks: any AccountLocks, lockWait: Int
    ) {
        self.repository = repository
        self.stores = stores
        self.registry = registry
        self.locks = locks
        self.lockWait = lockWait
    }

    /// What became of an account.
    package enum Outcome: Sendable {
        /// Its secrets are in the target, and nowhere else.
        case moved
        /// Its secrets are in the target; the old copy, which does not count any more, could not be removed.
        case movedLeavingCopy(CredentialError)
        /// It was in the target already.
        case alreadyThere
        /// It was in the target already; an old copy has been removed.
        case tidied
        /// There are no secrets to move: a person has to sign in again anyway.
        case withoutSecrets
        /// It has been forgotten meanwhile.
        case gone
    }

    /// Moves an account's token set to `target`.
    ///
    /// - Throws: ``ErrorCode/lockTimeout``; the errors of the stores. The account is then where it was.
    package func move(
        _ account: Account, to target: StoreKind, in group: KeychainGroup
    ) throws(CredentialError) -> Outcome {
        let lock = try locks.lock(account.id, in: group, seconds: lockWait)
        defer { lock.release() }
        guard let known = try registry.read(group)[id: account.id] else { return .gone }
        guard known.store != target else {
            guard let leftover = known.leftover else { return .alreadyThere }
            try tidy(known, from: leftover, group)
            return .tidied
        }
        try note(known, group) { $0.leftover = target }
        do throws(CredentialError) {
            guard try repository.copy(known, to: target, in: group) else {
                try tidy(known, from: target, group)
                return .withoutSecrets
            }
        } catch {
            // The error is the news; what cannot be removed now stays noted.
            try? tidy(known, from: target, group)
            throw error
        }
        try note(known, group) {
            $0.store = target
            $0.leftover = known.store
        }
        do throws(CredentialError) {
            try tidy(known, from: known.store, group)
            return .moved
        } catch {
            return .movedLeavingCopy(error)
        }
    }

    /// Removes the copy that does not count.
    ///
    /// - Throws: the errors of the stores and the registry.
    package func tidy(_ account: Account, in group: KeychainGroup) throws(CredentialError) {
        let lock = try locks.lock(account.id, in: group, seconds: lockWait)
        defer { lock.release() }
        guard let known = try registry.read(group)[id: account.id], let leftover = known.leftover else { return }
        try tidy(known, from: leftover, group)
    }

    /// Moves a secret of a type. Where both stores have one, the Secret Service's is the one in use, and it stays
    /// the one that counts.
    ///
    /// - Returns: whether there was anything to move.
    /// - Throws: the errors of the stores.
    package func move(_ item: SecretItem, to target: StoreKind) throws(CredentialError) -> Bool {
        let lock = try locks.lock("store-migration", in: item.group, seconds: lockWait)
        defer { lock.release() }
        let source = try stores.store(target.other)
        guard let bytes = try source.read(item) else { return false }
        let destination = try stores.store(target)
        let isSuperseded = target == .secretService ? try destination.read(item) != nil : false
        if !isSuperseded {
            try destination.write(bytes, for: item, label: "credmgr: \(item.owner) \(item.kind.rawValue)")
        }
        try source.remove(item)
        return true
    }

    private func tidy(
        _ account: Account, from store: StoreKind, _ group: KeychainGroup
    ) throws(CredentialError) {
        try repository.removeCopy(of: account, from: store, in: group)
        try note(account, group) { $0.leftover = nil }
    }

    private func note(
        _ account: Account, _ group: KeychainGroup, _ change: (inout Account) -> Void
    ) throws(CredentialError) {
        try registry.update(group) { (registry) throws(CredentialError) in
            guard var entry = registry[id: account.id] else { return }
            change(&entry)
            registry[id: account.id] = entry
        }
    }
}
