public import CredentialCore
import LinuxPlatform
import Synchronization

/// The accounts of a keychain group, for a Swift program: what NXOAuth2's account store was for an app.
///
/// A program configures an account type, lets a person sign in, enumerates the accounts, gets valid tokens, makes
/// authenticated requests and observes changes. It shares accounts, locks and stores with the `credmgr` command and
/// with every other program of the user: whoever signed in first signed in for all of the group.
///
/// Calls block until they are done; make them from a thread that may wait. ``changes`` is an `AsyncSequence`.
///
/// A refresh is done in this process under the account's lock and persisted before the token is given out. A program
/// that may be killed at any moment asks the `credmgr token` command instead, which hands the refresh to a process of
/// its own.
public final class AccountStore: Sendable {
    /// How a store is opened.
    public struct Options: Sendable {
        /// The keychain group, in place of each type's own.
        public var group: KeychainGroup?
        /// Where secrets of new accounts go; `nil` for the Secret Service if it answers, else the encrypted file.
        public var store: StoreKind?
        /// Whether the desktop may ask the user to unlock the keyring.
        public var mayPrompt = true
        /// How long to wait for another process's refresh, in seconds.
        public var lockWait = 60
        /// Adapters besides the built-in `azure-b2c` and `oauth2` and the external ones that are installed.
        public var adapters: [any CredentialAdapter] = []
        /// The passphrase of the encrypted file, where it has one.
        public var passphrase: @Sendable () throws(CredentialError) -> Secret? = { () throws(CredentialError) in nil
        }
        /// Takes what the user should know.
        public var warn: @Sendable (String) -> Void = { _ in }

        /// Makes the standard options.
        public init() {}
    }

    let parts: StoreParts
    let options: Options
    private let configured = Mutex<[String: AccountType]>([:])
    let pending = Mutex<[String: PendingAuthorization]>([:])

    /// Opens the accounts of the user. Nothing is read yet.
    ///
    /// - Parameter environment: where things are (`HOME`, `XDG_*`, `DBUS_SESSION_BUS_ADDRESS`); the process's own
    ///   for `nil`.
    /// - Throws: ``CredentialCore/ErrorCode/configuration`` without a home folder.
    public init(_ options: Options = Options(), environment: [String: String]? = nil) throws(CredentialError) {
        self.options = options
        parts = try StoreParts(options, environment: environment ?? ProcessEnvironment.variables())
    }

    // MARK: Account types

    /// Configures an account type for this program; it takes the place of one that a file defines.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/configuration`` for a definition that its adapter cannot use.
    public func configure(_ type: AccountType) throws(CredentialError) {
        _ = try Name.checked(type.name, kind: "account type")
        try parts.adapters.adapter(of: type).check(type)
        configured.withLock { $0[type.name] = type }
    }

    /// The definition of a type: configured here, else from the user's files.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/unknownType``, ``CredentialCore/ErrorCode/configuration``.
    public func type(named name: String) throws(CredentialError) -> AccountType {
        if let type = configured.withLock({ $0[name] }) { return type }
        return try parts.catalog.definition(of: name).type
    }

    // MARK: Accounts

    /// The accounts that a type sees.
    ///
    /// - Throws: as ``type(named:)``; ``CredentialCore/ErrorCode/inputOutput``.
    public func accounts(ofType name: String) throws(CredentialError) -> [Account] {
        let type = try type(named: name)
        return try parts.registry.read(group(of: type)).accounts(of: try registration(of: type))
    }

    /// All accounts of the group, or of all groups.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/inputOutput``.
    public func accounts() throws(CredentialError) -> [Account] {
        let groups = if let group = options.group { [group] } else { try parts.registry.groups() }
        var accounts: [Account] = []
        for group in groups { accounts += try parts.registry.read(group).accounts }
        return accounts
    }

    /// The account with an id that a type sees.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/noSuchAccount``.
    public func account(withID id: String, ofType name: String) throws(CredentialError) -> Account {
        guard let account = try accounts(ofType: name).first(where: { $0.id == id }) else {
            throw CredentialError(.noSuchAccount, "no account '\(ForeignText.shown(id))' of account type \(name)")
        }
        return account
    }

    /// Gives an account a name of the user's own; an empty one removes it.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/inputOutput``.
    public func setLabel(_ label: String, of account: Account, ofType name: String) throws(CredentialError) {
        let group = group(of: try type(named: name))
        try parts.registry.update(group) { (registry) throws(CredentialError) in
            registry[id: account.id]?.label = label.isEmpty ? nil : label
        }
        tell(.accountUpdated, account, group)
    }

    /// Forgets an account on this machine; a provider that can is asked to revoke its tokens first.
    ///
    /// - Parameter revoking: whether the provider is asked. Where it has no revocation that throws
    ///   ``CredentialCore/ErrorCode/unsupported``, and nothing is forgotten.
    /// - Throws: the errors of the store; then the account is as it was.
    public func remove(_ account: Account, ofType name: String, revoking: Bool = false) throws(CredentialError) {
        let type = try type(named: name)
        let adapter = try parts.adapters.adapter(of: type)
        let context = parts.adapterContext
        try parts.signOut.forget(account, policy: nil, in: group(of: type)) { (grants) throws(CredentialError) in
            guard revoking else { return }
            for grant in grants.values { try adapter.revoke(grant, of: type, in: context) }
        }
    }

    // MARK: Parts

    func group(of type: AccountType) -> KeychainGroup { options.group ?? type.keychainGroup }

    func registration(of type: AccountType) throws(CredentialError) -> Registration {
        Registration(provider: try parts.adapters.adapter(of: type).provider(of: type), clientID: type.clientID)
    }

    private func tell(_ kind: AccountEvent.Kind, _ account: Account, _ group: KeychainGroup) {
        parts.events.append(
            AccountEvent(kind: kind, time: parts.clock.now, group: group, type: account.type, account: account.id))
    }
}
