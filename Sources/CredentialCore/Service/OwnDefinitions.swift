/// Changes the user's own definitions. What a store keeps of a type's client follows its definition, whoever changes that.
package struct OwnDefinitions: Sendable {
    /// What it works on.
    let accounts: AccountServices

    private var catalog: AccountTypeCatalog { accounts.machine.catalog }

    /// Writes a definition into the user's folder. What a store keeps for the one that is replaced goes along to another
    /// keychain group where the new one wants it too, and is forgotten else; that of another folder is not replaced.
    ///
    /// - Returns: the file written.
    /// - Throws: as ``AccountTypeCatalog/add(_:force:)``.
    package func put(_ type: AccountType, force: Bool) throws(CredentialError) -> String {
        // One that cannot be read does not say what is kept for it.
        let old = try? catalog.ownDefinition(of: type.name)?.type
        let path = try catalog.add(type, force: force)
        if let old { settle(old, type, isMoved: true) }
        return path
    }

    /// Forgets what a store keeps for a definition that was removed, but what that of another folder wants, which counts now.
    package func forget(_ removed: AccountType) {
        settle(removed, try? catalog.definition(of: removed.name).type, isMoved: false)
    }

    private func settle(_ old: AccountType, _ new: AccountType?, isMoved: Bool) {
        let stores = quietStores
        var failure: (store: StoreKind, error: CredentialError)?
        for kind in Self.kinds where Self.wants(old, kind) {
            let heir = new.flatMap { Self.wants($0, kind) ? item($0, kind) : nil }, kept = item(old, kind)
            if heir != kept { failure = take(kept, isMoved ? heir : nil, stores) ?? failure }
        }
        guard let failure else { return }
        accounts.policy.warn(
            "what is secret of the type \(old.name) may still be in the \(failure.store.shownName): \(failure.error)"
        )
    }

    /// Takes a secret out of whichever store has it, into another item's place if nothing is there yet.
    ///
    /// - Returns: where it may be still, and why.
    private func take(
        _ item: SecretItem, _ other: SecretItem?, _ stores: any SecretStores
    ) -> (store: StoreKind, error: CredentialError)? {
        var failure: (store: StoreKind, error: CredentialError)?
        for kind in Self.places {
            do throws(CredentialError) {
                let store = try stores.store(kind)
                guard let secret = try store.read(item) else { continue }
                if let other, try !isThere(other, stores) {
                    try store.write(secret, for: other, label: "credmgr: \(other.owner) \(Self.shown(other.kind))")
                }
                try store.remove(item)
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

    /// The stores, where nobody is asked anything.
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

    /// What people see in their keyring's own program.
    private static func shown(_ kind: SecretItem.Kind) -> String {
        switch kind {
        case .clientSecret: "client secret"
        case .privateKey: "private key"
        default: "client registration"
        }
    }

    private func item(_ type: AccountType, _ kind: SecretItem.Kind) -> SecretItem {
        SecretItem(group: type.keychainGroup, owner: type.name, kind: kind)
    }
}
