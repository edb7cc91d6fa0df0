// Token sets on their way from one store into the other.
extension TokenSetRepository {
    /// Moves the newest generation of an account's token set into another store. The caller holds the account's
    /// lock.
    ///
    /// Before the keyring gets its copy the record notes that one may be there (``Account/staleKeyringCopy``). If
    /// this ends at any moment from then on, the next run knows the data to remove.
    ///
    /// - Returns: whether there is a token set at all.
    /// - Throws: the errors of both stores; then the token set that counts is in its former store.
    package func move(
        _ account: Account, to target: StoreKind, in group: KeychainGroup
    ) throws(CredentialError) -> Bool {
        guard var set = try read(account, in: group, isLocked: true) else { return false }
        let id = account.id
        set.account.store = target
        set.account.staleKeyringCopy = target == .file ? .secretService : nil
        if target == .secretService {
            try records.update(id, in: group) { $0.staleKeyringCopy = .secretService }
            let bytes = set.encoded()
            let store = try stores.store(.secretService)
            try store.write(bytes, for: item(id, group), label: label(set.account))
            guard let written = try store.read(item(id, group)), ConstantTime.equal(written, bytes) else {
                throw CredentialError(
                    .storeUnavailable, "the \(target.shownName) did not return the data that credmgr wrote")
            }
        }
        guard target == .file else { return try move(set, sealed: nil, in: group) }
        return try sealing(set.encoded(), of: id, generation: set.generation, by: .file, in: group) {
            (sealed) throws(CredentialError) in try move(set, sealed: sealed, in: group)
        }
    }

    /// Has the record of a token set name the store that counts from now on.
    private func move(
        _ set: TokenSet, sealed: SealedTokenSet?, in group: KeychainGroup
    ) throws(CredentialError) -> Bool {
        for _ in 0..<16 {
            guard var record = try records.read(set.account.id, in: group) else { return false }
            record.account.store = set.account.store
            record.account.staleKeyringCopy = set.account.staleKeyringCopy
            record.sealed = sealed
            switch try records.write(record, expecting: record.generation) {
            case .done: return true
            case .unknown(let error): throw error
            case .overtaken: continue
            }
        }
        throw CredentialError(
            .temporary, "cannot change the record of \(set.account.id): other processes keep changing it",
            hint: "try again")
    }

    /// Removes the copy in the keyring that does not count. The caller holds the account's lock.
    ///
    /// - Throws: the errors of ``SecretStore/remove(_:)``.
    package func removeCopy(of account: Account, in group: KeychainGroup) throws(CredentialError) {
        guard try records.account(account.id, in: group)?.store == .file else {
            throw CredentialError(
                .internalFault, "the copy of \(account.id) in the keyring takes precedence")
        }
        try stores.store(.secretService).remove(item(account.id, group))
        try records.update(account.id, in: group) { $0.staleKeyringCopy = nil }
    }
}
