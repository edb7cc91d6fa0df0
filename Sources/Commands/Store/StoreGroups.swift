import CredentialCore

/// The keychain groups that the commands about stores look at.
enum StoreGroups {
    /// The group asked for; else all with accounts, those of the types that are defined, and the standard one: the
    /// secrets of types are kept in groups that may have no account yet.
    static func withTypes(_ session: CommandSession) throws(CredentialError) -> [KeychainGroup] {
        if let group = session.options.group { return [group] }
        var groups: Set<KeychainGroup> = [.standard]
        for group in try session.context.records.groups() { groups.insert(group) }
        for entry in try session.catalog.entries() {
            if case .success(let type) = entry.type { groups.insert(type.keychainGroup) }
        }
        return groups.sorted { $0.name < $1.name }
    }

    /// Those of ``withTypes(_:)`` that have an encrypted file.
    static func withFile(
        _ session: CommandSession, _ stores: any SecretStores
    ) throws(CredentialError) -> [KeychainGroup] {
        var groups: [KeychainGroup] = []
        for group in try withTypes(session) where try stores.store(.file).protection(of: group) != nil {
            groups.append(group)
        }
        return groups
    }
}
