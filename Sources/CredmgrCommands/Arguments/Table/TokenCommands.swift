extension CommandTable {
    /// What tools ask for.
    static let tokens = Section("Tokens and requests", [token, claims, request, refresh])

    private static let token = CommandSpec(
        ["token"], "print a valid access token",
        details: """
            Prints a token that is still valid, from the cache or else refreshed. It never opens a browser and \
            never asks for anything. Any number of processes asking at once cause one refresh.
            """,
        options: [
            SharedOption.type,
            SharedOption.account,
            SharedOption.policy,
            SharedOption.scope,
            SharedOption.resource,
            SharedOption.audience,
            .value("min-valid", .any("SECONDS"), "how long the token must still be valid"),
            .flag("force-refresh", "refresh even if the token is still valid"),
            .flag("id-token", "print the id token"),
            .flag("introspect", "print what the provider says of the token, as JSON (RFC 7662)"),
            .value("format", .choice("FORMAT", TokenFormat.allCases.map(\.rawValue)), "how to print it"),
        ],
        examples: [
            .init(
                "call an API",
                "curl -H \"$(credmgr token --type ToDoList --format header)\" https://api.example.com/tasks"),
            .init("set ACCESS_TOKEN in a shell", "eval \"$(credmgr token --type ToDoList --format env)\""),
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let claims = CommandSpec(
        ["claims"], "show the claims of the id token",
        details: "Shows the claims of the id token that was validated at sign-in or at the last refresh.",
        options: [SharedOption.type, SharedOption.account, SharedOption.policy, SharedOption.json],
        exitStatuses: [3, 4, 5])

    private static let request = CommandSpec(
        ["request"], "make an authenticated HTTP request",
        details: """
            Sends a request with the account's token. A relative URL is joined to the type's api_base. The body \
            of the reply goes to standard output. A token is sent only to the origins of api_base and api_origins \
            and never along a redirect to another one. When the reply is 401 with a Bearer challenge, the token is \
            refreshed and the request repeated once.
            """,
        parameters: [
            .required(
                "method", .any("METHOD", .words(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])),
                "the HTTP method"),
            .required("url", .any("URL"), "where to; relative to the type's api_base, or absolute"),
        ],
        options: [
            SharedOption.type,
            SharedOption.account,
            SharedOption.policy,
            .list("query", .any("KEY=VALUE"), "add a parameter to the query"),
            .list("form", .any("KEY=VALUE"), "send a form field"),
            .value("json", .any("TEXT"), "send JSON: the text, or @FILE; @- for standard input"),
            .value("data", .any("@FILE"), "send a file's bytes as the body; @- for standard input"),
            .list("file", .any("KEY=@FILE"), "send a file as a part of a multipart form"),
            .list("header", .any("KEY:VALUE"), "add a header field"),
            .flag("include", short: "i", "print the status line and the header fields too"),
            .value("output", short: "o", .file, "write the body to a file"),
        ],
        examples: [
            .init("list tasks", "credmgr request GET /api/tasks --type ToDoList"),
            .init("add one", "credmgr request POST /api/tasks --type ToDoList --form task=milk"),
        ],
        exitStatuses: [3, 4, 5, 6, 7, 8])

    private static let refresh = CommandSpec(
        ["refresh"], "renew tokens that are about to expire",
        details: """
            Renews what would expire within --min-valid seconds, of one account or with --all of every account of \
            the group, or of all groups when none is named. It goes on after a failure and then ends with the \
            status of the worst one. Made for a timer: it prints nothing on standard output.
            """,
        options: [
            .flag("all", "every account"),
            .value("min-valid", .any("SECONDS"), "renew what would be valid for a shorter time than this"),
            SharedOption.type,
            SharedOption.account,
        ],
        examples: [.init("keep everything valid for an hour", "credmgr refresh --all --min-valid 3600")],
        exitStatuses: [3, 4, 5, 6, 7])
}
