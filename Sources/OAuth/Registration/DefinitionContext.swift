package import CredentialCore

/// The means to define account types by the metadata of a provider or an API: the command and the library each
/// bring their own.
package struct DefinitionContext: Sendable {
    /// The machine, and who may be asked for a store to open.
    package let accounts: AccountServices
    /// Listens for redirects.
    package let redirects: any RedirectReceivers
    /// The keychain group of new types; `nil` for each type's own.
    package let group: KeychainGroup?
    /// Finds the store for the secrets of a new client.
    package let store: @Sendable () throws(CredentialError) -> StoreChoice
    /// Receives warnings for the user.
    package let warn: @Sendable (LocalizedMessage) -> Void
    /// Receives reports of completed steps.
    package let note: @Sendable (LocalizedMessage) -> Void
    /// Takes a fact for `--verbose`; never a secret.
    package let detail: @Sendable (String) -> Void

    /// Puts a desk together.
    package init(
        accounts: AccountServices, redirects: any RedirectReceivers, group: KeychainGroup?,
        store: @escaping @Sendable () throws(CredentialError) -> StoreChoice,
        warn: @escaping @Sendable (LocalizedMessage) -> Void, note: @escaping @Sendable (LocalizedMessage) -> Void,
        detail: @escaping @Sendable (String) -> Void
    ) {
        self.accounts = accounts
        self.redirects = redirects
        self.group = group
        self.store = store
        self.warn = warn
        self.note = note
        self.detail = detail
    }

    var catalog: AccountTypeCatalog { accounts.machine.catalog }
    var stores: any SecretStores { accounts.stores }

    /// Writes a definition into the user's directory; the entries that a store keeps of the client follow.
    ///
    /// - Returns: the file written.
    /// - Throws: as ``AccountTypeCatalog/add(_:force:)``.
    package func put(
        _ type: AccountType, force: Bool, by author: UserDefinitions.Author = .change
    ) throws(CredentialError) -> String { try accounts.ownDefinitions.put(type, force: force, by: author) }

    /// Writes the registration of a type's accounts into their records, before its definition is removed.
    package func pin(accountsOf type: AccountType) { accounts.registrationMove.pin(accountsOf: type) }

    /// Whether any definition that is there is of the same client, which the provider knows by one registration.
    package func isClientUsed(_ type: AccountType) -> Bool { accounts.ownDefinitions.isClientUsed(type) }

    /// Forgets the entries that a store keeps for a definition that was removed.
    ///
    /// - Parameter ownsEarlier: as for ``ClientRegistrationService/end(_:ownsEarlier:)``.
    package func forget(_ removed: AccountType, ownsEarlier: Bool) {
        accounts.ownDefinitions.forget(removed, ownsEarlier: ownsEarlier)
    }

    /// Checks that the adapter of a type finds no fault in it.
    func check(_ type: AccountType) throws(CredentialError) {
        try accounts.machine.adapters.adapter(of: type).check(type)
    }

    /// A type's definition in the user's files, checked by its adapter.
    func type(named name: String) throws(CredentialError) -> AccountType {
        let type = try catalog.definition(of: name).type
        try check(type)
        return type
    }

    /// Reports the store in which an entry was saved, if that is not the expected one.
    func tell(_ choice: StoreChoice, _ what: LocalizedMessage) {
        if let reason = choice.reason { note("\(what) is stored in the encrypted file: \(reason)") }
    }
}
