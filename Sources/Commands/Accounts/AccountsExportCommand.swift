import CommandLine
import CredentialCore

/// `credmgr accounts export`.
struct AccountsExportCommand: Command {
    static let spec = CommandSpec(
        ["accounts", "export"], "write accounts to an encrypted file",
        details: """
            Writes the accounts of the group, or of all groups if you name no group, to a file that a passphrase \
            protects, with their refresh tokens, types and stored client secrets. Read the file with 'accounts \
            import' on another machine. A provider that rotates refresh tokens revokes a grant that two machines \
            use: after the import, sign out here with 'credmgr logout', without --revoke. Accounts of a shared \
            group are left out: on the other machine, join that group with 'credmgr groups join'. If a record is \
            damaged, the command writes the other accounts and fails.
            """,
        parameters: [file],
        options: [SharedOption.account, SharedOption.type, passphraseFile],
        exitStatuses: [3, 5, 7])

    private static let file = Parameter.required("file", .file, "the file to write; it must not exist")
    private static let passphraseFile = Option.value(
        "passphrase-file", .file, "the passphrase; '-' reads a line of standard input")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let path = arguments[Self.file]
        guard session.context.fileStates.state(of: path) == nil else {
            throw CredentialError(
                .usage, "\(UntrustedText.shown(path)) already exists", hint: "name a file that does not exist")
        }
        let transfer = AccountTransfer(session, session.stores())
        var missing: [CredentialError] = []
        func leaveOut(_ error: CredentialError) {
            session.notices.warning(error.text)
            missing.append(error)
        }
        let archive = try transfer.archive(of: try chosen(session, leaveOut), missing: leaveOut)
        let passphrase =
            if let file = arguments[Self.passphraseFile] {
                try session.secret(from: file, what: "passphrase", option: "passphrase-file")
            } else {
                try session.newPassphrase()
            }
        let bytes = try transfer.sealed(archive, passphrase: passphrase)
        let file = try session.context.programs.createFile(path)
        try file.write(bytes)
        try file.close()
        let count = archive.accounts.count
        session.notices.note(
            "\(count == 1 ? "1 account is" : "\(count) accounts are") in \(UntrustedText.shown(path)), encrypted")
        session.notices.note(
            "use each account on one machine only: after the import, sign out here with 'credmgr logout'")
        // A backup that lacks an account is not to be taken for whole.
        if let first = missing.first {
            throw CredentialError(
                first.code, "\(UntrustedText.shown(path)) is incomplete: cannot read all accounts",
                hint: first.advice,
                details: first.details)
        }
    }

    private func chosen(
        _ session: CommandSession, _ leaveOut: (CredentialError) -> Void
    ) throws(CredentialError) -> [(group: KeychainGroup, account: Account)] {
        if let name = arguments[SharedOption.account] {
            return [try AccountFinder(session).account(name, type: arguments[SharedOption.type])]
        }
        let type = try arguments[SharedOption.type].map { (name) throws(CredentialError) in
            try TargetResolver(session).type(named: name)
        }
        return try session.accounts(of: type) { group, error in
            // The accounts of a shared group are left out anyway.
            guard (try? session.context.machine.sharing.isShared(group)) == false else {
                return session.notices.warning(error.text)
            }
            leaveOut(error)
        }
    }
}

extension AccountTransfer {
    /// That of a session.
    init(_ session: CommandSession, _ stores: any SecretStores) {
        self.init(
            session.services(stores), group: session.options.group,
            definition: { (name) throws(CredentialError) in try TargetResolver(session).type(named: name) },
            note: { session.notices.note($0) })
    }
}
