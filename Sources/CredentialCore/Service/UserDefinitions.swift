/// Changes the user's own definitions. Secrets that a store keeps of a type's client follow its definition,
/// regardless of the program that changes it.
package struct UserDefinitions: Sendable {
    /// The account services that it uses.
    let accounts: AccountServices

    private var catalog: AccountTypeCatalog { accounts.machine.catalog }

    private var trust: DefinitionTrust { accounts.machine.trust }
    private var bindings: ClientBindings { ClientBindings(accounts.machine) }

    /// Says who wrote a definition.
    package enum Author: Sendable {
        /// The user, or a program of the user's: it counts as confirmed.
        case user
        /// Another one: it is imported, and the user has not confirmed it.
        case imported
        /// A command that changes a definition for the user: it is confirmed if the one before was.
        case change
    }

    /// Writes a definition into the user's folder. The stored secrets of the one that is replaced go along to
    /// another keychain group if the new one wants them too, and are forgotten else; one of another folder is not
    /// replaced. Secrets of another client stay. A change of the provider by a command takes the secrets of the
    /// same client along.
    ///
    /// - Returns: the file written.
    /// - Throws: as ``AccountTypeCatalog/add(_:force:)``; as ``DefinitionTrust/confirm(_:)``.
    package func put(
        _ type: AccountType, force: Bool, by author: Author
    ) throws(CredentialError) -> String {
        // A definition that cannot be read does not show which secrets are kept for it.
        let old = try? catalog.ownDefinition(of: type.name)?.type
        let ownsEarlier = old.map { (try? bindings.ownsEarlier($0)) ?? false } ?? false
        try catalog.checkFree(Identifier.checked(type.name, kind: .accountType), force: force)
        // One of another folder is hidden by the new one, which is as good as replaced.
        if let before = try? catalog.definition(of: type.name).type, !keepsRegistration(before, type) {
            accounts.registrationMove.pin(accountsOf: before)
        }
        // A secret that stays under the name would be taken for that of the new definition's client.
        if let old, ownsEarlier, let failure = bind(old), !keepsClient(old, type, author) { throw failure.error }
        switch author {
        case .imported: try trust.noteImport(of: type.name, AccountTypeCatalog.bytes(of: type))
        case .change: try trust.follow(type.name, AccountTypeCatalog.bytes(of: type))
        case .user: break
        }
        let path = try catalog.add(type, force: force)
        if case .user = author { try trust.forgetImport(of: type.name) }
        if let old, keepsClient(old, type, author) { settle(old, type, isMoved: true) }
        return path
    }

    /// Forgets a store's secrets for a definition that was removed, except those that the other directory's
    /// definition, which counts now, needs.
    ///
    /// - Parameter ownsEarlier: whether the secrets stored under the type's name are its client's.
    package func forget(_ removed: AccountType, ownsEarlier: Bool) {
        // A mark of a definition that is gone has no meaning.
        try? trust.forgetImport(of: removed.name)
        // `settle` reports a store that cannot be asked.
        if ownsEarlier { _ = bind(removed) }
        settle(removed, try? catalog.definition(of: removed.name).type, isMoved: false)
    }

    /// Whether any definition that is there has the provider and client of a type, in its group.
    package func isClientUsed(_ type: AccountType) -> Bool {
        ((try? catalog.entries()) ?? []).contains { entry in
            guard case .success(let other) = entry.type, other.keychainGroup == type.keychainGroup else {
                return false
            }
            return keepsRegistration(type, other)
        }
    }

    /// Whether a store that answers without a question has a secret of a client.
    func isKept(_ item: SecretItem) -> Bool { (try? isThere(item, quietStores)) ?? false }

    private func keepsRegistration(_ old: AccountType, _ new: AccountType) -> Bool {
        let adapters = accounts.machine.adapters
        guard let before = try? ClientIdentity(of: old, adapters), let now = try? ClientIdentity(of: new, adapters)
        else {
            return false
        }
        return before == now
    }

    /// Whether a new definition is one of the client that the stored secrets are of.
    private func keepsClient(_ old: AccountType, _ new: AccountType, _ author: Author) -> Bool {
        if case .change = author { return old.clientID == new.clientID }
        return keepsRegistration(old, new)
    }

    /// Moves the secrets that are stored under a type's name to the place of its client's secrets.
    ///
    /// - Returns: the store in which one stays under the name, and why.
    private func bind(_ type: AccountType) -> (store: StoreKind, error: CredentialError)? {
        let stores = quietStores
        var failure: (store: StoreKind, error: CredentialError)?
        for kind in Self.kinds where Self.wants(type, kind) {
            guard let item = try? bindings.item(kind, of: type) else { continue }
            failure = take(ClientBindings.earlierItem(kind, of: type), item, stores, type.name) ?? failure
        }
        return failure
    }

    private func settle(_ old: AccountType, _ new: AccountType?, isMoved: Bool) {
        let stores = quietStores, wanted = wantedItems
        var failure: (store: StoreKind, error: CredentialError)?
        for kind in Self.kinds where Self.wants(old, kind) {
            guard let kept = try? bindings.item(kind, of: old) else { continue }
            let heir = new.flatMap { Self.wants($0, kind) ? try? bindings.item(kind, of: $0) : nil }
            if heir == kept { continue }
            let stays = wanted.contains(kept), place = isMoved ? heir : nil
            if stays, place == nil { continue }
            failure = take(kept, place, stores, old.name, stays: stays) ?? failure
        }
        tell(old, failure)
    }

    private func tell(_ type: AccountType, _ failure: (store: StoreKind, error: CredentialError)?) {
        guard let failure else { return }
        accounts.policy.warn(
            "cannot delete the secrets of the type \(type.name) from the \(failure.store.shownName): "
                + "\(failure.error)"
        )
    }

    /// The stored secrets that the definitions want; types of one client share theirs.
    private var wantedItems: Set<SecretItem> {
        var items: Set<SecretItem> = []
        for entry in (try? catalog.entries()) ?? [] {
            guard case .success(let type) = entry.type else { continue }
            for kind in Self.kinds where Self.wants(type, kind) {
                if let item = try? bindings.item(kind, of: type) { items.insert(item) }
            }
        }
        return items
    }

    // MARK: What no definition wants

    /// The secrets of clients in a group that no definition wants, of every store that answers without a question.
    package func unwanted(in group: KeychainGroup) -> [(store: StoreKind, item: SecretItem)] {
        let stores = quietStores, wanted = wantedItems
        var found: [(store: StoreKind, item: SecretItem)] = []
        for place in Self.places {
            for kind in Self.kinds {
                for item in (try? stores.store(place).items(of: group, kind: kind)) ?? []
                where !wanted.contains(item) && !isEarlierWanted(item) {
                    found.append((place, item))
                }
            }
        }
        return found
    }

    /// Whether an item under a type's name is the one of its client.
    private func isEarlierWanted(_ item: SecretItem) -> Bool {
        guard ClientBindings.isEarlier(item), let type = try? catalog.definition(of: item.owner).type,
            type.keychainGroup == item.group, Self.wants(type, item.kind)
        else { return false }
        return (try? bindings.ownsEarlier(type)) ?? false
    }

    /// Takes a secret out of any store that has it, into another item's place if that is empty.
    ///
    /// - Returns: the store that may still have it, and why.
    private func take(
        _ item: SecretItem, _ other: SecretItem?, _ stores: any SecretStores, _ name: String, stays: Bool = false
    ) -> (store: StoreKind, error: CredentialError)? {
        var failure: (store: StoreKind, error: CredentialError)?
        for kind in Self.places {
            do throws(CredentialError) {
                let store = try stores.store(kind)
                guard let secret = try store.read(item) else { continue }
                if let other, try !isThere(other, stores) {
                    try store.write(secret, for: other, label: "credmgr: \(name) \(Self.shown(other.kind))")
                }
                if !stays { try store.remove(item) }
                return nil
            } catch { failure = (kind, error) }
        }
        return failure
    }

    /// Whether any store that answers has it.
    private func isThere(_ item: SecretItem, _ stores: any SecretStores) throws(CredentialError) -> Bool {
        for kind in Self.places where (try? stores.store(kind).read(item)) != nil { return true }
        return false
    }

    /// The stores, without any prompt.
    private var quietStores: any SecretStores {
        var policy = accounts.policy
        policy.mayPrompt = false
        policy.ask = nil
        return AccountServices(accounts.machine, policy, accounts.configuration).stores
    }

    private static let places = [StoreKind.file, .secretService]
    private static let kinds = [SecretItem.Kind.clientSecret, .privateKey, .registrationToken]

    /// Whether a store keeps a secret of this kind for a definition.
    private static func wants(_ type: AccountType, _ kind: SecretItem.Kind) -> Bool {
        switch kind {
        case .clientSecret: type.clientSecret == .store
        case .privateKey: type.privateKey == .store
        default: type.registrationClientURI != nil
        }
    }

    /// Returns the name that users see in their keyring's own program.
    private static func shown(_ kind: SecretItem.Kind) -> String {
        switch kind {
        case .clientSecret: "client secret"
        case .privateKey: "private key"
        default: "client registration"
        }
    }
}
