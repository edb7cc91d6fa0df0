import CredentialCore

/// The accounts that `token` would use if no name is given: of each registration at most one.
struct DefaultAccounts {
    private var ids: [ClientIdentity: String] = [:]

    /// - Parameter isWhole: whether every record could be read; else it is not known that an account is the only
    ///   one.
    init(_ registry: AccountList, isWhole: Bool) {
        var newest: [ClientIdentity: Account] = [:]
        var counts: [ClientIdentity: Int] = [:]
        for account in registry.accounts {
            counts[account.registration, default: 0] += 1
            guard let madeDefaultAt = account.madeDefaultAt else { continue }
            if let other = newest[account.registration]?.madeDefaultAt, other > madeDefaultAt { continue }
            newest[account.registration] = account
        }
        for account in registry.accounts where isWhole && counts[account.registration] == 1 {
            newest[account.registration] = account
        }
        ids = newest.mapValues(\.id)
    }

    /// Whether an account is the default of its registration.
    func contains(_ account: Account) -> Bool { ids[account.registration] == account.id }

    /// Whether an account is the default, by the index alone.
    static func contain(_ account: Account, _ index: AccountIndex) -> Bool {
        index.defaultEntry(of: account.registration)?.id == account.id
    }
}
