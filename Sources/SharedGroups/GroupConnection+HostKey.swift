import CredentialCore

// The key pair of this host, which stays in a store of this machine.
extension GroupConnection {
    private static let hostKeyOwner = "host"

    /// The key pair that a store of this machine has for a group.
    static func storedKey(
        _ group: KeychainGroup, _ store: StoreKind, _ parts: ClusterGroupService.Parts
    ) throws(CredentialError) -> GroupMembership.HostKey? {
        guard let bytes = try parts.stores().store(store).read(item(group)) else { return nil }
        guard bytes.count == 64 else {
            throw CredentialError(.storeDamaged, "the key of this host for the group \(group) is damaged")
        }
        return GroupMembership.HostKey(privateKey: Array(bytes[..<32]), publicKey: Array(bytes[32...]))
    }

    /// The key pair of this host, made if it does not exist yet.
    static func makeKey(
        _ group: KeychainGroup, _ store: StoreKind, _ parts: ClusterGroupService.Parts
    ) throws(CredentialError) -> GroupMembership.HostKey {
        if let key = try storedKey(group, store, parts) { return key }
        let made = try parts.cryptography.makeAgreementKey()
        try parts.stores().store(store).write(
            made.privateKey + made.publicKey, for: item(group), label: "credmgr: host key of group \(group)")
        return GroupMembership.HostKey(privateKey: made.privateKey, publicKey: made.publicKey)
    }

    /// Forgets the key pair.
    static func forgetKey(
        _ group: KeychainGroup, _ store: StoreKind, _ parts: ClusterGroupService.Parts
    ) throws(CredentialError) {
        try parts.stores().store(store).remove(item(group))
    }

    private static func item(_ group: KeychainGroup) -> SecretItem {
        SecretItem(group: group, owner: hostKeyOwner, kind: .hostKey)
    }
}
