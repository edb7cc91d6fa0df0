/// The accounts of one keychain group: the document `accounts.json`, no secrets.
public struct AccountRegistry: Sendable, Hashable {
    /// The accounts, in the order they were added.
    public var accounts: [Account] = []
    /// The default account of a type, by the type's name.
    public var defaults: [String: String] = [:]
    /// Whether a damaged document was set aside and the accounts still have to be taken up from the stores. It stays
    /// set until an update clears it.
    public var needsRebuild = false
    /// When the user was last told that accounts may be missing.
    public var rebuildToldAt: Instant?

    /// Makes an empty registry.
    public init() {}

    /// The account with `id`.
    public subscript(id id: String) -> Account? {
        get { accounts.first { $0.id == id } }
        set {
            let place = accounts.firstIndex { $0.id == id }
            switch (place, newValue) {
            case (let place?, let account?): accounts[place] = account
            case (let place?, nil):
                accounts.remove(at: place)
                defaults = defaults.filter { $0.value != id }
            case (nil, let account?): accounts.append(account)
            case (nil, nil): break
            }
        }
    }

    /// The accounts of a registration.
    public func accounts(of registration: Registration) -> [Account] {
        accounts.filter { $0.registration == registration }
    }
}
