/// Seals the token sets that stand in records.
///
/// Each is bound to its group, account and generation, so that none can stand in another's place.
public protocol TokenSetVault: Sendable {
    /// Seals a token set with the group's key, which is made where there is none yet.
    ///
    /// - Throws: as ``SecretStore/write(_:for:label:)``.
    func seal(
        _ tokenSet: [UInt8], of account: String, generation: Int64, in group: KeychainGroup
    ) throws(CredentialError) -> SealedTokenSet

    /// Opens a token set.
    ///
    /// - Throws: ``ErrorCode/storeDamaged`` where it was changed or is another account's; as
    ///   ``SecretStore/read(_:)``.
    func open(
        _ sealed: SealedTokenSet, of account: String, in group: KeychainGroup
    ) throws(CredentialError) -> [UInt8]

    /// Whether every process of the user's opens the token sets of a group by itself: nobody has to be asked for anything.
    /// Not where that is not known.
    func opensByItself(_ group: KeychainGroup) -> Bool

    /// Whether a token set was sealed with a key that was replaced since.
    ///
    /// - Throws: as ``open(_:of:in:)``.
    func isOutdated(_ sealed: SealedTokenSet, in group: KeychainGroup) throws(CredentialError) -> Bool

    /// Forgets the keys that were replaced; what they have sealed cannot be opened from then on.
    ///
    /// - Throws: as ``SecretStore/write(_:for:label:)``.
    func forgetReplacedKeys(of group: KeychainGroup) throws(CredentialError)
}

extension TokenSetVault {
    /// Not known.
    public func opensByItself(_ group: KeychainGroup) -> Bool { false }
}
