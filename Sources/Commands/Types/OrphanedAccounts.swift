import CredentialCore

/// Accounts that no account type sees any more: their definition is gone, or names another client.
struct OrphanedAccounts {
    private let session: Session

    init(_ session: Session) { self.session = session }

    /// Each, with the definition that has its type's name, if there is one. Groups that cannot be read have none here.
    var all: [(group: KeychainGroup, account: Account, definition: AccountType?)] {
        let types = ((try? session.catalog.entries()) ?? []).compactMap { try? $0.type.get() }
        let resolver = TargetResolver(session)
        let seen = types.map { ((try? resolver.registration(of: $0)), resolver.group(of: $0)) }
        return ((try? session.accounts(leftOut: { _ in })) ?? []).compactMap { group, account in
            if seen.contains(where: { $0 == account.registration && $1 == group }) { return nil }
            return (group, account, types.first { $0.name == account.type })
        }
    }

    /// The ids of all.
    var ids: Set<String> { Set(all.map(\.account.id)) }

    /// Warns of those that are none of `known`.
    func tell(besides known: Set<String>) {
        for (group, account, _) in all where !known.contains(account.id) {
            session.notices.warning(
                "no account type sees \(ForeignText.shown(account.shownName)) (\(account.id)) any more; to forget it: "
                    + "\(Self.forget(account, in: group))")
        }
    }

    /// The command that forgets an account.
    static func forget(_ account: Account, in group: KeychainGroup) -> Message {
        Message(
            verbatim: ShellQuote.line([
                "credmgr", "logout", "--account", account.id, "--group", group.name,
            ]))
    }
}
