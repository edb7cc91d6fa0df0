import CommandLine
import CredentialCore
import PluginHost
import StrictJSON

/// `credmgr adapters`: the adapters, built in and external, and why one was refused.
struct AdaptersCommand: Command {
    static let spec = CommandSpec(
        ["adapters"],
        aliases: [
            ["adapters", "list"], ["adapters", "ls"], ["providers"], ["providers", "list"], ["providers", "ls"],
        ],
        "list the adapters and their status",
        details: """
            Lists the built-in adapters and the plugins in $XDG_DATA_HOME/credmgr/providers and \
            /usr/lib/credmgr/providers. If several have the same name, the first match wins. A plugin that another \
            user could have changed is refused.
            """,
        options: [SharedOption.json])

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let builtIn = session.context.adapters.builtIn
        let entries = session.context.providers.entries()
        let trusted = session.configuration.unconfinedPlugins
        if arguments.wantsJSON {
            let external = entries.map { Self.json($0, isConfined: !trusted.contains($0.name)) }
            return try session.print(.array(builtIn.map(Self.json) + external))
        }
        var table = Table(["ADAPTER", "VERSION", "STATUS", "FROM", "WHAT IT IS"])
        for adapter in builtIn {
            table.add([
                LocalizedMessage(verbatim: adapter.name), LocalizedMessage(verbatim: Program.version),
                LocalizedMessage(verbatim: "available"),
                "built in", LocalizedMessage(kept: adapter.summary),
            ])
        }
        for entry in entries {
            switch entry.state {
            case .available(let provider):
                table.add([
                    entry.name, provider.manifest.version, "available", entry.path, provider.manifest.summary,
                ])
            case .refused: table.add([entry.name, "", "refused", entry.path])
            case .shadowed: table.add([entry.name, "", "shadowed", entry.path])
            }
        }
        try session.print(table)
        for entry in entries {
            switch entry.state {
            case .available: break
            case .shadowed(let first): session.notices.note("\(Self.shown(entry)) is shadowed by \(first)")
            case .refused(let error):
                session.notices.warning("\(Self.shown(entry)) is refused: \(error)")
                if let hint = error.hint { session.notices.say("  \(hint)") }
            }
        }
        try sayWalls(entries, trusted: trusted, session)
    }

    /// Warns about plugins that run without a sandbox, and says which sandboxes this machine lacks.
    private func sayWalls(
        _ entries: [PluginCatalog.Entry], trusted: [String], _ session: CommandSession
    ) throws(CredentialError) {
        let available = entries.filter { if case .available = $0.state { true } else { false } }
        for entry in available where trusted.contains(entry.name) {
            session.notices.warning("the plugin \(entry.name) runs without a sandbox, as set in config.json")
        }
        if available.isEmpty { return }
        for part in try session.context.providers.lackingWalls() {
            session.notices.warning("a plugin \(part)")
        }
    }

    private static func shown(_ entry: PluginCatalog.Entry) -> String {
        UntrustedText.shown(entry.path, limit: 1_000)
    }

    private static func json(_ adapter: any CredentialAdapter) -> JSONValue {
        [
            "name": .string(adapter.name), "origin": "built-in", "status": "available", "reason": .null,
            "path": .null, "version": .string(Program.version), "protocol_version": .null,
            "summary": .string(adapter.summary), "flows": .null, "settings": .null, "confined": .null,
            "needs": .null,
        ]
    }

    private static func json(_ entry: PluginCatalog.Entry, isConfined: Bool) -> JSONValue {
        var object = JSONObject(["name": .string(entry.name), "origin": "external"])
        var provider: InstalledPlugin?
        var reason: String?
        switch entry.state {
        case .available(let found):
            provider = found
            object["status"] = "available"
        case .refused(let error):
            reason = error.message
            object["status"] = "refused"
        case .shadowed(let first):
            reason = "\(first) comes first"
            object["status"] = "shadowed"
        }
        let manifest = provider?.manifest
        object["reason"] = JSONValue(reason)
        object["path"] = .string(entry.path)
        object["version"] = JSONValue(manifest?.version)
        object["protocol_version"] = JSONValue(provider?.protocolVersion)
        object["summary"] = JSONValue(manifest?.summary)
        object["flows"] = manifest.map { JSONValue($0.flows.map(\.rawValue)) } ?? .null
        object["settings"] =
            manifest.map { manifest in
                .array(
                    manifest.settings.map {
                        [
                            "name": .string($0.name), "summary": JSONValue($0.summary),
                            "required": .bool($0.isRequired),
                        ]
                    })
            } ?? .null
        object["confined"] = provider == nil ? .null : .bool(isConfined)
        object["needs"] =
            manifest.map { manifest in
                [
                    "network": JSONValue(manifest.needs.networkNames),
                    "read": JSONValue(manifest.needs.readable), "write": JSONValue(manifest.needs.writable),
                    "pages": JSONValue(manifest.needs.pageNames),
                    "memory": JSONValue(manifest.needs.memory.map(Int64.init)),
                ]
            } ?? .null
        return .object(object)
    }
}
