/// Takes accounts up into the registry from the token sets in the stores: each carries its account's facts.
///
/// What only the registry knew is lost with it: which account is the default of a type, and labels given after the
/// last change of the tokens.
package struct RegistryRebuild: Sendable {
    private let stores: any SecretStores
    private let registry: any RegistryStore

    /// Makes a rebuild on its parts.
    package init(stores: any SecretStores, registry: any RegistryStore) {
        self.stores = stores
        self.registry = registry
    }

    /// What the stores hold of a group.
    package struct Inventory: Sendable {
        /// The token sets by account and store: each account's facts, and the generation.
        package var copies: [String: [StoreKind: (account: Account, generation: Int64)]] = [:]
        /// Items that hold no token set: their ids.
        package var damaged: [(store: StoreKind, id: String)] = []
        /// The stores that could not be asked, and why.
        package var unread: [(store: StoreKind, error: CredentialError)] = []

        /// The accounts with secrets, oldest first, each in the store whose copy is the newest.
        package var accounts: [Account] {
            copies.values.compactMap { copies in
                // Equal generations are the same: a migration was interrupted.
                let order = copies.sorted {
                    ($0.value.generation, $1.key.rawValue) > ($1.value.generation, $0.key.rawValue)
                }
                guard let newest = order.first else { return nil }
                var account = newest.value.account
                account.store = newest.key
                account.leftover = order.dropFirst().first?.key
                return account
            }.sorted { ($0.createdAt.epochSeconds, $0.id) < ($1.createdAt.epochSeconds, $1.id) }
        }
    }

    /// Reads all token sets of a group. Never throws for a store: one that cannot be asked is listed.
    package func inventory(of group: KeychainGroup) -> Inventory {
        var inventory = Inventory()
        for kind in StoreKind.allCases {
            do throws(CredentialError) {
                let store = try stores.store(kind)
                for item in try store.items(of: group, kind: .tokenSet) {
                    if let set = try Self.set(item, store), set.account.id == item.owner {
                        inventory.copies[item.owner, default: [:]][kind] = (set.account, set.generation)
                    } else {
                        inventory.damaged.append((kind, item.owner))
                    }
                }
            } catch {
                inventory.unread.append((kind, error))
            }
        }
        return inventory
    }

    /// Adds the accounts that the registry lacks; what it has stays as it is. The mark that it has to be rebuilt goes
    /// once every store could be asked.
    ///
    /// - Parameter givesUp: takes the mark away in any case.
    /// - Returns: the accounts that were added, and what could not be asked.
    /// - Throws: the errors of the registry.
    package func run(
        _ group: KeychainGroup, givesUp: Bool = false
    ) throws(CredentialError) -> (added: [Account], unread: [(store: StoreKind, error: CredentialError)]) {
        let inventory = inventory(of: group)
        let added = try registry.update(group) { (registry) throws(CredentialError) -> [Account] in
            let known = Set(registry.accounts.map(\.id))
            let missing = inventory.accounts.filter { !known.contains($0.id) }
            registry.accounts += missing
            if inventory.unread.isEmpty || givesUp {
                registry.needsRebuild = false
                registry.rebuildToldAt = nil
            }
            return missing
        }
        return (added, inventory.unread)
    }

    /// The token set of an item; `nil` for one that holds none.
    private static func set(
        _ item: SecretItem, _ store: any SecretStore
    ) throws(CredentialError) -> TokenSet? {
        do throws(CredentialError) {
            return try store.read(item).map { (bytes) throws(CredentialError) in try TokenSet(decoding: bytes) }
        } catch {
            if error.code == .storeDamaged { return nil }
            throw error
        }
    }
}
