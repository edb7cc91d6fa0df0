import CredentialCore
import StrictJSON

/// Whether each group's records and the secrets in the stores tell the same story.
struct RegistryCheck: DoctorCheck {
    func findings(_ session: CommandSession, isOnline: Bool) -> [Diagnostic] {
        let stores = session.stores(mayPrompt: false)
        do throws(CredentialError) {
            return try StoreGroups.withTypes(session).flatMap { findings(of: $0, session, stores) }
        } catch {
            return [Diagnostic("registry", error)]
        }
    }

    private func findings(of group: KeychainGroup, _ session: CommandSession, _ stores: any SecretStores)
        -> [Diagnostic]
    {
        let check = "registry \(group)"
        let services = session.services(stores)
        let records = session.context.records
        var findings: [Diagnostic] = []
        var damaged: [String] = []
        let accounts: [Account]
        do throws(CredentialError) {
            // An index that does not agree with the records is made again from them.
            _ = try records.index(of: group, .everything)
            accounts = try records.registry(of: group) { id, error in
                damaged.append(id)
                findings.append(unreadable(check, id, error, group, session, services))
            }.accounts
        } catch {
            return [Diagnostic(check, error, repair: takeOver(group, error, services), in: group)]
        }
        services.repository.finishSignIns(in: group, locks: session.context.locks)
        var undecryptable: Set<String> = []
        do throws(CredentialError) {
            for (account, error) in try services.repository.undecryptableSignIns(in: group) {
                undecryptable.insert(account.id)
                findings.append(self.undecryptable(check, account, error, group, services))
            }
            findings += try services.repository.accountsWaiting(in: group).filter { !undecryptable.contains($0.id) }
                .map {
                    account in
                    Diagnostic(
                        check, .problem, account.signInWaits,
                        remedy: "the next command that can write to the store replays the journal"
                    )
                }
        } catch {
            findings.append(Diagnostic(check, error))
        }
        let inventory = services.rebuild.inventory(of: group) { (set) throws(CredentialError) in
            try services.repository.isUsed(set, in: group)
        }
        let known = Dictionary(accounts.map { ($0.id, $0) }) { first, _ in first }
        findings += strangers(check, Set(known.keys).union(damaged), inventory, group, services)
        findings += accounts.filter { !undecryptable.contains($0.id) }
            .compactMap { finding(check, $0, inventory, group, services) }
        findings += inventory.unusable.map { store, id, error in
            unusable(check, id, store, error, known[id], group, services)
        }
        findings += inventory.used.map { id in
            Diagnostic(
                check, .problem,
                "the refresh token of \(id) was already used: the store is older than this machine has seen",
                remedy: known[id].map { LoginHint(for: $0, in: group).hint })
        }
        findings += inventory.unknown.map { Diagnostic(check, $0.error) }
        findings += unseen(check, accounts, inventory)
        if findings.isEmpty, !accounts.isEmpty {
            findings.append(
                Diagnostic(
                    check, .ok,
                    "\(accounts.count, one: "\(accounts.count) account", other: "\(accounts.count) accounts"), "
                        + "with all secrets in the correct store"
                ))
        }
        return findings
    }

    /// Returns the repair that imports the accounts of an older version from the stores, which have the metadata of
    /// each account, too.
    private func takeOver(
        _ group: KeychainGroup, _ error: CredentialError, _ services: AccountServices
    ) -> Diagnostic.Fix? {
        guard error.code == .unsupported, error.hint == "credmgr doctor --fix" else { return nil }
        return Diagnostic.Fix("restore the accounts of group \(group) from the stores") {
            () throws(CredentialError) in
            try services.repair.takeOver(group, used: Self.stores(ofOlder:))
        }
    }

    /// The stores in which an older version has kept accounts, as its list says; all if that cannot be read.
    private static func stores(ofOlder list: [UInt8]) -> Set<StoreKind> {
        let accounts = (try? JSONValue.parse(list, limits: .ownFile))?.object?["accounts"]?.array
        let stores = accounts?.map { $0.object?["store"]?.string.flatMap(StoreKind.init(rawValue:)) }
        guard let stores, !stores.contains(nil) else { return Set(StoreKind.allCases) }
        return Set(stores.compactMap(\.self))
    }

    private func unreadable(
        _ check: String, _ id: String, _ error: CredentialError, _ group: KeychainGroup, _ session: CommandSession,
        _ services: AccountServices
    ) -> Diagnostic {
        guard error.code == .storeDamaged else { return Diagnostic(check, error) }
        if (try? services.machine.sharing.isShared(group)) == true {
            return Diagnostic(
                check, .problem, error.text, remedy: "restore its previous state: credmgr doctor --fix",
                repair: Diagnostic.Fix(
                    "restore its previous state, or the state that this host has seen; otherwise quarantine it"
                ) { () throws(CredentialError) in try services.repair.restore(id, in: group) })
        }
        return Diagnostic(
            check, .problem, error.text, remedy: "restore it from a backup, or sign in again",
            repair: Diagnostic.Fix(
                "quarantine the record, and restore the account from the keyring; if this fails, a new sign-in is "
                    + "required"
            ) { () throws(CredentialError) in
                try services.repair.replace(
                    id, in: group, adapter: { (try? session.catalog.definition(of: $0).type.adapter) ?? "" })
            })
    }

    /// A first sign-in that no command can ever save in its store.
    private func undecryptable(
        _ check: String, _ account: Account, _ error: CredentialError, _ group: KeychainGroup,
        _ services: AccountServices
    ) -> Diagnostic {
        Diagnostic(
            check, .problem,
            "no key can decrypt the refresh token of \(account.id) in the journal: \(error.text)",
            remedy: LoginHint(for: account, in: group).hint,
            repair: Diagnostic.Fix("quarantine the entry; the account requires a new sign-in") {
                () throws(CredentialError) in
                try services.repair.setAsideShutOut(account.id, in: group)
            })
    }

    /// Secrets that no record knows.
    private func strangers(
        _ check: String, _ known: Set<String>, _ inventory: RegistryRecovery.StoreInventory, _ group: KeychainGroup,
        _ services: AccountServices
    ) -> [Diagnostic] {
        let rebuild = services.rebuild, records = services.machine.records
        // One that was added, or signed out, since the records were read does not count.
        let ids = inventory.accounts.map(\.id).filter { id in
            guard !known.contains(id) else { return false }
            return (try? records.read(id, in: group)) == nil
                && !rebuild.inventory(of: id, in: group).copies.isEmpty
        }
        guard !ids.isEmpty else { return [] }
        return [
            Diagnostic(
                check, .problem,
                "the stores have secrets of accounts that are not in the registry: "
                    + "\(ids.prefix(10).joined(separator: ", "))",
                repair: Diagnostic.Fix("restore the accounts") { () throws(CredentialError) in
                    _ = try rebuild.run(group)
                })
        ]
    }

    /// The finding about an account with a readable record; `nil` if it has no fault.
    private func finding(
        _ check: String, _ account: Account, _ inventory: RegistryRecovery.StoreInventory, _ group: KeychainGroup,
        _ services: AccountServices
    ) -> Diagnostic? {
        let id = account.id, repair = services.repair
        guard let trouble = repair.trouble(of: account, by: inventory),
            repair.isConfirmed(trouble, of: id, in: group)
        else { return nil }
        let (message, remedy, action): (LocalizedMessage, LocalizedMessage?, LocalizedMessage) =
            switch trouble {
            case .inKeyring:
                (
                    "the secrets of \(id) are in the Secret Service, not in the \(account.store.shownName)", nil,
                    "use the secrets in the Secret Service"
                )
            case .withoutSecrets:
                (
                    "\(id) has no secrets in the \(account.store.shownName)",
                    LoginHint(for: account, in: group).hint, "mark the account as requiring a new sign-in"
                )
            case .foreignFacts:
                (
                    "the record of account \(id) has the metadata of another account", nil,
                    "restore the metadata from the secrets of the account"
                )
            case .copy:
                (
                    "an unused copy of the secrets of \(id) is in the \(account.store.other.shownName)",
                    "credmgr store migrate --to \(account.store.rawValue)", "remove the unused copy"
                )
            }
        return Diagnostic(
            check, .problem, message, remedy: remedy,
            repair: Diagnostic.Fix(action) { () throws(CredentialError) in
                try repair.repair(trouble, of: id, in: group)
            })
    }

    private func unusable(
        _ check: String, _ id: String, _ store: StoreKind, _ error: CredentialError, _ account: Account?,
        _ group: KeychainGroup, _ services: AccountServices
    ) -> Diagnostic {
        let name = UntrustedText.shown(id, limit: 40)
        guard error.code == .storeDamaged else {
            let message: LocalizedMessage =
                "the secret of \(name) in the \(store.shownName) cannot be used: \(error)"
            return Diagnostic(check, .problem, message, remedy: error.advice)
        }
        let message: LocalizedMessage = "the secret of \(name) in the \(store.shownName) is damaged: \(error)"
        let login = account.map { LoginHint(for: $0, in: group).hint }
        // Of a record the next sign-in replaces it.
        if store == .file, account != nil { return Diagnostic(check, .problem, message, remedy: login) }
        return Diagnostic(
            check, .problem, message, remedy: login,
            repair: Diagnostic.Fix("remove the damaged secret") { () throws(CredentialError) in
                try services.repair.removeDamaged(id, from: store, in: group)
            })
    }

    private func unseen(
        _ check: String, _ accounts: [Account], _ inventory: RegistryRecovery.StoreInventory
    ) -> [Diagnostic] {
        let used = Set(accounts.map(\.store))
        return inventory.unread.filter { used.contains($0.store) }.map { unread in
            Diagnostic(
                check, .note,
                "cannot check the secrets in the \(unread.store.shownName): "
                    + "\(unread.error)", remedy: unread.error.advice)
        }
    }
}
