public import CredentialCore
import LocalMachine
import OAuth
import StrictJSON

/// An account type that was read from another program's file.
public struct ImportedType: Sendable, Hashable {
    /// The type, configured.
    public let type: AccountType
    /// The result for each key of the file, one line each.
    public let report: [String]
}

/// The import and export of files, as `types import`, `accounts export` and `accounts import` have it.
extension AccountStore {
    /// Configures the account type that a file describes: `settings.plist` of the articles' apps in any of its
    /// forms, or a JSON definition.
    ///
    /// - Parameters:
    ///   - bytes: the content of the file.
    ///   - name: the type's name; `nil` for the one in the file.
    ///   - fixing: whether known faults in such files are fixed.
    ///   - exactly: whether the definition has only the settings in the file.
    ///   - persisting: as for ``configure(_:persisting:)``.
    /// - Throws: ``CredentialCore/ErrorCode/usage`` if neither names the type;
    ///   ``CredentialCore/ErrorCode/configuration`` for a file that cannot be used; as
    ///   ``configure(_:persisting:)``.
    public func importType(
        from bytes: [UInt8], name: String? = nil, fixing: Bool = false, exactly: Bool = false,
        persisting: Bool = false
    ) throws(CredentialError) -> ImportedType {
        try forPrograms { () throws(CredentialError) in
            let place = "the imported file"
            let file = DefinitionFile(bytes: bytes, isPrivate: true)
            let type: AccountType
            let report: [String]
            if AccountTypeCatalog.isDefinition(file, at: place) {
                guard let name else {
                    throw CredentialError(
                        .usage, "a JSON definition does not name its type", hint: "importType(from:name:)")
                }
                type = try parts.machine.catalog.type(
                    try Identifier.checked(name, kind: .accountType), in: file, at: place)
                report = type.json.keys.map { "\($0): used" }
            } else {
                let outcome = try LocalMachine.importSettings(
                    bytes, name: name, fix: fixing, exact: exactly, place: place)
                type = outcome.type
                report = outcome.report.map(\.description)
            }
            try configure(type, persisting: persisting)
            for other in try parts.machine.catalog.strangers(to: type, parts.machine.adapters) {
                options.warn(
                    "\(other.name) is of the same client in group \(other.keychainGroup), \(type.name) in group "
                        + "\(type.keychainGroup): they do not share a sign-in")
            }
            return ImportedType(type: try self.type(named: type.name), report: report)
        }
    }

    /// Sign-ins for another machine, sealed under a passphrase: `accounts export` writes them, and
    /// `accounts import` reads them.
    ///
    /// Providers that replace refresh tokens end a sign-in that two machines use: sign out here once it has been
    /// imported there.
    ///
    /// - Parameters:
    ///   - accounts: whose; `nil` for all of the group, or of all groups.
    ///   - passphrase: the passphrase that opens it.
    /// - Throws: ``CredentialCore/ErrorCode/noSuchAccount`` if there is no sign-in; the errors of the store.
    public func exportAccounts(
        _ accounts: [Account]? = nil, passphrase: Secret
    ) async throws(CredentialError) -> [UInt8] {
        try await blocking { [self] () throws(CredentialError) in
            let transfer = transfer
            var chosen: [(group: KeychainGroup, account: Account)] = []
            let all = if let accounts { accounts } else { try self.accounts() }
            for account in all {
                chosen.append((try group(of: account, under: try? type(named: account.type)), account))
            }
            let archive = try transfer.archive(of: chosen) { (damage) throws(CredentialError) in throw damage }
            return try transfer.sealed(archive, passphrase: passphrase)
        }
    }

    /// Takes sign-ins over from the output of ``exportAccounts(_:passphrase:)`` or `accounts export`, or from other
    /// programs' files, as `accounts import` does. An account that is signed in here already stays as it is.
    ///
    /// - Parameters:
    ///   - bytes: the content of the file.
    ///   - name: for sign-ins of other programs, the account type; `nil` for the only one of the same client.
    ///   - passphrase: the passphrase that opens an exported file.
    /// - Returns: the accounts that were taken over; the options' `warn` reports why others could not be.
    /// - Throws: if no account was taken over, the error of the first; ``CredentialCore/ErrorCode/usage`` for an
    ///   exported file without a passphrase; ``CredentialCore/ErrorCode/denied`` for a wrong one;
    ///   ``CredentialCore/ErrorCode/configuration`` for an unreadable file; the provider's and store's errors.
    public func importAccounts(
        from bytes: [UInt8], ofType name: String? = nil, passphrase: Secret? = nil
    ) async throws(CredentialError) -> [Account] {
        try await blocking { [self] () throws(CredentialError) in
            let transfer = transfer, store = try parts.storeOfNewAccounts(transfer.accounts).kind
            var taken: [Account] = [], failures: [CredentialError] = []
            let bytes = bytes.asUTF8
            if let document = (try? JSONValue.parse(bytes, limits: .ownFile))?.object,
                EncryptedExport.isOne(document)
            {
                guard let passphrase else {
                    throw CredentialError(
                        .usage, "the exported accounts are encrypted with a passphrase",
                        hint: "importAccounts(from: bytes, passphrase: passphrase)")
                }
                let archive = try EncryptedExport.open(
                    document, passphrase: passphrase, parts.machine.cryptography)
                failures = try transfer.take(archive, into: store) { (account) throws(CredentialError) in
                    taken.append(account)
                }
            } else {
                failures = transfer.take(
                    try CredentialImporters.read(bytes) { () throws(CredentialError) in
                        try transfer.accounts.stores.store(.secretService)
                    }, ofType: name, into: store
                ) {
                    (account) throws(CredentialError) in taken.append(account)
                }
            }
            if let failure = failures.first, taken.isEmpty { throw failure }
            for failure in failures { options.warn(failure.message) }
            return taken
        }
    }

    private var transfer: AccountTransfer {
        AccountTransfer(
            parts.accounts, group: options.group,
            definition: { [parts] (name) throws(CredentialError) in try parts.types.definition(of: name) },
            note: { [options] in options.note($0.description) })
    }
}
