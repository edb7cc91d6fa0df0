import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr store status`: the places of secrets and their protection.
struct StoreStatusCommand: Command {
    static let spec = CommandSpec(
        ["store", "status"], "show where secrets are and how they are protected", options: [SharedOption.json])

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    /// Whether secrets can be read, and the reason if not.
    private struct Condition {
        var state = StoreState.usable
        var reason: LocalizedMessage?

        /// The first fault counts.
        mutating func note(_ error: CredentialError) {
            guard state == .usable else { return }
            state = StoreState(of: error)
            reason = error.text
        }
    }

    /// The status of one store: an error in one of its groups is an error of the store, too.
    private struct Row {
        let kind: StoreKind
        var condition = Condition()
        var groups: [GroupRow] = []
        var accounts: Int
    }

    /// The status of a group in a store.
    private struct GroupRow {
        let group: KeychainGroup
        /// `nil` if even that cannot be read.
        var protection: ProtectionSummary?
        var condition = Condition()
    }

    func run(_ session: CommandSession) throws(CredentialError) {
        let stores = session.stores(mayPrompt: false)
        var rows: [Row] = []
        var registries: [(group: KeychainGroup, registry: AccountList)] = []
        let sharing = session.context.machine.sharing
        for group in try session.groups() {
            // A group in an unknown state is reported with the clusters.
            guard (try? sharing.isShared(group)) == false else { continue }
            var registry = AccountList()
            do throws(CredentialError) {
                registry = try session.context.records.registry(of: group) {
                    session.notices.warning("account \($0) of group \(group) is left out: \($1)")
                }
            } catch {
                session.notices.warning("the accounts of group \(group) are left out: \(error)")
            }
            registries.append((group, registry))
        }
        for kind in StoreKind.allCases { rows.append(row(kind, registries, stores)) }
        if let row = try sharedRow(session) { rows.append(row) }
        if arguments.wantsJSON { return try session.print(.array(rows.map(json))) }
        for row in rows {
            let kind = row.kind.rawValue
            var lines: [LocalizedMessage] = [
                row.condition.reason.map { "\(kind): \(row.condition.state.text) (\($0))" }
                    ?? "\(kind): \(row.condition.state.text)",
                "  accounts: \(row.accounts)",
            ]
            for one in row.groups {
                let state: LocalizedMessage? = one.condition.state == .usable ? nil : one.condition.state.text
                guard let protection = one.protection else {
                    lines.append("  group \(one.group): \(state ?? "")")
                    continue
                }
                lines.append(
                    state.map { "  group \(one.group): \($0); \(protection.summary)" }
                        ?? "  group \(one.group): \(protection.summary)")
                lines.append("    protects against \(protection.protectsAgainst)")
                lines.append("    does not protect against \(protection.doesNotProtectAgainst)")
            }
            try session.print(session.shown(.lines(lines)) + "\n")
        }
    }

    /// Returns the status of the clusters of shared groups; `nil` if no group is shared.
    private func sharedRow(_ session: CommandSession) throws(CredentialError) -> Row? {
        var row = Row(kind: .etcd, accounts: 0)
        for group in try session.groups() {
            var one = GroupRow(group: group)
            do throws(CredentialError) {
                guard let backend = try session.context.machine.sharing.backend(of: group) else { continue }
                one.protection = Self.protection(of: backend)
                row.accounts += try session.context.records.registry(of: group).accounts.count
                try session.context.machine.sharing.check(group)
            } catch {
                one.condition.note(error)
                row.condition.note(error)
            }
            row.groups.append(one)
        }
        return row.groups.isEmpty ? nil : row
    }

    private static func protection(of backend: ClusterConfiguration) -> ProtectionSummary {
        ProtectionSummary(
            summary:
                "in the cluster at \(backend.endpoints.joined(separator: ", ")), under a key of its hosts; this "
                + "host's key is in the \(backend.keyStore.shownName)",
            protectsAgainst: "attackers with the disks or the administrator rights of the cluster's nodes",
            doesNotProtectAgainst: "the other hosts of the group, and attacks on the store of this host's key")
    }

    private func row(
        _ kind: StoreKind, _ registries: [(group: KeychainGroup, registry: AccountList)],
        _ stores: any SecretStores
    ) -> Row {
        let accounts = registries.lazy.map { $0.registry.accounts.count { $0.store == kind } }.reduce(0, +)
        var row = Row(kind: kind, accounts: accounts)
        do throws(CredentialError) {
            let store = try stores.store(kind)
            for (group, _) in registries {
                var one = GroupRow(group: group)
                do throws(CredentialError) {
                    one.protection = try store.protection(of: group)
                    if one.protection == nil { continue }
                    // Of the file only its opening tells whether it is locked or damaged.
                    if kind == .file { _ = try store.items(of: group, kind: .tokenSet) }
                } catch {
                    one.condition.note(error)
                    row.condition.note(error)
                }
                row.groups.append(one)
            }
            try store.probe()
        } catch {
            row.condition.note(error)
        }
        // The protection of a store that is not there is not known.
        if row.condition.state == .unavailable { row.groups = [] }
        return row
    }

    private func json(_ row: Row) -> JSONValue {
        [
            "store": .string(row.kind.rawValue), "state": .string(row.condition.state.rawValue),
            "reason": JSONValue(row.condition.reason?.description),
            "accounts": .integer(Int64(row.accounts)),
            "groups": .array(
                row.groups.map { one in
                    [
                        "group": .string(one.group.name), "state": .string(one.condition.state.rawValue),
                        "reason": JSONValue(one.condition.reason?.description),
                        "protection": JSONValue(one.protection?.summary.description),
                        "protects_against": JSONValue(one.protection?.protectsAgainst.description),
                        "does_not_protect_against": JSONValue(one.protection?.doesNotProtectAgainst.description),
                    ]
                }),
        ]
    }
}

/// Whether secrets can be read from a store.
enum StoreState: String {
    case usable, locked, damaged, unavailable

    /// Makes the state that an error of the store indicates.
    init(of error: CredentialError) {
        self =
            switch error.code {
            case .storeLocked: .locked
            case .storeDamaged: .damaged
            default: .unavailable
            }
    }

    var text: LocalizedMessage {
        switch self {
        case .usable: "usable"
        case .locked: "locked"
        case .damaged: "damaged"
        case .unavailable: "unavailable"
        }
    }
}
