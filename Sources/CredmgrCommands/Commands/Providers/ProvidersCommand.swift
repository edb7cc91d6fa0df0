import CredentialCore
import ProviderHost
import StrictJSON

/// `credmgr providers`: the adapters, built in and external, and why one was refused.
struct ProvidersCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let builtIn = session.context.adapters.builtIn
        let entries = session.context.providers.entries()
        if arguments.wantsJSON {
            return try session.print(.array(builtIn.map(Self.json) + entries.map(Self.json)))
        }
        var table = Table(["ADAPTER", "VERSION", "STATUS", "FROM", "WHAT IT IS"])
        for adapter in builtIn {
            table.add([adapter.name, Program.version, "available", "built in", adapter.summary])
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
                session.notices.warning("\(Self.shown(entry)) is refused: \(error.message)")
                if let hint = error.hint { session.notices.say("  \(hint)") }
            }
        }
    }

    private static func shown(_ entry: ProviderCatalog.Entry) -> String {
        ForeignText.shown(entry.path, limit: 1_000)
    }

    private static func json(_ adapter: any CredentialAdapter) -> JSONValue {
        [
            "name": .string(adapter.name), "origin": "built-in", "status": "available", "reason": .null,
            "path": .null, "version": .string(Program.version), "protocol_version": .null,
            "summary": .string(adapter.summary), "flows": .null, "settings": .null,
        ]
    }

    private static func json(_ entry: ProviderCatalog.Entry) -> JSONValue {
        var object = JSONObject(["name": .string(entry.name), "origin": "external"])
        var provider: InstalledProvider?
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
        return .object(object)
    }
}
