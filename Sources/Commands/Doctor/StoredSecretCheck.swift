import CredentialCore

/// The stored secrets of clients that no account type uses: their type was removed, or names another client now.
struct StoredSecretCheck: DoctorCheck {
    func findings(_ session: CommandSession, isOnline: Bool) -> [Diagnostic] {
        let definitions = session.services(session.stores(mayPrompt: false)).ownDefinitions
        // A group that cannot be read is a finding of its own.
        let groups = (try? session.groups()) ?? []
        let typed = ((try? session.catalog.entries()) ?? []).compactMap { try? $0.type.get().keychainGroup }
        return Set(groups + typed).sorted { $0.name < $1.name }.flatMap { group in
            definitions.unwanted(in: group).map { store, item in
                Diagnostic(
                    "secret in group \(group)", .note,
                    """
                    the \(store.shownName) keeps a \(item.kind.rawValue) of \
                    \(UntrustedText.shown(item.owner, limit: 200)), which no account type uses
                    """,
                    remedy: "add an account type of the same provider and client: credmgr types add --help")
            }
        }
    }
}
