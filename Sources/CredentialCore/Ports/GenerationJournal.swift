/// Keeps, per account, the sealed token set of a generation in flight, until a later run has read that generation
/// from the account's store.
public protocol GenerationJournal: Sendable {
    /// The accounts that have a record.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func accounts(in group: KeychainGroup) throws(CredentialError) -> [String]

    /// The sealed record, or `nil` where there is none.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func read(_ account: String, in group: KeychainGroup) throws(CredentialError) -> [UInt8]?

    /// Keeps a sealed record in place of an older one; durable when this returns.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func write(_ sealed: [UInt8], for account: String, in group: KeychainGroup) throws(CredentialError)

    /// Sets room for a record of `size` bytes aside, so that writing it cannot fail for want of it.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func reserve(_ size: Int, for account: String, in group: KeychainGroup) throws(CredentialError)

    /// Gives the room back, as far as no record has taken it.
    func releaseReserve(for account: String, in group: KeychainGroup)

    /// Drops the record; dropping what is not there is no error.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func remove(_ account: String, in group: KeychainGroup) throws(CredentialError)
}
