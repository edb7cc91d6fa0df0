import CredentialCore
import StrictJSON

/// Whether each group's records and the secrets in the stores tell the same story.
struct RegistryCheck: DoctorCheck {
    func findings(_ session: Session, isOnline: Bool) -> [Finding] {
        let stores = session.stores(mayPrompt: false)
        do throws(CredentialError) {
            return try StoreGroups.withTypes(session).flatMap { findings(of: $0, session, stores) }
        } catch {
            return [Finding("registry", error)]
        }
    }

    private func findings(of group: KeychainGroup, _ session: Session, _ stores: any SecretStores) -> [Finding] {
        let check = "registry \(group)"
        let services = session.services(stores)
        let records = session.context.records
        var findings: [Finding] = []
        var damaged: [String] = []
        let accounts: [Account]
        do throws(CredentialError) {
            // What does not agree with the records is made again from them.
            _ = try records.index(of: group, .everything)
            accounts = try records.registry(of: group) { id, error in
                damaged.append(id)
                findings.append(unreadable(check, id, error, group, session, services))
            }.accounts
        } catch {
            return [Finding(check, error, repair: takeOver(group, error, services), in: group)]
        }
        services.repository.finishSignIns(in: group, locks: session.context.locks)
        do throws(CredentialError) {
            findings += try services.repository.accountsWaiting(in: group).map { account in
                Finding(
                    check, .problem, account.signInWaits, remedy: "it is put there by the next command that can")
            }
        } catch {
            findings.append(Finding(check, error))
        }
        let inventory = services.rebuild.inventory(of: group) { (set) throws(CredentialError) in
            try services.repository.isSpent(set, in: group)
        }
        let known = Dictionary(accounts.map { ($0.id, $0) }) { first, _ in first }
        findings += strangers(check, Set(known.keys).union(damaged), inventory, group, services.rebuild)
        findings += accounts.compactMap { account in
            finding(check, account, inventory, group, session, services)
        }
        findings += inventory.unusable.map { store, id, error in
            unusable(check, id, store, error, known[id], group, stores)
        }
        findings += inventory.spent.map { id in
            Finding(
                check, .problem,
                "the refresh token of \(id) is used up: the store is older than what this machine has seen",
                remedy: known[id].map { LoginCommandLine(for: $0, in: group).hint })
        }
        findings += inventory.unknown.map { Finding(check, $0.error) }
        findings += unseen(check, accounts, inventory)
        if findings.isEmpty, !accounts.isEmpty {
            findings.append(
                Finding(
                    check, .ok,
                    "\(accounts.count, one: "\(accounts.count) account", other: "\(accounts.count) accounts"), secrets where they should be"
                ))
        }
        return findings
    }

    /// What an older version has kept is taken up from the stores, which have the facts of each account, too.
    private func takeOver(
        _ group: KeychainGroup, _ error: CredentialError, _ services: AccountServices
    ) -> Finding.Repair? {
        guard error.code == .unsupported, error.hint == "credmgr doctor --fix" else { return nil }
        return Finding.Repair("take the accounts of group \(group) up from the stores") {
            () throws(CredentialError) in
            // What a store has that cannot be asked would not be found again.
            let used = Self.stores(ofOlder: try services.machine.records.older(group) ?? [])
            for kind in StoreKind.allCases where used.contains(kind) {
                try services.stores.store(kind).eachSecret(of: group, kind: .tokenSet) { _, _ in }
            }
            try services.machine.records.setAsideOlder(group)
            let outcome = try services.rebuild.run(group)
            if let unread = outcome.unread.first(where: { $0.error.code == .storeLocked }) { throw unread.error }
        }
    }

    /// The stores in which an older version has kept accounts, as its list says; all where that cannot be read.
    private static func stores(ofOlder list: [UInt8]) -> Set<StoreKind> {
        let accounts = (try? JSONValue.parse(list, limits: .ownFile))?.object?["accounts"]?.array
        let stores = accounts?.map { $0.object?["store"]?.string.flatMap(StoreKind.init(rawValue:)) }
        guard let stores, !stores.contains(nil) else { return Set(StoreKind.allCases) }
        return Set(stores.compactMap(\.self))
    }

    private func unreadable(
        _ check: String, _ id: String, _ error: CredentialError, _ group: KeychainGroup, _ session: Session,
        _ services: AccountServices
    ) -> Finding {
        guard error.code == .storeDamaged else { return Finding(check, error) }
        let sharing = services.machine.sharing
        if (try? sharing.isShared(group)) == true {
            return Finding(
                check, .problem, error.text, remedy: "to put back what it held before: credmgr doctor --fix",
                repair: Finding.Repair(
                    "put back what it held before, or what this host has seen of it; else set it aside"
                ) { () throws(CredentialError) in
                    guard try !sharing.restore(id, in: group) else { return }
                    _ = try services.machine.records.setAside(id, in: group)
                })
        }
        return Finding(
            check, .problem, error.text, remedy: "restore it from a backup, or sign in again",
            repair: Finding.Repair(
                "set it aside, and take the account up from the keyring where that has it; else it has to sign in again"
            ) { () throws(CredentialError) in
                try services.rebuild.replace(
                    id, in: group, adapter: { (try? session.catalog.definition(of: $0).type.adapter) ?? "" },
                    now: session.context.clock.now)
            })
    }

    /// Secrets that no record knows.
    private func strangers(
        _ check: String, _ known: Set<String>, _ inventory: RegistryRebuild.Inventory, _ group: KeychainGroup,
        _ rebuild: RegistryRebuild
    ) -> [Finding] {
        let ids = inventory.accounts.map(\.id).filter { !known.contains($0) }
        guard !ids.isEmpty else { return [] }
        return [
            Finding(
                check, .problem,
                "the stores have secrets of accounts that it does not know: "
                    + "\(ids.prefix(10).joined(separator: ", "))",
                repair: Finding.Repair("take them up again") { () throws(CredentialError) in
                    _ = try rebuild.run(group)
                })
        ]
    }

    /// An account whose own store has nothing of it.
    private func withoutCopy(
        _ check: String, _ account: Account, _ inventory: RegistryRebuild.Inventory, _ group: KeychainGroup,
        _ session: Session
    ) -> Finding? {
        let records = session.context.records
        let copies = inventory.copies[account.id] ?? [:]
        // A store that could not be asked has told nothing, and what it has that cannot be used is a finding of its own.
        guard !inventory.unread.contains(where: { $0.store == account.store }),
            !inventory.unusable.contains(where: { $0.store == account.store && $0.id == account.id })
        else { return nil }
        if let found = copies[.secretService] {
            return Finding(
                check, .problem,
                "the secrets of \(account.id) are in the Secret Service, not in the \(account.store.shownName)",
                repair: Finding.Repair("use those in the Secret Service") { () throws(CredentialError) in
                    try records.update(account.id, in: group) {
                        $0.store = .secretService
                        $0.leftover = nil
                        // Of one whose record was damaged the token set alone says how it stands.
                        $0.status = found.account.status
                    }
                })
        }
        return withoutSecrets(check, account, group, session)
    }

    private func finding(
        _ check: String, _ account: Account, _ inventory: RegistryRebuild.Inventory, _ group: KeychainGroup,
        _ session: Session, _ services: AccountServices
    ) -> Finding? {
        // Its cluster is a finding of its own.
        if account.store == .etcd { return nil }
        let records = session.context.records
        let copies = inventory.copies[account.id] ?? [:]
        guard let copy = copies[account.store] else {
            return withoutCopy(check, account, inventory, group, session)
        }
        if !copy.account.fits(account) { return foreign(check, account, copy.account, group, records) }
        guard copies.count > 1 || account.leftover != nil else { return nil }
        let migration = services.migration
        return Finding(
            check, .problem,
            "a copy of the secrets of \(account.id) that does not count is in the \(account.store.other.shownName)",
            remedy: "credmgr store migrate --to \(account.store.rawValue)",
            repair: Finding.Repair("remove that copy") { () throws(CredentialError) in
                try migration.tidy(account, in: group)
            })
    }

    /// A record with the facts of another account than its secrets, which nobody can edit.
    private func foreign(
        _ check: String, _ account: Account, _ own: Account, _ group: KeychainGroup, _ records: any AccountRecords
    ) -> Finding {
        Finding(
            check, .problem, "the record of account \(account.id) has another account's facts",
            repair: Finding.Repair("put back those that its secrets have") { () throws(CredentialError) in
                try records.update(account.id, in: group) { record in
                    var own = own
                    own.adoptRecord(record)
                    record = own
                }
            })
    }

    private func withoutSecrets(
        _ check: String, _ account: Account, _ group: KeychainGroup, _ session: Session
    ) -> Finding? {
        // Who has to sign in again anyway is known to have nothing.
        guard case .active = account.status else { return nil }
        let records = session.context.records
        return Finding(
            check, .problem, "\(account.id) has no secrets in the \(account.store.shownName)",
            remedy: LoginCommandLine(for: account, in: group).hint,
            repair: Finding.Repair("mark it as one that has to sign in again") { () throws(CredentialError) in
                try records.update(account.id, in: group) {
                    $0.status = .needsLogin(reason: "its secrets are gone")
                }
            })
    }

    private func unusable(
        _ check: String, _ id: String, _ store: StoreKind, _ error: CredentialError, _ account: Account?,
        _ group: KeychainGroup, _ stores: any SecretStores
    ) -> Finding {
        let name = ForeignText.shown(id, limit: 40)
        guard error.code == .storeDamaged else {
            let message: Message = "the secret of \(name) in the \(store.shownName) cannot be used: \(error)"
            return Finding(check, .problem, message, remedy: error.advice)
        }
        let message: Message = "the secret of \(name) in the \(store.shownName) is damaged: \(error)"
        let login = account.map { LoginCommandLine(for: $0, in: group).hint }
        // Of a record the next sign-in replaces it.
        if store == .file, account != nil { return Finding(check, .problem, message, remedy: login) }
        return Finding(
            check, .problem, message, remedy: login,
            repair: Finding.Repair("remove the damaged secret") { () throws(CredentialError) in
                try stores.store(store).remove(SecretItem(group: group, owner: id, kind: .tokenSet))
            })
    }

    private func unseen(
        _ check: String, _ accounts: [Account], _ inventory: RegistryRebuild.Inventory
    ) -> [Finding] {
        let used = Set(accounts.map(\.store))
        return inventory.unread.filter { used.contains($0.store) }.map { unread in
            Finding(
                check, .note,
                "whether the \(unread.store.shownName) has the secrets of its accounts cannot be seen: "
                    + "\(unread.error)", remedy: unread.error.advice)
        }
    }
}
