/// Keeps, per account, the sealed token set of a generation in flight, until a later run has read that generation
/// from the account's store.
public protocol TokenSetJournal: Sendable {
    /// The accounts that have a record.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func accounts(in group: KeychainGroup) throws(CredentialError) -> [String]

    /// Gives all records, sealed: who looks at each opens the journal once. One that goes meanwhile is left out.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, and the errors of `body`.
    func eachRecord(
        in group: KeychainGroup, _ body: (_ account: String, _ sealed: [UInt8]) throws(CredentialError) -> Void
    ) throws(CredentialError)

    /// The sealed record, or `nil` if there is no record.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func read(_ account: String, in group: KeychainGroup) throws(CredentialError) -> [UInt8]?

    /// Keeps a sealed record in place of an older one; durable when this returns.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func write(_ sealed: [UInt8], for account: String, in group: KeychainGroup) throws(CredentialError)

    /// Reserves room for a record of `size` bytes, so that writing it cannot fail for want of it.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func reserve(_ size: Int, for account: String, in group: KeychainGroup) throws(CredentialError)

    /// Reserves room as ``reserve(_:for:in:)`` does, and marks with it that this process has a refresh token of the
    /// account on its way. The mark counts as long as the process lives, and goes with the room. It reports if the
    /// file of the account's lock was removed: such a lock keeps no process out.
    ///
    /// - Throws: ``ErrorCode/lockTimeout`` if another process has the mark; ``ErrorCode/inputOutput``.
    func reserveForSending(_ size: Int, of account: String, in group: KeychainGroup) throws(CredentialError)

    /// Whether the mark of ``reserveForSending(_:of:in:)`` is there, and this process's own.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func isMarkedForSending(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool

    /// Gives the room back, as far as no record has taken it.
    func releaseReserve(for account: String, in group: KeychainGroup)

    /// Quarantines a record that no key opens any more: no process reads it again, and it stays.
    ///
    /// - Returns: its place, for the user.
    /// - Throws: ``ErrorCode/inputOutput``.
    func setAsideUnopened(_ account: String, in group: KeychainGroup) throws(CredentialError) -> String

    /// Drops the record; dropping a missing record is no error. The mark of a process that lives stays, this one's
    /// included.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func remove(_ account: String, in group: KeychainGroup) throws(CredentialError)
}
