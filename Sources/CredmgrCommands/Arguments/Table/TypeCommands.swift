import CredentialCore
import OAuth

extension CommandTable {
    /// The definitions of account types.
    static let types = Section("Account types", [list, show, add, importFile, remove])

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
            given. Give either the issuer, for discovery, or the endpoints.

            With an issuer and no scopes the provider is asked which it has, and the usual ones are taken. With \
            --register no client id is needed: a client is registered there, for one redirect URI.
            """,
        parameters: [.required("name", .any("NAME"), "the name of the new type")],
        options: [
            .value("adapter", .any("ADAPTER", .words(["oauth2", "azure-b2c"])), "the adapter that serves it"),
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
            .value("tenant", .any("TENANT"), "Azure AD B2C: the tenant"),
            .value("authority", .any("URL"), "Azure AD B2C: the authority"),
            .list("policy", .any("ALIAS=POLICY"), "Azure AD B2C: a policy and its alias"),
            .value("default-policy", .any("ALIAS"), "Azure AD B2C: the policy used when none is named"),
            .value("keychain-group", .any("GROUP", .group), "the keychain group its accounts are kept in"),
            .value("api-base", .any("URL"), "what relative URLs of 'request' are joined to"),
            .value("flow", .choice("FLOW", SignInFlow.allCases.map(\.rawValue)), "the flow that 'login' uses"),
            .value("preset", .any("PRESET"), "start from the preset of a provider"),
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
}
