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
                    "whoever gets the store's file without the key file, and other users of this machine",
                doesNotProtectAgainst: "whoever gets both files, as from a stolen disk that is not encrypted or a "
                    + "backup of the whole data folder, nor programs that run as you, nor the administrator",
                isUnlockedByPeople: passphrases > 0)
            return
        }
        self.init(
            summary: summary,
            protectsAgainst: "whoever gets the files, as from a stolen disk or a backup, and does not guess the "
                + "passphrase",
            doesNotProtectAgainst:
                "programs that run as you while the store is unlocked or the passphrase lies in a "
                + "file, nor the administrator")
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
