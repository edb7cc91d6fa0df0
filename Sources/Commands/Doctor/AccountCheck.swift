import CredentialCore

/// Whether each account can give tokens: it needs no sign-in, and a type still sees it.
struct AccountCheck: DoctorCheck {
    func findings(_ session: Session, isOnline: Bool) -> [Finding] {
        // A definition with a fault, and a group that cannot be read, are findings of their own.
        let orphans = OrphanedAccounts(session).all
        let accounts = (try? session.accounts(leftOut: { _, _ in })) ?? []
        let orphanIDs = Set(orphans.map(\.account.id))
        let now = session.context.clock.now
        return orphans.map { orphaned($0.account, in: $0.group, $0.definition) }
            + accounts.filter { !orphanIDs.contains($0.account.id) }
            .compactMap { group, account in ended(account, in: group) ?? ending(account, in: group, now) }
    }

    private func ending(_ account: Account, in group: KeychainGroup, _ now: Instant) -> Finding? {
        guard account.endsSoon(now: now), let end = account.refreshExpiresAt else { return nil }
        return Finding(
            "account \(account.id)", .note,
            end > now
                ? "the sign-in of \(Self.shown(account)) ends \(RelativeTime.until(end, now: now))"
                : "the sign-in of \(Self.shown(account)) has ended",
            remedy: LoginCommandLine(for: account, in: group).hint)
    }

    private func orphaned(_ account: Account, in group: KeychainGroup, _ definition: AccountType?) -> Finding {
        var reason: Message = "nothing defines it"
        if let definition {
            reason =
                definition.clientID == account.registration.clientID
                ? "the type names another provider or group now"
                : "it is of the client \(ForeignText.shown(account.registration.clientID)), and the type names "
                    + "\(ForeignText.shown(definition.clientID))"
        }
        return Finding(
            "account \(account.id)", .problem,
            "\(Self.shown(account)): no account type sees it any more: \(reason)",
            remedy: OrphanedAccounts.forget(account, in: group))
    }

    private func ended(_ account: Account, in group: KeychainGroup) -> Finding? {
        guard case .needsLogin(let reason) = account.status else { return nil }
        return Finding(
            "account \(account.id)", .problem,
            "\(Self.shown(account)) has to sign in again: \(Message(kept: ForeignText.shown(reason)))",
            remedy: LoginCommandLine(for: account, in: group).hint)
    }

    private static func shown(_ account: Account) -> Message {
        "\(ForeignText.shown(account.shownName)) of account type \(account.type)"
    }
}
