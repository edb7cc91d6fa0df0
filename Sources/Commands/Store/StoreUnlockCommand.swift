import CommandLine
import CredentialCore

/// `credmgr store unlock`.
struct StoreUnlockCommand: Command {
    static let spec = CommandSpec(
        ["store", "unlock"], "unlock the stores for a while",
        details: """
            Asks for the passphrase of the encrypted file and keeps its key sealed in memory. Commands do not ask \
            again until the time is over, you run 'store lock' or the machine restarts. credmgr also asks a locked \
            keyring to unlock itself. If one group fails, credmgr still tries the others.
            """,
        options: [duration],
        exitStatuses: [5, 7])

    private static let duration = Option.time(
        "for", atLeast: 1, "how long the encrypted file stays unlocked; default 8h")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let stores = session.stores()
        var isKeyringAsked = false
        var hasAny = false
        try session.each(of: try StoreGroups.withTypes(session)) { (group) throws(CredentialError) in
            try session.each(of: try kinds(of: group, session, stores)) { (kind) throws(CredentialError) in
                // One keyring has the secrets of all groups.
                if kind == .secretService, isKeyringAsked { return }
                hasAny = true
                if kind == .secretService { isKeyringAsked = true }
                try unlock(group, in: stores.store(kind), session)
            }
        }
        if !hasAny { try unlockFirst(session, stores) }
    }

    /// Unlocks the store that a first sign-in would use, if no secret is kept yet: that store refuses a `login`
    /// while it is locked.
    private func unlockFirst(_ session: CommandSession, _ stores: any SecretStores) throws(CredentialError) {
        let wished = session.options.store ?? (session.options.namesStore ? nil : session.configuration.store)
        guard wished != .file, wished != .etcd else { return tellNothing(session) }
        do throws(CredentialError) {
            try unlock(session.namedGroup ?? .standard, in: stores.store(.secretService), session)
        } catch {
            // Without a keyring a sign-in goes into the encrypted file.
            guard error.code == .storeUnavailable, wished == nil else { throw error }
            tellNothing(session)
        }
    }

    private func tellNothing(_ session: CommandSession) {
        session.notices.note("no secrets are kept yet; there is nothing to unlock")
    }

    /// Unlocks a store, and reports it.
    private func unlock(
        _ group: KeychainGroup, in store: any SecretStore, _ session: CommandSession
    ) throws(CredentialError) {
        let seconds = arguments[Self.duration] ?? Self.usualSeconds
        let wasLockable = try unlock(group, in: store, seconds: seconds)
        switch (store.kind, wasLockable) {
        case (.etcd, _): break
        case (.secretService, _): session.notices.note("the keyring is unlocked")
        case (.file, true):
            session.notices.note(
                "the encrypted file of group \(group) is unlocked for \(DurationText.shown(seconds))")
        case (.file, false):
            session.notices.note(
                "the encrypted file of group \(group) is opened by its key file; there is nothing to unlock")
        }
    }

    /// Unlocks a store. One that stays locked names this very command to others.
    private func unlock(
        _ group: KeychainGroup, in store: any SecretStore, seconds: Int64
    ) throws(CredentialError) -> Bool {
        do throws(CredentialError) { return try store.unlock(group, seconds: seconds) } catch {
            guard error.code == .storeLocked, error.hint?.contains(": credmgr store unlock") == true else {
                throw error
            }
            var error = error
            error.advice =
                store.kind == .secretService
                ? "unlock the keyring in the desktop session or in its own program, or sign in with --store file"
                : "run this in a terminal, or set CREDMGR_PASSPHRASE_FILE to a file with the passphrase"
            throw error
        }
    }

    private static let usualSeconds: Int64 = 8 * 3_600

    /// The store named by option; else those with accounts or secrets of the group.
    private func kinds(
        of group: KeychainGroup, _ session: CommandSession, _ stores: any SecretStores
    ) throws(CredentialError) -> [StoreKind] {
        let hasFile = try stores.store(.file).protection(of: group) != nil
        if let kind = session.options.store { return kind == .file && !hasFile ? [] : [kind] }
        // Accounts that cannot be read do not say which stores they are in.
        let registry = try? session.context.records.registry(of: group)
        var used = registry.map { Set($0.accounts.map(\.store)) } ?? Set(StoreKind.allCases)
        // Of a shared group this host's own key is there.
        if let backend = try session.context.machine.sharing.backend(of: group) { used.insert(backend.keyStore) }
        return StoreKind.allCases.filter { $0 == .file ? hasFile : used.contains($0) }
    }
}
