import CommandLine
import CredentialCore

/// A subject of `credmgr help` that is no command.
enum HelpTopic: String, CaseIterable {
    /// Error codes and exit codes.
    case errors
    /// Rules that choose accounts.
    case rules
    /// The keys of `config.json`.
    case config
    /// Keychain groups.
    case groups
    /// Environment variables.
    case environment

    /// The page about the topic.
    func text(_ layout: HelpLayout) -> String {
        switch self {
        case .errors: Self.errors(layout)
        case .rules: Self.rules(layout)
        case .config: Self.config(layout)
        case .groups: Self.groups(layout)
        case .environment: Self.environment(layout)
        }
    }

    private static func errors(_ layout: HelpLayout) -> String {
        layout.paragraph(
            "A command that fails prints 'error:' with the cause and, if a command helps, 'hint:' with that command. Scripts read the exit code; with --json an error has a code, too."
        ) + "\n" + layout.paragraph("Exit codes:")
            + layout.terms(ExitStatusText.all.map { (String($0.status), $0.meaning) }) + "\n"
            + layout.paragraph("Error codes:")
            + layout.terms(ErrorCode.allCases.map { ("\($0.rawValue) (\($0.exitStatus))", $0.explanation.meaning) })
            + "\n" + layout.paragraph("Causes and remedies of one code: credmgr explain CODE")
    }

    private static func rules(_ layout: HelpLayout) -> String {
        layout.paragraph(
            "A rule of config.json chooses the account type or the account for a directory, or for the server that a program asks about. The first rule that matches applies. --type and --account take precedence, then CREDMGR_TYPE and CREDMGR_ACCOUNT, then rules, then the default of the type."
        )
            + layout.literal([
                "{\"rules\": [", "  {\"directory\": \"~/work/**\", \"account\": \"ada@example.com\"},",
                "  {\"host\": \"git.example.com\", \"type\": \"Work\"}", "]}",
            ])
            + "\n"
            + layout.terms([
                ("directory", "the directory of the call; ** stands for any directories"),
                ("host", "the server that a helper asks about, with a port if it has one"),
                ("path", "the beginning of the path at that server"),
                ("username", "the user name that the program asks for"),
                ("type", "the account type that is chosen"), ("account", "the account that is chosen"),
            ]) + "\n"
            + layout.paragraph("The account that a command would use here, and why: credmgr which --explain")
    }

    private static func config(_ layout: HelpLayout) -> String {
        layout.paragraph(
            "config.json is in ~/.config/credmgr, or in the directory credmgr of XDG_CONFIG_HOME. Options take precedence over variables, and variables over this file. Comments and commas at the end of a list are allowed."
        ) + "\n" + layout.terms(keys)
    }

    /// The keys of `config.json`; a test compares them with those that the program reads.
    static let keys: [(name: String, text: LocalizedMessage)] = [
        ("store", "the store for secrets of new accounts: auto, secret-service or file"),
        ("cache", "whether access tokens are cached in memory: on or off"),
        ("min_valid", "how long a token must still be valid, such as \"90s\" or \"30m\""),
        ("browser", "the command that opens a URL"),
        ("redirect_peers", "the users whose programs may bring the redirect: same-user, uid:NUMBER or any"),
        ("timeout", "how long a command waits for the network"),
        ("default_group", "the keychain group if nothing names another"),
        ("client_metadata_url", "the URL of a document about the client, for providers that accept one"),
        ("ca_certificate", "a PEM file of authorities to trust in addition to the system's"),
        ("proxy", "the proxy that requests go through"),
        ("rules", "rules that choose the account: credmgr help rules"),
        ("notifications", "whether 'credmgr notify' reports sign-ins that end: on or off"),
        ("unconfined_plugins", "plugins that run without a sandbox"),
    ]

    private static func groups(_ layout: HelpLayout) -> String {
        layout.paragraph(
            "A keychain group is a namespace for accounts. Tools whose account types have the same group, provider and client ID share accounts, so that one sign-in serves all of them. Without another name the group is 'default'."
        ) + "\n"
            + layout.paragraph(
                "The first of these names the group: --group, CREDMGR_GROUP, keychain_group of the account type, default_group of config.json. A group separates names, not users: each process of the user can read the accounts of every group."
            ) + "\n"
            + layout.paragraph("Several hosts can share a group through etcd: credmgr groups share --help")
    }

    private static func environment(_ layout: HelpLayout) -> String {
        layout.paragraph("Options take precedence over variables, and variables over files.") + "\n"
            + layout.terms(EnvironmentText.all.map { ($0.name, $0.meaning) })
    }
}
