extension CommandTable {
    /// The signed-in identities.
    static let accounts = Section("Accounts", [list, use, label, which])

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
}
