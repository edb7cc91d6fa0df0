import CredentialCore
import PluginHost

/// The plugins: which may be used, and why one may not.
struct AdapterCheck: DoctorCheck {
    func findings(_ session: Session, isOnline: Bool) -> [Finding] {
        let entries = session.context.providers.entries()
        if entries.isEmpty { return [Finding("plugins", .ok, "none is installed")] }
        return entries.map { entry in finding(entry, session) } + walls(session)
    }

    /// Reports the sandbox of plugins on this machine, and the plugins without one.
    private func walls(_ session: Session) -> [Finding] {
        do throws(CredentialError) {
            let lacking = try session.context.providers.lackingWalls()
            if lacking.isEmpty { return [Finding("confinement", .ok, "plugins run behind every wall")] }
            return lacking.map { Finding("confinement", .note, "a plugin \($0)") }
        } catch {
            return [Finding("confinement", error)]
        }
    }

    private func finding(_ entry: PluginCatalog.Entry, _ session: Session) -> Finding {
        let path = ForeignText.shown(entry.path, limit: 1_000)
        switch entry.state {
        case .available(let provider) where session.configuration.unconfinedPlugins.contains(entry.name):
            return Finding(
                "plugin \(entry.name)", .note,
                "version \(provider.manifest.version) in \(path) runs without walls: it can do whatever you can",
                remedy: "take it out of unconfined_plugins in \(session.context.configurationFile)")
        case .available(let provider):
            return Finding("plugin \(entry.name)", .ok, "version \(provider.manifest.version) in \(path)")
        case .shadowed(let first):
            return Finding("plugin \(ForeignText.shown(entry.name))", .note, "\(path) is shadowed by \(first)")
        case .refused(let error):
            return Finding(
                "plugin \(ForeignText.shown(entry.name))", .problem, "\(path) is refused: \(error)",
                remedy: error.advice)
        }
    }
}
