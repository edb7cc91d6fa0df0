public import CredentialCore
import Platform
import Synchronization

/// The accounts of a keychain group, for a Swift program: the counterpart of NXOAuth2's account store and ADAL's
/// context in an app.
///
/// A program configures an account type, lets a person sign in, enumerates the accounts, gets valid tokens, makes
/// authenticated requests and observes changes. It shares accounts, locks and stores with the `credmgr` command and
/// with every other program of the user: one sign-in serves all programs of the group.
///
/// A call that waits is `async`, runs on threads of its own and not on the cooperative pool, and ends at once when
/// its task is cancelled, with ``CredentialCore/ErrorCode/cancelled``. A request that was sent then is not given
/// up: the provider's response is kept. The calls that are not `async` read and write small files of this machine.
/// The exceptions are ``claims(of:ofType:policy:)`` and ``userData(of:)``: they ask the account's store, for at
/// most 3 seconds and without a prompt. In addition, ``setUserData(_:of:)-(JSONObject,_)`` may take some seconds
/// more, as its comment describes.
///
/// Refreshes are done by the installed `credmgr` of the same version, in a process of its own that lives on when
/// this one is killed. Without an installed one, this process refreshes (``Options/program``).
public final class AccountStore: Sendable {
    let parts: LibraryAssembly
    let options: Options
    /// The sign-ins of this store that wait for ``handleRedirect(_:)``, by their state.
    let waiting = Mutex<[String: AsyncResult<SignInProgress>]>([:])

    /// Opens the accounts of the user. At first it reads only the configuration.
    ///
    /// - Parameters:
    ///   - options: the settings that differ from the usual ones.
    ///   - environment: the locations (`HOME`, `XDG_*`, `DBUS_SESSION_BUS_ADDRESS`); the process's own
    ///   for `nil`.
    /// - Throws: ``CredentialCore/ErrorCode/configuration`` without a home directory;
    ///   ``CredentialCore/ErrorCode/usage`` if `CREDMGR_CACHE` is neither `on` nor `off`.
    public init(_ options: Options = Options(), environment: [String: String]? = nil) throws(CredentialError) {
        self.options = options
        parts = try LibraryAssembly(options, environment: environment ?? ProcessEnvironment.variables())
    }

    // MARK: Account types

    /// Configures an account type for this program; it takes the place of one that a file defines.
    ///
    /// - Parameters:
    ///   - type: the definition.
    ///   - persisting: whether the definition is also written to the path at which `credmgr` and other tools look
    ///   for it, in place of an existing one, whose secrets the stores drop if this definition does not need them.
    ///   Accounts of a type that only this program knows are seen by the command, which cannot refresh them.
    /// - Throws: ``CredentialCore/ErrorCode/usage`` for a bad name; ``CredentialCore/ErrorCode/configuration`` for
    ///   a definition that its adapter cannot use; ``CredentialCore/ErrorCode/inputOutput``.
    public func configure(_ type: AccountType, persisting: Bool = false) throws(CredentialError) {
        var type = type
        // NXOAuth2's articles set it; here every token request is a form.
        type.headers = type.headers.filter { name, value in
            name.lowercased() != "content-type"
                || !value.lowercased().hasPrefix("application/x-www-form-urlencoded")
        }
        _ = try Identifier.checked(type.name, kind: .accountType)
        // If a file cannot express a type, a worker cannot refresh its accounts and the command cannot finish its
        // sign-ins.
        _ = try AccountType(name: type.name, json: type.json, isPrivateFile: true, place: nil)
        try parts.machine.adapters.adapter(of: type).check(type)
        parts.types.configure(type)
        guard persisting else { return }
        if let group = options.group { type.keychainGroup = group }
        let known = try? parts.machine.catalog.definition(of: type.name).type
        if known != type { _ = try parts.accountsAtOnce.ownDefinitions.put(type, force: true, by: .user) }
    }

    /// The definition of a type: configured here, else from the user's files.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/unknownType``, ``CredentialCore/ErrorCode/configuration``.
    public func type(named name: String) throws(CredentialError) -> AccountType {
        try forPrograms { () throws(CredentialError) in try parts.types.definition(of: name) }
    }

    // MARK: Parts

    /// The type that an account is asked for under: the one named, else the one it was signed in under.
    ///
    /// - Throws: as ``type(named:)``; ``CredentialCore/ErrorCode/noSuchAccount`` for one that does not see it.
    func type(_ name: String?, of account: Account) throws(CredentialError) -> AccountType {
        let type = try type(named: name ?? account.type)
        try forPrograms { () throws(CredentialError) in
            try account.check(seenBy: type, try registration(of: type), in: group(of: type))
        }
        return type
    }

    /// An account as a type sees it: bound to that type, even if it was signed in under another type of the same
    /// client. Another program may have configured that one, and this one need not know it.
    func bound(_ account: Account, to type: AccountType) -> Account {
        var account = account
        account.type = type.name
        return account
    }

    func group(of type: AccountType) -> KeychainGroup { options.group ?? type.keychainGroup }

    /// The group that keeps an account, which need not be the one of its type. The groups in which it was last seen
    /// come first: an error of another group is reported only if no group has it.
    func group(of account: Account, under type: AccountType?) throws(CredentialError) -> KeychainGroup {
        let records = parts.machine.records, own = options.group ?? type?.keychainGroup
        let groups = (own.map { [$0] } ?? []) + (try records.groups().filter { $0 != own })
        let seen = groups.filter { (try? records.lastSeen(account.id, in: $0)) != nil }
        var failure: CredentialError?
        for group in seen + groups.filter({ !seen.contains($0) }) {
            do throws(CredentialError) {
                if try records.read(account.id, in: group) != nil { return group }
            } catch {
                failure = failure ?? error
            }
        }
        throw failure ?? CredentialError(.noSuchAccount, "account \(account.id) has been removed")
    }

    func registration(of type: AccountType) throws(CredentialError) -> ClientIdentity {
        try ClientIdentity(of: type, parts.machine.adapters)
    }

    /// Runs a call that does not wait, with its hint in words for programs.
    func forPrograms<Value>(_ body: () throws(CredentialError) -> Value) throws(CredentialError) -> Value {
        do throws(CredentialError) { return try body() } catch { throw error.forPrograms }
    }
}
