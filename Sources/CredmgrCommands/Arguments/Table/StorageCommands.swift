import CredentialCore

extension CommandTable {
    /// The stores, and what looks after them.
    static let storage = [store, status, migrate, unlock, lock, rekey, doctor]

    private static let store = CommandSpec(["store"], role: .namespace, "where secrets are kept")

    private static let status = CommandSpec(
        ["store", "status"], "show where secrets are and how they are protected", options: [SharedOption.json])

    private static let migrate = CommandSpec(
        ["store", "migrate"], "move sign-ins to the other store",
        details: """
            Moves every account of the group, or of all groups when none is named, and the client secrets of types: \
            each is copied, read back, and only then taken out of the old store. A run that was interrupted is \
            finished by the next one. Pending sign-ins stay where they are. Where new accounts go is decided by \
            --store and config.json, as before.
            """,
        options: [
            .value("to", .choice("STORE", StoreKind.allCases.map(\.rawValue)), "the store to move them to"),
            .flag("dry-run", "only say what would be moved"),
        ],
        examples: [.init("see what would happen", "credmgr store migrate --to secret-service --dry-run")],
        exitStatuses: [5, 6, 7])

    private static let unlock = CommandSpec(
        ["store", "unlock"], "unlock the stores for a while",
        details: """
            Asks for the passphrase of the encrypted file and keeps its key in the kernel's keyring, so that no \
            command asks again until the time is over, 'store lock' is run or the machine restarts. A locked keyring \
            is asked to unlock itself.
            """,
        options: [
            .value("for", .any("TIME"), "how long the encrypted file stays unlocked: 30m, 8h, 2d; 8h without it")
        ],
        exitStatuses: [5, 7])

    private static let lock = CommandSpec(
        ["store", "lock"], "forget the key of the encrypted file and all cached tokens",
        details: """
            The desktop's keyring stays as it is: other programs use it, too.
            """,
        exitStatuses: [5])

    private static let rekey = CommandSpec(
        ["store", "rekey"], "change what opens the encrypted file",
        details: """
            Encrypts the file anew under a new key that only the new passphrase opens, or, with --key-file, only the \
            key file. What opened it before opens old copies of the file and nothing else.
            """,
        options: [
            .value("passphrase-file", .file, "a file with it; - for standard input"),
            .flag("key-file", "the key file in place of a passphrase"),
        ],
        exitStatuses: [5, 6, 7])

    private static let doctor = CommandSpec(
        ["doctor"], "check everything and say what to do",
        details: """
            Checks the session bus, the stores and whether they are locked, registries and secrets, files and their \
            modes, locks, the token cache, the clock, account types and, with --online, their endpoints. Ends with 0 \
            when nothing is wrong and with 1 when something is.

            With --fix it repairs what it can, and asks before each repair: it takes up secrets that no registry \
            knows, marks accounts without secrets, removes copies that a migration left, closes files that others \
            can open, and removes what killed processes left.
            """,
        options: [
            .flag("online", "also ask the endpoints of the account types"),
            .flag("fix", "repair what can be repaired, asking first"),
            .flag("yes", "do not ask before a repair"),
            .flag("report", "print a report for a bug report, without names and secrets"),
            SharedOption.json,
        ],
        examples: [.init("check, and repair what is wrong", "credmgr doctor --fix")])
}
