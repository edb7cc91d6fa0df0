/// Repairs accounts whose records and secrets do not tell the same story.
///
/// A finding may be old when the user has agreed to its repair, and may never have been true: a migration, a
/// sign-in or a sign-out changes record and store one after the other. So every repair takes the account's lock,
/// looks again, and repairs only the trouble that remains.
package struct AccountRepair: Sendable {
    /// The account services that it uses.
    let accounts: AccountServices

    /// A trouble of an account with a readable record.
    package enum Trouble: Sendable, Hashable {
        /// Its store has no data of it, and the keyring has its secrets.
        case inKeyring
        /// No store has its secrets.
        case withoutSecrets
        /// Its record has the facts of another account than its secrets.
        case foreignFacts
        /// The other store has a copy that does not count.
        case copy
    }

    private var records: any AccountRecordStore { accounts.records }

    // MARK: Looking

    /// Returns the trouble of an account, as far as the contents of the stores show it.
    package func trouble(of account: Account, by inventory: RegistryRecovery.StoreInventory) -> Trouble? {
        // Its cluster has ways of its own.
        if account.store == .etcd { return nil }
        let copies = inventory.copies[account.id] ?? [:]
        guard let copy = copies[account.store] else {
            // A store that could not be asked reports no accounts, and its unusable data is another trouble.
            guard !inventory.unread.contains(where: { $0.store == account.store }),
                !inventory.unusable.contains(where: { $0.store == account.store && $0.id == account.id })
            else { return nil }
            if copies[.secretService] != nil { return .inKeyring }
            // An account that has to sign in again anyway is known to have no secrets.
            guard case .active = account.status else { return nil }
            return .withoutSecrets
        }
        if !copy.account.fits(account) { return .foreignFacts }
        return copies.count > 1 || account.staleKeyringCopy != nil ? .copy : nil
    }

    /// Whether a trouble is there once more when an account is looked at by itself: other processes' changes
    /// between two looks seem to be trouble.
    package func isConfirmed(_ trouble: Trouble, of id: String, in group: KeychainGroup) -> Bool {
        // A record that cannot be read now was seen a moment ago.
        guard let record = try? records.read(id, in: group) else { return true }
        return self.trouble(of: record.account, by: accounts.rebuild.inventory(of: id, in: group)) == trouble
    }

    // MARK: Repairing

    /// Repairs an account that still has a trouble.
    ///
    /// - Throws: ``ErrorCode/lockTimeout``; the errors of the stores and the records.
    package func repair(
        _ trouble: Trouble, of id: String, in group: KeychainGroup
    ) throws(CredentialError) {
        let lock = try accounts.lock(id, in: group)
        defer { lock.release() }
        guard let account = try records.account(id, in: group) else { return }
        let inventory = accounts.rebuild.inventory(of: id, in: group)
        guard self.trouble(of: account, by: inventory) == trouble else { return }
        switch trouble {
        case .inKeyring:
            guard let found = inventory.copies[id]?[.secretService] else { return }
            try records.update(id, in: group) {
                $0.store = .secretService
                $0.staleKeyringCopy = nil
                // If its record was damaged, only the token set gives its state.
                $0.status = found.account.status
            }
        case .withoutSecrets:
            // A first sign-in may wait in the journal, and this call moves it to its place.
            guard try accounts.repository.loadIntact(account, in: group) == nil else { return }
            try records.update(id, in: group) { $0.status = .needsLogin(reason: "its secrets are gone") }
        case .foreignFacts:
            guard let found = inventory.copies[id]?[account.store] else { return }
            try records.update(id, in: group) { record in
                var own = found.account
                own.adoptRecord(record)
                record = own
            }
        case .copy: try accounts.migration.tidyLocked(account, in: group)
        }
    }

    /// Sets aside the first sign-in of an account that waits in the journal, if no key opens it still; the account
    /// has to sign in again.
    ///
    /// - Throws: as ``repair(_:of:in:)``.
    package func setAsideShutOut(_ id: String, in group: KeychainGroup) throws(CredentialError) {
        let lock = try accounts.lock(id, in: group)
        defer { lock.release() }
        guard let place = try accounts.repository.setAsideShutOut(id, in: group) else { return }
        accounts.policy.warn(
            "the journal entry of \(id) is in \(UntrustedText.shown(place, limit: 4_096))")
    }

    /// Removes an unusable secret, if a store still has that of an account.
    ///
    /// - Throws: as ``repair(_:of:in:)``.
    package func removeDamaged(
        _ id: String, from store: StoreKind, in group: KeychainGroup
    ) throws(CredentialError) {
        // No process writes an entry with an invalid account ID, and no lock can have that name.
        let lock = Identifier.isValid(id) ? try accounts.lock(id, in: group) : nil
        defer { lock?.release() }
        let isDamaged = accounts.rebuild.inventory(of: id, in: group).unusable.contains {
            $0.store == store && $0.id == id && $0.error.code == .storeDamaged
        }
        guard isDamaged else { return }
        try accounts.stores.store(store).remove(SecretItem(group: group, owner: id, kind: .tokenSet))
    }

    /// Restores the former content of a shared group's record, or this host's last copy of it, if it is still
    /// damaged; else the record is quarantined.
    ///
    /// - Throws: as ``repair(_:of:in:)``; the errors of the cluster.
    package func restore(_ id: String, in group: KeychainGroup) throws(CredentialError) {
        let lock = try accounts.lock(id, in: group)
        defer { lock.release() }
        guard try isUnreadable(id, in: group), try !accounts.machine.sharing.restore(id, in: group) else { return }
        _ = try records.setAside(id, in: group)
    }

    /// Restores the data beside an account in a shared group, as far as the cluster reports it as still damaged.
    ///
    /// - Throws: as ``restore(_:in:)``.
    package func mend(_ id: String, in group: KeychainGroup) throws(CredentialError) {
        let lock = try accounts.lock(id, in: group)
        defer { lock.release() }
        _ = try accounts.machine.sharing.restore(id, in: group)
    }

    /// Puts another record in the place of one that cannot be read, if that is still so
    /// (``RegistryRecovery/replace(_:in:adapter:now:)``).
    ///
    /// - Throws: as ``repair(_:of:in:)``.
    package func replace(
        _ id: String, in group: KeychainGroup, adapter: (String) -> String
    ) throws(CredentialError) {
        let lock = try accounts.lock(id, in: group)
        defer { lock.release() }
        guard try isUnreadable(id, in: group) else { return }
        try accounts.rebuild.replace(id, in: group, adapter: adapter, now: accounts.clock.now)
    }

    /// Takes the accounts of a group up from the stores that an older version of this program has kept, if they are
    /// kept so still.
    ///
    /// - Parameter used: the stores in which that version has kept some, by its own files.
    /// - Throws: the errors of the stores, and the error of one that is locked.
    package func takeOver(
        _ group: KeychainGroup, used: ([UInt8]) -> Set<StoreKind>
    ) throws(CredentialError) {
        let lock = try accounts.lock(TokenSetRepository.newAccountLock, in: group)
        defer { lock.release() }
        guard let older = try records.older(group) else { return }
        // Secrets in a store that cannot be asked would not be found again.
        for kind in StoreKind.allCases where used(older).contains(kind) {
            try accounts.stores.store(kind).eachSecret(of: group, kind: .tokenSet) { _, _ in }
        }
        try records.setAsideOlder(group)
        let outcome = try accounts.rebuild.run(group)
        if let unread = outcome.unread.first(where: { $0.error.code == .storeLocked }) { throw unread.error }
    }

    /// Whether a record cannot be read, or is missing without a sign-out.
    private func isUnreadable(_ id: String, in group: KeychainGroup) throws(CredentialError) -> Bool {
        do throws(CredentialError) {
            if try records.read(id, in: group) != nil { return false }
            return try records.index(of: group, .ids).unreadable.contains(id)
        } catch {
            guard error.code == .storeDamaged else { throw error }
            return true
        }
    }
}
