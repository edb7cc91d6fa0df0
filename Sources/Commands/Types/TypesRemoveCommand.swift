import CommandLine
import CredentialCore
import OAuth
import StrictJSON

/// `credmgr types remove`.
struct TypesRemoveCommand: Command {
    static let spec = CommandSpec(
        ["types", "remove"], "remove an account type's definition",
        details: """
            Removes the definition from your own directory and the secret of its client. Accounts and their tokens \
            stay; credmgr lists the accounts that no other type sees. A client that 'types add --register' or \
            'login --resource' registered is removed at the provider too (RFC 7592).
            """,
        parameters: [name])

    private static let name = Parameter.required("name", .type, "the account type")

    static let configurationUse = ConfigurationUse.advisory

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let name = arguments[Self.name]
        // A definition that cannot be read has no registration that could be found.
        let type = try? session.catalog.definition(of: name).type
        let ownsEarlier =
            type.map { (try? ClientBindings(session.context.machine).ownsEarlier($0)) ?? false } ?? false
        // Once the file is gone, its author is unknown.
        let isConfirmed = session.context.machine.trust.isConfirmed(name)
        let orphans = OrphanedAccounts(session)
        let before = orphans.ids
        if let type { session.definitions.pin(accountsOf: type) }
        let paths = try session.catalog.remove(name)
        if let type {
            // Another type of the client needs it, and an unconfirmed definition may name any address.
            if isConfirmed, !session.definitions.isClientUsed(type) {
                ClientRegistrationService(session.definitions).end(type, ownsEarlier: ownsEarlier)
            }
            session.definitions.forget(type, ownsEarlier: ownsEarlier)
        }
        for path in paths {
            session.notices.note("removed \(path)")
        }
        orphans.tell(besides: before)
    }
}
