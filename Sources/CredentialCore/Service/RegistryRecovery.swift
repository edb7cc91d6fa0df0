/// Takes accounts up from the token sets in the stores, which carry their accounts' facts: those whose records are
/// lost, and those that an older version of this program has kept in one file.
///
/// Facts that only the record had are lost with it: which account is the default, and labels given after the last
/// change of the tokens.
package struct RegistryRecovery: Sendable {
    /// The account services that it uses.
    let accounts: AccountServices

    private var stores: any SecretStores { accounts.stores }
    private var records: any AccountRecordStore { accounts.records }

    /// The contents of the stores for a group.
    package struct StoreInventory: Sendable {
        /// The token sets by account and store: each account's facts, and the generation.
        package var copies: [String: [StoreKind: (account: Account, generation: Int64)]] = [:]
        /// The IDs whose secrets in the encrypted file are not in a record, but in the place that older versions
        /// used.
        package var older: Set<String> = []
        /// The entries without a token set that this program can read: their IDs, and the reasons. An entry that is
        /// not damaged is of a newer version.
        package var unusable: [(store: StoreKind, id: String, error: CredentialError)] = []
        /// The stores that could not be asked, and why.
        package var unread: [(store: StoreKind, error: CredentialError)] = []
        /// The accounts whose refresh token is known to be used.
        package var used: [String] = []
        /// The accounts of which that could not be found out, and why.
        package var unknown: [(id: String, error: CredentialError)] = []

        /// The accounts with secrets, oldest first, each in the store whose copy is the newest.
        package var accounts: [Account] {
            copies.values.compactMap { copies in
                // Equal generations are the same: a migration was interrupted.
                let order = copies.sorted {
                    ($0.value.generation, $1.key.rawValue) > ($1.value.generation, $0.key.rawValue)
                }
                guard let newest = order.first else { return nil }
                var account = newest.value.account
                account.store = newest.key
                account.staleKeyringCopy = order.dropFirst().first?.key
                return account
            }.sorted { ($0.createdAt.epochSeconds, $0.id) < ($1.createdAt.epochSeconds, $1.id) }
        }
    }

    /// Reads all token sets of a group, each once. Never throws for a store: one that cannot be asked is listed.
    ///
    /// - Parameter isUsed: whether a refresh token of a set is used.
    package func inventory(
        of group: KeychainGroup, isUsed: (TokenSet) throws(CredentialError) -> Bool = { _ in false }
    ) -> StoreInventory {
        var inventory = StoreInventory()
        for kind in StoreKind.allCases {
            do throws(CredentialError) {
                try stores.store(kind).eachSecret(of: group, kind: .tokenSet) {
                    (item, bytes) throws(CredentialError) in
                    try inventory.take(item, bytes, kind, isUsed)
                }
            } catch {
                inventory.unread.append((kind, error))
            }
        }
        do throws(CredentialError) {
            for account in try records.registry(of: group).accounts where account.store == .file {
                try inventory.take(recordOf: account.id, self, group, isUsed)
            }
        } catch {
            if !inventory.unread.contains(where: { $0.store == .file }) { inventory.unread.append((.file, error)) }
        }
        return inventory
    }

    /// Reads the stores' data of one account, as ``inventory(of:isUsed:)`` does of all.
    package func inventory(of id: String, in group: KeychainGroup) -> StoreInventory {
        var inventory = StoreInventory()
        let isUsed = { (_: TokenSet) throws(CredentialError) in false }
        for kind in StoreKind.allCases {
            do throws(CredentialError) {
                let item = SecretItem(group: group, owner: id, kind: .tokenSet)
                try stores.store(kind).readEach(item) { (item, bytes) throws(CredentialError) in
                    try inventory.take(item, bytes, kind, isUsed)
                }
                if kind == .file { try inventory.take(recordOf: id, self, group, isUsed) }
            } catch {
                inventory.unread.append((kind, error))
            }
        }
        return inventory
    }

    /// The token set in a record, which may be sealed again while it is opened.
    ///
    /// - Returns: `nil` if the record has no token set, or is not there.
    fileprivate func sealedSet(_ id: String, _ group: KeychainGroup) throws(CredentialError) -> TokenSet? {
        var seen: SealedTokenSet?
        for _ in 0..<Self.looks {
            guard let record = try records.read(id, in: group), record.account.store == .file,
                let sealed = record.sealed
            else { return nil }
            do throws(CredentialError) {
                return try TokenSet(decoding: try stores.vault().open(sealed, of: id, in: group))
            } catch {
                guard error.code == .storeDamaged, seen != sealed else { throw error }
                seen = sealed
            }
        }
        throw CredentialError(
            .temporary, "cannot change the record of \(id): other processes keep changing it", hint: "try again")
    }

    private static let looks = 8

    /// Sets a record aside that cannot be read. The record in its place has the account's ID, its names, and
    /// whether it is the default. Its source is the newest generation beside it that can still be used, or a store
    /// with its token set. Without these the index is the source, and the account has to sign in again. Without
    /// one, another account would be the only one, or the name another's. The caller holds the account's lock, and
    /// has seen since that the record cannot be read.
    ///
    /// - Parameters:
    ///   - adapter: which adapter an account type has.
    ///   - now: the time.
    /// - Throws: as ``run(_:)``.
    package func replace(
        _ id: String, in group: KeychainGroup, adapter: (String) -> String, now: Timestamp
    ) throws(CredentialError) {
        let entry = try records.index(of: group, .none).unreadableEntries.first { $0.id == id }
        // This comes before any change: a store that is locked now may open the files there.
        let stray = try usableStray(id, group)
        // The name stays, so that an account whose repair is interrupted here still counts as one whose record is
        // lost.
        _ = try records.setAside(id, in: group, keepsName: true)
        if let stray {
            try check(try records.write(stray, expecting: nil), id)
            try records.removeStrayRecords(of: id, in: group)
        } else {
            _ = try takeUp(id, group)
        }
        guard let entry else {
            if try records.read(id, in: group) == nil { _ = try records.setAside(id, in: group) }
            return
        }
        let isThere = try records.update(id, in: group) { account in
            account.label = account.label ?? entry.label
            account.madeDefaultAt = entry.madeDefaultAt
        }
        if isThere { return }
        var account = Account(
            id: id, type: entry.type, adapter: adapter(entry.type), registration: entry.registration,
            subject: entry.subject, store: .file, now: now)
        account.username = entry.username
        account.displayName = entry.displayName
        account.label = entry.label
        account.madeDefaultAt = entry.madeDefaultAt
        account.status = .needsLogin(reason: "its record was damaged")
        try check(try records.write(AccountRecord(group: group, account: account), expecting: nil), id)
    }

    /// - Throws: the reason why a record that was put in a place is not known to be there.
    private func check(_ outcome: WriteResult, _ id: String) throws(CredentialError) {
        switch outcome {
        case .done: break
        case .unknown(let error): throw error
        case .overtaken:
            throw CredentialError(
                .temporary, "cannot change the record of \(id): other processes keep changing it",
                hint: "try again")
        }
    }

    /// The newest generation of a record beside its place whose token set opens and is unused, if it is newer than
    /// that of each store. A record of the keyring has no such generation: its data is taken from the keyring.
    ///
    /// - Throws: the errors of the encrypted file, but for damage.
    private func usableStray(_ id: String, _ group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        let strays = try records.strayRecords(of: id, in: group).filter {
            $0.account.store == .file && $0.sealed != nil
        }
        guard !strays.isEmpty else { return nil }
        let inventory = inventory(of: id, in: group)
        // A keyring that opens later may have a newer sign-in.
        for case (.secretService, let error) in inventory.unread where error.code == .storeLocked { throw error }
        let newest = inventory.copies[id]?.values.map(\.generation).max() ?? 0
        for record in strays {
            // An older generation is not opened, so it needs no access to a locked file.
            guard let sealed = record.sealed, sealed.generation > newest else { continue }
            do throws(CredentialError) {
                let set = try TokenSet(decoding: try stores.vault().open(sealed, of: id, in: group))
                if try !accounts.repository.isUsed(set, in: group) { return record }
            } catch {
                guard error.code == .storeDamaged else { throw error }
            }
        }
        return nil
    }

    /// Adds the accounts that have no record; existing records stay as they are.
    ///
    /// - Returns: the accounts that were added, and the stores that could not be asked.
    /// - Throws: the errors of the records and of the encrypted file.
    package func run(
        _ group: KeychainGroup
    ) throws(CredentialError) -> (added: [Account], unread: [(store: StoreKind, error: CredentialError)]) {
        let inventory = inventory(of: group)
        var added: [Account] = []
        for account in inventory.accounts where try records.read(account.id, in: group) == nil {
            let lock = try accounts.lock(account.id, in: group)
            defer { lock.release() }
            if let account = try takeUp(account.id, group) { added.append(account) }
        }
        return (added, inventory.unread)
    }

    /// Adds an account that has no record, from the stores' present data of it. The caller holds the account's
    /// lock.
    ///
    /// - Returns: the account that was added.
    private func takeUp(_ id: String, _ group: KeychainGroup) throws(CredentialError) -> Account? {
        // A sign-out removes the secrets first; a sign-in writes the record last.
        guard try records.read(id, in: group) == nil else { return nil }
        let inventory = inventory(of: id, in: group)
        guard let account = inventory.accounts.first(where: { $0.id == id }) else { return nil }
        var record = AccountRecord(group: group, account: account)
        let item = SecretItem(group: group, owner: id, kind: .tokenSet)
        let store = try stores.store(account.store)
        guard account.store == .file else {
            guard case .done = try records.write(record, expecting: nil) else { return nil }
            return account
        }
        guard let bytes = try store.read(item) else { return nil }
        var standing: Int64?
        let outcome = try accounts.repository.sealing(
            bytes, of: id, generation: inventory.copies[id]?[.file]?.generation ?? 1, by: .file, in: group
        ) { (sealed) throws(CredentialError) in
            record.sealed = sealed
            let outcome = try records.write(record, expecting: standing)
            standing = (standing ?? 0) + 1
            return outcome
        }
        guard case .done = outcome else { return nil }
        try store.remove(item)
        return account
    }
}

extension RegistryRecovery.StoreInventory {
    /// Takes a store's data of an account outside of its record.
    fileprivate mutating func take(
        _ item: SecretItem, _ bytes: [UInt8]?, _ kind: StoreKind,
        _ isUsed: (TokenSet) throws(CredentialError) -> Bool
    ) throws(CredentialError) {
        if kind == .file { older.insert(item.owner) }
        try take(item.owner, kind, isUsed) { () throws(CredentialError) in
            guard let bytes else { throw CredentialError(.storeDamaged, "it contains no valid secret") }
            return try TokenSet(decoding: bytes)
        }
    }

    /// Takes the data of an account's record, if it has any.
    fileprivate mutating func take(
        recordOf id: String, _ rebuild: RegistryRecovery, _ group: KeychainGroup,
        _ isUsed: (TokenSet) throws(CredentialError) -> Bool
    ) throws(CredentialError) {
        do throws(CredentialError) {
            guard let set = try rebuild.sealedSet(id, group) else { return }
            older.remove(id)
            try take(id, .file, isUsed) { () throws(CredentialError) in set }
        } catch {
            older.remove(id)
            try take(id, .file, isUsed) { () throws(CredentialError) in throw error }
        }
    }

    private mutating func take(
        _ id: String, _ kind: StoreKind, _ isUsed: (TokenSet) throws(CredentialError) -> Bool,
        _ read: () throws(CredentialError) -> TokenSet
    ) throws(CredentialError) {
        let set: TokenSet
        do throws(CredentialError) { set = try read() } catch {
            guard error.code == .storeDamaged || error.code == .unsupported else { throw error }
            return unusable.append((kind, id, error))
        }
        guard set.account.id == id else {
            return unusable.append(
                (
                    kind, id,
                    CredentialError(.storeDamaged, "it belongs to account \(UntrustedText.shown(set.account.id))")
                ))
        }
        copies[id, default: [:]][kind] = (set.account, set.generation)
        do throws(CredentialError) { if try isUsed(set) { used.append(id) } } catch {
            unknown.append((id, error))
        }
    }
}
