import CredentialCore

extension CommandTable {
    /// The commands that this program offers.
    package static let standard = CommandTable(
        sections: [signIn, tokens, accounts, types, helpers, program], globalOptions: standardOptions)

    private static let standardOptions: [OptionSpec] = [
        .value("group", .any("NAME", .group), "the keychain group"),
        .value(
            "store", .choice("STORE", ["auto"] + StoreKind.allCases.map(\.rawValue)), "where new secrets are kept"),
        .flag("no-input", "never ask for anything"),
        .value("timeout", .any("SECONDS"), "give up waiting for the network after this time"),
        .flag("verbose", short: "v", "say more about what happens and what went wrong"),
        .flag("quiet", short: "q", "say only what went wrong"),
        .flag("version", "print the version and end"),
        .flag("help", short: "h", "print help and end"),
    ]
}

/// Options that several commands share.
enum SharedOption {
    static let json = OptionSpec.flag("json", "print JSON")
    static let type = OptionSpec.value("type", .type, "the account type")
    static let account = OptionSpec.value("account", .account, "the account, by id, username, subject or label")
    static let policy = OptionSpec.value("policy", .policy, "the policy, by alias or name")
    static let scope = OptionSpec.list("scope", .any("SCOPES"), "the scopes wanted, parted by spaces")
    static let resource = OptionSpec.value("resource", .any("URI"), "the resource the token is for (RFC 8707)")
    static let audience = OptionSpec.value("audience", .any("AUDIENCE"), "the audience the token is for")
}
