/// Keeps the registry of each keychain group.
public protocol RegistryStore: Sendable {
    /// The registry of `group`; an empty one where there is none yet.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be read; ``ErrorCode/storeDamaged`` when it is damaged
    ///   and could not be set aside.
    func read(_ group: KeychainGroup) throws(CredentialError) -> AccountRegistry

    /// Changes the registry of `group` under its lock: reads, changes, replaces atomically.
    ///
    /// Nothing is written when `change` throws or leaves the registry as it was.
    func update<Result>(
        _ group: KeychainGroup, _ change: (inout AccountRegistry) throws(CredentialError) -> Result
    ) throws(CredentialError) -> Result

    /// The groups that have a registry, sorted by name.
    func groups() throws(CredentialError) -> [KeychainGroup]
}
