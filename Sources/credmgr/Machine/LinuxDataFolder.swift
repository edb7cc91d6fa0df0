import Commands
import CredentialCore
import Platform

/// `$XDG_DATA_HOME/credmgr` on this machine.
struct LinuxDataFolder: DataFolder {
    let path: String
    let clock: any WallClock

    /// As old as the writing itself takes a temporary file to be left behind.
    private static let staleSeconds: Int64 = 3_600

    func faults() throws(CredentialError) -> [FolderFault] {
        if let facts = FileFacts.of(path), facts.kind == .folder, !facts.isOwn {
            return [FolderFault(path: path, kind: .anothers)]
        }
        var faults: [FolderFault] = []
        // Where it will be counts already.
        if let above = PrivateDirectory.exposedFolder(above: path) {
            faults.append(FolderFault(path: path, kind: .replaceable(above: above)))
        }
        guard let facts = FileFacts.of(path) else {
            try PrivateDirectory.checkCanBeMade(path)
            return faults
        }
        try look(at: path, facts, &faults)
        if let reason = FileSystem.refusal(at: path) {
            faults.append(FolderFault(path: path, kind: .unwritable(reason)))
        } else if let room = FileSystem.scarceRoom(at: path) {
            faults.append(FolderFault(path: path, kind: .nearlyFull(room)))
        }
        return faults
    }

    func repair(_ fault: FolderFault) throws(CredentialError) {
        switch fault.kind {
        case .openToOthers: try FileFacts.close(fault.path)
        case .stale: try FileFacts.remove(fault.path)
        case .foreign, .anothers, .replaceable, .setAside, .unwritable, .nearlyFull, .immutable:
            throw CredentialError(.unsupported, "\(ForeignText.shown(fault.path)) is for you to look at")
        }
    }

    private func look(at path: String, _ facts: FileFacts, _ faults: inout [FolderFault]) throws(CredentialError) {
        if facts.isOwn, facts.kind == .other, let folder = FileFacts.of(path + "/."), folder.isOwn {
            // A link of the user's own to a folder, as `stow` makes them, counts as the folder.
            return try look(at: path + "/.", folder, &faults)
        }
        guard facts.isOwn, facts.kind != .other else {
            faults.append(FolderFault(path: path, kind: .foreign))
            return
        }
        if facts.isImmutable { faults.append(FolderFault(path: path, kind: .immutable)) }
        if facts.isOpenToOthers { faults.append(FolderFault(path: path, kind: .openToOthers)) }
        guard facts.kind == .folder else {
            let name = path.split(separator: "/").last ?? ""
            if Self.isTemporary(name, at: path), clock.now.epochSeconds - facts.modified > Self.staleSeconds {
                faults.append(FolderFault(path: path, kind: .stale))
            } else if name.contains(".corrupt-") {
                faults.append(FolderFault(path: path, kind: .setAside))
            }
            return
        }
        for name in try FileNames.inFolder(path) where !isProgram(name, in: path) {
            let entry = "\(path)/\(name)"
            // What has gone meanwhile is no fault.
            if let facts = FileFacts.of(entry) { try look(at: entry, facts, &faults) }
        }
    }

    /// Whether a file is one that its writer removes: a part of another file, or room that nobody alive has reserved.
    private static func isTemporary(_ name: Substring, at path: String) -> Bool {
        if name.hasPrefix(".") { return name.hasSuffix(".tmp") }
        guard name.hasSuffix(".reserve"), path.hasSuffix("/journal/\(name)") else { return false }
        return ProcessMark(ofFile: path)?.isAnotherLivingProcess != true
    }

    /// Adapters and types that the user has installed there have rules of their own.
    private func isProgram(_ name: String, in folder: String) -> Bool {
        [path, path + "/."].contains(folder) && (name == "providers" || name == "types")
    }
}
