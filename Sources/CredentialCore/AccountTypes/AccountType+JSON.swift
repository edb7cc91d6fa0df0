public import StrictJSON

extension AccountType {
    /// Every key that a definition may have, in the order they are documented and written.
    public static let keys: [String] =
        ["adapter", "issuer"] + Endpoint.allCases.map(\.rawValue) + [
            "client_id", "client_secret", "token_endpoint_auth_method", "token_endpoint_auth_signing_alg",
            "private_key", "identity_token", "identity_audience", "identity_provider", "tls_client_certificate",
            "tls_client_key", "ca_certificate", "proxy",
            "registration_client_uri", "scope", "additional_scope",
            "redirect_uri", "response_mode", "require_pushed_authorization_requests", "dpop_bound_access_tokens",
            "resource", "audience", "token_exchange", "refresh_reuse", "flow", "extra_parameters", "headers",
            "bearer",
            "keychain_group", "api_base",
            "api_origins", "tenant", "authority", "policies", "default_policy", "password_reset_policy",
            "adapter_settings",
            "show_claims", "issuer_named_by_api",
        ]

    /// Reads a definition.
    ///
    /// - Parameters:
    ///   - name: the type's name, which its file gives.
    ///   - json: the members of the definition.
    ///   - isPrivateFile: whether only the user can read the file (mode 0600): only there may a secret be written
    ///     out.
    ///   - place: the file, for messages; `nil` when the members do not come from a file.
    /// - Throws: ``ErrorCode/usage`` for a bad name; ``ErrorCode/configuration``, naming key and file, for an
    ///   unknown key, or a value of the wrong kind or form.
    public init(
        name: String, json: JSONObject, isPrivateFile: Bool, place: String?
    ) throws(CredentialError) {
        let name = try Identifier.checked(name, kind: .accountType)
        let reader = try DefinitionReader(
            json, known: Self.keys, place: place.map(LocalizedMessage.init(verbatim:)))
        guard let clientID = try reader.string("client_id", DefinitionValidation.clientID) else {
            throw reader.fault("client_id", "is missing")
        }
        self.init(name: name, adapter: try Self.adapter(reader, place), clientID: clientID)
        try readProvider(reader)
        try readClient(reader, isPrivateFile: isPrivateFile)
        try readRequests(reader)
        try readB2C(reader)
    }

    private static func adapter(_ reader: DefinitionReader, _ place: String?) throws(CredentialError) -> String {
        if let adapter = try reader.string("adapter", DefinitionValidation.name) { return adapter }
        if ["tenant", "authority", "policies"].contains(where: reader.has) { return "azure-b2c" }
        if reader.has("issuer") || Endpoint.allCases.contains(where: { reader.has($0.rawValue) }) {
            return "oauth2"
        }
        throw CredentialError(
            .configuration, place.map { "no provider in \($0)" } ?? "a provider is required",
            hint: "set 'issuer' or the endpoints, or 'tenant' or 'authority' for Azure AD B2C, or 'adapter'")
    }

    private mutating func readProvider(_ reader: DefinitionReader) throws(CredentialError) {
        issuer = try reader.string("issuer", DefinitionValidation.issuer)
        for endpoint in Endpoint.allCases {
            endpoints[endpoint] = try reader.string(endpoint.rawValue, DefinitionValidation.webAddress)
        }
        if let group = try reader.string("keychain_group", DefinitionValidation.name) {
            keychainGroup = try KeychainGroup(group)
        }
        apiBase = try reader.string("api_base", DefinitionValidation.webAddress)
        apiOrigins = try reader.strings("api_origins", DefinitionValidation.origin)
            .compactMap { URI($0)?.origin }
    }

    private mutating func readClient(_ reader: DefinitionReader, isPrivateFile: Bool) throws(CredentialError) {
        clientSecret = try Self.secret("client_secret", reader, isPrivateFile: isPrivateFile)
        privateKey = try Self.secret("private_key", reader, isPrivateFile: isPrivateFile)
        identityToken = try Self.identityToken(reader)
        identityAudience = try identityAudience(reader)
        identityProvider = try reader.string("identity_provider", DefinitionValidation.name)
        if identityToken != nil, identityProvider != nil {
            throw reader.fault("identity_provider", "cannot be used with identity_token")
        }
        tokenEndpointAuthMethod = try reader.string("token_endpoint_auth_method", DefinitionValidation.name)
        tokenEndpointAuthSigningAlg = try reader.choice(
            "token_endpoint_auth_signing_alg", of: SignatureAlgorithm.self)?.rawValue
        tlsClientCertificate = try reader.string("tls_client_certificate", DefinitionValidation.absolutePath)
        tlsClientKey = try reader.string("tls_client_key", DefinitionValidation.absolutePath)
        caCertificate = try reader.string(ConnectionSettings.certificateKey, DefinitionValidation.absolutePath)
        proxy = try reader.string(ConnectionSettings.proxyKey, DefinitionValidation.proxy)
        registrationClientURI = try reader.string("registration_client_uri", DefinitionValidation.webAddress)
        redirectURI = try reader.string("redirect_uri", DefinitionValidation.redirectURI)
    }

    private static func secret(
        _ key: String, _ reader: DefinitionReader, isPrivateFile: Bool
    ) throws(CredentialError) -> ClientSecretSource? {
        guard let value = reader.value(key) else { return nil }
        guard let source = ClientSecretSource(value) else {
            throw reader.fault(
                key, "is not a valid secret source",
                hint: #"{"store":true}, {"env":"NAME"}, {"file":"PATH"} or {"command":["PROGRAM","ARGUMENT"]}"#)
        }
        try checkPath(of: source, key, reader)
        guard case .literal(let secret) = source else { return source }
        if secret.isEmpty { return nil }
        guard isPrivateFile else {
            throw reader.fault(
                key, "contains a secret that other users can read",
                hint: reader.place.map {
                    #"move the secret to a private file, as {"file":"PATH"}, or run: chmod 600 "#
                        + #"\#(ShellQuoting.word($0.description))"#
                } ?? #"move the secret to a private file, as {"file":"PATH"}"#)
        }
        return source
    }

    private static func checkPath(
        of source: ClientSecretSource, _ key: String, _ reader: DefinitionReader
    ) throws(CredentialError) {
        if case .file(let path) = source, let problem = DefinitionValidation.secretPath(path) {
            throw reader.fault(key, problem)
        }
    }

    private static func identityToken(
        _ reader: DefinitionReader
    ) throws(CredentialError) -> IdentityTokenSource? {
        guard let value = reader.value("identity_token") else { return nil }
        guard let source = IdentityTokenSource(value) else {
            throw reader.fault(
                "identity_token", "must name the source of the token",
                hint: LocalizedMessage(verbatim: IdentityTokenSource.forms))
        }
        if let secret = source.secret { try checkPath(of: secret, "identity_token", reader) }
        return source
    }

    private func identityAudience(_ reader: DefinitionReader) throws(CredentialError) -> String? {
        let key = "identity_audience"
        guard let audience = try reader.string(key, DefinitionValidation.plainText) else { return nil }
        guard let identityToken else { throw reader.fault(key, "needs identity_token") }
        if case .githubActions(let requested) = identityToken, requested != audience {
            throw reader.fault(key, "differs from the audience in identity_token")
        }
        return audience
    }

    private mutating func readRequests(_ reader: DefinitionReader) throws(CredentialError) {
        scope = try reader.scope("scope")
        additionalScope = try reader.scope("additional_scope")
        resource = try reader.string("resource", DefinitionValidation.resource)
        audience = try reader.string("audience")
        responseMode = try reader.choice("response_mode", of: ResponseMode.self)
        pushesAuthorizationRequests = try reader.flag("require_pushed_authorization_requests") ?? false
        bindsAccessTokens = try reader.flag("dpop_bound_access_tokens") ?? false
        exchangesTokens = try reader.flag("token_exchange") ?? false
        refreshReuse = try reader.choice("refresh_reuse", of: RefreshReuse.self)
        flow = try reader.choice("flow", of: SignInFlow.self)
        bearer = try reader.choice("bearer", of: BearerKind.self) ?? .accessToken
        let extra = try reader.object("extra_parameters", known: ["authorize", "token"])
        authorizeParameters = try extra.map("authorize", DefinitionValidation.parameter)
        tokenParameters = try extra.map("token", DefinitionValidation.parameter)
        headers = try reader.map("headers", DefinitionValidation.header)
        if Set(headers.keys.map { $0.lowercased() }).count < headers.count {
            throw reader.fault("headers", "has a header field twice")
        }
        adapterSettings = try reader.map("adapter_settings") { name, value in
            DefinitionValidation.name(name) ?? DefinitionValidation.plainText(value)
        }
        showClaims = try reader.flag("show_claims") ?? false
        issuerIsNamedByAPI = try reader.flag("issuer_named_by_api") ?? false
    }

    private mutating func readB2C(_ reader: DefinitionReader) throws(CredentialError) {
        tenant = try reader.string("tenant", DefinitionValidation.tenant)
        authority = try reader.string("authority", DefinitionValidation.webAddress)
        policies = try reader.map("policies") { alias, policy in
            if let problem = DefinitionValidation.name(alias) { return problem }
            return DefinitionValidation.name(policy).map { "names a policy that \($0)" }
        }
        defaultPolicy = try reader.string("default_policy", DefinitionValidation.name)
        passwordResetPolicy = try reader.string("password_reset_policy", DefinitionValidation.name)
    }

    // MARK: Writing

    /// The definition as a file holds it: the adapter, the client ID and each value that differs from its default.
    ///
    /// A secret written out is among it: the file must be private.
    public var json: JSONObject {
        var json = JSONObject()
        func put(_ key: String, _ text: String?) { json[key] = text.map(JSONValue.string) }
        func put(_ key: String, _ list: [String]) { if !list.isEmpty { json[key] = JSONValue(list) } }
        put("adapter", adapter)
        put("issuer", issuer)
        for endpoint in Endpoint.allCases { put(endpoint.rawValue, endpoints[endpoint]) }
        put("client_id", clientID)
        json["client_secret"] = clientSecret?.json
        put("token_endpoint_auth_method", tokenEndpointAuthMethod)
        put("token_endpoint_auth_signing_alg", tokenEndpointAuthSigningAlg)
        json["private_key"] = privateKey?.json
        json["identity_token"] = identityToken?.json
        put("identity_audience", identityAudience)
        put("identity_provider", identityProvider)
        put("tls_client_certificate", tlsClientCertificate)
        put("tls_client_key", tlsClientKey)
        put(ConnectionSettings.certificateKey, caCertificate)
        put(ConnectionSettings.proxyKey, proxy)
        put("registration_client_uri", registrationClientURI)
        if !scope.isEmpty { put("scope", scope.joined(separator: " ")) }
        if !additionalScope.isEmpty { put("additional_scope", additionalScope.joined(separator: " ")) }
        put("redirect_uri", redirectURI)
        put("response_mode", responseMode?.rawValue)
        if pushesAuthorizationRequests { json["require_pushed_authorization_requests"] = true }
        if bindsAccessTokens { json["dpop_bound_access_tokens"] = true }
        put("resource", resource)
        put("audience", audience)
        if exchangesTokens { json["token_exchange"] = true }
        put("refresh_reuse", refreshReuse?.rawValue)
        put("flow", flow?.rawValue)
        var extra = JSONObject()
        extra["authorize"] = Self.object(authorizeParameters)
        extra["token"] = Self.object(tokenParameters)
        if !extra.isEmpty { json["extra_parameters"] = .object(extra) }
        json["headers"] = Self.object(headers)
        if bearer != .accessToken { put("bearer", bearer.rawValue) }
        if keychainGroup != .standard { put("keychain_group", keychainGroup.name) }
        put("api_base", apiBase)
        put("api_origins", apiOrigins)
        put("tenant", tenant)
        put("authority", authority)
        json["policies"] = Self.object(policies)
        put("default_policy", defaultPolicy)
        put("password_reset_policy", passwordResetPolicy)
        json["adapter_settings"] = Self.object(adapterSettings)
        if showClaims { json["show_claims"] = true }
        if issuerIsNamedByAPI { json["issuer_named_by_api"] = true }
        return json
    }

    private static func object(_ map: [String: String]) -> JSONValue? {
        if map.isEmpty { return nil }
        var object = JSONObject()
        for (name, value) in map.sorted(by: { $0.key < $1.key }) { object[name] = .string(value) }
        return .object(object)
    }
}
