/// The accounts of one keychain group as they were when they were read, no secrets.
public struct AccountList: Sendable, Hashable {
    /// The accounts, in the order they were added.
    public var accounts: [Account] = []

    /// Makes an empty registry.
    public init() {}

    /// The account with `id`.
    public subscript(id id: String) -> Account? { accounts.first { $0.id == id } }

    /// The accounts of a registration.
    public func accounts(of registration: ClientIdentity) -> [Account] {
        accounts.filter { $0.registration == registration }
    }
}
