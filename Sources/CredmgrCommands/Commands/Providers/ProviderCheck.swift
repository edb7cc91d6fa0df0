import CredentialCore
import ProviderHost

/// The external adapters: which may be used, and why one may not.
struct ProviderCheck: DoctorCheck {
    func findings(_ session: Session, isOnline: Bool) -> [Finding] {
        let entries = session.context.providers.entries()
        if entries.isEmpty { return [Finding("plugins", .ok, "none is installed")] }
        return entries.map { entry in
            let path = ForeignText.shown(entry.path, limit: 1_000)
            return switch entry.state {
            case .available(let provider):
                Finding("plugin \(entry.name)", .ok, "version \(provider.manifest.version) in \(path)")
            case .shadowed(let first):
                Finding("plugin \(ForeignText.shown(entry.name))", .note, "\(path) is shadowed by \(first)")
            case .refused(let error):
                Finding(
                    "plugin \(ForeignText.shown(entry.name))", .problem, "\(path) is refused: \(error.message)",
                    remedy: error.hint)
            }
        }
    }
}
