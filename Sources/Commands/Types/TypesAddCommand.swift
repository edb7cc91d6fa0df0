import CommandLine
import CredentialCore
import OAuth
import StrictJSON

/// `credmgr types add`: builds the definition as a file would hold it, so that one reader checks both.
struct TypesAddCommand: Command {
    static let spec = CommandSpec(
        ["types", "add"], "define an account type",
        details: """
            Writes a definition into your configuration directory. --force replaces an existing definition. Name \
            the issuer, for discovery, or the endpoints, or start from a preset. --tenant and --set fill in the \
            preset; every other option takes precedence over the preset.

            With an issuer and without scopes, credmgr gets the provider's scopes and uses the usual scopes, \
            unless you set --offline. With --register, credmgr registers a client at the provider for one redirect \
            URI, and no client ID is required.

            Shows the accounts that the type sees and the origins that their tokens may go to. Commands, files and \
            variables of a preset require --trust or a yes on a terminal, unless the preset is built in or in a \
            directory of root.
            """,
        parameters: [name],
        options: [
            adapter, preset, settings, issuer, authorizationEndpoint, tokenEndpoint, clientID,
            clientMetadataURL, register, clientSecretFile, privateKeyFile, identityTokenFile, identityProvider,
            tlsCertificate, tlsKey, caCertificate, proxy, authMethod, SharedOption.scope, resource,
            audience, dpop, redirectURI, tenant, authority, policy, defaultPolicy, passwordResetPolicy,
            keychainGroup, apiBase, flow, param, header, offline, trust, force,
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

    static let name = Parameter.optional("name", .any("NAME"), "the name of the new type")
    static let adapter = Option.value(
        "adapter", .any("ADAPTER", .words(["oauth2", "azure-b2c"])), "the adapter of the type")
    static let preset = Option.value(
        "preset", .any("PRESET", .words(Preset.builtIn.keys.sorted())),
        "start from the preset of a provider")
    static let settings = Option.pairs(
        "set", "NAME=VALUE", "fill in a placeholder of the preset, or set a plugin's setting")
    static let issuer = Option.value("issuer", .any("URL"), "the issuer, whose metadata name the endpoints")
    static let authorizationEndpoint = Option.value(
        "authorization-endpoint", .any("URL"), "the authorization endpoint")
    static let tokenEndpoint = Option.value("token-endpoint", .any("URL"), "the token endpoint")
    static let clientID = Option.value("client-id", .any("ID"), "the client ID")
    static let clientMetadataURL = Option.value(
        "client-metadata-url", .any("URL"), "the URL of the client's metadata document, used as client ID")
    static let register = Option.flag("register", "register a client at the issuer (RFC 7591)")
    static let clientSecretFile = Option.value(
        "client-secret-file", .file, "a file with the client secret; - for standard input")
    static let privateKeyFile = Option.value(
        "private-key-file", .file, "a file with the client's private key, PEM or JWK; - for standard input")
    static let identityTokenFile = Option.value(
        "identity-token-file", .file, "the file with the workload's identity token from the platform")
    static let identityProvider = Option.value(
        "idp", .type, "the account type that vouches for sign-ins of this type")
    static let tlsCertificate = Option.value(
        "tls-certificate", .file, "the PEM file of the client's certificate")
    static let tlsKey = Option.value("tls-key", .file, "the PEM file of the certificate's private key")
    static let caCertificate = Option.value(
        "ca-certificate", .file, "a PEM file of authorities to trust in addition to the system's")
    static let proxy = Option.value(
        "proxy", .any("URL"), "the proxy that the type's requests go through")
    static let authMethod = Option.value(
        "auth-method", .any("METHOD", .words(ClientAuthentication.Method.allCases.map(\.rawValue))),
        "how the client authenticates, such as client_secret_post or private_key_jwt")
    static let resource = Option.resource("resource", "the resource that tokens are for (RFC 8707)")
    static let audience = Option.value("audience", .any("AUDIENCE"), "the audience that tokens are for")
    static let dpop = Option.flag("dpop", "bind access tokens to a key (RFC 9449)")
    static let redirectURI = Option.value(
        "redirect-uri", .any("URI"), "the redirect URI; default: on localhost")
    static let tenant = Option.value(
        "tenant", .any("TENANT"), "Azure AD B2C: the tenant; {tenant} of a preset")
    static let authority = Option.value("authority", .any("URL"), "Azure AD B2C: the authority")
    static let policy = Option.pairs("policy", "ALIAS=POLICY", "Azure AD B2C: a policy and its alias")
    static let defaultPolicy = Option.value(
        "default-policy", .any("ALIAS"), "Azure AD B2C: the default policy")
    static let passwordResetPolicy = Option.value(
        "password-reset-policy", .any("ALIAS"),
        "Azure AD B2C: the policy that 'login' runs for a forgotten password")
    static let keychainGroup = Option.value(
        "keychain-group", .any("GROUP", .group), "the keychain group of its accounts")
    static let apiBase = Option.value(
        "api-base", .any("URL"), "the base of relative URLs of 'request'")
    static let flow = Option.value(
        "flow", .choice("FLOW", SignInFlow.allCases.map(\.rawValue)), "the flow that 'login' uses")
    static let param = Option.pairs(
        "param", "authorize:KEY=VALUE", "an extra parameter of authorize: or token: requests")
    static let header = Option.pairs(
        "header", "KEY=VALUE", "an extra header field of requests to the provider")
    static let offline = Option.flag("offline", "write the definition without contacting the issuer")
    static let trust = Option.flag("trust", "confirm the preset and everything that it uses")
    static let force = Option.flag("force", "replace an existing definition")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        if try InitCommand.isMeant(by: arguments, session) { return try InitCommand.guide(session) }
        try write(try DefinitionBuilder(arguments, session).draft(), session)
    }

    /// Writes a definition, with the secrets of its client.
    ///
    /// - Throws: the errors of the registration, the store and the catalog; ``ErrorCode/usage`` and
    ///   ``ErrorCode/denied`` if a preset is not confirmed.
    func write(_ draft: DefinitionDraft, _ session: CommandSession) throws(CredentialError) {
        let (type, preset) = (draft.type, draft.preset)
        let adapter = try session.context.adapters.adapter(of: type)
        if arguments[Self.register] {
            guard let metadata = draft.metadata else { throw CredentialError(.usage, "--register needs --issuer") }
            // The definition determines how the registration is sent, and it is the user's from then on.
            if !draft.isUsersOwn { _ = try isTrusted(type, preset, session) }
            let path = try ClientRegistrationService(session.definitions).define(
                type, at: metadata, force: arguments[Self.force])
            session.notices.note("account type \(type.name) is defined in \(path)")
        } else {
            let isTrusted = try isTrusted(type, preset, session)
            try TypeSecrets(session).keep(
                clientSecret: draft.clientSecret, privateKey: draft.privateKey, of: type)
            let dropped = dropped(by: type, session)
            let path = try session.definitions.put(
                type, force: arguments[Self.force], by: isTrusted ? .user : .imported)
            session.notices.note("account type \(type.name) is defined in \(path)")
            if !dropped.isEmpty {
                session.notices.warning(
                    "the replaced definition also had \(dropped.joined(separator: ", ")), which the new definition "
                        + "lacks; to change only some keys, use 'credmgr types set'")
            }
            tellRedirectURI(of: type, adapter, session)
        }
        for note in preset?.notes ?? [] {
            session.notices.note(LocalizedMessage(kept: UntrustedText.shown(note, limit: 300)))
        }
        try warnOfShortSignIns(of: type, draft.metadata, session)
    }

    /// Warns if sign-ins of the new type may bring no refresh token.
    private func warnOfShortSignIns(
        of type: AccountType, _ metadata: ServerMetadata?, _ session: CommandSession
    ) throws(CredentialError) {
        let adapter = try session.context.adapters.adapter(of: type)
        let advice = RefreshTokenAdvice.expected(
            of: type, scope: adapter.effectiveScope(type.scope, of: type), offered: metadata?.scopes)
        guard let advice else { return }
        session.notices.warning(
            CredentialError(
                .configuration,
                "sign-ins of \(type.name) may get no refresh token, and end with their first token: "
                    + "\(advice.cause)",
                hint: advice.command))
    }

    /// Shows the reach of the type, and has the user confirm the uses that another author's preset names.
    ///
    /// - Returns: whether the definition counts as the user's own word.
    private func isTrusted(_ type: AccountType, _ preset: Preset?, _ session: CommandSession)
        throws(CredentialError)
        -> Bool
    {
        let reach = DefinitionReach(of: type, session)
        guard let preset, !session.context.presets.isTrusted(preset.name), !arguments[Self.trust] else {
            reach.tell(session)
            return true
        }
        let uses = unconfirmed(type, preset, session)
        reach.tell(session, besides: uses)
        guard !uses.isEmpty else { return false }
        try DefinitionReach.confirm(
            uses, of: type.name,
            again: LocalizedMessage(
                verbatim: arguments.commandLine(adding: [Self.trust.spec.written], quoting: ShellQuoting.word)),
            session)
        return true
    }

    /// The commands, files and variables that a preset of others names.
    func unconfirmed(_ type: AccountType, _ preset: Preset?, _ session: CommandSession) -> [DefinitionReach.Use] {
        guard let preset, !session.context.presets.isTrusted(preset.name) else { return [] }
        return DefinitionReach(of: type, session).needingTrust.filter {
            preset.definition[$0.key] != nil && !isGiven($0.key)
        }
    }

    /// Whether an option has set a key in the preset's place.
    private func isGiven(_ key: String) -> Bool {
        switch key {
        case "identity_token": arguments[Self.identityTokenFile] != nil
        case "tls_client_certificate": arguments[Self.tlsCertificate] != nil
        case "tls_client_key": arguments[Self.tlsKey] != nil
        case ConnectionSettings.certificateKey: arguments[Self.caCertificate] != nil
        case ConnectionSettings.proxyKey: arguments[Self.proxy] != nil
        default: false
        }
    }

    /// The keys of the definition that is replaced, which the new one does not have.
    private func dropped(by type: AccountType, _ session: CommandSession) -> [String] {
        guard let old = try? session.catalog.definition(of: type.name).type.json else { return [] }
        let new = type.json
        return old.keys.filter { new[$0] == nil }
    }

    /// Prints the values to register at the provider, if neither an option nor the preset does.
    private func tellRedirectURI(
        of type: AccountType, _ adapter: any CredentialAdapter, _ session: CommandSession
    ) {
        guard type.redirectURI == nil, type.signInFlow == .code, arguments[Self.preset] == nil,
            adapter.defaultRedirectURI.hasPrefix("http")
        else { return }
        session.notices.note(
            "redirect URI to register: \(adapter.defaultRedirectURI) (each sign-in chooses a port; if the provider "
                + "compares ports, set --redirect-uri)")
    }

}
