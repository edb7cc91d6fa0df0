package import CredentialCore

extension SecretServiceStore {
    /// What protects the default collection: the same for every group.
    package func protection(of group: KeychainGroup) throws(CredentialError) -> StoreProtection? {
        StoreProtection(
            summary: "kept by the desktop's keyring, encrypted with the password that unlocks it",
            protectsAgainst: "whoever gets the disk or a backup, and other users of this machine",
            doesNotProtectAgainst: "programs that run as you while the keyring is unlocked, nor the administrator")
    }
}
