extension CommandTable {
    /// The signed-in identities.
    static let accounts = Section("Accounts", [list, use, label, which, groups, watch])

    private static let list = CommandSpec(
        ["accounts"], alias: ["accounts", "list"], "list the accounts that are signed in",
        details: """
            Lists the accounts of the group, or of all groups when none is named, with their status, their default \
            and the store that keeps their secrets. It works while the keyring is locked.
            """,
        options: [SharedOption.type, SharedOption.json])

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
