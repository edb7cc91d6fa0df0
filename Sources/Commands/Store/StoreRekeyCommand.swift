import CommandLine
import CredentialCore

/// `credmgr store rekey`.
struct StoreRekeyCommand: Command {
    static let spec = CommandSpec(
        ["store", "rekey"], "change what opens the encrypted file",
        details: """
            Encrypts the file anew under a new key that only the new passphrase opens, or, with --key-file, only the \
            key file. What opened it before opens old copies of the file and nothing else.

            Without --group it is the file of each group. The one of group default also keeps the sign-ins that wait \
            for their second half (login --print-url), whatever their group is.

            A passphrase has at least 8 characters, or --weak-passphrase says that you know what you do. Where there is no \
            file yet, one is made.
            """,
        options: [passphraseFile, keyFile, weakPassphrase],
        exitStatuses: [5, 6, 7])

    private static let passphraseFile = Option.value(
        "passphrase-file", .file, "a file with it; - for standard input")
    private static let keyFile = Option.flag("key-file", "the key file in place of a passphrase")

    private static let weakPassphrase = Option.flag(
        "weak-passphrase", "take one of fewer than 8 characters, too")

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        let stores = session.stores()
        let groups = try StoreGroups.withFile(session, stores)
        let chosen = groups.isEmpty ? [session.options.group ?? .standard] : groups
        // The file has to be opened before a new passphrase is worth asking for.
        for group in groups { _ = try stores.store(.file).items(of: group, kind: .tokenSet) }
        let key = try key(session)
        for group in chosen {
            try stores.store(.file).setKey(key, of: group)
            try session.services(stores).migration.renewSeals(of: group)
            let opener: Message = if case .keyFile = key { "its key file" } else { "the new passphrase" }
            session.notices.note("the encrypted file of group \(group) is opened by \(opener), and by nothing else")
        }
        if case .passphrase = key {
            let opener: Message =
                if let giver = session.context.machine.passphrase.giver {
                    "\(giver) has to give the new passphrase from now on"
                } else {
                    "it is locked for scripts now: they get tokens after 'credmgr store unlock', or with "
                        + "CREDMGR_PASSPHRASE_FILE"
                }
            session.notices.note(opener)
        }
        if !chosen.contains(.standard) {
            session.notices.note(
                "sign-ins that wait for their second half are kept in group \(KeychainGroup.standard), whose file stays as "
                    + "it is")
        }
    }

    private func key(_ session: Session) throws(CredentialError) -> StoreKey {
        if arguments[Self.keyFile] {
            guard arguments[Self.passphraseFile] == nil else {
                throw CredentialError(.usage, "--key-file and --passphrase-file exclude each other")
            }
            return .keyFile
        }
        let passphrase =
            if let path = arguments[Self.passphraseFile] {
                try session.secret(from: path, what: "new passphrase", option: "passphrase-file")
            } else {
                try session.newPassphrase()
            }
        if !arguments[Self.weakPassphrase] {
            var words = ["credmgr", "store", "rekey"]
            if let group = session.options.group { words += ["--group", group.name] }
            if let path = arguments[Self.passphraseFile], path != "-" { words += ["--passphrase-file", path] }
            try NewPassphrase.check(
                passphrase, "the new passphrase",
                hint: Message(verbatim: ShellQuote.line(words + ["--weak-passphrase"])))
        }
        return .passphrase(passphrase)
    }
}
