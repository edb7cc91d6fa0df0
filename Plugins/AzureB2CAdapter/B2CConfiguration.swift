import CredentialCore
import OAuth

/// The requirements of B2C for a definition, a flow and a scope.
enum B2CConfiguration {
    /// Checks a definition without the network.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the key.
    static func check(_ type: AccountType) throws(CredentialError) {
        guard !type.clientID.isEmpty else { throw fault(type, "client_id is missing") }
        let authority = try B2CAuthority(of: type)
        guard type.adapterSettings.isEmpty else {
            throw fault(type, "adapter_settings is only valid for plugins")
        }
        if let issuer = type.issuer {
            guard let tenant = B2CProvider.tenantID(issuer),
                !authority.isTenantGUID || ConstantTime.equal(tenant, authority.tenant.lowercased())
            else {
                throw fault(
                    type, "issuer does not name the tenant by its GUID",
                    hint: "leave issuer out, unless the tokens name a different host than the authority")
            }
        }
        for endpoint in AccountType.Endpoint.allCases where type.endpoints[endpoint] != nil {
            guard [.authorization, .token].contains(endpoint) else {
                throw fault(type, "\(endpoint.rawValue) cannot be set for B2C", hint: "remove the key")
            }
        }
        for (alias, policy) in type.policies.sorted(by: { $0.key < $1.key }) where B2CPolicy(policy) == nil {
            throw fault(type, "policies.\(alias) is not a valid policy name")
        }
        for name in [type.defaultPolicy, type.passwordResetPolicy] {
            if let name { try checkPolicy(name, of: type) }
        }
        if let flow = type.flow, [.device, .jwtBearer].contains(flow) {
            throw fault(type, "flow '\(flow.rawValue)' is not supported by Azure AD B2C")
        }
        // Taken and then not done, each of these would be a promise broken in silence.
        for (key, isSet, standard) in [
            ("dpop_bound_access_tokens", type.bindsAccessTokens, "DPoP (RFC 9449)"),
            ("token_exchange", type.exchangesTokens, "token exchange (RFC 8693)"),
            (
                "require_pushed_authorization_requests", type.pushesAuthorizationRequests,
                "pushed requests (RFC 9126)"
            ),
        ] where isSet {
            throw fault(type, "\(key): Azure AD B2C does not support \(standard)", hint: "leave \(key) out")
        }
        for (part, extra) in [("authorize", type.authorizeParameters), ("token", type.tokenParameters)]
        where extra["p"] != nil {
            throw fault(
                type, "extra_parameters.\(part) must not set 'p'", hint: "set default_policy, or use --policy")
        }
        if let word = type.tokenEndpointAuthMethod, ClientAuthentication.Method(rawValue: word) == nil {
            throw fault(
                type, "token_endpoint_auth_method '\(UntrustedText.shown(word, limit: 40))' is not known",
                hint: "use one of \(ClientAuthentication.Method.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        try ReservedParameters.check(type)
    }

    /// Checks that B2C has a flow, and that the type allows it.
    ///
    /// - Throws: ``ErrorCode/unsupported``.
    static func check(_ flow: SignInFlow, of type: AccountType) throws(CredentialError) {
        switch flow {
        case .code, .clientCredentials: return
        case .device: throw lacks("the device flow")
        case .jwtBearer: throw lacks("the jwt_bearer flow")
        case .password where type.flow != .password:
            throw CredentialError(
                .unsupported, "the password flow is not allowed for account type '\(type.name)'",
                hint: "set \"flow\": \"password\" in the account type if its policy supports ROPC")
        case .password: return
        }
    }

    /// The error for something that B2C does not have.
    static func lacks(_ what: LocalizedMessage, hint: LocalizedMessage? = nil) -> CredentialError {
        CredentialError(.unsupported, "the provider Azure AD B2C does not support \(what)", hint: hint)
    }

    /// The scopes to send for a person's token.
    static func effectiveScope(_ scope: [String], of type: AccountType) -> [String] {
        var words = Scope.distinct(scope)
        if type.flow == .clientCredentials || words.contains(where: { $0.hasSuffix("/.default") }) { return words }
        let reserved = ["openid", offlineAccess, "profile", "email"]
        let namesResource = words.contains { !reserved.contains($0.lowercased()) }
        // An access token would be of no use if the ID token is the bearer.
        if !namesResource, type.bearer == .accessToken { words.append(type.clientID) }
        let isOnline = !type.scope.isEmpty && !contains(offlineAccess, in: type.scope)
        for word in isOnline ? ["openid"] : ["openid", offlineAccess] where !contains(word, in: words) {
            words.append(word)
        }
        return words
    }

    /// The scopes to send with a refresh token. B2C gives a new refresh token only if the request includes
    /// `offline_access` again, even if the current caller did not ask for it.
    static func refreshScope(_ scope: [String], of type: AccountType, grant: Grant) -> [String] {
        let words = effectiveScope(scope, of: type)
        return grant.refreshToken == nil || contains(offlineAccess, in: words) ? words : words + [offlineAccess]
    }

    private static let offlineAccess = "offline_access"

    private static func contains(_ word: String, in words: [String]) -> Bool {
        words.contains { $0.lowercased() == word }
    }

    /// The scope of client credentials: one, that ends in `/.default`.
    ///
    /// - Throws: ``ErrorCode/configuration`` for any other.
    static func clientCredentialsScope(
        _ scope: [String], of type: AccountType
    ) throws(CredentialError) -> [String] {
        let words = Scope.distinct(scope)
        guard words.count == 1, words[0].hasSuffix("/.default") else {
            throw fault(
                type, "client credentials require one API scope that ends with /.default",
                hint: "\"scope\": \"https://TENANT.onmicrosoft.com/API/.default\"")
        }
        return words
    }

    /// The request with `localhost` in a loopback redirect that the type does not name: the portal of B2C registers
    /// no IP literals. A redirect that the type names is registered, even if it is an IP literal; the listener
    /// answers to it.
    static func withLocalhost(_ request: SignInRequest) -> SignInRequest {
        guard let address = URI(request.redirectURI), address.scheme == "http", address.isLoopback,
            address.host != "localhost", request.type.redirectURI == nil
        else { return request }
        var request = request
        let port = address.port.map { ":\($0)" } ?? ""
        let query = address.query.map { "?" + $0 } ?? ""
        request.redirectURI = "http://localhost" + port + address.path + query
        return request
    }

    private static func checkPolicy(_ name: String, of type: AccountType) throws(CredentialError) {
        do throws(CredentialError) {
            var named = type
            // It does not vouch for itself: beside aliases it is one of them, or has the form of a policy.
            if !type.policies.isEmpty { (named.defaultPolicy, named.passwordResetPolicy) = (nil, nil) }
            _ = try B2CPolicy.named(name, of: named)
        } catch {
            throw CredentialError(.configuration, error.text, hint: error.advice)
        }
    }

    private static func fault(_ type: AccountType, _ reason: LocalizedMessage, hint: LocalizedMessage? = nil)
        -> CredentialError
    {
        CredentialError(.configuration, "account type '\(type.name)': \(reason)", hint: hint)
    }
}
