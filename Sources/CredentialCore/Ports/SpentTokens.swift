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
