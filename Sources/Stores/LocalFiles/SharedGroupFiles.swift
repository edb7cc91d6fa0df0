package import CredentialCore
import Platform
import SharedGroups

/// The files that this host keeps of the groups that it shares: `groups/GROUP/shared/`.
package struct SharedGroupFiles: GroupFiles {
    /// The largest file accepted, in bytes.
    private static let limit = 8 << 20

    private let folders: GroupFolders

    /// Keeps the files of the groups in `folders`.
    package init(_ folders: GroupFolders) { self.folders = folders }

    package func read(_ name: String, of group: KeychainGroup) throws(CredentialError) -> [UInt8]? {
        guard !folders.isAbsent(.shared, of: group), let folder = try folders.open(.shared, of: group) else {
            return nil
        }
        return try folder.read(name, limit: Self.limit)
    }

    package func write(_ content: [UInt8], to name: String, of group: KeychainGroup) throws(CredentialError) {
        try folders.create(.shared, of: group).write(content, to: name)
    }

    package func remove(_ name: String, of group: KeychainGroup) throws(CredentialError) {
        try folders.open(.shared, of: group)?.remove(name)
    }

    package func names(of group: KeychainGroup) throws(CredentialError) -> [String] {
        guard let folder = try folders.open(.shared, of: group) else { return [] }
        return try folder.names().filter { !$0.hasPrefix(".") }
    }

    package func place(of group: KeychainGroup) throws(CredentialError) -> String {
        try folders.create(.shared, of: group).place
    }

    package func groups() throws(CredentialError) -> [KeychainGroup] { try folders.groups() }
}
