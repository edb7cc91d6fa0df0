import CredentialCore

/// Accounts that no account type sees any more: their definition is gone, or names another client. One whose
/// definition exists and cannot be used now, as its plugin is missing or refused, does not count.
struct OrphanedAccounts {
    private let session: CommandSession

    init(_ session: CommandSession) { self.session = session }

    /// Each, with the definition that has its type's name, if there is one. Groups that cannot be read are left
    /// out.
    var all: [(group: KeychainGroup, account: Account, definition: AccountType?)] {
        guard let entries = try? session.catalog.entries() else { return [] }
        let resolver = TargetResolver(session)
        let types = entries.map { entry in
            let type = try? entry.type.get()
            return View(
                name: entry.name, type: type, group: type.map(resolver.group),
                registration: type.flatMap { try? resolver.registration(of: $0) })
        }
        return ((try? session.accounts(leftOut: { _, _ in })) ?? []).compactMap { group, account in
            if types.contains(where: { $0.maySee(account, in: group) }) { return nil }
            return (group, account, types.first { $0.name == account.type }?.type)
        }
    }

    /// The facts of a definition; `nil` if it, or its adapter, cannot be used now.
    private struct View {
        let name: String
        let type: AccountType?
        let group: KeychainGroup?
        let registration: ClientIdentity?

        /// Whether the accounts of the type are this one's; also if that is unknown.
        func maySee(_ account: Account, in group: KeychainGroup) -> Bool {
            guard let type else { return name == account.type }
            guard self.group == group else { return false }
            return registration.map { $0 == account.registration }
                ?? (name == account.type || type.clientID == account.registration.clientID)
        }
    }

    /// The ids of all.
    var ids: Set<String> { Set(all.map(\.account.id)) }

    /// Warns of those that are not in `known`.
    func tell(besides known: Set<String>) {
        for (group, account, _) in all where !known.contains(account.id) {
            session.notices.warning(
                "no account type sees \(UntrustedText.shown(account.shownName)) (\(account.id)) any more; to "
                    + "remove it: \(Self.forget(account, in: group))")
        }
    }

    /// The command that forgets an account.
    static func forget(_ account: Account, in group: KeychainGroup) -> LocalizedMessage {
        LocalizedMessage(
            verbatim: ShellQuoting.line([
                "credmgr", "logout", "--account", account.id, "--group", group.name,
            ]))
    }
}
