/// Token sets in their account's store, with the journal that carries a generation over a store that fails.
///
/// Of each account one store is authoritative. The Secret Service acknowledges writes that it may still lose
/// (KWallet for seconds, any of them at a power cut), so a generation on its way there is also kept sealed beside
/// the registry until a later run has read it back; the encrypted file is durable by itself, so it is journaled only
/// when writing it fails. The first generation is always journaled: until the registry lists the account, nothing else
/// leads to it.
package struct TokenSetRepository: Sendable {
    let stores: any SecretStores
    let journal: any GenerationJournal
    let registry: any RegistryStore
    private let cryptography: any Cryptography
    private let random: any RandomSource

    /// Makes a repository on its parts.
    package init(
        stores: any SecretStores, journal: any GenerationJournal, registry: any RegistryStore,
        cryptography: any Cryptography, random: any RandomSource
    ) {
        self.stores = stores
        self.journal = journal
        self.registry = registry
        self.cryptography = cryptography
        self.random = random
    }

    /// How a token set was kept.
    package enum Outcome: Sendable {
        /// In its store, read back.
        case stored
        /// Sealed in the journal, because the store failed as told; the next run puts it into the store.
        case journaled(CredentialError)
        /// Not at all: the store holds this newer generation by now, or nothing any more.
        case overtaken(TokenSet?)
    }

    /// The newest generation of an account's token set: the store's, or the journal's where the store fell behind.
    ///
    /// - Parameter isLocked: whether the caller holds the account's lock. Only then is anything tidied up.
    /// - Returns: `nil` when the store has no such item.
    /// - Throws: the errors of ``SecretStore/read(_:)``.
    package func read(
        _ account: Account, in group: KeychainGroup, isLocked: Bool
    ) throws(CredentialError) -> TokenSet? {
        // The caller may have looked at the registry before a migration moved the account. Under the lock only the
        // registry's word of now counts; without it an old copy is as good as the new one, but its absence is not.
        var account = account
        if isLocked { account.store = try place(of: account, in: group) }
        if let set = try readListed(account, in: group, isLocked: isLocked) { return set }
        guard !isLocked else { return nil }
        let place = try place(of: account, in: group)
        guard place != account.store else { return nil }
        account.store = place
        return try readListed(account, in: group, isLocked: false)
    }

    /// As ``read(_:in:isLocked:)``, of an account as the registry has it now.
    func readListed(
        _ account: Account, in group: KeychainGroup, isLocked: Bool
    ) throws(CredentialError) -> TokenSet? {
        let place = account.store
        guard let bytes = try stores.store(place).read(item(account, group)) else { return nil }
        var stored = try TokenSet(decoding: bytes)
        stored.account.store = place
        guard let sealed = try journal.read(account.id, in: group) else { return stored }
        guard var journaled = try open(sealed, key: stored.journalKey, account.id, group),
            journaled.generation > stored.generation
        else {
            if isLocked { try journal.remove(account.id, in: group) }
            return stored
        }
        journaled.account.store = place
        if isLocked {
            let store = try stores.store(place)
            // The journal stays until a later run has read this generation from the store.
            try? store.write(journaled.encoded(), for: item(account, group), label: label(journaled.account))
        }
        return journaled
    }

    /// As ``read(_:in:isLocked:)`` under the lock, for those who replace or remove what is there: a damaged item counts
    /// as none.
    package func readUndamaged(
        _ account: Account, in group: KeychainGroup
    ) throws(CredentialError) -> TokenSet? {
        do throws(CredentialError) { return try read(account, in: group, isLocked: true) } catch {
            if error.code == .storeDamaged { return nil }
            throw error
        }
    }

    /// Sets room aside for the next generation of a token set in the journal, so that a full disk is noticed before
    /// a refresh token is used up, not after. ``save(_:in:)`` gives back what it does not need.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable``.
    package func reserve(for set: TokenSet, in group: KeychainGroup) throws(CredentialError) {
        do {
            // Tokens may grow, by new claims for example.
            try journal.reserve(2 * set.encoded().count + 16_384, for: set.account.id, in: group)
        } catch {
            throw CredentialError(
                .storeUnavailable, "there is no room for new tokens, so none were asked for: \(error.message)",
                hint: error.hint, details: error.details)
        }
    }

    /// Gives back what ``reserve(for:in:)`` has set aside.
    package func releaseReserve(for set: TokenSet, in group: KeychainGroup) {
        journal.releaseReserve(for: set.account.id, in: group)
    }

    /// Keeps the next generation of a token set, unless the store holds another one than `set` was made from. The
    /// caller holds the account's lock: that check is for the day when a lock did not work.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable`` when neither the store nor the journal took it.
    package func save(_ set: inout TokenSet, in group: KeychainGroup) throws(CredentialError) -> Outcome {
        let account = set.account
        defer { journal.releaseReserve(for: account.id, in: group) }
        let store = try stores.store(account.store)
        do throws(CredentialError) {
            if let bytes = try store.read(item(account, group)) {
                if let stored = try? TokenSet(decoding: bytes), stored.generation > set.generation {
                    return .overtaken(stored)
                }
            } else if set.generation > 0 {
                return .overtaken(nil)
            }
        } catch {
            // A store that cannot be read now will not take a write either; then the journal gets it.
        }
        set.generation += 1
        var journalFailure: CredentialError?
        if account.store == .secretService || set.generation == 1 {
            do throws(CredentialError) { try writeJournal(set, group) } catch { journalFailure = error }
        }
        do throws(CredentialError) {
            try store.write(set.encoded(), for: item(account, group), label: label(account))
            return .stored
        } catch {
            if account.store != .secretService, set.generation > 1 {
                do throws(CredentialError) { try writeJournal(set, group) } catch { journalFailure = error }
            }
            guard let journalFailure else { return .journaled(error) }
            throw CredentialError(
                .storeUnavailable, "the new tokens of \(account.id) could not be kept: \(error.message)",
                hint: error.hint ?? "credmgr doctor", details: error.details + [journalFailure.message])
        }
    }

    /// Forgets an account's token set. The caller holds the account's lock.
    ///
    /// - Throws: the errors of ``SecretStore/remove(_:)``.
    package func remove(_ account: Account, in group: KeychainGroup) throws(CredentialError) {
        // The copy that does not count goes first: as long as that fails, the account is as it was.
        if let leftover = try registry.read(group)[id: account.id]?.leftover {
            try removeCopy(of: account, from: leftover, in: group)
        }
        try stores.store(try place(of: account, in: group)).remove(item(account, group))
        try journal.remove(account.id, in: group)
    }

    /// Drops what the account's store keeps of the past, where tokens that were forgotten still stand.
    ///
    /// - Throws: the errors of ``SecretStore/forgetPast(of:)``.
    package func forgetPast(of account: Account, in group: KeychainGroup) throws(CredentialError) {
        try stores.store(try place(of: account, in: group)).forgetPast(of: group)
    }

    /// Drops what the journal keeps for an account.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func forgetJournal(_ account: Account, in group: KeychainGroup) throws(CredentialError) {
        try journal.remove(account.id, in: group)
    }

    // MARK: Moving

    /// The store that counts for an account now: what the registry says.
    package func place(of account: Account, in group: KeychainGroup) throws(CredentialError) -> StoreKind {
        try registry.read(group)[id: account.id]?.store ?? account.store
    }

    /// Puts the newest generation of an account's token set into another store, too, as it is, and reads it back.
    /// The caller holds the account's lock.
    ///
    /// - Returns: whether there is a token set at all.
    /// - Throws: the errors of both stores.
    package func copy(
        _ account: Account, to target: StoreKind, in group: KeychainGroup
    ) throws(CredentialError) -> Bool {
        guard var set = try read(account, in: group, isLocked: true) else { return false }
        set.account.store = target
        set.account.leftover = nil
        let bytes = set.encoded()
        let store = try stores.store(target)
        try store.write(bytes, for: item(account, group), label: label(set.account))
        guard let written = try store.read(item(account, group)), ConstantTime.equal(written, bytes) else {
            throw CredentialError(
                .storeUnavailable, "the \(target.shownName) does not give back what was written to it")
        }
        return true
    }

    /// Removes the copy of an account's token set that does not count. The caller holds the account's lock.
    ///
    /// - Throws: the errors of ``SecretStore/remove(_:)``.
    package func removeCopy(
        of account: Account, from store: StoreKind, in group: KeychainGroup
    ) throws(CredentialError) {
        guard try place(of: account, in: group) != store else {
            throw CredentialError(
                .internalFault, "the copy of \(account.id) in the \(store.shownName) is the one that counts")
        }
        try stores.store(store).remove(item(account, group))
    }

    private func item(_ account: Account, _ group: KeychainGroup) -> SecretItem {
        SecretItem(group: group, owner: account.id, kind: .tokenSet)
    }

    /// What people see in their keyring's own program.
    private func label(_ account: Account) -> String {
        let name = account.username ?? account.displayName ?? account.id
        return ForeignText.shown("credmgr: \(account.type) \(name)").split(separator: "/").joined(separator: "-")
    }

    // MARK: Journal

    private func writeJournal(_ set: TokenSet, _ group: KeychainGroup) throws(CredentialError) {
        let nonce = random.bytes(12)
        let sealed = try cryptography.seal(
            set.encoded(), key: set.journalKey, nonce: nonce, authenticating: header(set.account.id, group))
        try journal.write(nonce + sealed, for: set.account.id, in: group)
    }

    /// Opens a journal record; `nil` when it is not of this token set, or damaged.
    private func open(
        _ record: [UInt8], key: [UInt8], _ account: String, _ group: KeychainGroup
    ) throws(CredentialError) -> TokenSet? {
        guard record.count > 12 else { return nil }
        let opened = try cryptography.open(
            Array(record[12...]), key: key, nonce: Array(record[..<12]), authenticating: header(account, group))
        return try opened.map { (bytes) throws(CredentialError) in try TokenSet(decoding: bytes) }
    }

    private func header(_ account: String, _ group: KeychainGroup) -> [UInt8] {
        Array("credmgr journal 1\n\(group.name)\n\(account)".utf8)
    }
}
