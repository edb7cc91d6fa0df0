/// Moves accounts along with their type if its definition names another registration than before.
package struct RegistrationMove: Sendable {
    /// The services that it works on.
    let accounts: AccountServices

    /// The accounts that were signed in under a type and are of its registration, in every group.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a definition that its adapter cannot use; the errors of the
    ///   records.
    package func accounts(
        of type: AccountType
    ) throws(CredentialError) -> [(group: KeychainGroup, account: Account)] {
        let registration = try ClientIdentity(of: type, accounts.machine.adapters)
        var found: [(group: KeychainGroup, account: Account)] = []
        for group in try accounts.records.groups() {
            found += try accounts.records.registry(of: group).accounts(of: registration)
                .filter { $0.type == type.name }.map { (group, $0) }
        }
        return found
    }

    /// Writes the registration of a type's accounts as the definition has it now, before another one takes the
    /// definition's place: a record of the earlier form would be read as the new one's. A group that cannot be read
    /// is reported and left as it is; an unconfirmed definition does not get its accounts either.
    package func pin(accountsOf type: AccountType) {
        // A definition that cannot be used tells no registration.
        guard let registration = try? ClientIdentity(of: type, accounts.machine.adapters) else { return }
        do throws(CredentialError) {
            for group in try accounts.records.groups() {
                do throws(CredentialError) {
                    try pin(type, registration, in: group)
                } catch { accounts.policy.warn(error.text) }
            }
        } catch { accounts.policy.warn(error.text) }
    }

    private func pin(
        _ type: AccountType, _ registration: ClientIdentity, in group: KeychainGroup
    ) throws(CredentialError) {
        for account in try accounts.records.registry(of: group).accounts(of: registration)
        where account.type == type.name {
            guard try accounts.machine.keptRegistration(of: account.id, in: group) != registration else { continue }
            try accounts.records.update(account.id, in: group, isWrittenAnyway: true) { _ in }
        }
    }

    /// Gives an account another registration, in its record and in the data sealed with its tokens.
    ///
    /// - Throws: ``ErrorCode/lockTimeout``; the errors of the records and of the account's store. An account of
    ///   which that is not known to be written has its earlier registration still.
    package func move(
        _ id: String, in group: KeychainGroup, to registration: ClientIdentity
    ) throws(CredentialError) {
        let lock = try accounts.lock(id, in: group)
        defer { lock.release() }
        guard let record = try accounts.records.read(id, in: group) else { return }
        guard var set = try accounts.repository.read(record, isLocked: true) else {
            try accounts.records.update(id, in: group) { $0.registration = registration }
            return
        }
        set.account.formerRegistration = record.account.store == .secretService ? record.account.registration : nil
        set.account.registration = registration
        switch try accounts.repository.save(&set, in: group) {
        case .stored: break
        case .unlisted(let failure), .journaled(let failure), .kept(let failure): throw failure
        case .overtaken:
            throw CredentialError(
                .temporary, "another process has changed \(id)", hint: "try again")
        }
    }
}
