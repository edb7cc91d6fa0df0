import CommandLine
import CredentialCore
import StrictJSON

/// `credmgr accounts import`.
struct AccountsImportCommand: Command {
    static let spec = CommandSpec(
        ["accounts", "import"], "import accounts from a file",
        details: """
            Reads the file of 'accounts export', hosts.yml of GitHub's gh with a token in it, a token cache of \
            MSAL, the output of 'oidc-add --print NAME' of oidc-agent, application_default_credentials.json of \
            gcloud, rclone.conf, the decrypted token file of mutt_oauth2.py, or accounts.conf of GNOME Online \
            Accounts with the keyring that has its tokens. An exported account that is already signed in here is \
            not changed. An account with a refresh token that this machine knows as already used is left out. \
            Accounts of other programs require an account type of the same client: --type, or the only account \
            type with that client ID. credmgr uses their refresh token at once, which may revoke the token of the \
            other program.
            """,
        parameters: [file],
        options: [SharedOption.type, passphraseFile],
        exitStatuses: [4, 5, 6, 7])

    private static let file = Parameter.required("file", .file, "the file")
    private static let passphraseFile = Option.value(
        "passphrase-file", .file, "the passphrase; '-' reads a line of standard input")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let path = arguments[Self.file]
        guard let file = try session.context.typeFiles.read(path) else {
            throw CredentialError(.usage, "there is no file \(UntrustedText.shown(path))")
        }
        let stores = session.stores(), bytes = file.bytes.asUTF8
        if let document = (try? JSONValue.parse(bytes, limits: .ownFile))?.object,
            EncryptedExport.isOne(document)
        {
            let archive = try EncryptedExport.open(
                document, passphrase: try passphrase(session), session.context.cryptography)
            let choice = try StoreChoice(session, stores)
            var isEmpty = true
            let failures = try AccountTransfer(session, stores).take(archive, into: choice.kind) {
                (account) throws(CredentialError) in
                isEmpty = false
                try Self.show(account, session)
            }
            if !isEmpty { choice.tell("what was imported", session) }
            return try session.fail(with: failures)
        }
        let found = try CredentialImporters.read(bytes) { () throws(CredentialError) in
            try stores.store(.secretService)
        }
        let choice = try StoreChoice(session, stores)
        let failures = AccountTransfer(session, stores).take(
            found, ofType: arguments[SharedOption.type], into: choice.kind
        ) {
            (account) throws(CredentialError) in try Self.show(account, session)
        }
        try session.fail(with: failures)
        choice.tell("what was imported", session)
    }

    private static func show(_ account: Account, _ session: CommandSession) throws(CredentialError) {
        try session.print("\(account.id)\t\(UntrustedText.shown(account.shownName))\n")
    }

    private func passphrase(_ session: CommandSession) throws(CredentialError) -> Secret {
        if let file = arguments[Self.passphraseFile] {
            return try session.secret(from: file, what: "passphrase", option: "passphrase-file")
        }
        guard session.mayAsk else {
            throw CredentialError(
                .usage, "cannot prompt for the passphrase here", hint: "use --passphrase-file FILE")
        }
        return try session.context.console.ask("Passphrase of the exported file: ", isSecret: true)
    }
}
