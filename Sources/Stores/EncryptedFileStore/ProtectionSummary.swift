package import CredentialCore

extension ProtectionSummary {
    /// The words for a file with these slots.
    package init(slots: [StoreSlot]) {
        let passphrases = slots.filter { $0 != .keyFile }.count
        let hasKeyFile = slots.contains(.keyFile)
        let summary: LocalizedMessage =
            switch (passphrases, hasKeyFile) {
            case (0, _): "encrypted with the key file credmgr/file-store.key"
            case (1, false): "encrypted with a passphrase"
            case (_, false): "encrypted with any of \(passphrases) passphrases"
            case (_, true): "encrypted with a passphrase or the key file credmgr/file-store.key"
            }
        guard !hasKeyFile else {
            self.init(
                summary: summary,
                protectsAgainst:
                    "anyone with the store's file but without the key file, and other users of this machine",
                doesNotProtectAgainst: "anyone with both files (from a stolen unencrypted disk or a backup of the "
                    + "whole data directory), programs that run as you, or the administrator",
                isUnlockedByPeople: passphrases > 0)
            return
        }
        self.init(
            summary: summary,
            protectsAgainst: "anyone with the files (from a stolen disk or a backup) but without the passphrase",
            doesNotProtectAgainst:
                "programs that run as you while the store is unlocked or the passphrase is in a file, or the "
                + "administrator")
    }
}

extension EncryptedFileStore {
    /// The protection of the file of a group; `nil` if there is no file.
    ///
    /// - Throws: as ``slots(of:)``.
    package func protection(of group: KeychainGroup) throws(CredentialError) -> ProtectionSummary? {
        try slots(of: group).map { ProtectionSummary(slots: $0) }
    }
}
