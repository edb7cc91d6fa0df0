import CredentialCore
import PluginHost

/// The plugins: which may be used, and why one may not.
struct AdapterCheck: DoctorCheck {
    func findings(_ session: CommandSession, isOnline: Bool) -> [Diagnostic] {
        let entries = session.context.providers.entries()
        if entries.isEmpty { return [Diagnostic("plugins", .ok, "no plugin is installed")] }
        return entries.map { entry in finding(entry, session) } + walls(session)
    }

    /// Reports the sandbox of plugins on this machine, and the plugins without one.
    private func walls(_ session: CommandSession) -> [Diagnostic] {
        do throws(CredentialError) {
            let lacking = try session.context.providers.lackingWalls()
            if lacking.isEmpty { return [Diagnostic("confinement", .ok, "plugins run in a complete sandbox")] }
            return lacking.map { Diagnostic("confinement", .note, "a plugin \($0)") }
        } catch {
            return [Diagnostic("confinement", error)]
        }
    }

    private func finding(_ entry: PluginCatalog.Entry, _ session: CommandSession) -> Diagnostic {
        let path = UntrustedText.shown(entry.path, limit: 1_000)
        switch entry.state {
        case .available(let provider) where session.configuration.unconfinedPlugins.contains(entry.name):
            return Diagnostic(
                "plugin \(entry.name)", .note,
                "version \(provider.manifest.version) in \(path) runs without a sandbox: the plugin has all your "
                    + "permissions",
                remedy: "remove the plugin from unconfined_plugins in \(session.context.configurationFile)")
        case .available(let provider):
            return Diagnostic("plugin \(entry.name)", .ok, "version \(provider.manifest.version) in \(path)")
        case .shadowed(let first):
            return Diagnostic("plugin \(UntrustedText.shown(entry.name))", .note, "\(path) is shadowed by \(first)")
        case .refused(let error):
            return Diagnostic(
                "plugin \(UntrustedText.shown(entry.name))", .problem, "\(path) is refused: \(error)",
                remedy: error.advice)
        }
    }
}
