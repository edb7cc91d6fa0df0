extension CommandTable {
    /// The stores and the program itself.
    static let program = Section(
        "Storage and this program", storage + [demo, completion, help, complete])

    private static let demo = CommandSpec(
        ["demo"], "try everything with a provider of its own",
        details: """
            Starts a provider like Azure AD B2C and a to-do service on loopback, in a throw-away home: imports a \
            settings.plist, signs two users in, lists, adds and deletes tasks and shows single sign-on between two \
            tools. It ends by itself and leaves nothing behind.
            """,
        options: [
            .flag("browser", "sign in through the real browser"),
            .flag("serve", "only run the provider, until standard input ends, to try things by hand"),
        ])

    private static let completion = CommandSpec(
        ["completion"], "print a completion script for a shell",
        parameters: [.required("shell", .choice("SHELL", Shell.allCases.map(\.rawValue)), "bash, zsh or fish")],
        examples: [
            .init("in ~/.bashrc", "eval \"$(credmgr completion bash)\""),
            .init("for fish", "credmgr completion fish > ~/.config/fish/completions/credmgr.fish"),
        ])

    private static let help = CommandSpec(
        ["help"], "print help about a command",
        parameters: [.variadic("command", .any("COMMAND"), "the words of the command")],
        options: [.flag("man", "print the manual page, as roff source")])

    private static let complete = CommandSpec(
        ["__complete"], role: .hidden, "print completions, for the scripts of 'completion'",
        parameters: [.variadic("word", .any("WORD"), "the words before the cursor, the last perhaps unfinished")])
}
