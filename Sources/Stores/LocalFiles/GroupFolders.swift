package import CredentialCore
import Glibc
package import Platform

/// The folders of the keychain groups' files: `$XDG_DATA_HOME/credmgr/groups/GROUP/`.
package struct GroupFolders: Sendable {
    /// The folders of a group.
    package enum Folder: String, Sendable {
        /// The group's own: the index of names, the encrypted store, the event log.
        case group = ""
        /// The accounts, one record each.
        case accounts
        /// Lock files, which are never removed.
        case locks
        /// Token sets of generations in flight, sealed.
        case journal
        /// How a group is shared with other hosts, and the notes of this host about that.
        case shared
    }

    /// The value of `$XDG_DATA_HOME`.
    package let dataHome: String

    /// Places the groups below `dataHome`.
    package init(dataHome: String) { self.dataHome = dataHome }

    /// Opens a directory of a group and makes it if it is missing.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func create(
        _ folder: Folder = .group, of group: KeychainGroup
    ) throws(CredentialError) -> PrivateDirectory {
        try PrivateDirectory.create(components(folder, group), below: dataHome)
    }

    /// Opens a directory of a group, or gives `nil` if it does not exist.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func open(
        _ folder: Folder = .group, of group: KeychainGroup
    ) throws(CredentialError) -> PrivateDirectory? {
        try PrivateDirectory.open(components(folder, group), below: dataHome)
    }

    /// Whether a folder of a group is not there. One look at its path, which opens no file: most groups are of this
    /// machine alone, and every read of theirs asks.
    package func isAbsent(_ folder: Folder, of group: KeychainGroup) -> Bool {
        let path = ([dataHome] + components(folder, group)).joined(separator: "/")
        return unsafe access(path, F_OK) != 0 && errno == ENOENT
    }

    /// Opens the directory that holds the groups and makes it if it is missing.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func createRoot() throws(CredentialError) -> PrivateDirectory {
        try PrivateDirectory.create(["credmgr", "groups"], below: dataHome)
    }

    /// The groups that have a folder, sorted by name.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func groups() throws(CredentialError) -> [KeychainGroup] {
        guard let root = try PrivateDirectory.open(["credmgr", "groups"], below: dataHome) else { return [] }
        return try root.names().compactMap { try? KeychainGroup($0) }
    }

    // MARK: The layout

    /// The layout of a group's folder that this program writes. In layout 2 the records may have several grants of
    /// a policy, and the journal has its second form; a program that knows layout 1 alone would lose both.
    static let layout = 2
    /// The end of the name of the space reserved for an account's record in the journal.
    static let reserveSuffix = ".reserve"
    /// The file that says which layout a folder has.
    static let formatName = "format"

    /// Has a group of an earlier layout say that this program writes there, so that one that does not know this
    /// layout leaves the group alone.
    ///
    /// - Throws: ``ErrorCode/lockTimeout`` while an earlier program refreshes an account of the group: it could not
    ///   keep its result; ``ErrorCode/inputOutput``.
    func raiseLayout(of group: KeychainGroup) throws(CredentialError) {
        guard let folder = try open(of: group), let text = try folder.read(Self.formatName, limit: 4_096),
            let number = Int(String(decoding: text.prefix { $0 != 0x0A }, as: UTF8.self)), number > 0,
            number < Self.layout
        else { return }
        try checkIsIdle(group)
        try folder.write(Array("\(Self.layout)\n".utf8), to: Self.formatName)
    }

    /// Looks whether another process that lives has a refresh on its way.
    private func checkIsIdle(_ group: KeychainGroup) throws(CredentialError) {
        guard let journal = try open(.journal, of: group) else { return }
        for name in try journal.namesInNoOrder() where name.hasSuffix(Self.reserveSuffix) {
            guard let file = try journal.openExisting(name), let mark = ProcessMark(file.read(256, at: 0)),
                mark.isAnotherLivingProcess
            else { continue }
            let account = UntrustedText.shown(String(name.dropLast(Self.reserveSuffix.count)))
            throw CredentialError(
                .lockTimeout,
                "process \(mark.processID) of an older credmgr is refreshing account \(account) of group \(group)",
                hint: "try again")
        }
    }

    private func components(_ folder: Folder, _ group: KeychainGroup) -> [String] {
        ["credmgr", "groups", group.name] + (folder == .group ? [] : [folder.rawValue])
    }
}
