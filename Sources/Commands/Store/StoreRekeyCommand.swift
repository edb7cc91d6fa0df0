import CommandLine
import CredentialCore

/// `credmgr store rekey`.
struct StoreRekeyCommand: Command {
    static let spec = CommandSpec(
        ["store", "rekey"], "change what opens the encrypted file",
        details: """
            Encrypts the file again under a new key. Only the new passphrase opens the key or, with --key-file, \
            only the key file. The old passphrase or key file opens only old copies of the file.

            Without --group, credmgr does this for the file of each group. The file of group default also stores \
            the pending sign-ins of every group (login --print-url).

            For a shared group, it also encrypts old records in the cluster again. The group's key stays; 'groups \
            expel' replaces it.

            A passphrase must have at least 8 characters, unless you set --weak-passphrase. If there is no file \
            yet, credmgr creates it.
            """,
        options: [passphraseFile, keyFile, weakPassphrase],
        exitStatuses: [5, 6, 7])

    private static let passphraseFile = Option.value(
        "passphrase-file", .file, "a file with the new passphrase; - for standard input")
    private static let keyFile = Option.flag("key-file", "use the key file instead of a passphrase")

    private static let weakPassphrase = Option.flag(
        "weak-passphrase", "accept a passphrase with fewer than 8 characters")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let stores = session.stores()
        let groups = try StoreGroups.withFile(session, stores)
        let chosen = groups.isEmpty ? [session.options.group ?? .standard] : groups
        let replacement = session.services(stores).keyReplacement
        // The opener of each file before the change, for the groups that keep it.
        var before: [KeychainGroup: Former] = [:]
        for group in groups { before[group] = try Self.former(of: group, stores) }
        // The files have to be opened, and all that they have sealed, before a new passphrase is worth asking for.
        for group in chosen {
            do throws(CredentialError) {
                if before[group] != nil { _ = try stores.store(.file).items(of: group, kind: .tokenSet) }
                try replacement.look(group)
            } catch {
                throw failed(error, at: group, .before, chosen.filter { $0 != group }, before, session)
            }
        }
        let key: StoreKey
        do throws(CredentialError) { key = try self.key(session) } catch {
            throw failed(error, at: chosen[0], .before, Array(chosen.dropFirst()), before, session)
        }
        for (place, group) in chosen.enumerated() {
            let outcome = replacement.run(group, with: key)
            if let error = outcome.failure {
                throw failed(error, at: group, outcome.opener, Array(chosen[(place + 1)...]), before, session)
            }
            session.notices.note(
                "the encrypted file of group \(group) is now opened only by \(key.opener)")
        }
        if case .passphrase = key {
            let opener: LocalizedMessage =
                if let giver = session.context.machine.passphrase.giver {
                    "\(giver) must give the new passphrase from now on"
                } else {
                    "scripts now get tokens only after 'credmgr store unlock', or with CREDMGR_PASSPHRASE_FILE"
                }
            session.notices.note(opener)
        }
        if !chosen.contains(.standard) {
            session.notices.note(
                "pending sign-ins are stored in the file of group \(KeychainGroup.standard), which has not changed")
        }
        try sealShared(session)
    }

    /// Has the items in the clusters of shared groups sealed in the present form.
    ///
    /// - Throws: the code of the first error, once every group had its turn. The key of the files is replaced by
    ///   then.
    private func sealShared(_ session: CommandSession) throws(CredentialError) {
        let sharing = session.context.machine.sharing
        var failure: CredentialError?
        for group in try StoreGroups.withTypes(session) {
            do throws(CredentialError) {
                guard try sharing.backend(of: group) != nil else { continue }
                for (id, error) in try sharing.membership.sealAnew(group) {
                    session.notices.warning("cannot encrypt \(id) with the new key: \(error)")
                    failure = failure ?? error
                }
            } catch {
                session.notices.warning(
                    "the records of group \(group) in its cluster are not sealed again: \(error)")
                failure = failure ?? error
            }
        }
        guard let failure else { return }
        throw CredentialError(
            failure.code, "the key is replaced, but not all records of shared groups are encrypted again",
            hint: failure.advice)
    }

    /// The opener of a file when this began.
    private struct Former {
        let opener: LocalizedMessage
        /// The name of the key that seals.
        let key: String?
    }

    /// The opener of a file now; `nil` if there is no file.
    private static func former(
        of group: KeychainGroup, _ stores: any SecretStores
    ) throws(CredentialError) -> Former? {
        guard let protection = try stores.store(.file).protection(of: group) else { return nil }
        return Former(
            opener: protection.isUnlockedByPeople ? "the old passphrase" : "its key file, as before",
            key: try stores.vault().currentKey(of: group))
    }

    /// Reports the key or passphrase that opens each file now.
    ///
    /// - Parameters:
    ///   - group: the group that something went wrong with.
    ///   - others: those whose files have not been changed, either.
    ///   - before: the key or passphrase that opened the earlier files.
    /// - Returns: the error, with the key or passphrase that opens that one.
    private func failed(
        _ error: CredentialError, at group: KeychainGroup, _ opener: KeyReplacement.Opener,
        _ others: [KeychainGroup], _ before: [KeychainGroup: Former], _ session: CommandSession
    ) -> CredentialError {
        for other in others {
            guard let former = before[other] else { continue }
            session.notices.note("the encrypted file of group \(other) is opened by \(former.opener)")
        }
        let text: LocalizedMessage
        switch opener {
        case .before:
            guard let former = before[group] else { return error }
            if isReplaced(former, group, session) {
                text =
                    "\(error); another process has replaced the key: its passphrase or key file opens the "
                    + "encrypted file of group \(group)"
            } else {
                text =
                    "\(error); the key has not changed: the encrypted file of group \(group) is opened by "
                    + "\(former.opener)"
            }
        case .new:
            let new: LocalizedMessage = arguments[Self.keyFile] ? "its key file" : "the new passphrase"
            text =
                "\(error); the encrypted file of group \(group) is already opened by \(new), and keeps the old key "
                + "for entries that are not sealed again yet"
        case .unknown:
            text =
                "\(error); it is not known which key opens the encrypted file of group \(group): try the new key, "
                + "then the old key"
        }
        return CredentialError(error.code, text, hint: error.advice, details: error.details)
    }

    /// Whether a file has another key than when this began; it is not opened for that.
    private func isReplaced(_ former: Former, _ group: KeychainGroup, _ session: CommandSession) -> Bool {
        let now = try? session.stores().vault().currentKey(of: group)
        return now != nil && now != former.key
    }

    private func key(_ session: CommandSession) throws(CredentialError) -> StoreKey {
        if arguments[Self.keyFile] {
            guard arguments[Self.passphraseFile] == nil else {
                throw CredentialError(.usage, "--key-file and --passphrase-file cannot be used together")
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
            try PassphraseRules.check(
                passphrase, "the new passphrase",
                hint: LocalizedMessage(verbatim: ShellQuoting.line(words + ["--weak-passphrase"])))
        }
        return .passphrase(passphrase)
    }
}

extension StoreKey {
    /// The kind of key that opens a store.
    fileprivate var opener: LocalizedMessage {
        if case .keyFile = self { "its key file" } else { "the new passphrase" }
    }
}
