import CredentialCore

/// `credmgr store unlock`.
struct StoreUnlockCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let seconds = try arguments.string("for").map { (text) throws(CredentialError) in
            try TimeSpan.seconds(text, option: "--for")
        }
        let stores = session.stores()
        var isSecretServiceOpen = false
        var hasAny = false
        for group in try StoreGroups.withTypes(session) {
            for kind in try kinds(of: group, session, stores) where !(kind == .secretService && isSecretServiceOpen)
            {
                hasAny = true
                let wasLockable = try stores.store(kind).unlock(group, seconds: seconds ?? Self.usualSeconds)
                switch (kind, wasLockable) {
                case (.secretService, _):
                    isSecretServiceOpen = true
                    session.notices.note("the keyring is unlocked")
                case (.file, true):
                    session.notices.note(
                        "the encrypted file of group \(group) is unlocked for "
                            + TimeSpan.shown(seconds ?? Self.usualSeconds))
                case (.file, false):
                    session.notices.note(
                        "the encrypted file of group \(group) is opened by its key file; there is nothing to unlock"
                    )
                }
            }
        }
        if !hasAny { session.notices.note("no secrets are kept yet; there is nothing to unlock") }
    }

    private static let usualSeconds: Int64 = 8 * 3_600

    /// The store named by option; else those with accounts or secrets of the group.
    private func kinds(
        of group: KeychainGroup, _ session: Session, _ stores: any SecretStores
    ) throws(CredentialError) -> [StoreKind] {
        let hasFile = try stores.store(.file).protection(of: group) != nil
        if let kind = session.options.store { return kind == .file && !hasFile ? [] : [kind] }
        // A registry that waits for the stores to be unlocked cannot say which ones have its accounts.
        let registry = try? session.context.registry.read(group)
        let used = registry.map { Set($0.accounts.map(\.store)) } ?? Set(StoreKind.allCases)
        return StoreKind.allCases.filter { $0 == .file ? hasFile : used.contains($0) }
    }
}

/// `credmgr store lock`.
struct StoreLockCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let stores = session.stores(mayPrompt: false)
        // Whatever the settings say now: an earlier call may have kept some.
        TokenCache(session.context.tokenCache, home: session.context.dataHome).dropAll()
        session.notices.note("dropped the access tokens kept in the kernel's keyring")
        for group in try StoreGroups.withFile(session, stores) {
            if try stores.store(.file).lock(group) {
                session.notices.note("the encrypted file of group \(group) is locked")
            } else {
                session.notices.note(
                    "the encrypted file of group \(group) is opened by its key file, so it cannot be locked")
                session.notices.detail("credmgr store rekey puts a passphrase in its place")
            }
        }
    }
}

/// `credmgr store rekey`.
struct StoreRekeyCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let stores = session.stores()
        let groups = try StoreGroups.withFile(session, stores)
        let chosen = groups.isEmpty ? [session.options.group ?? .standard] : groups
        // The file has to be opened before a new passphrase is worth asking for.
        for group in groups { _ = try stores.store(.file).items(of: group, kind: .tokenSet) }
        let key = try key(session)
        for group in chosen {
            try stores.store(.file).setKey(key, of: group)
            let opener = if case .keyFile = key { "its key file" } else { "the new passphrase" }
            session.notices.note("the encrypted file of group \(group) is opened by \(opener), and by nothing else")
        }
    }

    private func key(_ session: Session) throws(CredentialError) -> StoreKey {
        if arguments.flag("key-file") {
            guard arguments.string("passphrase-file") == nil else {
                throw CredentialError(.usage, "--key-file and --passphrase-file exclude each other")
            }
            return .keyFile
        }
        if let path = arguments.string("passphrase-file") {
            return .passphrase(try session.secret(from: path, what: "passphrase"))
        }
        return .passphrase(try session.newPassphrase())
    }
}

/// Times as options take them.
enum TimeSpan {
    /// The seconds of `90`, `90s`, `30m`, `8h` or `2d`: up to a year.
    ///
    /// - Throws: ``ErrorCode/usage``.
    static func seconds(_ text: String, option: String) throws(CredentialError) -> Int64 {
        let factors: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
        let factor = text.last.flatMap { factors[$0] }
        guard let number = Int64(factor == nil ? text[...] : text.dropLast()), number > 0,
            case let (seconds, overflow) = number.multipliedReportingOverflow(by: factor ?? 1), !overflow,
            seconds <= 31_536_000
        else {
            throw CredentialError(.usage, "\(option) takes a time such as 30m, 8h or 2d, at most a year")
        }
        return seconds
    }

    /// `8 h`, `90 min`, `45 s`.
    static func shown(_ seconds: Int64) -> String {
        if seconds % 3_600 == 0 { return "\(seconds / 3_600) h" }
        return seconds % 60 == 0 ? "\(seconds / 60) min" : "\(seconds) s"
    }
}
