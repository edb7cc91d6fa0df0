package import CredentialCore
import Platform

// The files beside the place of a record that a fault has left there, or that an older version has written.
extension AccountRecordFiles {
    package func setAsideOlder(_ group: KeychainGroup) throws(CredentialError) {
        let folder = try folders.create(of: group)
        try folder.rename(Self.olderName, to: Self.olderName + ".old")
    }

    package func strayRecords(
        of id: String, in group: KeychainGroup
    ) throws(CredentialError) -> [AccountRecord] {
        guard let folder = try folders.open(.accounts, of: group) else { return [] }
        var records: [AccountRecord] = []
        for name in try Self.strays(in: folder) {
            if let record = Self.stray(name, of: id, in: group, folder) { records.append(record) }
        }
        return records.sorted { $0.generation > $1.generation }
    }

    package func removeStrayRecords(of id: String, in group: KeychainGroup) throws(CredentialError) {
        guard let folder = try folders.open(.accounts, of: group) else { return }
        for name in try Self.strays(in: folder) where Self.stray(name, of: id, in: group, folder) != nil {
            try folder.remove(name)
        }
    }

    /// A file under another name, if it is a whole record of the account.
    private static func stray(
        _ name: String, of id: String, in group: KeychainGroup, _ folder: borrowing PrivateDirectory
    ) -> AccountRecord? {
        // A file of another account, or the part of one that was being written, is not evidence about this account.
        guard let bytes = try? folder.read(name, limit: limit) else { return nil }
        return try? AccountRecord(bytes, of: id, in: group)
    }

    /// The files that were being written, and those that the system has created in their place (`.nfsNUMBER`,
    /// `.fuse_hiddenNUMBER`).
    private static func strays(in folder: borrowing PrivateDirectory) throws(CredentialError) -> [String] {
        try folder.namesInNoOrder().filter {
            $0.hasPrefix(".nfs") || $0.hasPrefix(".fuse_hidden") || $0.hasPrefix(".") && $0.hasSuffix(".tmp")
        }
    }
}
