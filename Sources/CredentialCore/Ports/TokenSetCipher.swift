/// Seals the token sets in records.
///
/// Each is bound to its group, account and generation, so that it cannot take another's place.
public protocol TokenSetCipher: Sendable {
    /// Seals a token set with the group's key, and makes the key if the group does not have one yet.
    ///
    /// - Throws: as ``SecretStore/write(_:for:label:)``.
    func seal(
        _ tokenSet: [UInt8], of account: String, generation: Int64, in group: KeychainGroup
    ) throws(CredentialError) -> SealedTokenSet

    /// Opens a token set.
    ///
    /// - Throws: ``ErrorCode/storeDamaged`` if it was changed or is another account's; as ``SecretStore/read(_:)``.
    func open(
        _ sealed: SealedTokenSet, of account: String, in group: KeychainGroup
    ) throws(CredentialError) -> [UInt8]

    /// Whether every process of the user opens the token sets of a group by itself, without a prompt. False if that
    /// is not known.
    func opensByItself(_ group: KeychainGroup) -> Bool

    /// The name of the key that seals token sets of a group now, as ``SealedTokenSet/key`` has it; `nil` if there
    /// is no key yet. Each call reads it again, and opens no key for it.
    ///
    /// - Throws: as ``open(_:of:in:)``.
    func currentKey(of group: KeychainGroup) throws(CredentialError) -> String?

    /// Forgets the keys that were replaced, but for those in `needed`; the data that the others have sealed cannot
    /// be opened from then on.
    ///
    /// - Parameters:
    ///   - group: the group.
    ///   - needed: the keys that something still names. The caller ensures that no process is about to name another
    ///     key (`KeyReplacement`).
    /// - Returns: how many of them are kept.
    /// - Throws: as ``SecretStore/write(_:for:label:)``.
    func forgetReplacedKeys(of group: KeychainGroup, but needed: Set<String>) throws(CredentialError) -> Int
}

extension TokenSetCipher {
    /// Not known.
    public func opensByItself(_ group: KeychainGroup) -> Bool { false }
}
