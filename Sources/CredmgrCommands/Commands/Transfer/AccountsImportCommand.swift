import CredentialCore
import StrictJSON

/// `credmgr accounts import`.
struct AccountsImportCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let path = try arguments.required("file")
        guard let file = try session.context.typeFiles.read(path) else {
            throw CredentialError(.usage, "there is no file \(ForeignText.shown(path))")
        }
        let stores = session.stores()
        if let document = (try? JSONValue.parse(file.bytes, limits: .ownFile))?.object,
            SealedArchive.isOne(document)
        {
            let archive = try SealedArchive.open(
                document, passphrase: try passphrase(session), session.context.cryptography)
            let choice = try StoreChoice(session, stores)
            if try ArchiveImport(session, stores, store: choice.kind).run(archive) {
                choice.tell("what was imported", session)
            }
            return
        }
        let found = try ForeignFiles.signIns(in: file.bytes)
        let choice = try StoreChoice(session, stores)
        try ForeignImport(session, stores, store: choice.kind, typeName: arguments.string("type")).run(found)
        choice.tell("what was imported", session)
    }

    private func passphrase(_ session: Session) throws(CredentialError) -> Secret {
        if let file = arguments.string("passphrase-file") {
            return try session.secret(from: file, what: "passphrase")
        }
        guard session.mayAsk else {
            throw CredentialError(
                .usage, "the passphrase cannot be asked for here", hint: "use --passphrase-file FILE")
        }
        return try session.context.console.ask("Passphrase of the exported file: ", isSecret: true)
    }
}
