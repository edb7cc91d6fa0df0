import CredentialCore
import Synchronization

/// The account types that a program has configured, before those of files.
final class ConfiguredTypes: Sendable {
    private let catalog: AccountTypeCatalog
    private let types = Mutex<[String: AccountType]>([:])

    init(_ catalog: AccountTypeCatalog) { self.catalog = catalog }

    func configure(_ type: AccountType) { types.withLock { $0[type.name] = type } }

    /// Takes a definition over that was written to a file, if an older one is configured here.
    func follow(_ type: AccountType) {
        types.withLock { types in if types[type.name] != nil { types[type.name] = type } }
    }

    /// The definition that this program has configured; `nil` for a type that it has not.
    func own(_ name: String) -> AccountType? { types.withLock { $0[name] } }

    /// The definition of a type.
    ///
    /// - Throws: ``ErrorCode/unknownType``, ``ErrorCode/configuration``.
    func definition(of name: String) throws(CredentialError) -> AccountType {
        if let type = own(name) { return type }
        return try catalog.definition(of: name).type
    }

    /// Whether no file has a type as it is here: another process knows it otherwise, or not at all.
    func isOnlyHere(_ name: String) -> Bool {
        guard let type = own(name) else { return false }
        return (try? catalog.definition(of: name).type) != type
    }
}
