/// Names one secret in a store.
public struct SecretItem: Sendable, Hashable {
    /// The keychain group.
    public let group: KeychainGroup
    /// The account's id, or the type's name for secrets of a type. Never anything private: stores keep it in clear.
    public let owner: String
    /// What the secret is.
    public let kind: Kind

    /// Names a secret.
    public init(group: KeychainGroup, owner: String, kind: Kind) {
        self.group = group
        self.owner = owner
        self.kind = kind
    }

    /// What a secret is.
    public enum Kind: String, Sendable, CaseIterable {
        /// The ``TokenSet`` of an account.
        case tokenSet = "token-set"
        /// The client secret of a type.
        case clientSecret = "client-secret"
        /// A private key of a type.
        case privateKey = "private-key"
        /// The token that manages the registration of a type's client (RFC 7592).
        case registrationToken = "registration-token"
        /// A sign-in between `login --print-url` and `login --complete`.
        case pendingSignIn = "pending-sign-in"
    }
}

/// A place that keeps secrets: the Secret Service, or the encrypted file.
///
/// "Not found" means that the store was open, was asked and has no such item. A store that is locked, missing or
/// silent throws; it never answers "not found". Every call ends within its deadline.
public protocol SecretStore: Sendable {
    /// Which store this is.
    var kind: StoreKind { get }

    /// What protects the secrets of a group; `nil` where the store has nothing of that group yet.
    ///
    /// - Throws: as ``read(_:)``.
    func protection(of group: KeychainGroup) throws(CredentialError) -> StoreProtection?

    /// Whether the store can be used now.
    ///
    /// - Throws: ``ErrorCode/storeLocked``, ``ErrorCode/storeUnavailable``.
    func probe() throws(CredentialError)

    /// The secret, or `nil` when the store has no such item.
    ///
    /// - Throws: ``ErrorCode/storeLocked``, ``ErrorCode/storeUnavailable``, ``ErrorCode/storeDamaged``,
    ///   ``ErrorCode/cancelled`` when a prompt was dismissed.
    func read(_ item: SecretItem) throws(CredentialError) -> [UInt8]?

    /// Creates or replaces the secret and reads it back; when this returns, the store has given the same bytes.
    ///
    /// - Parameter label: what people see in their keyring's own program; no `/`.
    /// - Throws: as ``read(_:)``.
    func write(_ secret: [UInt8], for item: SecretItem, label: String) throws(CredentialError)

    /// Removes the secret; removing what is not there is no error.
    ///
    /// - Throws: as ``read(_:)``.
    func remove(_ item: SecretItem) throws(CredentialError)

    /// All items of `group` of one kind.
    ///
    /// - Throws: as ``read(_:)``.
    func items(of group: KeychainGroup, kind: SecretItem.Kind) throws(CredentialError) -> [SecretItem]
}

/// Gives the stores; opening one is put off until it is asked for.
public protocol SecretStores: Sendable {
    /// The store of that kind, opened or not.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable`` when it cannot even be tried.
    func store(_ kind: StoreKind) throws(CredentialError) -> any SecretStore
}
