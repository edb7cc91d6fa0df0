import Commands
import CredentialCore
import Platform

/// `$XDG_DATA_HOME/credmgr` on this machine.
struct LinuxDataDirectoryInspector: DataDirectoryInspector {
    let path: String
    let clock: any WallClock
    /// The locks of the accounts, without which no file of one is removed.
    let locks: any AccountLocks
    /// The journals, which remove reserved space only as long as no process has it.
    let journal: any TokenSetJournal

    /// As old as the writing itself takes a temporary file to be left behind.
    private static let staleSeconds: Int64 = 3_600

    func faults() throws(CredentialError) -> [FolderProblem] {
        if let facts = FileStatus.of(path), facts.kind == .folder, !facts.isOwn {
            return [FolderProblem(path: path, kind: .anothers)]
        }
        var faults: [FolderProblem] = []
        // The future location of the folder counts already.
        if let above = PrivateDirectory.exposedFolder(above: path) {
            faults.append(FolderProblem(path: path, kind: .replaceable(above: above)))
        }
        guard let facts = FileStatus.of(path) else {
            try PrivateDirectory.checkCanBeMade(path)
            return faults
        }
        try look(at: path, facts, &faults)
        if let reason = FileSystem.refusal(at: path) {
            faults.append(FolderProblem(path: path, kind: .unwritable(reason)))
        } else if let room = FileSystem.scarceRoom(at: path) {
            faults.append(FolderProblem(path: path, kind: .nearlyFull(room)))
        }
        return faults
    }

    func repair(_ fault: FolderProblem) throws(CredentialError) {
        switch fault.kind {
        case .openToOthers: try FileStatus.close(fault.path)
        case .stale: try removeStale(fault.path)
        case .foreign, .anothers, .replaceable, .setAside, .unwritable, .nearlyFull, .immutable:
            throw CredentialError(.unsupported, "cannot fix \(UntrustedText.shown(fault.path)) automatically")
        }
    }

    /// Removes a file that a killed process has left. It may have come into use while the user was asked. So the
    /// call takes the lock of the file's account, and looks again.
    private func removeStale(_ path: String) throws(CredentialError) {
        let file = GroupFile(path)
        var lock: (any HeldLock)?
        defer { lock?.release() }
        if let file, let account = file.account {
            lock = try locks.tryLock(account, in: file.group)
            guard lock != nil else { throw Self.isInUse(path) }
        }
        guard let facts = FileStatus.of(path) else { return }
        guard isStale(path, facts) else { throw Self.isInUse(path) }
        guard let file, let owner = file.reserveOwner else { return try FileStatus.remove(path) }
        // If the file of the lock was removed, another process may reserve the space just now.
        journal.releaseReserve(for: owner, in: file.group)
        if FileStatus.of(path) != nil { throw Self.isInUse(path) }
    }

    private static func isInUse(_ path: String) -> CredentialError {
        CredentialError(
            .temporary, "\(UntrustedText.shown(path, limit: 4_096)) is in use now and was not removed")
    }

    private func look(at path: String, _ facts: FileStatus, _ faults: inout [FolderProblem]) throws(CredentialError)
    {
        if facts.isOwn, facts.kind == .other, let folder = FileStatus.of(path + "/."), folder.isOwn {
            // A link of the user's own to a folder, as `stow` makes them, counts as the folder.
            return try look(at: path + "/.", folder, &faults)
        }
        guard facts.isOwn, facts.kind != .other else {
            faults.append(FolderProblem(path: path, kind: .foreign))
            return
        }
        if facts.isImmutable { faults.append(FolderProblem(path: path, kind: .immutable)) }
        if facts.isOpenToOthers { faults.append(FolderProblem(path: path, kind: .openToOthers)) }
        guard facts.kind == .folder else {
            let name = path.split(separator: "/").last ?? ""
            if isStale(path, facts) {
                faults.append(FolderProblem(path: path, kind: .stale))
            } else if name.contains(".corrupt-") {
                faults.append(FolderProblem(path: path, kind: .setAside))
            }
            return
        }
        for name in try FileNames.inFolder(path) where !isProgram(name, in: path) {
            let entry = "\(path)/\(name)"
            // A file that has gone meanwhile is no fault.
            if let facts = FileStatus.of(entry) { try look(at: entry, facts, &faults) }
        }
    }

    /// Whether a file was left by a process that was killed, and no process needs it.
    private func isStale(_ path: String, _ facts: FileStatus) -> Bool {
        Self.isTemporary(path.split(separator: "/").last ?? "", at: path)
            && clock.now.epochSeconds - facts.modified > Self.staleSeconds && !Self.mayBeLastCopy(path)
    }

    /// Whether a file beside the records of a group may be all that is left of one. It may if the index names its
    /// account, or cannot be read, and the account has no record that can be read. An account that the index does
    /// not name was signed out, or never signed in.
    private static func mayBeLastCopy(_ path: String) -> Bool {
        guard let file = GroupFile(path), file.folder == "accounts" else { return false }
        let group = file.group, above = file.groups, id = file.hiddenName
        if let folder = try? PrivateDirectory.open([group.name, "accounts"], below: above),
            let bytes = try? folder.read(id, limit: recordLimit),
            (try? AccountRecord(bytes, of: id, in: group)) != nil
        {
            return false
        }
        guard let folder = try? PrivateDirectory.open([group.name], below: above),
            let bytes = try? folder.read("index", limit: indexLimit), let index = AccountIndex(bytes)
        else { return true }
        return index.ids.contains(id)
    }

    /// The largest record and index read, in bytes.
    private static let recordLimit = 8 << 20, indexLimit = 256 << 20

    /// Whether a file is one that its writer removes: a part of another file, or space that no living process has
    /// reserved.
    private static func isTemporary(_ name: Substring, at path: String) -> Bool {
        if name.hasPrefix(".") { return name.hasSuffix(".tmp") }
        guard GroupFile(path)?.reserveOwner != nil else { return false }
        return ProcessMark(ofFile: path)?.isAnotherLivingProcess != true
    }

    /// Adapters and types that the user has installed there have rules of their own.
    private func isProgram(_ name: String, in folder: String) -> Bool {
        [path, path + "/."].contains(folder) && (name == "providers" || name == "types")
    }
}

/// A file in a folder of a group, by its path.
private struct GroupFile {
    let group: KeychainGroup
    /// The name of the folder in that of the group.
    let folder: String
    let name: String
    /// The path of the folder of all groups.
    let groups: String

    init?(_ path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count > 4, parts[parts.count - 4] == "groups",
            let group = try? KeychainGroup(parts[parts.count - 3])
        else { return nil }
        self.group = group
        folder = parts[parts.count - 2]
        name = parts[parts.count - 1]
        groups = parts.dropLast(3).joined(separator: "/")
    }

    /// The account that the file reserves space in the journal for; `nil` for another file.
    var reserveOwner: String? {
        let suffix = ".reserve"
        guard folder == "journal", !name.hasPrefix("."), name.hasSuffix(suffix) else { return nil }
        return String(name.dropLast(suffix.count))
    }

    /// The name of the file that a part of it (`.NAME.RANDOM.tmp`) was to replace, up to the first dot.
    var hiddenName: String { String(name.dropFirst().prefix { $0 != "." }) }

    /// The account whose lock its writers hold; `nil` if they hold no account's.
    var account: String? {
        let account = reserveOwner ?? (["accounts", "journal"].contains(folder) ? hiddenName : "")
        // The names of waiting sign-ins in the journal have a hyphen. Their writers have no lock.
        return Identifier.isValid(account) && !account.hasPrefix("login-") ? account : nil
    }
}
