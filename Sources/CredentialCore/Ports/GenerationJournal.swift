/// Keeps, per account, the sealed token set of a generation in flight, until a later run has read that generation
/// from the account's store.
public protocol GenerationJournal: Sendable {
    /// The accounts that have a record.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func accounts(in group: KeychainGroup) throws(CredentialError) -> [String]

    /// Gives all records, sealed: who looks at each opens the journal once. One that goes meanwhile is left out.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, and what `body` throws.
    func eachRecord(
        in group: KeychainGroup, _ body: (_ account: String, _ sealed: [UInt8]) throws(CredentialError) -> Void
    ) throws(CredentialError)

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

/// Remembers which refresh tokens are used up, apart from the stores, so that no old copy of a store has one sent again.
/// It keeps digests only, those of an account that has signed out as well: a copy from before that may come back.
public protocol SpentTokens: Sendable {
    /// Whether a token is known to be used up. What cannot be read is not known.
    func contains(_ digest: [UInt8], of account: String, in group: KeychainGroup) -> Bool

    /// Notes a token; what cannot be written is not known later.
    func add(_ digest: [UInt8], of account: String, in group: KeychainGroup)

    /// All that is kept: for a token that comes from outside, and may have been any account's. What cannot be read is
    /// left out.
    func all() -> [SpentDigests]

    /// Checks that what is kept can be read, and that more can be noted.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, saying what stands in the way.
    func checkMemory() throws(CredentialError)
}

/// The digests of the used-up refresh tokens of one account.
public struct SpentDigests: Sendable {
    /// The account's group.
    public let group: KeychainGroup
    /// The account's id.
    public let account: String
    /// The digests.
    public let digests: Set<[UInt8]>

    /// Names them.
    public init(group: KeychainGroup, account: String, digests: Set<[UInt8]>) {
        self.group = group
        self.account = account
        self.digests = digests
    }
}
