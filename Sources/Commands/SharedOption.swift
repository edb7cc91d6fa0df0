import CommandLine
import CredentialCore

/// Options that several commands list.
enum SharedOption {
    static let json = Option.flag("json", "print JSON")
    static let type = Option.value("type", .type, "the account type")
    static let account = Option.value(
        "account", .account, "the account, by ID or its beginning, username, subject or label")

    // The options that shape a token: ``TokenQuery``.
    static let policy = Option.name("policy", .policy, "the policy, by alias or name")
    static let scope = Option.words("scope", .any("SCOPES"), "the scopes to request, separated by spaces")
    static let resource = Option.resource("resource", "the resource the token is for (RFC 8707)")
    static let audience = Option.value("audience", .any("AUDIENCE"), "the audience the token is for")
    static let minValid = Option.time(
        "min-valid", atLeast: 0, "how long the token must still be valid")
    static let forceRefresh = Option.flag("force-refresh", "refresh even if the token is still valid")
    static let idToken = Option.flag("id-token", "print the ID token")
}

/// The options of every command, other than `--version` and `--help`.
enum GlobalOption {
    static let group = Option.value("group", .any("NAME", .group), "the group")
    static let store = Option.value(
        "store", .choice("STORE", ["auto"] + StoreKind.allCases.map(\.rawValue)), "the store for new secrets")
    static let noInput = Option.flag("no-input", "never prompt")
    static let timeout = Option.time(
        "timeout", atLeast: 1, "give up waiting for the network after this time")
    static let verbose = Option.flag("verbose", short: "v", "print more about progress and errors")
    static let quiet = Option.flag("quiet", short: "q", "print only warnings and errors")

    static let all: [any DeclaredOption] = [group, store, noInput, timeout, verbose, quiet]
}
