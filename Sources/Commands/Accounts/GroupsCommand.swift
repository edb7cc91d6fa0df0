import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr groups`: from definitions and registries alone, so it works while the keyring is locked.
struct GroupsCommand: Command {
    static let spec = CommandSpec(
        ["groups"], "list the keychain groups",
        details: """
            Lists the keychain groups with their account types and the number of accounts in each. For a shared \
            group, it also prints the name of this host in the group, the endpoints of the cluster, and whether \
            the cluster responds. If a group cannot be read, the command prints a warning and does not count its \
            accounts. It fails only if no other group can be listed.
            """,
        options: [SharedOption.json])

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    private struct Row {
        var types: Set<String> = []
        /// `nil` if they cannot be read.
        var accountCount: Int? = 0
        var backend: ClusterConfiguration?
        var state = StoreState.usable
    }

    func run(_ session: CommandSession) throws(CredentialError) {
        var rows: [String: Row] = [:]
        for entry in try session.catalog.entries() {
            // A definition with a fault belongs to no group yet; 'types' reports it.
            guard let type = try? entry.type.get() else { continue }
            rows[type.keychainGroup.name, default: Row()].types.insert(entry.name)
        }
        let registries = try session.listGroups { session.notices.warning($1.text) }
        for (group, registry, _) in registries.read {
            // A group that was only asked for does not count.
            if session.options.group != nil, registry.accounts.isEmpty, rows[group.name] == nil { continue }
            rows[group.name, default: Row()].types.formUnion(registry.accounts.map(\.type))
            rows[group.name, default: Row()].accountCount = registry.accounts.count
        }
        for (group, _) in registries.failures { rows[group.name, default: Row()].accountCount = nil }
        let sharing = session.context.machine.sharing
        for group in try session.groups() {
            // A group that cannot be read was reported with the accounts.
            guard let backend = try? sharing.backend(of: group) else { continue }
            rows[group.name, default: Row()].backend = backend
            rows[group.name]?.state = Self.state(of: group, sharing)
        }
        if let group = session.options.group { rows = rows.filter { $0.key == group.name } }
        // A list with only unreadable groups is an error.
        if let failure = registries.failure, rows.values.allSatisfy({ $0.accountCount == nil }) { throw failure }
        for (_, error) in registries.leftOut { session.notices.warning(error) }
        let sorted = rows.sorted { $0.key < $1.key }
        if arguments.wantsJSON {
            return try session.print(
                .array(
                    sorted.map { name, row in
                        var object = JSONObject()
                        object["group"] = .string(name)
                        object["types"] = JSONValue(row.types.sorted())
                        object["accounts"] = JSONValue(row.accountCount.map(Int64.init))
                        object["shared"] = row.backend.map { .object(Self.json($0, row.state)) } ?? .null
                        return .object(object)
                    }))
        }
        if sorted.isEmpty { return session.notices.note("there is no keychain group yet") }
        var table = Table(["GROUP", "ACCOUNTS", "TYPES", "SHARED"])
        for (name, row) in sorted {
            table.add([
                name, row.accountCount.map(String.init) ?? "?",
                UntrustedText.shown(row.types.sorted().joined(separator: ", ")),
                row.backend.map {
                    session.shown("as \($0.host) at \($0.endpoints.joined(separator: ", ")), \(row.state.text)")
                } ?? "-",
            ])
        }
        try session.print(table)
    }

    private static func state(of group: KeychainGroup, _ sharing: any SharedGroupService) -> StoreState {
        do throws(CredentialError) { try sharing.check(group) } catch { return StoreState(of: error) }
        return .usable
    }

    private static func json(_ backend: ClusterConfiguration, _ state: StoreState) -> JSONObject {
        var object = backend.agreedJSON
        object["backend"] = .string(StoreKind.etcd.rawValue)
        object["endpoints"] = JSONValue(backend.endpoints)
        object["prefix"] = .string(backend.prefix)
        object["host"] = .string(backend.host)
        object["state"] = .string(state.rawValue)
        return object
    }
}
