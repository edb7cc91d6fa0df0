package import CredentialCore
import LinuxPlatform

/// The journal of generations in flight: one sealed file per account in the group's `journal` folder.
package struct JournalFiles: GenerationJournal {
    /// The largest record accepted, in bytes.
    private static let limit = 8 << 20

    private let folders: GroupFolders

    /// Keeps the journals of the groups in `folders`.
    package init(_ folders: GroupFolders) { self.folders = folders }

    /// The sealed record, or `nil` where there is none.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func read(_ account: String, in group: KeychainGroup) throws(CredentialError) -> [UInt8]? {
        guard let folder = try folders.open(.journal, of: group) else { return nil }
        return try folder.read(account, limit: Self.limit)
    }

    /// Keeps a sealed record in place of an older one; durable when this returns.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func write(
        _ sealed: [UInt8], for account: String, in group: KeychainGroup
    ) throws(CredentialError) {
        try folders.create(.journal, of: group).write(sealed, to: account)
    }

    /// Drops the record; dropping what is not there is no error.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func remove(_ account: String, in group: KeychainGroup) throws(CredentialError) {
        guard let folder = try folders.open(.journal, of: group) else { return }
        try folder.remove(account)
    }
}
