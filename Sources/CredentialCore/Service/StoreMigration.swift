/// Moves sign-ins from one store to the other, one account at a time and under its lock.
///
/// The record decides which copy counts, and it changes in one step. Around that step it notes that the keyring may
/// have a copy that does not count (``Account/staleKeyringCopy``). So a run that is killed at any moment leaves the
/// next one the note of the data to remove. The copy has the generation of the original: should the record be lost
/// too, the higher generation counts, and equal ones are the same.
package struct StoreMigration: Sendable {
    /// The account services that it uses.
    let accounts: AccountServices

    /// The outcome for an account.
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
    /// - Throws: ``ErrorCode/lockTimeout``; the errors of the stores. The account is then in its former store.
    package func move(
        _ account: Account, to target: StoreKind, in group: KeychainGroup
    ) throws(CredentialError) -> Outcome {
        let lock = try accounts.lock(account.id, in: group)
        defer { lock.release() }
        guard let known = try accounts.records.account(account.id, in: group) else { return .gone }
        guard known.store != target else {
            guard known.staleKeyringCopy != nil else { return .alreadyThere }
            try tidyLocked(known, in: group)
            return .tidied
        }
        do throws(CredentialError) {
            guard try accounts.repository.move(known, to: target, in: group) else { return .withoutSecrets }
        } catch {
            // The error is the news; a copy that cannot be removed now stays noted.
            if target == .secretService { try? accounts.repository.removeCopy(of: known, in: group) }
            throw error
        }
        guard target == .file else { return .moved }
        do throws(CredentialError) {
            try accounts.repository.removeCopy(of: known, in: group)
            return .moved
        } catch {
            return .movedLeavingCopy(error)
        }
    }

    /// Moves a secret of a type. If both stores have one, the Secret Service's secret is in use and keeps
    /// precedence.
    ///
    /// - Returns: whether there was anything to move.
    /// - Throws: the errors of the stores.
    package func move(_ item: SecretItem, to target: StoreKind) throws(CredentialError) -> Bool {
        let lock = try accounts.lock("store-migration", in: item.group)
        defer { lock.release() }
        let source = try accounts.stores.store(target.other)
        guard let bytes = try source.read(item) else { return false }
        let destination = try accounts.stores.store(target)
        let isSuperseded = target == .secretService ? try destination.read(item) != nil : false
        if !isSuperseded {
            try destination.write(bytes, for: item, label: "credmgr: \(item.owner) \(item.kind.rawValue)")
        }
        try source.remove(item)
        return true
    }

    /// Removes the copy that does not count. The caller holds the account's lock, and has read the account since.
    ///
    /// - Throws: the errors of the stores and the records.
    func tidyLocked(_ account: Account, in group: KeychainGroup) throws(CredentialError) {
        guard account.store == .file else {
            // A move to the keyring was interrupted after it counted there.
            try accounts.records.update(account.id, in: group) { $0.staleKeyringCopy = nil }
            return
        }
        try accounts.repository.removeCopy(of: account, in: group)
    }
}
