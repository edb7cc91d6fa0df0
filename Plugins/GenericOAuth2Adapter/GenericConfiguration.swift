import CredentialCore
import OAuth
import StrictJSON

/// The provider's configuration from a type, validated.
struct GenericConfiguration {
    private let type: AccountType

    init(_ type: AccountType) { self.type = type }

    /// Checks everything that can be checked without the network.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the key.
    func check() throws(CredentialError) {
        guard !type.clientID.isEmpty else { throw fault("client_id is missing") }
        for (key, isSet) in [
            ("tenant", type.tenant != nil), ("authority", type.authority != nil),
            ("policies", !type.policies.isEmpty), ("default_policy", type.defaultPolicy != nil),
            ("password_reset_policy", type.passwordResetPolicy != nil),
        ] where isSet {
            throw fault("\(key) is only valid for the adapter azure-b2c", hint: "\"adapter\": \"azure-b2c\"")
        }
        guard type.adapterSettings.isEmpty else { throw fault("adapter_settings is only valid for plugins") }
        let explicit = try explicitEndpoints()
        if try issuer() == nil {
            guard explicit[.token] != nil else {
                throw fault("issuer or token_endpoint is required", hint: "set issuer, or the endpoints")
            }
            guard type.flow != .code || explicit[.authorization] != nil else {
                throw fault("issuer or authorization_endpoint is required")
            }
            try checkOpenID(type.scope)
        }
        for word in Scope.distinct(type.scope) where !Scope.isValid(word) {
            throw fault(
                "scope '\(UntrustedText.shown(word, limit: 60))' has a character that is not valid in a scope")
        }
        if let word = type.tokenEndpointAuthMethod, ClientAuthentication.Method(rawValue: word) == nil {
            throw fault(
                "token_endpoint_auth_method '\(UntrustedText.shown(word, limit: 40))' is not known",
                hint: "use one of \(ClientAuthentication.Method.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        if type.identityToken != nil || type.identityProvider != nil, type.flow ?? .jwtBearer != .jwtBearer {
            throw fault(
                "identity_token and identity_provider require the flow jwt_bearer", hint: "\"flow\": \"jwt_bearer\""
            )
        }
        try checkStrays()
        try checkCertificate()
        try checkAuthorizeParameters()
        try ReservedParameters.check(type)
    }

    /// No token is shown to another's API than that of the server that gave it.
    private func checkStrays() throws(CredentialError) {
        let strays = type.strayKeys.sorted { $0.key.rawValue > $1.key.rawValue }
        guard !strays.isEmpty, let endpoint = type.endpoints[.token].flatMap(URI.init) else { return }
        let keys = strays.map(\.key.rawValue).joined(separator: " and ")
        throw fault(
            "\(keys) would send tokens of \(endpoint.host) to the API of github.com",
            hint: LocalizedMessage(
                verbatim: ShellQuoting.line(
                    ["credmgr", "types", "set", type.name] + strays.map { "\($0.key.rawValue)=\($0.value)" })))
    }

    private func checkCertificate() throws(CredentialError) {
        guard (type.tlsClientCertificate == nil) == (type.tlsClientKey == nil) else {
            throw fault("tls_client_certificate and tls_client_key must be set together")
        }
        let method = type.tokenEndpointAuthMethod.flatMap(ClientAuthentication.Method.init)
        if method?.usesCertificate ?? false, type.tlsClientCertificate == nil {
            throw fault(
                "token_endpoint_auth_method \(type.tokenEndpointAuthMethod ?? "") requires a certificate",
                hint: "set tls_client_certificate and tls_client_key")
        }
    }

    /// Parameters of OpenID Connect Core §3.1.2.1 and §5.5 that have a form.
    private func checkAuthorizeParameters() throws(CredentialError) {
        if let text = type.authorizeParameters["max_age"], Int64(text).map({ $0 < 0 }) ?? true {
            throw fault("extra_parameters.authorize.max_age must be a number of seconds")
        }
        if let text = type.authorizeParameters["claims"], (try? JSONValue.parse(text))?.object == nil {
            throw fault("extra_parameters.authorize.claims must be a JSON object")
        }
    }

    /// The issuer with each explicit endpoint that receives a token or a secret, else the token endpoint.
    func provider() throws(CredentialError) -> String {
        let explicit = try explicitEndpoints()
        guard try issuer() != nil || explicit[.token] != nil else {
            throw fault("issuer or token_endpoint is required", hint: "set issuer, or the endpoints")
        }
        var text = RegistrationText("oauth2")
        text.add(issuer: type.issuer, explicit)
        return text.text
    }

    /// Returns the metadata of the provider: the endpoints of the definition, before those of the issuer's
    /// metadata. credmgr fetches the metadata only if the definition lacks an endpoint that is needed.
    func metadata(
        needs: [AccountType.Endpoint], source: MetadataFetcher, in context: AdapterContext
    ) throws(CredentialError) -> ServerMetadata {
        let explicit = try explicitEndpoints()
        var metadata = ServerMetadata(issuer: type.issuer, endpoints: explicit)
        if needs.allSatisfy({ metadata.endpoints[$0] != nil }) { return metadata }
        guard let issuer = try issuer(), let name = type.issuer else { return metadata }
        metadata = try source.metadata(of: name, issuer, needs: needs.filter { explicit[$0] == nil }, in: context)
        metadata.endpoints.merge(explicit) { $1 }
        return metadata
    }

    /// Without an issuer no ID token can be checked, so every one is ignored. If the userinfo endpoint identifies
    /// the user, `openid` may still be asked for, as some providers give userinfo for it only (LinkedIn).
    ///
    /// - Throws: ``ErrorCode/configuration``.
    func checkOpenID(_ scope: [String]) throws(CredentialError) {
        guard scope.contains("openid"), type.issuer == nil else { return }
        guard type.endpoints[.userInfo] == nil || type.bearer == .idToken else { return }
        throw fault(
            "scope openid requires issuer, to validate ID tokens",
            hint: "set issuer or userinfo_endpoint, or leave openid out of the scope")
    }

    private func issuer() throws(CredentialError) -> URI? {
        guard let text = type.issuer else { return nil }
        guard let address = URI(text), address.isWeb, address.isSecure, address.fragment == nil else {
            throw fault("issuer must be an https URL")
        }
        // The definition has it from the API.
        if type.issuerIsNamedByAPI, let api = type.apiBase.flatMap(URI.init) {
            return address.named(by: .api(host: api.host))
        }
        return address
    }

    private func explicitEndpoints() throws(CredentialError) -> [AccountType.Endpoint: URI] {
        var endpoints: [AccountType.Endpoint: URI] = [:]
        for endpoint in AccountType.Endpoint.allCases {
            guard let text = type.endpoints[endpoint] else { continue }
            guard let address = URI(text), address.isWeb, address.isSecure, address.fragment == nil else {
                throw fault(
                    "\(endpoint.rawValue) must be an https URL",
                    hint: "use https; http is only allowed for localhost")
            }
            endpoints[endpoint] = address
        }
        return endpoints
    }

    private func fault(_ reason: LocalizedMessage, hint: LocalizedMessage? = nil) -> CredentialError {
        CredentialError(.configuration, "account type '\(type.name)': \(reason)", hint: hint)
    }
}
