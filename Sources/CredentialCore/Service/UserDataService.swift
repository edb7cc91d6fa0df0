package import StrictJSON

/// The data that programs keep of their own beside an account. It is in the token set, so it moves, is exported and
/// is forgotten with the account, and is as secret as its tokens.
package struct UserDataService: Sendable {
    /// The most that an account may carry, in bytes of JSON.
    package static let limit = 64 << 10
    /// How long to wait for another process's work on the account, in seconds: a caller that writes user data does
    /// not expect to wait for a provider.
    private static let patience = 3

    /// The account services that it uses.
    let accounts: AccountServices

    /// Returns the data that is kept; an empty object for an account without any.
    ///
    /// - Throws: the errors of the store.
    package func read(of account: Account, in group: KeychainGroup) throws(CredentialError) -> JSONObject {
        try accounts.repository.read(account, in: group, isLocked: false)?.userData ?? JSONObject()
    }

    /// Replaces the kept data, and notifies every process of the group.
    ///
    /// - Throws: ``ErrorCode/usage`` for more than ``limit``; ``ErrorCode/noSuchAccount``;
    ///   ``ErrorCode/lockTimeout`` while another process is at work on the account; the errors of the store.
    package func write(
        _ data: JSONObject, of account: Account, in group: KeychainGroup
    ) throws(CredentialError) {
        let size = JSONValue.object(data).bytes().count
        guard size <= Self.limit else {
            throw CredentialError(.usage, "the user data is \(size) bytes long; \(Self.limit) is the limit")
        }
        let lock = try accounts.locks.lock(account.id, in: group, seconds: min(Self.patience, accounts.lockWait))
        defer { lock.release() }
        guard try accounts.records.read(account.id, in: group) != nil,
            var set = try accounts.repository.read(account, in: group, isLocked: true)
        else { throw CredentialError(.noSuchAccount, "account \(account.id) has been removed") }
        set.userData = data
        switch try accounts.repository.save(&set, in: group) {
        case .stored, .unlisted: break
        case .journaled(let failure), .kept(let failure):
            accounts.policy.warn(
                "the \(account.store.shownName) has not stored the user data yet: \(failure)")
        case .overtaken:
            throw CredentialError(
                .temporary, "another process has changed \(account.id)", hint: "try again")
        }
        accounts.events.append(
            AccountEvent(
                kind: .accountUpdated, time: accounts.clock.now, group: group, type: account.type,
                account: account.id))
    }
}
