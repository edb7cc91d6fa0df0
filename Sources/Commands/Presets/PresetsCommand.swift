import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr presets`.
struct PresetsCommand: Command {
    static let spec = CommandSpec(
        ["presets"], "list the presets of providers",
        details: """
            Lists the presets for 'types add --preset' and the values that each preset requires. A preset is a \
            file NAME.json in a directory 'credmgr/presets' of the configuration or data directories. Some presets \
            are built in.
            """,
        options: [SharedOption.json])

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let entries = try session.context.presets.entries()
        if arguments.wantsJSON { return try session.print(.array(entries.map(Self.json))) }
        var table = Table(["PRESET", "PROVIDER", "TO FILL IN", "FROM", "PURPOSE"])
        for entry in entries {
            let name = LocalizedMessage(verbatim: entry.name)
            let origin: LocalizedMessage = entry.path.map(LocalizedMessage.init(verbatim:)) ?? "built in"
            switch entry.preset {
            case .success(let preset):
                let options = preset.placeholders.filter { $0.standard == nil }.map { placeholder in
                    placeholder.name == "tenant" ? "--tenant" : "--set \(placeholder.name)="
                }
                table.add([
                    name, LocalizedMessage(verbatim: preset.title),
                    LocalizedMessage(verbatim: options.joined(separator: " ")),
                    origin,
                    LocalizedMessage(kept: preset.summary),
                ])
            case .failure(let error):
                table.add([name, LocalizedMessage(verbatim: "?"), LocalizedMessage(verbatim: "?"), origin])
                session.notices.warning(error.text)
            }
        }
        try session.print(table)
    }

    private static func json(_ entry: PresetCatalog.Entry) -> JSONValue {
        var object = JSONObject(["name": .string(entry.name)])
        object["origin"] = entry.path == nil ? "built-in" : "file"
        object["path"] = JSONValue(entry.path)
        switch entry.preset {
        case .success(let preset): for (name, value) in preset.json.members { object[name] = value }
        case .failure(let error): object["error"] = .string(error.message)
        }
        return .object(object)
    }
}
