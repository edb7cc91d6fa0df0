import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr store migrate`: moves sign-ins and client secrets from one store to the other.
struct StoreMigrateCommand: Command {
    static let spec = CommandSpec(
        ["store", "migrate"], "move sign-ins to the other store",
        details: """
            Moves every account of the group, or of all groups if you name no group, and the client secrets of \
            types. credmgr copies each secret, reads the copy, and only then removes the secret from the old \
            store. The next run finishes an interrupted run. Pending sign-ins stay in their store. --store and \
            config.json still select the store for new accounts.
            """,
        options: [destination, dryRun, SharedOption.json],
        examples: [.init("print what would be moved", "credmgr store migrate --to secret-service --dry-run")],
        exitStatuses: [5, 6, 7])

    private static let destination = Option.choice("to", "STORE", of: StoreKind.self, "the store to move them to")
    private static let dryRun = Option.flag("dry-run", "only print what would be moved")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        guard let target = arguments[Self.destination] else {
            throw CredentialError(.usage, "--to is required", hint: "use --to secret-service or --to file")
        }
        if arguments.wantsJSON, !arguments[Self.dryRun] {
            throw CredentialError(.usage, "--json requires --dry-run")
        }
        let stores = session.stores()
        // Before anything is touched: whether the target can be used at all.
        try stores.store(target).probe()
        let groups = try StoreGroups.withTypes(session)
        if arguments[Self.dryRun] { return try rehearse(target, groups, stores, session) }
        let migration = session.services(stores).migration
        var damage: CredentialError?
        for group in groups {
            for account in try Self.accounts(of: group, session, damaged: { damage = $1 }) {
                let outcome: StoreMigration.Outcome
                do throws(CredentialError) {
                    outcome = try migration.move(account, to: target, in: group)
                } catch {
                    throw interrupted(error, at: account)
                }
                try tell(outcome, account, target, session)
            }
            for item in try secrets(of: group, outside: target, stores) where try migration.move(item, to: target) {
                try session.print("moved\t\(item.owner)\t\(item.kind.rawValue)\n")
            }
        }
        tellPending(target, stores, session)
        // All that can be moved has been.
        if let damage { throw damage }
    }

    /// The accounts of a group that stores of this machine have; those of a shared group stay in its cluster.
    private static func accounts(
        of group: KeychainGroup, _ session: CommandSession, damaged: (String, CredentialError) -> Void
    ) throws(CredentialError) -> [Account] {
        do throws(CredentialError) {
            if try session.context.machine.sharing.isShared(group) {
                session.notices.note("the group \(group) is shared: its accounts stay in the cluster")
                return []
            }
            return try session.context.records.registry(of: group, damaged: damaged).accounts
        } catch {
            damaged(group.name, error)
            return []
        }
    }

    /// Lists the accounts that would be moved; reads everything that would have to be read.
    private func rehearse(
        _ target: StoreKind, _ groups: [KeychainGroup], _ stores: any SecretStores, _ session: CommandSession
    ) throws(CredentialError) {
        let repository = session.services(stores).repository
        var damage: CredentialError?
        var rows: [(line: String, json: JSONValue)] = []
        for group in groups {
            for account in try Self.accounts(of: group, session, damaged: { damage = $1 })
            where account.store != target {
                let isThere = try repository.read(account, in: group, isLocked: false) != nil
                rows.append(
                    (
                        "\(isThere ? "would move" : "has no secrets")\t\(line(account))",
                        [
                            "group": .string(group.name), "account": .string(account.id),
                            "name": .string(account.shownName), "would_move": .bool(isThere),
                        ]
                    ))
            }
            for item in try secrets(of: group, outside: target, stores) {
                rows.append(
                    (
                        "would move\t\(item.owner)\t\(item.kind.rawValue)",
                        [
                            "group": .string(group.name), "owner": .string(item.owner),
                            "kind": .string(item.kind.rawValue), "would_move": .bool(true),
                        ]
                    ))
            }
        }
        if arguments.wantsJSON {
            try session.print(.array(rows.map(\.json)))
        } else {
            try session.print(rows.map { $0.line + "\n" }.joined())
        }
        tellPending(target, stores, session)
        if let damage { throw damage }
    }

    private func tell(
        _ outcome: StoreMigration.Outcome, _ account: Account, _ target: StoreKind, _ session: CommandSession
    ) throws(CredentialError) {
        switch outcome {
        case .moved: try session.print("moved\t\(line(account))\n")
        case .movedLeavingCopy(let error):
            try session.print("moved\t\(line(account))\n")
            session.notices.warning(
                "an old copy of \(account.id) stays in the \(target.other.shownName): \(error); "
                    + "the same command removes it later")
        case .tidied: session.notices.note("removed an old copy of \(account.id)")
        case .withoutSecrets: session.notices.note("\(account.id) has no secrets to move")
        case .alreadyThere, .gone: return
        }
    }

    private func line(_ account: Account) -> String {
        "\(account.id)\t\(UntrustedText.shown(account.shownName))"
    }

    /// The secrets of types that are in the other store. A store that does not exist has no secrets to offer.
    private func secrets(
        of group: KeychainGroup, outside target: StoreKind, _ stores: any SecretStores
    ) throws(CredentialError) -> [SecretItem] {
        do throws(CredentialError) {
            let source = try stores.store(target.other)
            return try source.items(of: group, kind: .clientSecret) + source.items(of: group, kind: .privateKey)
        } catch {
            if error.code == .storeUnavailable { return [] }
            throw error
        }
    }

    private func tellPending(_ target: StoreKind, _ stores: any SecretStores, _ session: CommandSession) {
        // Only a note depends on the answer.
        let pending = (try? stores.store(target.other).items(of: .standard, kind: .pendingSignIn)) ?? []
        guard !pending.isEmpty else { return }
        session.notices.note(
            "pending sign-ins stay in their store "
                + "(\(pending.count, one: "\(pending.count) sign-in", other: "\(pending.count) sign-ins")); "
                + "'login --complete' finds them there"
        )
    }

    private func interrupted(_ error: CredentialError, at account: Account) -> CredentialError {
        CredentialError(
            error.code, "\(account.id) was not moved: \(error)",
            hint: error.advice ?? "run the same command again; accounts that it has moved stay moved",
            details: error.details)
    }
}
