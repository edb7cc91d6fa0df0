import CredentialCore

/// Whether each account can give tokens: it needs no sign-in, and a type still sees it.
struct AccountCheck: DoctorCheck {
    func findings(_ session: CommandSession, isOnline: Bool) -> [Diagnostic] {
        // A definition with a fault, and a group that cannot be read, are findings of their own.
        let orphans = OrphanedAccounts(session).all
        let accounts = (try? session.accounts(leftOut: { _, _ in })) ?? []
        let orphanIDs = Set(orphans.map(\.account.id))
        let now = session.context.clock.now
        return orphans.map { orphaned($0.account, in: $0.group, $0.definition) }
            + accounts.filter { !orphanIDs.contains($0.account.id) }
            .compactMap { group, account in ended(account, in: group) ?? ending(account, in: group, now) }
    }

    private func ending(_ account: Account, in group: KeychainGroup, _ now: Timestamp) -> Diagnostic? {
        guard account.endsSoon(now: now), let end = account.refreshExpiresAt else { return nil }
        return Diagnostic(
            "account \(account.id)", .note,
            end > now
                ? "the grant of \(Self.shown(account)) ends \(RelativeTime.until(end, now: now))"
                : "the grant of \(Self.shown(account)) has ended",
            remedy: LoginHint(for: account, in: group).hint)
    }

    private func orphaned(_ account: Account, in group: KeychainGroup, _ definition: AccountType?) -> Diagnostic {
        var reason: LocalizedMessage = "its account type is not defined"
        if let definition {
            reason =
                definition.clientID == account.registration.clientID
                ? "the account type names a different provider or group"
                : "the account has client ID \(UntrustedText.shown(account.registration.clientID)), and the "
                    + "account type has \(UntrustedText.shown(definition.clientID))"
        }
        return Diagnostic(
            "account \(account.id)", .problem,
            "\(Self.shown(account)): no account type uses the account: \(reason)",
            remedy: OrphanedAccounts.forget(account, in: group))
    }

    private func ended(_ account: Account, in group: KeychainGroup) -> Diagnostic? {
        guard case .needsLogin(let reason) = account.status else { return nil }
        return Diagnostic(
            "account \(account.id)", .problem,
            "\(Self.shown(account)) requires a new sign-in: \(LocalizedMessage(kept: UntrustedText.shown(reason)))",
            remedy: LoginHint(for: account, in: group).hint)
    }

    private static func shown(_ account: Account) -> LocalizedMessage {
        "\(UntrustedText.shown(account.shownName)) of account type \(account.type)"
    }
}
