/// Seals the token sets that stand in records.
///
/// Each is bound to its group, account and generation, so that none can stand in another's place.
public protocol TokenSetCipher: Sendable {
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

    /// The name of the key that seals token sets of a group now, as ``SealedTokenSet/key`` has it; `nil` where there is none
    /// yet. It is read anew with each call, and no key is opened for it.
    ///
    /// - Throws: as ``open(_:of:in:)``.
    func currentKey(of group: KeychainGroup) throws(CredentialError) -> String?

    /// Forgets the keys that were replaced, but for those in `needed`; what the others have sealed cannot be opened from then on.
    ///
    /// - Parameters:
    ///   - group: the group.
    ///   - needed: the keys that something still names. That nothing is about to name another is the caller's to see to
    ///     (`KeyReplacement`).
    /// - Returns: how many of them are kept.
    /// - Throws: as ``SecretStore/write(_:for:label:)``.
    func forgetReplacedKeys(of group: KeychainGroup, but needed: Set<String>) throws(CredentialError) -> Int
}

extension TokenSetCipher {
    /// Not known.
    public func opensByItself(_ group: KeychainGroup) -> Bool { false }
}
