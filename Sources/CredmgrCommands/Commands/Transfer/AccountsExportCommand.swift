import CredentialCore
import StrictJSON

/// `credmgr accounts export`.
struct AccountsExportCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let path = try arguments.required("file")
        guard session.context.fileStates.state(of: path) == nil else {
            throw CredentialError(
                .usage, "\(ForeignText.shown(path)) is there already", hint: "name a file that does not exist")
        }
        let archive = try archive(session)
        guard !archive.accounts.isEmpty else {
            throw CredentialError(.noSuchAccount, "there is no sign-in to export", hint: "credmgr accounts")
        }
        let passphrase =
            if let file = arguments.string("passphrase-file") {
                try session.secret(from: file, what: "passphrase")
            } else {
                try session.newPassphrase()
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
        let repository = session.repository(stores)
        var archive = AccountArchive()
        for (group, account) in try chosen(session) {
            guard var set = try repository.read(account, in: group, isLocked: false),
                set.grants.values.contains(where: { $0.lostReason == nil })
            else {
                session.notices.warning(
                    "\(ForeignText.shown(account.shownName)) (\(account.id)) has to sign in again and is left out")
                continue
            }
            // A label is the registry's own.
            set.account.label = account.label
            archive.accounts.append(AccountArchive.Entry(group: group, tokenSet: set))
            try add(account.type, to: &archive, session, stores)
        }
        return archive
    }

    private func chosen(
        _ session: Session
    ) throws(CredentialError) -> [(group: KeychainGroup, account: Account)] {
        if let name = arguments.string("account") {
            return [try AccountFinder(session).account(name, type: arguments.string("type"))]
        }
        let type = try arguments.string("type").map { (name) throws(CredentialError) in
            try TargetResolver(session).type(named: name)
        }
        let registration = try type.map { (type) throws(CredentialError) in
            try TargetResolver(session).registration(of: type)
        }
        let groups = if let type { [TargetResolver(session).group(of: type)] } else { try session.groups() }
        var chosen: [(group: KeychainGroup, account: Account)] = []
        for group in groups {
            chosen += try session.context.registry.read(group).accounts
                .filter { registration == nil || $0.registration == registration }.map { (group, $0) }
        }
        return chosen
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
        let secrets = ClientSecretResolver(stores: stores, context: session.context)
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
