import CredentialCore

extension CommandTable {
    /// Signing in and out.
    static let signIn = Section("Sign in and out", [login, logout])

    private static let login = CommandSpec(
        ["login"], "sign in",
        details: """
            Signs in under an account type and keeps what the provider issues. The code flow opens the browser and \
            listens on the loopback redirect; the URL is printed on standard error too. Where the redirect cannot \
            be listened on, the redirected URL or the code is asked for on the terminal, or read as one line of \
            standard input.

            --print-url and --complete are the two halves of a sign-in: the first prints the URL and keeps the \
            pending sign-in for 15 minutes, the second finishes it, in another process if need be.

            --resource URL signs in for an API that says itself how (RFC 9728): its authorization server is found, \
            a client is registered there, and an account type is defined for it, named after the host or by --type.

            Prints the account's id and name.
            """,
        options: [
            SharedOption.type,
            .value("resource", .any("URL"), "the API to sign in for"),
            .value("client-id", .any("ID"), "with --resource, the client to use instead of registering one"),
            SharedOption.policy,
            .value("flow", .choice("FLOW", SignInFlow.allCases.map(\.rawValue)), "how to obtain the grant"),
            SharedOption.scope,
            .value("login-hint", .any("HINT"), "whom the provider should offer first"),
            .value(
                "prompt", .any("PROMPT", .words(["none", "login", "consent", "select_account"])),
                "what the provider should ask, such as login or select_account"),
            .value("username", .any("NAME"), "the username of the password flow, or whom jwt_bearer acts for"),
            .value("password-file", .file, "a file with the password of the password flow; - for standard input"),
            .flag("no-browser", "print the URL and open no browser"),
            .flag("show-claims", "show the claims of the id token"),
            .flag("new", "sign another account in, even if one is there"),
            .flag("print-url", "print the authorization URL and leave the sign-in pending"),
            .value("complete", .any("URL"), "finish a pending sign-in with the redirected URL; - reads it"),
        ],
        examples: [
            .init("sign in through the browser", "credmgr login --type ToDoList"),
            .init("sign in on a machine without a browser", "credmgr login --type ToDoList --flow device"),
            .init("sign in for an API that says itself how", "credmgr login --resource https://api.example.com/"),
            .init("finish a sign-in with a URL from the clipboard", "wl-paste | credmgr login --complete -"),
        ],
        exitStatuses: [5, 6, 7, 130])

    private static let logout = CommandSpec(
        ["logout"], "forget an account's tokens",
        details: """
            Forgets accounts on this machine. With --revoke the provider is asked to revoke their tokens first; \
            where it has no revocation, that is said. With --browser the session in the browser is ended too.

            --account with --policy forgets one policy's sign-in, --account a user's whole sign-in, --type with \
            --all every account of a type, --group with --all every account of a group.
            """,
        options: [
            SharedOption.account,
            SharedOption.type,
            .flag("all", "every account, with --type of that type; needs --yes"),
            .flag("yes", "do not ask whether --all is meant"),
            SharedOption.policy,
            .flag("revoke", "revoke the tokens at the provider"),
            .flag("browser", "end the provider's session in the browser"),
        ],
        examples: [
            .init("sign one account out", "credmgr logout --account ann@example.com"),
            .init("forget everything", "credmgr logout --all --yes"),
        ],
        exitStatuses: [3, 5, 6])
}
