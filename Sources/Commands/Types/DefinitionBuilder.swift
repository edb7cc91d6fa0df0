import CommandLine
import CredentialCore
import OAuth
import StrictJSON

/// A definition that the words of `types add` make, before anything of it is written.
struct DefinitionDraft {
    /// The type.
    let type: AccountType
    /// The preset that it began with.
    let preset: Preset?
    /// Whether it is the user's own word: its preset is trusted, or `--trust` was given.
    let isUsersOwn: Bool
    /// The provider's metadata, if the provider was asked.
    let metadata: ServerMetadata?
    /// The client secret, which goes to the store.
    let clientSecret: Secret?
    /// The client's private key, which goes to the store.
    let privateKey: Secret?
}

/// Builds a definition of the words of `types add`, as a file would hold it, so that one reader checks both.
struct DefinitionBuilder {
    private let arguments: Arguments
    private let session: CommandSession
    /// Whether the provider is asked even if the definition says all that is needed.
    var alwaysAsks = false
    /// The client secret in place of that of `--client-secret-file`.
    var clientSecret: Secret?

    /// Makes a builder for the arguments of `types add`.
    init(_ arguments: Arguments, _ session: CommandSession) {
        self.arguments = arguments
        self.session = session
    }

    /// Builds it.
    ///
    /// - Throws: ``ErrorCode/usage``, ``ErrorCode/configuration``; the reason for which the provider is refused.
    func draft() throws(CredentialError) -> DefinitionDraft {
        guard let given = arguments[TypesAddCommand.name] else { throw nothingNamed() }
        let name = try Identifier.checked(given, kind: .accountType)
        let preset = try arguments[TypesAddCommand.preset].map { (name) throws(CredentialError) in
            try session.context.presets.preset(named: name)
        }
        let secrets = TypeSecrets(session)
        let (json, secret, key) = try members(preset, secrets)
        try refuseSlips(json)
        if preset?.needsClientSecret == true, !alwaysAsks, json["client_secret"] == nil, key == nil {
            throw CredentialError(
                .usage, "the preset \(preset?.name ?? "") requires the client secret",
                hint: LocalizedMessage(
                    verbatim: arguments.commandLine(
                        adding: [TypesAddCommand.clientSecretFile.spec.written, "-"], quoting: ShellQuoting.word)))
        }
        var type = try AccountType(name: name, json: json, isPrivateFile: true, place: nil)
        if arguments[TypesAddCommand.register] {
            try session.context.adapters.adapter(of: type).checkRegistration()
        }
        try refuseUnknownSettings(of: type, preset)
        try session.catalog.checkFree(name, force: arguments[TypesAddCommand.force])
        // A preset of another author is used when the user has confirmed it.
        let isOwn = preset.map { session.context.presets.isTrusted($0.name) } ?? true
        let isUsersOwn = isOwn || arguments[TypesAddCommand.trust]
        if isUsersOwn { try AuthorityFile(session).check(ConnectionSettings(of: type)) }
        let metadata = try discover(&type, isUsersOwn: isUsersOwn)
        if !arguments[TypesAddCommand.register] {
            if arguments[TypesAddCommand.clientMetadataURL] != nil {
                try ResourceTypeDiscovery(session.definitions).describeClient(of: &type, at: metadata)
            }
            try session.context.adapters.adapter(of: type).check(type)
            if !arguments[TypesAddCommand.offline] {
                ExplicitEndpoints(session).leaveOut(of: &type, known: metadata, isTrusted: isUsersOwn)
            }
        }
        return DefinitionDraft(
            type: type, preset: preset, isUsersOwn: isUsersOwn, metadata: metadata, clientSecret: secret,
            privateKey: key)
    }

    /// The error for a command line without a name, which names all that is missing.
    private func nothingNamed() -> CredentialError {
        let hasClient =
            arguments[TypesAddCommand.clientID] != nil || arguments[TypesAddCommand.register]
            || arguments[TypesAddCommand.clientMetadataURL] != nil
        return CredentialError(
            .usage, hasClient ? "NAME is missing" : "NAME and --client-id are missing",
            hint: arguments.isBare && session.mayAsk ? "credmgr init" : "credmgr types add --help")
    }

    /// The members of the definition, and the secrets that go to the store.
    private func members(
        _ preset: Preset?, _ secrets: TypeSecrets
    ) throws(CredentialError) -> (JSONObject, secret: Secret?, key: Secret?) {
        var json = preset?.definition ?? JSONObject()
        for (option, key) in Self.plainOptions {
            if let value = arguments[option] { json[key] = .string(value) }
        }
        if let preset, preset.placeholders.contains(where: { $0.name == "tenant" }) {
            json["tenant"] = preset.definition["tenant"]
        }
        let scope = arguments[SharedOption.scope]
        if !scope.isEmpty { json["scope"] = .string(scope.joined(separator: " ")) }
        Self.merge(try Self.object(arguments[TypesAddCommand.policy], "--policy"), into: &json, at: "policies")
        Self.merge(try Self.object(arguments[TypesAddCommand.header], "--header"), into: &json, at: "headers")
        Self.merge(try extraParameters(), into: &json, at: "extra_parameters")
        try fillIn(preset, &json)
        let secret =
            if let clientSecret { clientSecret } else {
                try secrets.clientSecret(from: arguments[TypesAddCommand.clientSecretFile])
            }
        if secret != nil { json["client_secret"] = ["store": true] }
        let key = try secrets.privateKey(from: arguments[TypesAddCommand.privateKeyFile])
        if key != nil { json["private_key"] = ["store": true] }
        if let path = arguments[TypesAddCommand.identityTokenFile] {
            guard path.hasPrefix("/") else {
                throw CredentialError(.usage, "--identity-token-file must be an absolute path")
            }
            json["identity_token"] = ["file": .string(path)]
        }
        if let provider = arguments[TypesAddCommand.identityProvider] {
            json["identity_provider"] = .string(provider)
        }
        if arguments[TypesAddCommand.dpop] { json["dpop_bound_access_tokens"] = true }
        if let url = arguments[TypesAddCommand.clientMetadataURL] {
            guard json["client_id"] == nil, !arguments[TypesAddCommand.register] else {
                throw CredentialError(
                    .usage, "--client-metadata-url cannot be used with --client-id or --register")
            }
            if let problem = ClientIDMetadataDocument.problem(of: url) {
                throw CredentialError(
                    .usage, "--client-metadata-url '\(UntrustedText.shown(url))' \(problem)")
            }
            json["client_id"] = .string(url)
        }
        if arguments[TypesAddCommand.register] {
            guard json["client_id"] == nil else {
                throw CredentialError(.usage, "--register and --client-id exclude each other")
            }
            json["client_id"] = "unregistered"
        }
        return (json, secret, key)
    }

    // MARK: The provider

    /// Asks the provider's metadata if an issuer is given and the scopes are not, so that a mistyped issuer shows
    /// now and the first sign-in has the scopes that it needs.
    ///
    /// - Returns: the metadata; `nil` if it was not asked for or is not available.
    private func discover(
        _ type: inout AccountType, isUsersOwn: Bool
    ) throws(CredentialError) -> ServerMetadata? {
        let isNeeded =
            alwaysAsks || arguments[TypesAddCommand.register] || arguments[TypesAddCommand.clientMetadataURL] != nil
        guard type.adapter == "oauth2", let given = type.issuer else { return nil }
        type.issuer = IssuerDiscovery.issuer(of: given)
        defer { tellIssuer(of: type, given) }
        if arguments[TypesAddCommand.offline], !isNeeded {
            if type.scope.isEmpty {
                session.notices.note(
                    "the type has no scopes, because credmgr did not contact the provider; to add scopes: credmgr "
                        + "types set --help")
            }
            return nil
        }
        let needsScope = type.scope.isEmpty && ![.clientCredentials, .jwtBearer].contains(type.signInFlow)
        // Most issuers have no slash at their end, and only the provider knows of its own.
        let isDoubtful = arguments[TypesAddCommand.issuer]?.hasSuffix("/") == true
        let isOfPreset = arguments[TypesAddCommand.preset] != nil && arguments[TypesAddCommand.issuer] == nil
        guard isNeeded || needsScope || isDoubtful || isOfPreset else { return nil }
        do throws(CredentialError) {
            var context = session.services(session.stores()).adapterContext
            if isUsersOwn { context = context.connected(by: ConnectionSettings(of: type)) }
            let metadata = try IssuerDiscovery(in: context).server(given, needs: needs(of: type))
            if type.scope.isEmpty || type.scope.contains("openid"), type.endpoints[.jwks] == nil {
                _ = try metadata.usable(.jwks)
            }
            type.issuer = metadata.issuer ?? type.issuer
            if needsScope || type.scope.isEmpty && isNeeded {
                type.scope = ClientRegistrationService.usualScope(at: metadata)
                session.notices.note("scope: \(type.scope.joined(separator: " ")) (to change it, use --scope)")
            }
            return metadata
        } catch {
            var error = error
            // A definition that is not there yet cannot be changed.
            if error.code == .denied, error.isBeforeRequest {
                error.advice =
                    "set --ca-certificate if the certificate authority is your own; otherwise check this machine's "
                    + "clock"
            }
            let isOfThisMachine = error.code == .configuration && error.isBeforeRequest
            if isNeeded || isOfThisMachine { throw error }
            guard needsScope || isOfPreset else {
                session.notices.note("the issuer is not checked: cannot reach its metadata: \(error.text)")
                return nil
            }
            let offline = LocalizedMessage(
                verbatim: arguments.commandLine(
                    adding: [TypesAddCommand.offline.spec.written], quoting: ShellQuoting.word))
            // A place that responds and has no such document is the wrong address.
            let isElsewhere = error.code == .configuration && isOfPreset
            throw CredentialError(
                error.code, "the type is not defined: cannot get the metadata of its issuer: \(error)",
                hint: isElsewhere ? wrongValues ?? error.advice : error.advice ?? offline, details: error.details)
        }
    }

    /// The options of the preset whose values make a wrong issuer.
    private var wrongValues: LocalizedMessage? {
        let names = arguments[TypesAddCommand.settings].map(\.name)
        let options = names.map { "--set \($0)" } + (arguments[TypesAddCommand.tenant] == nil ? [] : ["--tenant"])
        return options.isEmpty ? nil : "check the values of \(options.joined(separator: ", "))"
    }

    /// Says that the definition has another spelling of the issuer than was given.
    private func tellIssuer(of type: AccountType, _ given: String) {
        guard arguments[TypesAddCommand.issuer] != nil, let issuer = type.issuer,
            let correction = IssuerDiscovery.correction(of: given, to: issuer)
        else { return }
        session.notices.note(correction)
    }

    /// The provider's endpoints that the type cannot do without.
    private func needs(of type: AccountType) -> [AccountType.Endpoint] {
        var needs: [AccountType.Endpoint] = arguments[TypesAddCommand.register] ? [.registration] : []
        if type.signInFlow == .code { needs.append(.authorization) }
        if type.signInFlow == .device { needs.append(.deviceAuthorization) }
        return needs.filter { type.endpoints[$0] == nil }
    }

    // MARK: Members

    /// The options give the same values as the keys of a file.
    private func refuseSlips(_ json: JSONObject) throws(CredentialError) {
        if json["client_id"] == nil {
            throw CredentialError(
                .usage, "--client-id is missing",
                hint: "register a client at the provider, or use --register if the provider supports it")
        }
        if let issuer = arguments[TypesAddCommand.issuer], !issuer.contains("://") {
            throw CredentialError(
                .usage, "--issuer must be a URL",
                hint: "--issuer https://\(UntrustedText.shown(issuer, limit: 200))")
        }
    }

    /// Fills the preset in with `--tenant` and `--set`; every other name in `--set` is a setting of the adapter.
    private func fillIn(_ preset: Preset?, _ json: inout JSONObject) throws(CredentialError) {
        var values: [String: String] = [:]
        var settings = JSONObject()
        for (name, value) in arguments[TypesAddCommand.settings] {
            let isPlaceholder = preset?.placeholders.contains { $0.name == name } ?? false
            guard values[name] == nil, settings[name] == nil else {
                throw CredentialError(.usage, "--set names \(UntrustedText.shown(name, limit: 60)) twice")
            }
            if isPlaceholder { values[name] = value } else { settings[name] = .string(value) }
        }
        if let tenant = arguments[TypesAddCommand.tenant] { values["tenant"] = tenant }
        if let preset { json = try preset.filled(json, with: try resolved(values, preset)) }
        Self.merge(settings.isEmpty ? nil : .object(settings), into: &json, at: "adapter_settings")
    }

    /// The values with the ID of a tenant in the place of one of its domains.
    private func resolved(
        _ values: [String: String], _ preset: Preset
    ) throws(CredentialError) -> [String: String] {
        guard !arguments[TypesAddCommand.offline], let domain = values["tenant"],
            let placeholder = preset.placeholders.first(where: { $0.name == "tenant" }),
            TenantLookup.isDomain(domain, of: placeholder)
        else { return values }
        var values = values
        let id = try TenantLookup(session).id(of: domain, preset)
        session.notices.note("the tenant \(UntrustedText.shown(domain, limit: 100)) has the ID \(id)")
        values["tenant"] = id
        return values
    }

    /// A slip in a placeholder's name must not become a setting without effect.
    private func refuseUnknownSettings(
        of type: AccountType, _ preset: Preset?
    ) throws(CredentialError) {
        guard session.context.adapters.builtIn.contains(where: { $0.name == type.adapter }),
            let name = type.adapterSettings.keys.sorted().first
        else { return }
        let names = preset?.placeholders.map(\.name) ?? []
        throw CredentialError(
            .usage,
            preset.map { "the preset \($0.name) has no placeholder {\(name)}" }
                ?? "--set \(name): the adapter \(type.adapter) has no settings",
            hint: SpellingSuggestion.to(name, among: names).map { "did you mean '\($0)'?" })
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

    /// The key of a definition that an option of `types add` sets.
    static func key(ofOption written: String) -> String? {
        if written == SharedOption.scope.spec.written { return "scope" }
        return plainOptions.first { $0.0.spec.written == written }?.1
    }

    /// The options that are keys of the definition.
    private static let plainOptions: [(Option<String?>, String)] = [
        (TypesAddCommand.adapter, "adapter"), (TypesAddCommand.issuer, "issuer"),
        (TypesAddCommand.authorizationEndpoint, "authorization_endpoint"),
        (TypesAddCommand.tokenEndpoint, "token_endpoint"), (TypesAddCommand.clientID, "client_id"),
        (TypesAddCommand.redirectURI, "redirect_uri"),
        (TypesAddCommand.tenant, "tenant"), (TypesAddCommand.authority, "authority"),
        (TypesAddCommand.defaultPolicy, "default_policy"),
        (TypesAddCommand.passwordResetPolicy, "password_reset_policy"),
        (TypesAddCommand.keychainGroup, "keychain_group"), (TypesAddCommand.apiBase, "api_base"),
        (TypesAddCommand.flow, "flow"),
        (TypesAddCommand.authMethod, "token_endpoint_auth_method"), (TypesAddCommand.resource, "resource"),
        (TypesAddCommand.audience, "audience"),
        (TypesAddCommand.tlsCertificate, "tls_client_certificate"), (TypesAddCommand.tlsKey, "tls_client_key"),
        (TypesAddCommand.caCertificate, ConnectionSettings.certificateKey),
        (TypesAddCommand.proxy, ConnectionSettings.proxyKey),
    ]

    private static func object(
        _ pairs: [(name: String, value: String)], _ option: String
    ) throws(CredentialError) -> JSONValue? {
        guard !pairs.isEmpty else { return nil }
        var object = JSONObject()
        for (name, value) in pairs {
            guard object[name] == nil else {
                throw CredentialError(.usage, "\(option) names \(UntrustedText.shown(name, limit: 60)) twice")
            }
            object[name] = .string(value)
        }
        return .object(object)
    }

    /// `--param authorize:K=V` and `--param token:K=V`.
    private func extraParameters() throws(CredentialError) -> JSONValue? {
        var kinds: [String: [(name: String, value: String)]] = [:]
        for (name, value) in arguments[TypesAddCommand.param] {
            let parts = name.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0] == "authorize" || parts[0] == "token" else {
                throw CredentialError(.usage, "--param must be authorize:KEY=VALUE or token:KEY=VALUE")
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
