import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr accounts export`.
struct AccountsExportCommand: Command {
    static let spec = CommandSpec(
        ["accounts", "export"], "write sign-ins to an encrypted file",
        details: """
            Writes the accounts of the group, or of all groups when none is named, with their refresh tokens, their \
            types and the types' stored client secrets to a file that a passphrase protects, for 'accounts import' on \
            another machine. Providers that replace refresh tokens end a sign-in that two machines use: sign out here \
            with 'credmgr logout', without --revoke, once it has been imported there.
            """,
        parameters: [file],
        options: [SharedOption.account, SharedOption.type, passphraseFile],
        exitStatuses: [3, 5, 7])

    private static let file = Parameter.required("file", .file, "the file to write; it must not exist")
    private static let passphraseFile = Option.value(
        "passphrase-file", .file, "the passphrase; '-' reads a line of standard input")

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        let path = arguments[Self.file]
        guard session.context.fileStates.state(of: path) == nil else {
            throw CredentialError(
                .usage, "\(ForeignText.shown(path)) is there already", hint: "name a file that does not exist")
        }
        let archive = try archive(session)
        guard !archive.accounts.isEmpty else {
            throw CredentialError(.noSuchAccount, "there is no sign-in to export", hint: "credmgr accounts")
        }
        let passphrase =
            if let file = arguments[Self.passphraseFile] {
                try session.secret(from: file, what: "passphrase", option: "passphrase-file")
            } else {
                try session.newPassphrase()
            }
        if NewPassphrase.isWeak(passphrase) {
            session.notices.warning(
                "the passphrase has fewer than \(NewPassphrase.shortest) characters: whoever gets the file tries them all"
            )
        }
        let document = try SealedArchive.seal(
            archive, passphrase: passphrase, random: session.context.random, session.context.cryptography)
        let file = try session.context.programs.createFile(path)
        try file.write(JSONValue.object(document).bytes(.indented) + [UInt8(ascii: "\n")])
        try file.close()
        let count = archive.accounts.count
        session.notices.note(
            "\(count == 1 ? "1 sign-in is" : "\(count) sign-ins are") in \(ForeignText.shown(path)), encrypted")
        session.notices.note(
            "use each on one machine only: after the import there, sign out here with 'credmgr logout'")
    }

    private func archive(_ session: Session) throws(CredentialError) -> AccountArchive {
        let stores = session.stores()
        let repository = session.services(stores).repository
        var archive = AccountArchive()
        for (group, account) in try chosen(session) {
            if account.store == .etcd {
                session.notices.warning(
                    "\(ForeignText.shown(account.shownName)) (\(account.id)) is of the shared group \(group), which goes on "
                        + "using its refresh token: let the other machine into the group instead")
            }
            guard let set = try repository.read(account, in: group, isLocked: false),
                set.grants.values.contains(where: { $0.lostReason == nil })
            else {
                session.notices.warning(
                    "\(ForeignText.shown(account.shownName)) (\(account.id)) has to sign in again and is left out")
                continue
            }
            archive.accounts.append(AccountArchive.Entry(group: group, tokenSet: set))
            try add(account.type, to: &archive, session, stores)
        }
        return archive
    }

    private func chosen(
        _ session: Session
    ) throws(CredentialError) -> [(group: KeychainGroup, account: Account)] {
        if let name = arguments[SharedOption.account] {
            return [try AccountFinder(session).account(name, type: arguments[SharedOption.type])]
        }
        let type = try arguments[SharedOption.type].map { (name) throws(CredentialError) in
            try TargetResolver(session).type(named: name)
        }
        return try session.accounts(of: type) { session.notices.warning($0.message) }
    }

    /// Adds a type and the secrets of it that a store keeps.
    private func add(
        _ name: String, to archive: inout AccountArchive, _ session: Session, _ stores: any SecretStores
    ) throws(CredentialError) {
        guard !archive.types.contains(where: { $0.name == name }) else { return }
        let type: AccountType
        do throws(CredentialError) { type = try session.catalog.definition(of: name).type } catch {
            session.notices.warning("account type \(name) is not exported: \(error.message)")
            return
        }
        archive.types.append((name, type.json))
        let secrets = session.services(stores).adapterContext.clientSecrets
        if type.clientSecret == .store, let text = try secrets.clientSecret(of: type) {
            let item = SecretItem(group: type.keychainGroup, owner: name, kind: .clientSecret)
            archive.secrets.append(AccountArchive.TypeSecret(item: item, text: text))
        }
        if type.privateKey == .store, let text = try secrets.privateKey(of: type) {
            let item = SecretItem(group: type.keychainGroup, owner: name, kind: .privateKey)
            archive.secrets.append(AccountArchive.TypeSecret(item: item, text: text))
        }
    }
}
