/// Moves sign-ins from one store to the other, one account at a time and under its lock.
///
/// The record decides which copy counts, and it changes in one step. Around that step it notes that the keyring may have
/// a copy that does not count (``Account/leftover``), so that whatever moment a run is killed at, the next one knows what
/// to remove. The copy has the generation of the original: should the record be lost too, the higher generation counts,
/// and equal ones are the same.
package struct StoreMigration: Sendable {
    /// What it works on.
    let accounts: AccountServices

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
        let lock = try accounts.lock(account.id, in: group)
        defer { lock.release() }
        guard let known = try accounts.records.account(account.id, in: group) else { return .gone }
        guard known.store != target else {
            guard known.leftover != nil else { return .alreadyThere }
            try tidy(known, group)
            return .tidied
        }
        do throws(CredentialError) {
            guard try accounts.repository.move(known, to: target, in: group) else { return .withoutSecrets }
        } catch {
            // The error is the news; what cannot be removed now stays noted.
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

    /// Removes the copy that does not count.
    ///
    /// - Throws: the errors of the stores and the registry.
    package func tidy(_ account: Account, in group: KeychainGroup) throws(CredentialError) {
        let lock = try accounts.lock(account.id, in: group)
        defer { lock.release() }
        guard let known = try accounts.records.account(account.id, in: group) else { return }
        try tidy(known, group)
    }

    /// Seals the token sets of a group again whose key was replaced, and forgets that key.
    ///
    /// - Throws: ``ErrorCode/lockTimeout``; the errors of the stores, and of a record that cannot be read. What was not
    ///   sealed again is still opened by the key that was replaced.
    package func renewSeals(of group: KeychainGroup) throws(CredentialError) {
        var damage: CredentialError?
        let registry = try accounts.records.registry(of: group) { damage = damage ?? $1 }
        for account in registry.accounts where account.store == .file {
            let lock = try accounts.locks.lock(account.id, in: group, seconds: accounts.lockWait)
            defer { lock.release() }
            do throws(CredentialError) { try accounts.repository.renewSeal(of: account, in: group) } catch {
                // One that nothing opens stays as it is, and the others' turn comes.
                guard error.code == .storeDamaged else { throw error }
                damage = damage ?? error
            }
        }
        // Of a record that cannot be read now, the key may be needed once it is restored.
        if let damage { throw damage }
        try accounts.stores.vault().forgetReplacedKeys(of: group)
    }

    /// Moves a secret of a type. Where both stores have one, the Secret Service's is the one in use, and it stays
    /// the one that counts.
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

    private func tidy(_ account: Account, _ group: KeychainGroup) throws(CredentialError) {
        guard account.store == .file else {
            // A move to the keyring was interrupted after it counted there.
            try accounts.records.update(account.id, in: group) { $0.leftover = nil }
            return
        }
        try accounts.repository.removeCopy(of: account, in: group)
    }
}
