/// Remembers which refresh tokens are used up, apart from the stores, so that no old copy of a store has one sent again.
/// It keeps digests only.
public protocol SpentTokens: Sendable {
    /// Whether a token is known to be used up. What cannot be read is not known.
    func contains(_ digest: [UInt8], of account: String, in group: KeychainGroup) -> Bool

    /// Notes a token; what cannot be written is not known later.
    func add(_ digest: [UInt8], of account: String, in group: KeychainGroup)

    /// Forgets what is known of an account.
    func removeAll(of account: String, in group: KeychainGroup)
}
