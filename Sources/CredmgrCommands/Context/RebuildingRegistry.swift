import CredentialCore
import Synchronization

/// Registries that are rebuilt from the stores when a damaged one had to be set aside: contract §7.
///
/// A group whose accounts cannot be taken up now, because a store is locked or missing, is never shown as one without
/// accounts.
struct RebuildingRegistry: RegistryStore {
    private let base: any RegistryStore
    private let stores: @Sendable (StoreOptions) -> any SecretStores
    private let clock: any WallClock
    private let warn: @Sendable (String) -> Void
    private let tried = Attempts()

    /// Wraps `base`; nobody is asked anything for a rebuild.
    init(
        _ base: any RegistryStore, stores: @escaping @Sendable (StoreOptions) -> any SecretStores,
        clock: any WallClock, warn: @escaping @Sendable (String) -> Void
    ) {
        self.base = base
        self.stores = stores
        self.clock = clock
        self.warn = warn
    }

    func read(_ group: KeychainGroup) throws(CredentialError) -> AccountRegistry {
        let registry = try base.read(group)
        guard registry.needsRebuild else { return registry }
        if tried.isFirst(of: group) { try rebuild(group) }
        let rebuilt = try base.read(group)
        if rebuilt.needsRebuild, rebuilt.accounts.isEmpty, let failure = tried.failure(of: group) {
            throw CredentialError(
                failure.code,
                "the accounts of group \(group) have to be taken up from the stores again, but \(failure.message)",
                hint: failure.hint ?? "credmgr doctor", details: failure.details)
        }
        return rebuilt
    }

    func update<Result>(
        _ group: KeychainGroup, _ change: (inout AccountRegistry) throws(CredentialError) -> Result
    ) throws(CredentialError) -> Result { try base.update(group, change) }

    func groups() throws(CredentialError) -> [KeychainGroup] { try base.groups() }

    private func rebuild(_ group: KeychainGroup) throws(CredentialError) {
        let options = StoreOptions(mayPrompt: false, mayAsk: false, keepsKeys: false, promptSeconds: 0, warn: warn)
        let outcome = try RegistryRebuild(stores: stores(options), registry: base).run(group)
        if !outcome.added.isEmpty {
            warn("\(outcome.added.count) accounts of group \(group) were taken up from the stores again")
        }
        // The one that a person can open, before one that this machine may never have.
        let locked = outcome.unread.first { $0.error.code == .storeLocked }
        guard let unread = locked ?? outcome.unread.first else { return }
        tried.note(unread.error, of: group)
        // Once a day: a machine without a keyring may never be able to ask one.
        if let told = try base.read(group).rebuildToldAt, (0..<86_400).contains(clock.now.seconds(since: told)) {
            return
        }
        warn(
            "accounts of group \(group) may be missing until the \(unread.store.shownName) can be read: "
                + "\(unread.error.message); 'credmgr doctor --fix' does without it")
        let now = clock.now
        try? base.update(group) { (registry) throws(CredentialError) in registry.rebuildToldAt = now }
    }

    /// What this process has tried: a rebuild is worth one try.
    private final class Attempts: Sendable {
        private let failures = Mutex<[KeychainGroup: CredentialError?]>([:])

        func isFirst(of group: KeychainGroup) -> Bool {
            failures.withLock { failures in
                if failures[group] != nil { return false }
                failures[group] = .some(nil)
                return true
            }
        }

        func note(_ failure: CredentialError, of group: KeychainGroup) {
            failures.withLock { $0[group] = failure }
        }

        func failure(of group: KeychainGroup) -> CredentialError? { failures.withLock { $0[group] ?? nil } }
    }
}
