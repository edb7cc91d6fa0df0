import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr groups`: from definitions and registries alone, so it works while the keyring is locked.
struct GroupsCommand: Command {
    static let spec = CommandSpec(
        ["groups"], "list the keychain groups",
        details: "Lists the keychain groups with their account types and the number of accounts in each.",
        options: [SharedOption.json])

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    private struct Row {
        var types: Set<String> = []
        var accountCount = 0
    }

    func run(_ session: Session) throws(CredentialError) {
        var rows: [String: Row] = [:]
        for entry in try session.catalog.entries() {
            // A definition with a fault belongs to no group yet; 'types' tells of it.
            guard let type = try? entry.type.get() else { continue }
            rows[type.keychainGroup.name, default: Row()].types.insert(entry.name)
        }
        for (group, registry, _) in try session.registries(leftOut: { session.notices.warning($0.text) }) {
            // A group that was only asked for is none.
            if session.options.group != nil, registry.accounts.isEmpty, rows[group.name] == nil { continue }
            rows[group.name, default: Row()].types.formUnion(registry.accounts.map(\.type))
            rows[group.name, default: Row()].accountCount = registry.accounts.count
        }
        if let group = session.options.group { rows = rows.filter { $0.key == group.name } }
        let sorted = rows.sorted { $0.key < $1.key }
        if arguments.wantsJSON {
            return try session.print(
                .array(
                    sorted.map { name, row in
                        var object = JSONObject()
                        object["group"] = .string(name)
                        object["types"] = JSONValue(row.types.sorted())
                        object["accounts"] = .integer(Int64(row.accountCount))
                        return .object(object)
                    }))
        }
        if sorted.isEmpty { return session.notices.note("there is no keychain group yet") }
        var table = Table(["GROUP", "ACCOUNTS", "TYPES"])
        for (name, row) in sorted {
            table.add([
                name, String(row.accountCount), ForeignText.shown(row.types.sorted().joined(separator: ", ")),
            ])
        }
        try session.print(table)
    }
}
