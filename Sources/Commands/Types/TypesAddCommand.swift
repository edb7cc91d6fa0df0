import CommandLine
import CredentialCore
import OAuth
import StrictJSON

/// `credmgr types add`: builds the definition as a file would hold it, so that one reader checks both.
struct TypesAddCommand: Command {
    static let spec = CommandSpec(
        ["types", "add"], "define an account type",
        details: """
            Writes a definition into the user's configuration folder. An existing one is kept unless --force is \
            given. Give either the issuer, for discovery, or the endpoints, or start from a preset, which --tenant and \
            --set fill in; every other option wins over the preset.

            With an issuer and no scopes the provider is asked which it has, and the usual ones are taken; --offline \
            does without. With --register no client id is needed: a client is registered there, for one redirect URI.

            Shows the accounts that the type sees and the origins that their tokens may go to. Commands, files and \
            variables of a preset that is neither built in nor of a directory of root's need --trust, or a yes on a \
            terminal.
            """,
        parameters: [name],
        options: [
            adapter, preset, settings, issuer, authorizationEndpoint, tokenEndpoint, clientID,
            clientMetadataURL, register, clientSecretFile, privateKeyFile, identityTokenFile, identityProvider,
            tlsCertificate, tlsKey, authMethod, SharedOption.scope, resource,
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

    private static let name = Parameter.required("name", .any("NAME"), "the name of the new type")
    private static let adapter = Option.value(
        "adapter", .any("ADAPTER", .words(["oauth2", "azure-b2c"])), "the adapter that serves it")
    private static let preset = Option.value(
        "preset", .any("PRESET", .words(Preset.builtIn.keys.sorted())),
        "start from the preset of a provider")
    private static let settings = Option.pairs(
        "set", "NAME=VALUE", "fill a placeholder of the preset in, or set what a plugin wants")
    private static let issuer = Option.value("issuer", .any("URL"), "the issuer, whose metadata name the endpoints")
    private static let authorizationEndpoint = Option.value(
        "authorization-endpoint", .any("URL"), "the authorization endpoint")
    private static let tokenEndpoint = Option.value("token-endpoint", .any("URL"), "the token endpoint")
    private static let clientID = Option.value("client-id", .any("ID"), "the client identifier")
    private static let clientMetadataURL = Option.value(
        "client-metadata-url", .any("URL"), "the URL of a document about the client, which is its identifier")
    private static let register = Option.flag("register", "register a client at the issuer (RFC 7591)")
    private static let clientSecretFile = Option.value(
        "client-secret-file", .file, "a file with the client secret; - for standard input")
    private static let privateKeyFile = Option.value(
        "private-key-file", .file, "a file with the client's private key, PEM or JWK; - for standard input")
    private static let identityTokenFile = Option.value(
        "identity-token-file", .file, "the file in which the platform keeps the workload's identity token")
    private static let identityProvider = Option.value(
        "idp", .type, "the account type whose sign-in vouches for this one's")
    private static let tlsCertificate = Option.value(
        "tls-certificate", .file, "the PEM file of the certificate the client authenticates with")
    private static let tlsKey = Option.value("tls-key", .file, "the PEM file of the certificate's private key")
    private static let authMethod = Option.value(
        "auth-method", .any("METHOD", .words(ClientAuthentication.Method.allCases.map(\.rawValue))),
        "how the client authenticates, such as client_secret_post or private_key_jwt")
    private static let resource = Option.resource("resource", "the resource that tokens are for (RFC 8707)")
    private static let audience = Option.value("audience", .any("AUDIENCE"), "the audience that tokens are for")
    private static let dpop = Option.flag("dpop", "bind access tokens to a key (RFC 9449)")
    private static let redirectURI = Option.value(
        "redirect-uri", .any("URI"), "the redirect URI; a loopback one without it")
    private static let tenant = Option.value(
        "tenant", .any("TENANT"), "Azure AD B2C: the tenant; {tenant} of a preset")
    private static let authority = Option.value("authority", .any("URL"), "Azure AD B2C: the authority")
    private static let policy = Option.pairs("policy", "ALIAS=POLICY", "Azure AD B2C: a policy and its alias")
    private static let defaultPolicy = Option.value(
        "default-policy", .any("ALIAS"), "Azure AD B2C: the policy used when none is named")
    private static let passwordResetPolicy = Option.value(
        "password-reset-policy", .any("ALIAS"),
        "Azure AD B2C: the policy that 'login' runs for a forgotten password")
    private static let keychainGroup = Option.value(
        "keychain-group", .any("GROUP", .group), "the keychain group its accounts are kept in")
    private static let apiBase = Option.value(
        "api-base", .any("URL"), "what relative URLs of 'request' are joined to")
    private static let flow = Option.value(
        "flow", .choice("FLOW", SignInFlow.allCases.map(\.rawValue)), "the flow that 'login' uses")
    private static let param = Option.pairs(
        "param", "authorize:KEY=VALUE", "an extra parameter of authorize: or token: requests")
    private static let header = Option.pairs(
        "header", "KEY=VALUE", "an extra header field of requests to the provider")
    private static let offline = Option.flag("offline", "write the definition without asking the issuer")
    private static let trust = Option.flag("trust", "confirm the preset with all that it uses")
    private static let force = Option.flag("force", "replace an existing definition")

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        let name = try Name.checked(arguments[Self.name], kind: .accountType)
        let preset = try arguments[Self.preset].map { (name) throws(CredentialError) in
            try session.context.presets.preset(named: name)
        }
        var json = preset?.definition ?? JSONObject()
        for (option, key) in Self.plainOptions {
            if let value = arguments[option] { json[key] = .string(value) }
        }
        if let preset, preset.placeholders.contains(where: { $0.name == "tenant" }) {
            json["tenant"] = preset.definition["tenant"]
        }
        let scope = arguments[SharedOption.scope]
        if !scope.isEmpty { json["scope"] = .string(scope.joined(separator: " ")) }
        Self.merge(try Self.object(arguments[Self.policy], "--policy"), into: &json, at: "policies")
        Self.merge(try Self.object(arguments[Self.header], "--header"), into: &json, at: "headers")
        Self.merge(try extraParameters(), into: &json, at: "extra_parameters")
        try fillIn(preset, &json)
        let secrets = TypeSecrets(session)
        let secret = try secrets.clientSecret(from: arguments[Self.clientSecretFile])
        if secret != nil { json["client_secret"] = ["store": true] }
        let key = try secrets.privateKey(from: arguments[Self.privateKeyFile])
        if key != nil { json["private_key"] = ["store": true] }
        if let path = arguments[Self.identityTokenFile] {
            guard path.hasPrefix("/") else {
                throw CredentialError(.usage, "--identity-token-file takes an absolute path")
            }
            json["identity_token"] = ["file": .string(path)]
        }
        if let provider = arguments[Self.identityProvider] { json["identity_provider"] = .string(provider) }
        if arguments[Self.dpop] { json["dpop_bound_access_tokens"] = true }
        if let url = arguments[Self.clientMetadataURL] {
            guard json["client_id"] == nil, !arguments[Self.register] else {
                throw CredentialError(
                    .usage, "--client-metadata-url stands in place of --client-id and --register")
            }
            if let problem = ClientDocument.problem(of: url) {
                throw CredentialError(
                    .usage, "--client-metadata-url '\(ForeignText.shown(url))' \(problem)")
            }
            json["client_id"] = .string(url)
        }
        if arguments[Self.register] {
            guard json["client_id"] == nil else {
                throw CredentialError(.usage, "--register and --client-id exclude each other")
            }
            json["client_id"] = "unregistered"
        }
        try refuseSlips(json)
        var type = try AccountType(name: name, json: json, isPrivateFile: true, place: nil)
        if arguments[Self.register] { try session.context.adapters.adapter(of: type).checkRegistration() }
        try refuseUnknownSettings(of: type, preset, session)
        try session.catalog.checkFree(name, force: arguments[Self.force])
        let metadata = try discover(&type, session)
        if arguments[Self.register] {
            guard let metadata else { throw CredentialError(.usage, "--register needs --issuer") }
            let path = try ClientRegistrar(session.definitions).define(
                type, at: metadata, force: arguments[Self.force])
            session.notices.note("account type \(name) is defined in \(path)")
            for note in preset?.notes ?? [] {
                session.notices.note(Message(kept: ForeignText.shown(note, limit: 300)))
            }
            try warnOfShortSignIns(of: type, metadata, session)
            return
        }
        if arguments[Self.clientMetadataURL] != nil {
            try ResourceTypes(session.definitions).describeClient(of: &type, at: metadata)
        }
        let adapter = try session.context.adapters.adapter(of: type)
        try adapter.check(type)
        if !arguments[Self.offline] { ExplicitEndpoints(session).leaveOut(of: &type, known: metadata) }
        let isTrusted = try isTrusted(type, preset, session)
        try secrets.keep(clientSecret: secret, privateKey: key, of: type)
        let dropped = dropped(by: type, session)
        let path = try session.definitions.put(
            type, force: arguments[Self.force], by: isTrusted ? .user : .imported)
        session.notices.note("account type \(name) is defined in \(path)")
        if !dropped.isEmpty {
            session.notices.warning(
                "the definition that was there had also \(dropped.joined(separator: ", ")), which the new one has "
                    + "not; 'credmgr types set' changes some keys and keeps the others")
        }
        tellRedirectURI(of: type, adapter, session)
        for note in preset?.notes ?? [] {
            session.notices.note(Message(kept: ForeignText.shown(note, limit: 300)))
        }
        try warnOfShortSignIns(of: type, metadata, session)
    }

    /// Warns if sign-ins of the new type may bring no refresh token.
    private func warnOfShortSignIns(
        of type: AccountType, _ metadata: ServerMetadata?, _ session: Session
    ) throws(CredentialError) {
        let adapter = try session.context.adapters.adapter(of: type)
        let advice = RefreshTokenAdvice.expected(
            of: type, scope: adapter.effectiveScope(type.scope, of: type), offered: metadata?.scopes)
        guard let advice else { return }
        session.notices.warning(
            CredentialError(
                .configuration,
                "sign-ins of \(type.name) may bring no refresh token, and end with their first token: \(advice.cause)",
                hint: advice.command))
    }

    /// Shows what the type reaches, and has the user confirm what a preset of others names.
    ///
    /// - Returns: whether the definition counts as the user's own word.
    private func isTrusted(_ type: AccountType, _ preset: Preset?, _ session: Session) throws(CredentialError)
        -> Bool
    {
        let reach = DefinitionReach(of: type, session)
        guard let preset, !session.context.presets.isTrusted(preset.name), !arguments[Self.trust] else {
            reach.tell(session)
            return true
        }
        let uses = reach.needingTrust.filter { preset.definition[$0.key] != nil && !isGiven($0.key) }
        reach.tell(session, besides: uses)
        guard !uses.isEmpty else { return false }
        try DefinitionReach.confirm(
            uses, of: type.name,
            again: Message(
                verbatim: arguments.commandLine(adding: [Self.trust.spec.written], quoting: ShellQuote.word)),
            session)
        return true
    }

    /// Whether an option has set a key in the preset's place.
    private func isGiven(_ key: String) -> Bool {
        switch key {
        case "identity_token": arguments[Self.identityTokenFile] != nil
        case "tls_client_certificate": arguments[Self.tlsCertificate] != nil
        case "tls_client_key": arguments[Self.tlsKey] != nil
        default: false
        }
    }

    /// The keys of the definition that is replaced, which the new one does not have.
    private func dropped(by type: AccountType, _ session: Session) -> [String] {
        guard let old = try? session.catalog.definition(of: type.name).type.json else { return [] }
        let new = type.json
        return old.keys.filter { new[$0] == nil }
    }

    /// What a file would be told of by its keys is told here by the options.
    private func refuseSlips(_ json: JSONObject) throws(CredentialError) {
        if json["client_id"] == nil {
            throw CredentialError(
                .usage, "--client-id is missing",
                hint: "register a client at the provider; --register does that where the provider lets it")
        }
        if let issuer = arguments[Self.issuer], !issuer.contains("://") {
            throw CredentialError(
                .usage, "--issuer takes a URL", hint: "--issuer https://\(ForeignText.shown(issuer, limit: 200))")
        }
    }

    /// Says what to register at the provider, where neither an option nor the preset does.
    private func tellRedirectURI(
        of type: AccountType, _ adapter: any CredentialAdapter, _ session: Session
    ) {
        guard type.redirectURI == nil, type.signInFlow == .code, arguments[Self.preset] == nil,
            adapter.defaultRedirectURI.hasPrefix("http")
        else { return }
        session.notices.note(
            "redirect URI to register: \(adapter.defaultRedirectURI) (the port is chosen at each sign-in; where the "
                + "provider compares it, name one with --redirect-uri)")
    }

    /// Fills the preset in with `--tenant` and `--set`; what `--set` names besides is a setting of the adapter.
    private func fillIn(_ preset: Preset?, _ json: inout JSONObject) throws(CredentialError) {
        var values: [String: String] = [:]
        var settings = JSONObject()
        for (name, value) in arguments[Self.settings] {
            let isPlaceholder = preset?.placeholders.contains { $0.name == name } ?? false
            guard values[name] == nil, settings[name] == nil else {
                throw CredentialError(.usage, "--set names \(ForeignText.shown(name, limit: 60)) twice")
            }
            if isPlaceholder { values[name] = value } else { settings[name] = .string(value) }
        }
        if let tenant = arguments[Self.tenant] { values["tenant"] = tenant }
        if let preset { json = try preset.filled(json, with: values) }
        Self.merge(settings.isEmpty ? nil : .object(settings), into: &json, at: "adapter_settings")
    }

    /// A slip in a placeholder's name must not become a setting that nobody reads.
    private func refuseUnknownSettings(
        of type: AccountType, _ preset: Preset?, _ session: Session
    ) throws(CredentialError) {
        guard session.context.adapters.builtIn.contains(where: { $0.name == type.adapter }),
            let name = type.adapterSettings.keys.sorted().first
        else { return }
        let names = preset?.placeholders.map(\.name) ?? []
        throw CredentialError(
            .usage,
            preset.map { "the preset \($0.name) has no {\(name)} to set" }
                ?? "--set \(name): the adapter \(type.adapter) has no settings",
            hint: NearestWord.to(name, among: names).map { "did you mean '\($0)'?" })
    }

    /// Puts the members of an object over those that are there, and of objects in it too.
    private static func merge(_ value: JSONValue?, into json: inout JSONObject, at key: String) {
        guard let added = value?.object else { return }
        guard var members = json[key]?.object else {
            json[key] = value
            return
        }
        for (name, member) in added.members {
            if member.object == nil { members[name] = member } else { merge(member, into: &members, at: name) }
        }
        json[key] = .object(members)
    }

    /// Asks the provider's metadata where an issuer is given and the scopes are not, so that a mistyped issuer shows
    /// now and the first sign-in has the scopes that it needs.
    ///
    /// - Returns: the metadata; `nil` where it was not asked for or cannot be had.
    private func discover(_ type: inout AccountType, _ session: Session) throws(CredentialError) -> ServerMetadata?
    {
        let isNeeded = arguments[Self.register] || arguments[Self.clientMetadataURL] != nil
        if arguments[Self.offline], !isNeeded {
            if type.issuer != nil, type.scope.isEmpty, type.adapter == "oauth2" {
                session.notices.note(
                    "no provider was asked, so the type has no scopes; to add some: credmgr types set --help")
            }
            return nil
        }
        guard let issuer = type.issuer, let address = WebAddress(issuer), type.adapter == "oauth2",
            isNeeded || (type.scope.isEmpty && ![.clientCredentials, .jwtBearer].contains(type.signInFlow))
        else { return nil }
        do throws(CredentialError) {
            let context = session.services(session.stores()).adapterContext
            let metadata = try ResourceDiscovery(in: context).server(issuer, address, needs: needs(of: type))
            if type.scope.isEmpty || type.scope.contains("openid"), type.endpoints[.jwks] == nil {
                _ = try metadata.usable(.jwks)
            }
            if type.scope.isEmpty {
                type.scope = ClientRegistrar.usualScope(at: metadata)
                session.notices.note("scope: \(type.scope.joined(separator: " ")) (--scope chooses others)")
            }
            return metadata
        } catch {
            if isNeeded { throw error }
            // Who was reached and has no such document was asked at the wrong address.
            let isElsewhere = error.code == .configuration && error.hint != nil
            throw CredentialError(
                error.code, "the type is not defined, because its issuer cannot be asked: \(error)",
                hint: isElsewhere
                    ? error.advice
                    : Message(
                        verbatim: arguments.commandLine(
                            adding: [Self.offline.spec.written], quoting: ShellQuote.word)),
                details: error.details)
        }
    }

    /// The provider's endpoints that the type cannot do without.
    private func needs(of type: AccountType) -> [AccountType.Endpoint] {
        var needs: [AccountType.Endpoint] = arguments[Self.register] ? [.registration] : []
        if type.signInFlow == .code { needs.append(.authorization) }
        if type.signInFlow == .device { needs.append(.deviceAuthorization) }
        return needs.filter { type.endpoints[$0] == nil }
    }

    /// The options that are keys of the definition.
    private static let plainOptions: [(Option<String?>, String)] = [
        (adapter, "adapter"), (issuer, "issuer"), (authorizationEndpoint, "authorization_endpoint"),
        (tokenEndpoint, "token_endpoint"), (clientID, "client_id"), (redirectURI, "redirect_uri"),
        (tenant, "tenant"), (authority, "authority"), (defaultPolicy, "default_policy"),
        (passwordResetPolicy, "password_reset_policy"),
        (keychainGroup, "keychain_group"), (apiBase, "api_base"), (flow, "flow"),
        (authMethod, "token_endpoint_auth_method"), (resource, "resource"), (audience, "audience"),
        (tlsCertificate, "tls_client_certificate"), (tlsKey, "tls_client_key"),
    ]

    private static func object(
        _ pairs: [(name: String, value: String)], _ option: String
    ) throws(CredentialError) -> JSONValue? {
        guard !pairs.isEmpty else { return nil }
        var object = JSONObject()
        for (name, value) in pairs {
            guard object[name] == nil else {
                throw CredentialError(.usage, "\(option) names \(ForeignText.shown(name, limit: 60)) twice")
            }
            object[name] = .string(value)
        }
        return .object(object)
    }

    /// `--param authorize:K=V` and `--param token:K=V`.
    private func extraParameters() throws(CredentialError) -> JSONValue? {
        var kinds: [String: [(name: String, value: String)]] = [:]
        for (name, value) in arguments[Self.param] {
            let parts = name.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0] == "authorize" || parts[0] == "token" else {
                throw CredentialError(.usage, "--param takes authorize:KEY=VALUE or token:KEY=VALUE")
            }
            kinds[String(parts[0]), default: []].append((String(parts[1]), value))
        }
        guard !kinds.isEmpty else { return nil }
        var object = JSONObject()
        for (kind, pairs) in kinds.sorted(by: { $0.key < $1.key }) {
            object[kind] = try Self.object(pairs, "--param")
        }
        return .object(object)
    }
}
