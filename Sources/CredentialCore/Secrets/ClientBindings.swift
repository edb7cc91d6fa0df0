/// Tells which secrets of a store are those of a type's client.
///
/// A stored secret belongs to the client at its provider, not to the name of a type (docs/decisions/0032): another
/// definition of the same name does not get it. Earlier, credmgr stored secrets under the type's name. Such a
/// secret is the client's unless there is a sign that the type has been another one since.
package struct ClientBindings: Sendable {
    private let machine: MachinePorts

    /// Prepares the look.
    package init(_ machine: MachinePorts) { self.machine = machine }

    /// The item of a secret of a type's client.
    ///
    /// - Throws: ``ErrorCode/configuration`` for a definition that its adapter cannot use.
    package func item(_ kind: SecretItem.Kind, of type: AccountType) throws(CredentialError) -> SecretItem {
        let registration = try ClientIdentity(of: type, machine.adapters)
        return SecretItem(
            group: type.keychainGroup, owner: "\(registration.provider) client_id=\(registration.clientID)",
            kind: kind)
    }

    /// The item under the name of a type, as credmgr stored it before.
    package static func earlierItem(_ kind: SecretItem.Kind, of type: AccountType) -> SecretItem {
        SecretItem(group: type.keychainGroup, owner: type.name, kind: kind)
    }

    /// Whether an item was stored under the name of a type.
    package static func isEarlier(_ item: SecretItem) -> Bool { Identifier.isValid(item.owner) }

    /// Whether a secret that was stored under a type's name is the one of its client. The definition must be
    /// confirmed, and an account of this client, or no account of another client, was signed in under the name.
    ///
    /// - Throws: the errors of the records and of the adapter.
    package func ownsEarlier(_ type: AccountType) throws(CredentialError) -> Bool {
        guard machine.trust.isConfirmed(type.name) else { return false }
        let registration = try ClientIdentity(of: type, machine.adapters)
        var isOfAnother = false
        for group in try machine.records.groups() {
            let entries = try machine.records.index(of: group, .none).withUnreadable.entries
            for entry in entries where entry.type == type.name {
                if entry.registration == registration { return true }
                isOfAnother = true
            }
        }
        return !isOfAnother
    }

    /// Refuses a definition that is not confirmed and names a command, a file or a variable.
    ///
    /// - Throws: ``ErrorCode/denied``.
    func check(_ type: AccountType, _ what: LocalizedMessage) throws(CredentialError) {
        if machine.trust.isConfirmed(type.name) { return }
        throw CredentialError(
            .denied, "\(what) is not read: its definition is not confirmed",
            hint: LocalizedMessage(verbatim: "credmgr types trust \(ShellQuoting.word(type.name))"))
    }
}
