import CredentialCore
import OAuth
import StrictJSON

/// `credmgr types add`: builds the definition as a file would hold it, so that one reader checks both.
struct TypesAddCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let name = try Name.checked(try arguments.required("name"), kind: "account type")
        let preset = try arguments.string("preset").map { (name) throws(CredentialError) in
            try session.context.presets.preset(named: name)
        }
        var json = preset?.definition ?? JSONObject()
        for (option, key) in Self.plainOptions where arguments.string(option) != nil {
            json[key] = arguments.string(option).map(JSONValue.string)
        }
        if let preset, preset.placeholders.contains(where: { $0.name == "tenant" }) {
            json["tenant"] = preset.definition["tenant"]
        }
        let scope = arguments.strings("scope").flatMap { $0.split(separator: " ").map(String.init) }
        if !scope.isEmpty { json["scope"] = .string(scope.joined(separator: " ")) }
        Self.merge(try Self.object(try arguments.pairs("policy"), "--policy"), into: &json, at: "policies")
        Self.merge(try Self.object(try arguments.pairs("header"), "--header"), into: &json, at: "headers")
        Self.merge(try extraParameters(), into: &json, at: "extra_parameters")
        try fillIn(preset, &json)
        let secret = try arguments.string("client-secret-file").map { (path) throws(CredentialError) in
            try session.secret(from: path, what: "client secret")
        }
        if secret != nil { json["client_secret"] = ["store": true] }
        let key = try arguments.string("private-key-file").map { (path) throws(CredentialError) in
            try privateKey(from: path, session)
        }
        if key != nil { json["private_key"] = ["store": true] }
        if arguments.flag("dpop") { json["dpop_bound_access_tokens"] = true }
        if arguments.flag("register") {
            guard json["client_id"] == nil else {
                throw CredentialError(.usage, "--register and --client-id exclude each other")
            }
            json["client_id"] = "unregistered"
        }
        try refuseSlips(json)
        var type = try AccountType(name: name, json: json, isPrivateFile: true, place: nil)
        if arguments.flag("register") { try session.context.adapters.adapter(of: type).checkRegistration() }
        try refuseUnknownSettings(of: type, preset, session)
        try session.catalog.checkFree(name, force: arguments.flag("force"))
        let metadata = try discover(&type, session)
        if arguments.flag("register") {
            guard let metadata else { throw CredentialError(.usage, "--register needs --issuer") }
            let path = try ClientRegistrar(session).define(type, at: metadata, force: arguments.flag("force"))
            session.notices.note("account type \(name) is defined in \(path)")
            for note in preset?.notes ?? [] { session.notices.note(ForeignText.shown(note, limit: 300)) }
            return
        }
        let adapter = try session.context.adapters.adapter(of: type)
        try adapter.check(type)
        try keep([(.clientSecret, "client secret", secret), (.privateKey, "private key", key)], of: type, session)
        let path = try session.catalog.add(type, force: arguments.flag("force"))
        session.notices.note("account type \(name) is defined in \(path)")
        tellRedirectURI(of: type, adapter, session)
        for note in preset?.notes ?? [] { session.notices.note(ForeignText.shown(note, limit: 300)) }
    }

    /// What a file would be told of by its keys is told here by the options.
    private func refuseSlips(_ json: JSONObject) throws(CredentialError) {
        if json["client_id"] == nil {
            throw CredentialError(
                .usage, "--client-id is missing",
                hint: "register a client at the provider; --register does that where the provider lets it")
        }
        if let issuer = arguments.string("issuer"), !issuer.contains("://") {
            throw CredentialError(
                .usage, "--issuer takes a URL", hint: "--issuer https://\(ForeignText.shown(issuer, limit: 200))")
        }
    }

    /// Says what to register at the provider, where neither an option nor the preset does.
    private func tellRedirectURI(
        of type: AccountType, _ adapter: any CredentialAdapter, _ session: Session
    ) {
        guard type.redirectURI == nil, type.flow ?? .code == .code, arguments.string("preset") == nil,
            adapter.defaultRedirectURI.hasPrefix("http")
        else { return }
        session.notices.note(
            "redirect URI to register: \(adapter.defaultRedirectURI) (the port is chosen at each sign-in; where the "
                + "provider compares it, name one with --redirect-uri)")
    }

    /// The client's private key. One that cannot sign is told now, not at the first sign-in.
    private func privateKey(from path: String, _ session: Session) throws(CredentialError) -> Secret {
        let key = try session.secret(from: path, what: "private key", isText: true)
        let trial = ClientAssertion(issuer: "trial", subject: "trial", audience: "trial")
        _ = try trial.signed(with: key, in: session.adapterContext(session.stores(mayPrompt: false)))
        return key
    }

    /// Fills the preset in with `--tenant` and `--set`; what `--set` names besides is a setting of the adapter.
    private func fillIn(_ preset: Preset?, _ json: inout JSONObject) throws(CredentialError) {
        var values: [String: String] = [:]
        var settings = JSONObject()
        for (name, value) in try arguments.pairs("set") {
            let isPlaceholder = preset?.placeholders.contains { $0.name == name } ?? false
            guard values[name] == nil, settings[name] == nil else {
                throw CredentialError(.usage, "--set names \(ForeignText.shown(name, limit: 60)) twice")
            }
            if isPlaceholder { values[name] = value } else { settings[name] = .string(value) }
        }
        if let tenant = arguments.string("tenant") { values["tenant"] = tenant }
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
    /// now and the first sign-in has the scopes that it needs. Without network the definition is written all the same.
    ///
    /// - Returns: the metadata; `nil` where it was not asked for or cannot be had.
    private func discover(_ type: inout AccountType, _ session: Session) throws(CredentialError) -> ServerMetadata?
    {
        let isNeeded = arguments.flag("register")
        guard let issuer = type.issuer, let address = WebAddress(issuer), type.adapter == "oauth2",
            isNeeded || (type.scope.isEmpty && type.flow != .clientCredentials && type.flow != .jwtBearer)
        else { return nil }
        do throws(CredentialError) {
            let context = session.adapterContext(session.stores())
            let metadata = try ResourceDiscovery(in: context).server(issuer, address)
            if type.scope.isEmpty {
                type.scope = ClientRegistrar.usualScope(at: metadata)
                session.notices.note("scope: \(type.scope.joined(separator: " ")) (--scope chooses others)")
            }
            return metadata
        } catch {
            guard !isNeeded, error.code == .temporary else { throw error }
            session.notices.warning(
                "the type is defined without scopes, because the provider's metadata cannot be had now: "
                    + "\(error.message); if the URL is right, run this again with --force when it answers")
            return nil
        }
    }

    private static let plainOptions = [
        ("adapter", "adapter"), ("issuer", "issuer"), ("authorization-endpoint", "authorization_endpoint"),
        ("token-endpoint", "token_endpoint"), ("client-id", "client_id"), ("redirect-uri", "redirect_uri"),
        ("tenant", "tenant"), ("authority", "authority"), ("default-policy", "default_policy"),
        ("password-reset-policy", "password_reset_policy"),
        ("keychain-group", "keychain_group"), ("api-base", "api_base"), ("flow", "flow"),
        ("auth-method", "token_endpoint_auth_method"), ("resource", "resource"), ("audience", "audience"),
        ("tls-certificate", "tls_client_certificate"), ("tls-key", "tls_client_key"),
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
        for (name, value) in try arguments.pairs("param") {
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

    private func keep(
        _ secrets: [(kind: SecretItem.Kind, what: String, secret: Secret?)], of type: AccountType,
        _ session: Session
    ) throws(CredentialError) {
        guard secrets.contains(where: { $0.secret != nil }) else { return }
        let stores = session.stores()
        let choice = try StoreChoice(session, stores)
        for (kind, what, secret) in secrets {
            guard let secret else { continue }
            try stores.store(choice.kind).write(
                Array(secret.reveal().utf8),
                for: SecretItem(group: type.keychainGroup, owner: type.name, kind: kind),
                label: "credmgr: \(type.name) \(what)")
        }
        choice.tell("what is secret of the type", session)
    }
}
