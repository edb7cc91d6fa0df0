// Token sets on their way: from one store into the other, and from one key to the next.
extension TokenSetRepository {
    /// Moves the newest generation of an account's token set into another store. The caller holds the account's lock.
    ///
    /// Before the keyring gets its copy the record says that one may be there (``Account/leftover``); from then on, at
    /// whatever moment this ends, the next run knows what to remove.
    ///
    /// - Returns: whether there is a token set at all.
    /// - Throws: the errors of both stores; then what counts is where it was.
    package func move(
        _ account: Account, to target: StoreKind, in group: KeychainGroup
    ) throws(CredentialError) -> Bool {
        guard var set = try read(account, in: group, isLocked: true) else { return false }
        let id = account.id
        set.account.store = target
        set.account.leftover = target == .file ? .secretService : nil
        if target == .secretService {
            try records.update(id, in: group) { $0.leftover = .secretService }
            let bytes = set.encoded()
            let store = try stores.store(.secretService)
            try store.write(bytes, for: item(id, group), label: label(set.account))
            guard let written = try store.read(item(id, group)), ConstantTime.equal(written, bytes) else {
                throw CredentialError(
                    .storeUnavailable, "the \(target.shownName) does not give back what was written to it")
            }
        }
        for _ in 0..<16 {
            guard var record = try records.read(id, in: group) else { return false }
            record.account.store = target
            record.account.leftover = set.account.leftover
            record.sealed =
                target == .file
                ? try stores.vault().seal(set.encoded(), of: id, generation: set.generation, in: group) : nil
            switch try records.write(record, expecting: record.generation) {
            case .done: return true
            case .unknown(let error): throw error
            case .overtaken: continue
            }
        }
        throw CredentialError(
            .temporary, "others have been changing the record of \(id) all the time", hint: "try again")
    }

    /// Removes the copy in the keyring that does not count. The caller holds the account's lock.
    ///
    /// - Throws: the errors of ``SecretStore/remove(_:)``.
    package func removeCopy(of account: Account, in group: KeychainGroup) throws(CredentialError) {
        guard try records.account(account.id, in: group)?.store == .file else {
            throw CredentialError(
                .internalFault, "the copy of \(account.id) in the keyring is the one that counts")
        }
        try stores.store(.secretService).remove(item(account.id, group))
        try records.update(account.id, in: group) { $0.leftover = nil }
    }

    /// Seals a record's token set again where its key was replaced. The caller holds the account's lock.
    ///
    /// - Throws: the errors of the store.
    package func renewSeal(of account: Account, in group: KeychainGroup) throws(CredentialError) {
        for _ in 0..<16 {
            guard var record = try records.read(account.id, in: group), let sealed = record.sealed,
                try stores.vault().isOutdated(sealed, in: group)
            else { return }
            let bytes = try stores.vault().open(sealed, of: account.id, in: group)
            record.sealed = try stores.vault().seal(
                bytes, of: account.id, generation: sealed.generation, in: group)
            switch try records.write(record, expecting: record.generation) {
            case .done: return
            case .unknown(let error): throw error
            case .overtaken: continue
            }
        }
        throw CredentialError(
            .temporary, "others have been changing the record of \(account.id) all the time", hint: "try again")
    }
}
