import CredentialCore

/// Files below the data directory: owners, modes, and leftovers of killed processes.
struct FolderCheck: DoctorCheck {
    func findings(_ session: CommandSession, isOnline: Bool) -> [Diagnostic] {
        let folder = session.context.dataFolder
        do throws(CredentialError) {
            let faults = try folder.faults()
            guard !faults.isEmpty else {
                return [Diagnostic("files", .ok, "only you can open the files in \(session.context.dataHome)")]
            }
            return faults.map { fault in
                let path = UntrustedText.shown(fault.path, limit: 4_096)
                let repair: (LocalizedMessage) -> Diagnostic.Fix = { action in
                    Diagnostic.Fix(action) { () throws(CredentialError) in try folder.repair(fault) }
                }
                return switch fault.kind {
                case .openToOthers:
                    Diagnostic(
                        "files", .problem, "other users can open \(path)", remedy: "chmod go= '\(path)'",
                        repair: repair("remove the permissions of other users"))
                case .foreign:
                    Diagnostic(
                        "files", .problem, "\(path) is a symbolic link or special file, or belongs to another user",
                        remedy: "inspect the file, and move it to another directory")
                case .anothers:
                    Diagnostic(
                        "files", .problem, "\(path) belongs to another user",
                        remedy: "run credmgr as that user, or set XDG_DATA_HOME")
                case .replaceable(let above):
                    Diagnostic(
                        "files", .problem,
                        "other users can replace \(path): they can write to "
                            + "\(UntrustedText.shown(above, limit: 4_096))",
                        remedy: "chmod go-w '\(above)'")
                case .stale:
                    Diagnostic(
                        "files", .problem, "\(path) was left by a killed process",
                        repair: repair("remove it"))
                case .unwritable(let reason):
                    Diagnostic(
                        "files", .problem, "cannot write to \(path): \(reason)",
                        remedy: "df -h '\(path)'")
                case .nearlyFull(let room):
                    Diagnostic(
                        "files", .note, "the file system of \(path) is nearly full: \(room)",
                        remedy: "df -h '\(path)'; df -i '\(path)'")
                case .immutable:
                    Diagnostic(
                        "files", .problem, "cannot change \(path): it is immutable",
                        remedy: "sudo chattr -ia '\(path)'")
                case .setAside:
                    Diagnostic(
                        "files", .note, "\(path) is damaged and was quarantined",
                        remedy: "keep the file while data is missing, then remove the file")
                }
            }
        } catch {
            return [Diagnostic("files", error)]
        }
    }
}
