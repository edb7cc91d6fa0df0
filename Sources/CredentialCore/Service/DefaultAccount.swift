/// Makes an account the default of its registration.
package struct DefaultAccount: Sendable {
    /// The account services that it uses.
    let accounts: AccountServices

    /// Makes an account the default. The newest choice counts, so that there is one default even after an
    /// interruption between the steps.
    ///
    /// - Throws: ``ErrorCode/noSuchAccount`` for one that was forgotten; the errors of the records.
    package func choose(_ account: Account, in group: KeychainGroup) throws(CredentialError) {
        let records = accounts.records
        let others = try records.index(of: group, .ids).entries(of: account.registration).filter {
            $0.id != account.id && $0.madeDefaultAt != nil
        }
        let newest = others.compactMap(\.madeDefaultAt).max()
        let now = max(accounts.clock.now, newest?.adding(1) ?? accounts.clock.now)
        guard try records.update(account.id, in: group, { $0.madeDefaultAt = now }) else {
            throw CredentialError(.noSuchAccount, "account \(account.id) has been removed")
        }
        for other in others {
            do throws(CredentialError) { try records.update(other.id, in: group) { $0.madeDefaultAt = nil } } catch
            {
                // The newest choice counts. A record that cannot be read hurts its account only.
                guard error.code == .storeDamaged || error.code == .unsupported else { throw error }
            }
        }
    }
}
