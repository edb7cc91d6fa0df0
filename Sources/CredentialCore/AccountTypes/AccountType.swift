/// A named client registration plus defaults: NXOAuth2's *account type*, the seeds' `accountIdentifier`.
///
/// The keys of its file are OAuth's own words (RFC 6749, 8414, 7591); `docs/reference/account-types.md` lists each.
/// A value is checked for its form here, and for its sense by the adapter (``CredentialAdapter/check(_:)``).
public struct AccountType: Sendable, Hashable {
    /// The name, case-sensitive and kept as spelled.
    public var name: String
    /// The adapter that serves it.
    public var adapter: String
    /// The keychain group its accounts are kept in.
    public var keychainGroup: KeychainGroup
    /// The client identifier (RFC 6749 §2.2).
    public var clientID: String
    /// The source of the client secret, if the client has one.
    public var clientSecret: ClientSecretSource?
    /// The source of the private key of `private_key_jwt`, if the client has one.
    public var privateKey: ClientSecretSource?
    /// The source of the platform's token that identifies this workload (RFC 7523 §2.1), read again at each
    /// refresh.
    public var identityToken: IdentityTokenSource?
    /// The audience that ``identityToken`` must have (RFC 7519 §4.1.3); `nil` to leave that to the provider.
    public var identityAudience: String?
    /// The name of the type whose sign-in vouches for this one's (draft-ietf-oauth-identity-assertion-authz-grant).
    public var identityProvider: String?
    /// How the client authenticates at the token endpoint (RFC 7591 §2); `nil` for the adapter's default.
    public var tokenEndpointAuthMethod: String?
    /// The algorithm that the client signs its assertions with (RFC 7591 §2); `nil` for the one that suits the key.
    public var tokenEndpointAuthSigningAlg: String?
    /// The PEM file of the certificate that the client authenticates with (RFC 8705).
    public var tlsClientCertificate: String?
    /// The PEM file of the certificate's private key.
    public var tlsClientKey: String?
    /// The PEM file of certificate authorities that are trusted in addition to the system's, for all requests of
    /// the type.
    public var caCertificate: String?
    /// The URL of the proxy that all requests of the type go through, without user and password.
    public var proxy: String?
    /// The URI for the management of a client that was registered by this program (RFC 7592 §3).
    public var registrationClientURI: String?
    /// The issuer (RFC 8414 §2), for discovery.
    public var issuer: String?
    /// Endpoints given explicitly, by their metadata name (RFC 8414 §2); they win over discovered ones.
    public var endpoints: [Endpoint: String]
    /// The scopes asked for by default, in the order written.
    public var scope: [String]
    /// Scopes that only the page of a sign-in asks for, as for a consent: no token is asked for with them.
    public var additionalScope: [String]
    /// The redirect URI (RFC 6749 §3.1.2); `nil` for a loopback one.
    public var redirectURI: String?
    /// The resource indicator (RFC 8707).
    public var resource: String?
    /// The audience parameter that some providers want in place of ``resource``.
    public var audience: String?
    /// How the provider answers at the redirect URI; `nil` to leave it to the provider.
    public var responseMode: ResponseMode?
    /// Whether the authorization request is pushed to the provider first (RFC 9126), even if it does not demand it.
    public var pushesAuthorizationRequests: Bool
    /// Whether access tokens are bound to a key (RFC 9449).
    public var bindsAccessTokens: Bool
    /// Whether a token for another resource or audience is had by token exchange (RFC 8693) and not by a refresh.
    public var exchangesTokens: Bool
    /// The provider's reaction to refresh token reuse; `nil` if it is not known.
    public var refreshReuse: RefreshReuse?
    /// The flow that `login` uses; `nil` for the adapter's default.
    public var flow: SignInFlow?
    /// Extra parameters of the authorization request.
    public var authorizeParameters: [String: String]
    /// Extra parameters of the token request.
    public var tokenParameters: [String: String]
    /// Extra header fields of requests to the provider.
    public var headers: [String: String]
    /// Which token serves as the bearer token.
    public var bearer: BearerKind
    /// The base that relative URLs of `request` are joined to.
    public var apiBase: String?
    /// The origins, in addition to that of ``apiBase``, that `request` may send a token to.
    public var apiOrigins: [String]
    /// The tenant, if the provider has several: of Azure AD B2C, and for `az` of Entra ID.
    public var tenant: String?
    /// B2C: the address that its policies are under.
    public var authority: String?
    /// The provider's policies by alias; a token set has a grant for each (docs/decisions/0012).
    public var policies: [String: String]
    /// The alias or name of the policy used when no policy is named.
    public var defaultPolicy: String?
    /// B2C: the policy that resets a forgotten password.
    public var passwordResetPolicy: String?
    /// Settings that only the type's plugin knows; its manifest names them.
    public var adapterSettings: [String: String]
    /// Whether `login` shows the claims of the id token.
    public var showClaims: Bool
    /// Whether only the API named ``issuer``: then the issuer's metadata may name less than that of an issuer that
    /// the user chose.
    package var issuerIsNamedByAPI: Bool

    /// Makes a type with defaults for everything except its required values.
    public init(name: String, adapter: String, clientID: String) {
        self.name = name
        self.adapter = adapter
        self.clientID = clientID
        keychainGroup = .standard
        endpoints = [:]
        scope = []
        additionalScope = []
        pushesAuthorizationRequests = false
        bindsAccessTokens = false
        exchangesTokens = false
        authorizeParameters = [:]
        tokenParameters = [:]
        headers = [:]
        bearer = .accessToken
        apiOrigins = []
        policies = [:]
        adapterSettings = [:]
        showClaims = false
        issuerIsNamedByAPI = false
    }

    /// The endpoints that a definition may name.
    public enum Endpoint: String, Sendable, CaseIterable {
        /// RFC 6749 §3.1.
        case authorization = "authorization_endpoint"
        /// RFC 6749 §3.2.
        case token = "token_endpoint"
        /// RFC 8628 §3.1.
        case deviceAuthorization = "device_authorization_endpoint"
        /// RFC 7009.
        case revocation = "revocation_endpoint"
        /// RFC 7662.
        case introspection = "introspection_endpoint"
        /// OpenID Connect RP-Initiated Logout 1.0.
        case endSession = "end_session_endpoint"
        /// RFC 7517 §5.
        case jwks = "jwks_uri"
        /// RFC 9126.
        case pushedAuthorizationRequest = "pushed_authorization_request_endpoint"
        /// OpenID Connect Core §5.3, or another address that tells who a token is of.
        case userInfo = "userinfo_endpoint"
        /// RFC 7591.
        case registration = "registration_endpoint"
    }

    /// The provider's reaction to refresh token reuse.
    public enum RefreshReuse: String, Sendable, CaseIterable {
        /// It answers it, at least for some time after the first.
        case tolerated
        /// It ends the sign-in.
        case revokes
    }

    /// How the provider answers at the redirect URI (OAuth 2.0 Multiple Response Types §2.1, Form Post Response
    /// Mode).
    public enum ResponseMode: String, Sendable, CaseIterable {
        /// In the query of the redirect.
        case query
        /// Behind `#`.
        case fragment
        /// In a form that the browser posts.
        case formPost = "form_post"
    }

    /// The flow that `login` uses: the one named, else the one that the type's values are for.
    package var signInFlow: SignInFlow {
        flow ?? (identityToken == nil && identityProvider == nil ? .code : .jwtBearer)
    }

    /// The audience that the identity token is compared with before the token request; `nil` for no comparison.
    package var expectedIdentityAudience: String? {
        if case .githubActions(let audience)? = identityToken { audience } else { identityAudience }
    }

    /// The parameters that shape the access tokens of this type beside scope, resource and audience: a token of
    /// another shape does not serve.
    var tokenShape: [String: String] {
        bindsAccessTokens ? tokenParameters.merging(["token_type": "DPoP"]) { _, bound in bound } : tokenParameters
    }

    /// Which token serves as the bearer token.
    public typealias BearerKind = CredentialCore.BearerKind
}

extension TokenRequestKey {
    /// Makes the key of a token that is asked for under a type: every caller that asks for a token, or keeps a
    /// response, has it from here.
    ///
    /// - Parameters:
    ///   - type: the account type.
    ///   - policy: canonical (``CredentialAdapter/policy(_:of:)``).
    ///   - scope: the scopes that are really sent (``CredentialAdapter/effectiveScope(_:of:)``).
    ///   - resource: in place of the type's own.
    ///   - audience: in place of the type's own.
    public init(
        under type: AccountType, policy: String, scope: [String], resource: String? = nil, audience: String? = nil
    ) {
        self.init(
            policy: policy, scope: scope, resource: resource ?? type.resource, audience: audience ?? type.audience,
            parameters: type.tokenShape, bearer: type.bearer)
    }
}

extension AccountType {
    /// The keys of the definition that name a command, a file, a variable or a proxy of this machine.
    package var keysOfThisMachine: [String] {
        var keys: [String] = []
        for (key, source) in [
            ("client_secret", clientSecret), ("private_key", privateKey),
        ] {
            switch source {
            case .environment?, .file?, .command?: keys.append(key)
            case .store?, .literal?, nil: break
            }
        }
        if identityToken != nil { keys.append("identity_token") }
        if tlsClientCertificate != nil { keys.append("tls_client_certificate") }
        if tlsClientKey != nil { keys.append("tls_client_key") }
        return keys + ConnectionSettings(of: self).keys
    }

    /// The keys of the definition that identify the client and its proof, for messages: only those that are set.
    package var clientKeys: [String] {
        var keys = ["client_id"]
        if clientSecret != nil { keys.append("client_secret") }
        if privateKey != nil { keys.append("private_key") }
        if tlsClientCertificate != nil { keys.append("tls_client_certificate") }
        if tokenEndpointAuthMethod != nil { keys.append("token_endpoint_auth_method") }
        return keys
    }
}

/// The ways to obtain a grant, by the words of `--flow`.
public enum SignInFlow: String, Sendable, CaseIterable {
    /// Authorization code with PKCE (RFC 6749 §4.1, RFC 7636).
    case code
    /// Device authorization (RFC 8628).
    case device
    /// Resource owner password (RFC 6749 §4.3).
    case password
    /// Client credentials (RFC 6749 §4.4).
    case clientCredentials = "client_credentials"
    /// JWT bearer (RFC 7523 §2.1).
    case jwtBearer = "jwt_bearer"
}
