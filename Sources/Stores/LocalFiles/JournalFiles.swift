package import CredentialCore
import Platform

/// The journal of generations in flight: one sealed file per account in the group's `journal` folder.
package struct JournalFiles: TokenSetJournal {
    /// The largest record accepted, in bytes.
    private static let limit = 8 << 20
    private static let reserveSuffix = GroupFolders.reserveSuffix

    private let folders: GroupFolders

    /// Keeps the journals of the groups in `folders`.
    package init(_ folders: GroupFolders) { self.folders = folders }

    /// The accounts that have a record.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func accounts(in group: KeychainGroup) throws(CredentialError) -> [String] {
        guard let folder = try folders.open(.journal, of: group) else { return [] }
        folder.removeStaleTemporaries()
        return try folder.namesInNoOrder().filter(Self.isRecord)
    }

    /// Gives all records, sealed; one that goes meanwhile is left out.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, and the errors of `body`.
    package func eachRecord(
        in group: KeychainGroup, _ body: (_ account: String, _ sealed: [UInt8]) throws(CredentialError) -> Void
    ) throws(CredentialError) {
        guard let folder = try folders.open(.journal, of: group) else { return }
        for account in try folder.namesInNoOrder() where Self.isRecord(account) {
            if let sealed = try folder.read(account, limit: Self.limit) { try body(account, sealed) }
        }
    }

    /// Beside the records lie reserved space, and temporary files, whose names begin with a dot.
    private static func isRecord(_ name: String) -> Bool { !name.hasPrefix(".") && !name.hasSuffix(reserveSuffix) }

    /// The sealed record, or `nil` if there is no record.
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
        // It was raised when the room was reserved. This is the last resort of tokens that have come: no file
        // beside it may stop that.
        try? folders.raiseLayout(of: group)
        let folder = try folders.create(.journal, of: group)
        if try folder.writeReserved(sealed, from: account + Self.reserveSuffix, to: account) { return }
        try folder.write(sealed, to: account, tidying: false)
    }

    /// Sets room for a record of `size` bytes aside.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func reserve(_ size: Int, for account: String, in group: KeychainGroup) throws(CredentialError) {
        try folders.raiseLayout(of: group)
        try folders.create(.journal, of: group).reserve(size, in: account + Self.reserveSuffix)
    }

    /// Reserves room, with the mark of this process at its beginning.
    ///
    /// - Throws: ``ErrorCode/lockTimeout`` if another process has a mark there; ``ErrorCode/inputOutput``.
    package func reserveForSending(
        _ size: Int, of account: String, in group: KeychainGroup
    ) throws(CredentialError) {
        // Now rather than when the tokens have come, which is no time to learn that the disk is full.
        try folders.raiseLayout(of: group)
        let folder = try folders.create(.journal, of: group), name = account + Self.reserveSuffix
        let own = ProcessMark.own, shown = UntrustedText.shown(account)
        var holder: ProcessMark?
        var isReserved = try folder.extendReserve(size, in: name, where: { ProcessMark($0) == own })
        if !isReserved {
            isReserved = try folder.reserve(size, in: name, beginning: own?.bytes ?? []) { bytes in
                holder = bytes.flatMap { ProcessMark($0) }
                return holder?.isAnotherLivingProcess != true
            }
        }
        if !isReserved, let holder {
            throw CredentialError(
                .lockTimeout,
                "process \(holder.processID) is refreshing account \(shown), though the file of its lock was removed",
                hint: "try again")
        }
        // A file system may know neither links nor a rename without replacement.
        guard isReserved, try isMarkedForSending(account, in: group) else {
            throw CredentialError(.lockTimeout, "another process is refreshing \(shown)", hint: "try again")
        }
    }

    /// Whether the mark of this process is there. The reserved space replaces it without `/proc`.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func isMarkedForSending(
        _ account: String, in group: KeychainGroup
    ) throws(CredentialError) -> Bool {
        guard let folder = try folders.open(.journal, of: group),
            let file = try folder.openExisting(account + Self.reserveSuffix)
        else { return false }
        return ProcessMark(file.read(256, at: 0)) == ProcessMark.own
    }

    /// Gives the room back, unless another process that lives has its mark there. The next refresh uses a file that
    /// cannot be removed.
    package func releaseReserve(for account: String, in group: KeychainGroup) {
        guard let folder = try? folders.open(.journal, of: group) else { return }
        try? folder.removeReserve(account + Self.reserveSuffix) { ProcessMark($0)?.isAnotherLivingProcess != true }
    }

    /// Sets a record aside, under a name that is no record's.
    ///
    /// - Returns: its path.
    /// - Throws: ``ErrorCode/inputOutput``.
    package func setAsideUnopened(_ account: String, in group: KeychainGroup) throws(CredentialError) -> String {
        let folder = try folders.create(.journal, of: group)
        var name = ".\(account).unopened", number = 1
        while folder.contains(name) {
            number += 1
            name = ".\(account).unopened-\(number)"
        }
        if folder.contains(account) { try folder.rename(account, to: name) }
        return folder.path(of: name)
    }

    /// Drops the record, and space that a process has reserved which is gone; dropping a missing record is no
    /// error.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func remove(_ account: String, in group: KeychainGroup) throws(CredentialError) {
        guard let folder = try folders.open(.journal, of: group) else { return }
        try folder.remove(account)
        // A process that lives, and be it this one, says with its mark that it is refreshing. The next refresh uses
        // space that cannot be removed.
        try? folder.removeReserve(account + Self.reserveSuffix) { bytes in
            guard let mark = ProcessMark(bytes) else { return false }
            return mark != ProcessMark.own && !mark.isAnotherLivingProcess
        }
    }
}
