// The removal of a token set whose account is signed out.
extension TokenSetRepository {
    /// Forgets an account: its token set first, then its record, so that no secret is left without one. The caller
    /// holds the account's lock.
    ///
    /// - Returns: why something of it is still journaled, though the account is gone.
    /// - Throws: the errors of ``SecretStore/remove(_:)`` and ``AccountRecordStore/remove(_:in:expecting:)``.
    @discardableResult
    package func remove(_ account: Account, in group: KeychainGroup) throws(CredentialError) -> CredentialError? {
        let record = try recordToRemove(account, in: group)
        // The copy that does not count goes first: as long as that fails, the account is as it was.
        if account.store == .secretService || record?.account.store == .secretService
            || record?.account.staleKeyringCopy == .secretService
        {
            try stores.store(.secretService).remove(item(account.id, group))
        }
        // A sign-in that waits would come again by itself. A generation of an account that is gone does not: it
        // stays until then, for as long as the record cannot be removed it is the account.
        let isGeneration = try !isSignInWaiting(account.id, in: group)
        if !isGeneration { try journal.remove(account.id, in: group) }
        for name in try waitingLogins(of: account.id, in: group) { try journal.remove(name, in: group) }
        var current = record
        while let now = current {
            switch try records.remove(account.id, in: group, expecting: now.generation) {
            case .done: current = nil
            case .unknown(let error): throw error
            case .overtaken: current = try records.read(account.id, in: group)
            }
        }
        // The key that opens it was in the token set, so the rest of it harms no user.
        do throws(CredentialError) { if isGeneration { try journal.remove(account.id, in: group) } } catch {
            return error
        }
        return nil
    }

    /// A damaged record goes, too; no search for an account looks in its later place.
    private func recordToRemove(
        _ account: Account, in group: KeychainGroup
    ) throws(CredentialError) -> AccountRecord? {
        do throws(CredentialError) { return try records.read(account.id, in: group) } catch {
            guard error.code == .storeDamaged else { throw error }
            _ = try records.setAside(account.id, in: group)
            return nil
        }
    }
}
