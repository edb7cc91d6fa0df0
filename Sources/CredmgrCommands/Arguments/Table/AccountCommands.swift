extension CommandTable {
    /// The signed-in identities.
    static let accounts = Section("Accounts", [list, export, take, use, label, which, groups, watch])

    private static let list = CommandSpec(
        ["accounts"], alias: ["accounts", "list"], "list the accounts that are signed in",
        details: """
            Lists the accounts of the group, or of all groups when none is named, with their status, their default \
            and the store that keeps their secrets. It works while the keyring is locked.
            """,
        options: [SharedOption.type, SharedOption.json])

    private static let export = CommandSpec(
        ["accounts", "export"], "write sign-ins to an encrypted file",
        details: """
            Writes the accounts of the group, or of all groups when none is named, with their refresh tokens, their \
            types and the types' stored client secrets to a file that a passphrase protects, for 'accounts import' on \
            another machine. Providers that replace refresh tokens end a sign-in that two machines use: sign out here \
            with 'credmgr logout', without --revoke, once it has been imported there.
            """,
        parameters: [.required("file", .file, "the file to write; it must not exist")],
        options: [
            SharedOption.account,
            SharedOption.type,
            .value("passphrase-file", .file, "the passphrase; '-' reads a line of standard input"),
        ],
        exitStatuses: [3, 5, 7])

    private static let take = CommandSpec(
        ["accounts", "import"], "take over sign-ins from a file",
        details: """
            Reads what 'accounts export' has written, hosts.yml of GitHub's gh with a token in it, a token cache of \
            MSAL, or what 'oidc-add --print NAME' of oidc-agent prints. An exported account that is signed in here \
            already is left as it is. Sign-ins of other programs need an account type of the same client: --type, or \
            the only one with that client id; their refresh token is used at once, which may end its use there.
            """,
        parameters: [.required("file", .file, "the file")],
        options: [
            SharedOption.type,
            .value("passphrase-file", .file, "the passphrase; '-' reads a line of standard input"),
        ],
        exitStatuses: [4, 5, 6, 7])

    private static let use = CommandSpec(
        ["use"], "make an account the default of its type",
        parameters: [.required("account", .account, "its id, username, subject or label")],
        options: [SharedOption.type],
        exitStatuses: [3])

    private static let label = CommandSpec(
        ["label"], "give an account a name of your own",
        parameters: [
            .required("account", .account, "its id, username, subject or label"),
            .required("text", .any("TEXT"), "the name; an empty one removes it"),
        ],
        exitStatuses: [3])

    private static let which = CommandSpec(
        ["which"], "show which account 'token' would take here",
        details: "Prints the account that 'token' would take in this folder and environment.",
        options: [SharedOption.type, .flag("explain", "say which rule chose it")],
        exitStatuses: [3])

    private static let groups = CommandSpec(
        ["groups"], "list the keychain groups",
        details: "Lists the keychain groups with their account types and the number of accounts in each.",
        options: [SharedOption.json])

    private static let watch = CommandSpec(
        ["watch"], "print what happens to accounts as it happens",
        details: """
            Prints a line per event of any process, of the group, or of all groups when none is named: \
            account.added, account.updated, account.removed, token.refreshed, token.lost and login.failed. It never \
            prints a token. Ctrl-C ends it.
            """,
        options: [.flag("json", "print a JSON object per line")],
        exitStatuses: [130])
}
