import CredentialCore

/// Whether each group's registry and the secrets in the stores tell the same story.
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
        let rebuild = session.rebuild(stores)
        let giveUp = Finding.Repair(
            "take up what can be read in group \(group) and do without the rest"
        ) { () throws(CredentialError) in _ = try rebuild.run(group, givesUp: true) }
        let registry: AccountRegistry
        do throws(CredentialError) { registry = try session.context.registry.read(group) } catch {
            let isWaiting = error.code == .storeLocked || error.code == .storeUnavailable
            return [Finding(check, error, repair: isWaiting ? giveUp : nil)]
        }
        let inventory = rebuild.inventory(of: group)
        var findings: [Finding] = []
        if registry.needsRebuild {
            let stores = inventory.unread.map { "\($0.store.shownName) can be read (\($0.error.message))" }
            findings.append(
                Finding(
                    check, .problem,
                    "it was damaged, and accounts may be missing until the "
                        + stores.joined(separator: " and the "),
                    remedy: inventory.unread.first?.error.hint, repair: giveUp))
        }
        findings += strangers(check, registry, inventory, group, rebuild)
        findings += registry.accounts.compactMap { account in
            finding(check, account, inventory, group, session, stores)
        }
        findings += inventory.damaged.map { store, id in
            damaged(check, id, store, isKnown: registry[id: id] != nil, group, stores)
        }
        let unseen = inventory.unread.filter { unread in registry.accounts.contains { $0.store == unread.store } }
        findings += unseen.map { unread in
            Finding(
                check, .note,
                "whether the \(unread.store.shownName) has the secrets of its accounts cannot be seen: "
                    + unread.error.message, remedy: unread.error.hint)
        }
        if findings.isEmpty, !registry.accounts.isEmpty {
            let count = registry.accounts.count
            findings.append(
                Finding(check, .ok, "\(count) account\(count == 1 ? "" : "s"), secrets where they should be"))
        }
        return findings
    }

    /// Secrets that no registry knows.
    private func strangers(
        _ check: String, _ registry: AccountRegistry, _ inventory: RegistryRebuild.Inventory,
        _ group: KeychainGroup,
        _ rebuild: RegistryRebuild
    ) -> [Finding] {
        let ids = inventory.accounts.map(\.id).filter { registry[id: $0] == nil }
        guard !ids.isEmpty else { return [] }
        return [
            Finding(
                check, .problem,
                "the stores have secrets of accounts that it does not know: "
                    + ids.prefix(10).joined(separator: ", "),
                repair: Finding.Repair("take them up again") { () throws(CredentialError) in
                    _ = try rebuild.run(group)
                })
        ]
    }

    private func finding(
        _ check: String, _ account: Account, _ inventory: RegistryRebuild.Inventory, _ group: KeychainGroup,
        _ session: Session, _ stores: any SecretStores
    ) -> Finding? {
        let registry = session.context.registry
        let copies = inventory.copies[account.id] ?? [:]
        if copies[account.store] == nil {
            // A store that could not be asked has told nothing, and a damaged item is a finding of its own.
            guard !inventory.unread.contains(where: { $0.store == account.store }),
                !inventory.damaged.contains(where: { $0.store == account.store && $0.id == account.id })
            else { return nil }
            if let other = copies.first?.key {
                return Finding(
                    check, .problem,
                    "the secrets of \(account.id) are in the \(other.shownName), not in the \(account.store.shownName)",
                    repair: Finding.Repair("use those in the \(other.shownName)") { () throws(CredentialError) in
                        try registry.update(group) { (registry) throws(CredentialError) in
                            registry[id: account.id]?.store = other
                            registry[id: account.id]?.leftover = nil
                        }
                    })
            }
            return withoutSecrets(check, account, group, session)
        }
        guard copies.count > 1 || account.leftover != nil else { return nil }
        let leftover = account.store.other
        let migration = session.migration(stores)
        return Finding(
            check, .problem,
            "a copy of the secrets of \(account.id) that does not count is in the \(leftover.shownName)",
            remedy: "credmgr store migrate --to \(account.store.rawValue)",
            repair: Finding.Repair("remove that copy") { () throws(CredentialError) in
                try registry.update(group) { (registry) throws(CredentialError) in
                    registry[id: account.id]?.leftover = leftover
                }
                try migration.tidy(account, in: group)
            })
    }

    private func withoutSecrets(
        _ check: String, _ account: Account, _ group: KeychainGroup, _ session: Session
    ) -> Finding? {
        // Who has to sign in again anyway is known to have nothing.
        guard case .active = account.status else { return nil }
        let registry = session.context.registry
        return Finding(
            check, .problem, "\(account.id) has no secrets in the \(account.store.shownName)",
            remedy: "credmgr login --type \(account.type)",
            repair: Finding.Repair("mark it as one that has to sign in again") { () throws(CredentialError) in
                try registry.update(group) { (registry) throws(CredentialError) in
                    registry[id: account.id]?.status = .needsLogin(reason: "its secrets are gone")
                }
            })
    }

    private func damaged(
        _ check: String, _ id: String, _ store: StoreKind, isKnown: Bool, _ group: KeychainGroup,
        _ stores: any SecretStores
    ) -> Finding {
        Finding(
            check, .problem,
            "the secret of \(ForeignText.shown(id, limit: 40)) in the \(store.shownName) is damaged",
            remedy: isKnown ? "sign in again" : nil,
            repair: Finding.Repair("remove the damaged secret") { () throws(CredentialError) in
                try stores.store(store).remove(SecretItem(group: group, owner: id, kind: .tokenSet))
            })
    }
}
