import CredentialCore

/// The registries of the groups that were read.
struct AccountListing {
    /// The groups that can be read, and of each whether all of its records can.
    fileprivate(set) var read: [(group: KeychainGroup, registry: AccountList, isWhole: Bool)] = []
    /// Those that cannot, and why.
    fileprivate(set) var failures: [(group: KeychainGroup, error: CredentialError)] = []

    /// The error if no registry can be read; `nil` if one can be read, or there is no registry.
    var failure: CredentialError? {
        guard read.isEmpty, let last = failures.last else { return nil }
        return last.error.together(with: failures.dropLast().map(\.error))
    }

    /// The groups that cannot be read, which are missing in a list.
    var leftOut: [(group: KeychainGroup, error: CredentialError)] {
        failures.map { group, error in
            (
                group,
                CredentialError(
                    error.code, "the accounts of group \(group) are left out: \(error)", hint: error.advice,
                    details: error.details)
            )
        }
    }
}

extension CommandSession {
    /// The groups that a command without an account is about, with their accounts: the type's group, else the one
    /// asked for, else all. A group that cannot be read stops no other one.
    ///
    /// - Parameter leftOut: receives the error of a group that cannot be read, if it is one of several, or of a
    ///   record in it.
    /// - Returns: the groups, and of each whether all of its records could be read.
    /// - Throws: the error of reading the groups if no group can be read: that differs from an empty list.
    func registries(
        of type: AccountType? = nil, leftOut: (KeychainGroup, CredentialError) -> Void
    ) throws(CredentialError) -> [(group: KeychainGroup, registry: AccountList, isWhole: Bool)] {
        let registries = try listGroups(of: type, leftOut: leftOut)
        if let failure = registries.failure { throw failure }
        for (group, error) in registries.leftOut { leftOut(group, error) }
        return registries.read
    }

    /// As ``registries(of:leftOut:)``, for who has something to say of groups of which no account can be read.
    ///
    /// - Parameter leftOut: receives the error of a record of a group.
    func listGroups(
        of type: AccountType? = nil, leftOut: (KeychainGroup, CredentialError) -> Void
    ) throws(CredentialError) -> AccountListing {
        var registries = AccountListing()
        let groups = if let type { [TargetResolver(self).group(of: type)] } else { try groups() }
        for group in groups {
            do throws(CredentialError) {
                let (registry, isWhole) = try registry(of: group, leftOut: leftOut)
                registries.read.append((group, registry, isWhole))
            } catch {
                registries.failures.append((group, error))
            }
        }
        return registries
    }

    /// The accounts of a group that can be read; if all of them are damaged, that is an error.
    private func registry(
        of group: KeychainGroup, leftOut: (KeychainGroup, CredentialError) -> Void
    ) throws(CredentialError) -> (registry: AccountList, isWhole: Bool) {
        // A sign-in that could not be stored at once is listed as soon as it can be. The user is not asked for a
        // passphrase for it.
        let services = services(stores(mayPrompt: false))
        _ = services.takeUpSignIns(in: group)
        for account in try services.repository.accountsWaiting(in: group) {
            notices.note(account.signInWaits)
        }
        var damage: [(id: String, error: CredentialError)] = []
        let registry = try context.records.registry(of: group) { damage.append(($0, $1)) }
        if let failure = context.machine.sharing.recentFailure(of: group) {
            notices.note("group \(group) is shown as this host has last seen it: \(failure)")
        }
        if registry.accounts.isEmpty, let last = damage.last {
            throw last.error.together(with: damage.dropLast().map(\.error))
        }
        for (id, error) in damage {
            let isCopied = registry.accounts.contains { $0.id == id }
            leftOut(
                group,
                CredentialError(
                    error.code,
                    isCopied
                        ? "account \(id) of group \(group) is shown as this host has last seen it: \(error)"
                        : "account \(id) of group \(group) is left out: \(error)", hint: error.advice,
                    details: error.details))
        }
        return (registry, damage.isEmpty)
    }

    /// Every account of these groups; with a type those that it sees.
    ///
    /// - Parameter leftOut: as with ``registries(of:leftOut:)``.
    func accounts(
        of type: AccountType? = nil, leftOut: (KeychainGroup, CredentialError) -> Void
    ) throws(CredentialError) -> [(group: KeychainGroup, account: Account)] {
        let registration = try type.map { (type) throws(CredentialError) in
            try TargetResolver(self).registration(of: type)
        }
        return try registries(of: type, leftOut: leftOut).flatMap { group, registry, _ in
            (registration.map { registry.accounts(of: $0) } ?? registry.accounts).map { (group, $0) }
        }
    }
}
