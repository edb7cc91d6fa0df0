import CredentialCore
import OAuth

extension CommandTable {
    /// The definitions of account types.
    static let types = Section(
        "Account types", [list, show, add, importFile, remove, presets, providers, testProvider])

    private static let name = ParameterSpec.required("name", .type, "the account type")

    private static let list = CommandSpec(
        ["types"], alias: ["types", "list"], "list the account types",
        details:
            "Lists the account types with the file that defines each, its adapter, keychain group and client id.",
        options: [SharedOption.json])

    private static let show = CommandSpec(
        ["types", "show"], "show one account type", parameters: [name], options: [SharedOption.json])

    private static let remove = CommandSpec(
        ["types", "remove"], "remove an account type's definition",
        details: """
            Removes the definition from the user's own folder. Accounts and their tokens stay. A client that \
            'types add --register' or 'login --resource' registered is removed at the provider too (RFC 7592).
            """,
        parameters: [name])

    private static let add = CommandSpec(
        ["types", "add"], "define an account type",
        details: """
            Writes a definition into the user's configuration folder. An existing one is kept unless --force is \
            given. Give either the issuer, for discovery, or the endpoints, or start from a preset, which --tenant and \
            --set fill in; every other option wins over the preset.

            With an issuer and no scopes the provider is asked which it has, and the usual ones are taken. With \
            --register no client id is needed: a client is registered there, for one redirect URI.
            """,
        parameters: [.required("name", .any("NAME"), "the name of the new type")],
        options: [
            .value("adapter", .any("ADAPTER", .words(["oauth2", "azure-b2c"])), "the adapter that serves it"),
            .value(
                "preset", .any("PRESET", .words(Preset.builtIn.keys.sorted())),
                "start from the preset of a provider"),
            .list(
                "set", .any("NAME=VALUE"),
                "fill a placeholder of the preset in, or set what an external adapter wants"),
            .value("issuer", .any("URL"), "the issuer, whose metadata name the endpoints"),
            .value("authorization-endpoint", .any("URL"), "the authorization endpoint"),
            .value("token-endpoint", .any("URL"), "the token endpoint"),
            .value("client-id", .any("ID"), "the client identifier"),
            .flag("register", "register a client at the issuer (RFC 7591)"),
            .value("client-secret-file", .file, "a file with the client secret; - for standard input"),
            .value(
                "private-key-file", .file, "a file with the client's private key, PEM or JWK; - for standard input"),
            .value("tls-certificate", .file, "the PEM file of the certificate the client authenticates with"),
            .value("tls-key", .file, "the PEM file of the certificate's private key"),
            .value(
                "auth-method", .any("METHOD", .words(ClientAuthentication.Method.allCases.map(\.rawValue))),
                "how the client authenticates, such as client_secret_post or private_key_jwt"),
            SharedOption.scope,
            .value("resource", .any("URI"), "the resource that tokens are for (RFC 8707)"),
            .value("audience", .any("AUDIENCE"), "the audience that tokens are for"),
            .flag("dpop", "bind access tokens to a key (RFC 9449)"),
            .value("redirect-uri", .any("URI"), "the redirect URI; a loopback one without it"),
            .value("tenant", .any("TENANT"), "Azure AD B2C: the tenant; {tenant} of a preset"),
            .value("authority", .any("URL"), "Azure AD B2C: the authority"),
            .list("policy", .any("ALIAS=POLICY"), "Azure AD B2C: a policy and its alias"),
            .value("default-policy", .any("ALIAS"), "Azure AD B2C: the policy used when none is named"),
            .value(
                "password-reset-policy", .any("ALIAS"),
                "Azure AD B2C: the policy that 'login' runs for a forgotten password"),
            .value("keychain-group", .any("GROUP", .group), "the keychain group its accounts are kept in"),
            .value("api-base", .any("URL"), "what relative URLs of 'request' are joined to"),
            .value("flow", .choice("FLOW", SignInFlow.allCases.map(\.rawValue)), "the flow that 'login' uses"),
            .list("param", .any("authorize:KEY=VALUE"), "an extra parameter of authorize: or token: requests"),
            .list("header", .any("KEY=VALUE"), "an extra header field of requests to the provider"),
            .flag("force", "replace an existing definition"),
        ],
        examples: [
            .init(
                "a provider with discovery",
                "credmgr types add Work --issuer https://login.example.com --client-id 0a1b --scope \"openid profile\""
            ),
            .init(
                "a provider that registers clients",
                "credmgr types add Work --issuer https://login.example.com --register"
            ),
            .init(
                "a provider by its preset",
                "credmgr types add Staff --preset keycloak --set url=https://sso.example.com --set realm=staff --client-id tool"
            ),
        ])

    private static let importFile = CommandSpec(
        ["types", "import"], "import an account type from a file",
        details: """
            Reads a settings.plist of the Azure AD B2C samples or a JSON definition, writes it as an account type \
            and prints what became of each key.
            """,
        parameters: [.required("file", .file, "the file to read")],
        options: [
            .value("name", .any("NAME"), "the name of the new type, in place of the one in the file"),
            .flag("fix", "mend what is known to be wrong in such files"),
            .flag("exact", "change nothing of what the file says"),
            .flag("force", "replace an existing definition"),
        ])

    private static let presets = CommandSpec(
        ["presets"], "list the presets of providers",
        details: """
            Lists what 'types add --preset' can start from, and what has to be filled in. A preset is a file NAME.json \
            in a folder 'credmgr/presets' of the configuration or data folders; some are built in.
            """,
        options: [SharedOption.json])

    private static let providers = CommandSpec(
        ["providers"], alias: ["providers", "list"], "list the adapters, and why one is refused",
        details: """
            Lists the adapters that are built in and those found in $XDG_DATA_HOME/credmgr/providers and \
            /usr/lib/credmgr/providers. Of one name the first counts. One that somebody else could have changed is \
            refused.
            """,
        options: [SharedOption.json])

    private static let testProvider = CommandSpec(
        ["providers", "test"], "run the conformance suite on an adapter",
        details: """
            Checks that an adapter keeps to the protocol of docs/plugin-protocol.md. Nobody is asked for anything and \
            nothing is stored. Without --type an external adapter is tested with a type made up for it.
            """,
        parameters: [.required("adapter", .any("ADAPTER"), "the adapter's name")],
        options: [
            SharedOption.type,
            .list("set", .any("NAME=VALUE"), "a setting of the type that is made up"),
            SharedOption.json,
        ])
}
