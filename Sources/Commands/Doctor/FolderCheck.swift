import CredentialCore

/// Files below the data folder: owners, modes, and what killed processes left.
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
                        "files", .problem, "others can open \(path)", remedy: "chmod go= '\(path)'",
                        repair: repair("close it to others"))
                case .foreign:
                    Diagnostic(
                        "files", .problem, "\(path) is a link, no plain file, or belongs to another user",
                        remedy: "look at it, and move it away")
                case .anothers:
                    Diagnostic(
                        "files", .problem, "\(path) belongs to another user",
                        remedy: "run credmgr as that user, or set XDG_DATA_HOME")
                case .replaceable(let above):
                    Diagnostic(
                        "files", .problem,
                        "others can put something else in the place of \(path): they can write in "
                            + "\(UntrustedText.shown(above, limit: 4_096))",
                        remedy: "chmod go-w '\(above)'")
                case .stale:
                    Diagnostic(
                        "files", .problem, "\(path) was left by a process that was killed",
                        repair: repair("remove it"))
                case .unwritable(let reason):
                    Diagnostic(
                        "files", .problem, "nothing can be written to \(path): \(reason)",
                        remedy: "df -h '\(path)'")
                case .nearlyFull(let room):
                    Diagnostic(
                        "files", .note, "the file system of \(path) is nearly full: \(room)",
                        remedy: "df -h '\(path)'; df -i '\(path)'")
                case .immutable:
                    Diagnostic(
                        "files", .problem, "nothing can be changed in \(path): it is immutable",
                        remedy: "sudo chattr -ia '\(path)'")
                case .setAside:
                    Diagnostic(
                        "files", .note, "\(path) is damaged and was set aside",
                        remedy: "keep it as long as something is missing, then remove it")
                }
            }
        } catch {
            return [Diagnostic("files", error)]
        }
    }
}
