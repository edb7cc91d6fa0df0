import CredentialCore
import StrictJSON

/// `credmgr store status`: where secrets are and how they are protected.
struct StoreStatusCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let stores = session.stores(mayPrompt: false)
        let counts = try accountCounts(session)
        var rows: [(kind: StoreKind, state: String, reason: String?, protection: String)] = []
        for kind in StoreKind.allCases {
            let store = try stores.store(kind)
            do throws(CredentialError) {
                try store.probe()
                rows.append((kind, "usable", nil, store.protection))
            } catch {
                rows.append(
                    (kind, error.code == .storeLocked ? "locked" : "unavailable", error.message, store.protection))
            }
        }
        if arguments.wantsJSON {
            return try session.print(
                .array(
                    rows.map { row in
                        [
                            "store": .string(row.kind.rawValue), "state": .string(row.state),
                            "reason": JSONValue(row.reason), "protection": .string(row.protection),
                            "accounts": .integer(Int64(counts[row.kind] ?? 0)),
                        ]
                    }))
        }
        for row in rows {
            try session.print(
                "\(row.kind.rawValue): \(row.state)\(row.reason.map { " (\($0))" } ?? "")\n"
                    + "  accounts: \(counts[row.kind] ?? 0)\n  protection: \(row.protection)\n")
        }
    }

    private func accountCounts(_ session: Session) throws(CredentialError) -> [StoreKind: Int] {
        var counts: [StoreKind: Int] = [:]
        for group in try session.groups() {
            for account in try session.context.registry.read(group).accounts {
                counts[account.store, default: 0] += 1
            }
        }
        return counts
    }
}
