import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr types`.
struct TypesCommand: Command {
    static let spec = CommandSpec(
        ["types"], aliases: [["types", "list"], ["types", "ls"]], "list the account types",
        details:
            "Lists each account type with its file, adapter, keychain group and client ID.",
        options: [SharedOption.json])

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let entries = try session.catalog.entries()
        if arguments.wantsJSON { return try session.print(.array(entries.map(json))) }
        if entries.isEmpty {
            session.notices.note("no account type is defined; to define one: credmgr types add --help")
            return
        }
        var table = Table(["TYPE", "ADAPTER", "GROUP", "CLIENT ID", "DEFINED IN"])
        for entry in entries {
            switch entry.type {
            case .success(let type):
                table.add([type.name, type.adapter, type.keychainGroup.name, type.clientID, entry.path])
            case .failure(let error):
                table.add([entry.name, "?", "?", "?", entry.path])
                session.notices.warning(error.text)
            }
            for path in entry.shadowed { session.notices.detail("\(path) is shadowed by \(entry.path)") }
        }
        try session.print(table)
    }

    private func json(_ entry: AccountTypeCatalog.Entry) -> JSONValue {
        var object = JSONObject()
        object["name"] = .string(entry.name)
        object["path"] = .string(entry.path)
        object["shadowed"] = JSONValue(entry.shadowed)
        let type = try? entry.type.get()
        object["adapter"] = JSONValue(type?.adapter)
        object["group"] = JSONValue(type?.keychainGroup.name)
        object["client_id"] = JSONValue(type?.clientID)
        object["error"] = if case .failure(let error) = entry.type { .string(error.message) } else { .null }
        return .object(object)
    }
}
