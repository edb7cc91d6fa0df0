/// Names one secret in a store.
public struct SecretItem: Sendable, Hashable {
    /// The keychain group.
    public let group: KeychainGroup
    /// The account's id, or the type's name for secrets of a type. Never anything private: stores keep it in clear.
    public let owner: String
    /// The kind of the secret.
    public let kind: Kind

    /// Names a secret.
    public init(group: KeychainGroup, owner: String, kind: Kind) {
        self.group = group
        self.owner = owner
        self.kind = kind
    }

    /// The kinds of secrets.
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
        /// This host's own key in a group that several hosts share.
        case hostKey = "host-key"
    }
}

/// A place that keeps secrets: the Secret Service, or the encrypted file.
///
/// "Not found" means that the store was open, was asked and has no such item. A store that is locked, missing or
/// silent throws; it never answers "not found". Every call ends within its deadline.
public protocol SecretStore: Sendable {
    /// Which store this is.
    var kind: StoreKind { get }

    /// Returns the protection of a group's secrets; `nil` if the store has no data of that group yet.
    ///
    /// - Throws: as ``read(_:)``.
    func protection(of group: KeychainGroup) throws(CredentialError) -> ProtectionSummary?

    /// Begins, in the background, the slow part of a store's first use: the store is soon to be read. Nothing is
    /// told.
    func begin()

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
    /// - Parameters:
    ///   - secret: the bytes.
    ///   - item: the owner and kind of the bytes.
    ///   - label: the name that users see in their keyring's own program; no `/`.
    /// - Throws: as ``read(_:)``.
    func write(_ secret: [UInt8], for item: SecretItem, label: String) throws(CredentialError)

    /// Removes the secret, and the store's earlier versions of it; removing a missing secret is no error.
    ///
    /// - Throws: as ``read(_:)``.
    func remove(_ item: SecretItem) throws(CredentialError)

    /// Drops the store's earlier versions of a group's secrets, so that replaced secrets cannot be read from it any
    /// more.
    ///
    /// - Throws: as ``read(_:)``.
    func forgetPast(of group: KeychainGroup) throws(CredentialError)

    /// All items of `group` of one kind.
    ///
    /// - Throws: as ``read(_:)``.
    func items(of group: KeychainGroup, kind: SecretItem.Kind) throws(CredentialError) -> [SecretItem]

    /// Gives all secrets of `group` of one kind, in the order of their owners, with as few questions as the store
    /// has.
    ///
    /// - Parameters:
    ///   - group: the group.
    ///   - kind: the kind of the secrets.
    ///   - body: takes each item with its secret, `nil` if that is damaged; a secret that is removed meanwhile is
    ///     left out.
    /// - Throws: as ``read(_:)``, but for a damaged one; the errors of `body`.
    func eachSecret(
        of group: KeychainGroup, kind: SecretItem.Kind,
        _ body: (SecretItem, [UInt8]?) throws(CredentialError) -> Void
    ) throws(CredentialError)

    /// Opens the locked secrets of a group, and asks the user if the store has a prompt.
    ///
    /// - Parameters:
    ///   - group: the group.
    ///   - seconds: how long it stays open, if the store can limit that.
    /// - Returns: whether there was anything that could be locked.
    /// - Throws: as ``read(_:)``.
    func unlock(_ group: KeychainGroup, seconds: Int64) throws(CredentialError) -> Bool

    /// Locks a group's secrets again if this program controls the lock.
    ///
    /// - Returns: whether it was.
    /// - Throws: as ``read(_:)``.
    func lock(_ group: KeychainGroup) throws(CredentialError) -> Bool

    /// Makes `key` the only one that opens a group's secrets.
    ///
    /// - Throws: ``ErrorCode/unsupported`` if others keep the keys; as ``write(_:for:label:)``.
    func setKey(_ key: StoreKey, of group: KeychainGroup) throws(CredentialError)

    /// Whether the store would take a first secret of a group as it is configured, found out before anybody is
    /// asked for anything.
    ///
    /// - Throws: ``ErrorCode/usage`` for a means of opening that is not allowed; as ``read(_:)``.
    func checkFirst(of group: KeychainGroup) throws(CredentialError)

    /// Returns the items of another program, if this store is shared with others.
    ///
    /// - Parameters:
    ///   - schema: the kind of that program's items.
    ///   - attribute: the attribute that tells them apart.
    ///   - isWanted: whether the secret is wanted of the item with this value of the attribute; no other is read.
    /// - Throws: as ``read(_:)``.
    func foreignItems(
        schema: String, attribute: String, where isWanted: @escaping @Sendable (String) -> Bool
    ) throws(CredentialError) -> [KeyringItem]

    /// Facts for `doctor`: the provider of the store and its state, one sentence each.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable``.
    func facts() throws(CredentialError) -> [String]
}

/// The key that opens a store.
public enum StoreKey: Sendable {
    /// A passphrase.
    case passphrase(Secret)
    /// The user's key file.
    case keyFile
}

extension SecretStore {
    /// Reads one after the other.
    public func eachSecret(
        of group: KeychainGroup, kind: SecretItem.Kind,
        _ body: (SecretItem, [UInt8]?) throws(CredentialError) -> Void
    ) throws(CredentialError) {
        for item in try items(of: group, kind: kind) { try readEach(item, body) }
    }

    /// Reads one secret for ``eachSecret(of:kind:_:)``.
    ///
    /// - Throws: as that.
    package func readEach(
        _ item: SecretItem, _ body: (SecretItem, [UInt8]?) throws(CredentialError) -> Void
    ) throws(CredentialError) {
        let secret: [UInt8]?
        do throws(CredentialError) {
            guard let read = try read(item) else { return }
            secret = read
        } catch {
            guard error.code == .storeDamaged else { throw error }
            secret = nil
        }
        try body(item, secret)
    }

    /// Reads an item, which unlocks the locked secrets that a response needs.
    public func unlock(_ group: KeychainGroup, seconds: Int64) throws(CredentialError) -> Bool {
        _ = try items(of: group, kind: .tokenSet)
        return true
    }

    /// Does no work: the store is ready.
    public func begin() {}

    /// Does no work: the store keeps only the present secrets.
    public func forgetPast(of group: KeychainGroup) throws(CredentialError) {}

    /// Leaves the store as it is.
    public func lock(_ group: KeychainGroup) throws(CredentialError) -> Bool { false }

    /// Refuses.
    public func setKey(_ key: StoreKey, of group: KeychainGroup) throws(CredentialError) {
        throw CredentialError(.unsupported, "cannot set the key: the \(kind.shownName) manages its own keys")
    }

    /// Does no check: others open the store.
    public func checkFirst(of group: KeychainGroup) throws(CredentialError) {}

    /// Always empty: the store is for this program alone.
    public func foreignItems(
        schema: String, attribute: String, where isWanted: @escaping @Sendable (String) -> Bool
    ) throws(CredentialError) -> [KeyringItem] { [] }

    /// None.
    public func facts() throws(CredentialError) -> [String] { [] }
}

/// Gives the stores; opening one is put off until it is asked for.
public protocol SecretStores: Sendable {
    /// The store of that kind, opened or not.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable`` when it cannot even be tried.
    func store(_ kind: StoreKind) throws(CredentialError) -> any SecretStore

    /// Returns the vault that seals the token sets in records.
    ///
    /// - Throws: as ``store(_:)``.
    func vault() throws(CredentialError) -> any TokenSetCipher
}
