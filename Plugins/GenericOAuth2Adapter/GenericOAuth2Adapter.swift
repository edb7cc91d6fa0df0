package import CredentialCore
import OAuth
package import StrictJSON

/// Any provider that keeps to OAuth 2.0 or OpenID Connect: by its issuer, by explicit endpoints, or both.
///
/// Explicit endpoints win over discovered ones. Scopes are sent as written: if a provider gives refresh tokens for
/// `offline_access` only, the type has to list it.
package struct GenericOAuth2Adapter: CredentialAdapter {
    package let name = "oauth2"
    package let sendsThroughContext = true
    package var summary: String {
        LocalizedMessage("any OAuth 2.0 or OpenID Connect provider, by issuer or by endpoints").description
    }
    /// The address itself, which RFC 8252 §8.3 prefers to the name.
    package let defaultRedirectURI = "http://127.0.0.1"
    private let source = MetadataFetcher()

    /// Makes the adapter; metadata it fetches is kept as long as it lives.
    package init() {}

    package func check(_ type: AccountType) throws(CredentialError) {
        try GenericConfiguration(type).check()
    }

    /// Whether a provider registers clients is known only when its metadata are.
    package func checkRegistration() {}

    package func provider(of type: AccountType) throws(CredentialError) -> String {
        try GenericConfiguration(type).provider()
    }

    package func policy(_ name: String?, of type: AccountType) throws(CredentialError) -> String {
        guard let name, !name.isEmpty else { return "" }
        throw CredentialError(
            .usage, "account type '\(type.name)' has no policies",
            hint: "leave out --policy, which requires the adapter azure-b2c")
    }

    package func effectiveScope(_ scope: [String], of type: AccountType) -> [String] { Scope.distinct(scope) }

    package func begin(
        _ request: SignInRequest, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep {
        try check(request.type)
        let scope = effectiveScope(request.scope, of: request.type)
        try GenericConfiguration(request.type).checkOpenID(scope)
        switch request.flow {
        case .code:
            var needs: [AccountType.Endpoint] = [.authorization, .token]
            if request.type.pushesAuthorizationRequests { needs.append(.pushedAuthorizationRequest) }
            let client = try client(for: request, scope: scope, needs: needs, in: context)
            return try CodeFlow(client).begin(request, scope: scope)
        case .device:
            let client = try client(for: request, scope: scope, needs: [.deviceAuthorization, .token], in: context)
            return try DeviceFlow(client).begin(request, scope: scope)
        case .password:
            guard request.type.flow == .password else {
                throw CredentialError(
                    .unsupported, "the password flow is not allowed for account type '\(request.type.name)'",
                    hint: "set \"flow\": \"password\" in the account type if the provider supports no other flow")
            }
            let client = try client(for: request, scope: scope, needs: [.token], in: context)
            return try NonInteractiveFlow(client).password(request, scope: scope)
        case .clientCredentials:
            let client = try client(for: request, scope: scope, needs: [.token], in: context)
            return try NonInteractiveFlow(client).clientCredentials(request, scope: scope)
        case .jwtBearer:
            let type = request.type
            guard type.privateKey != nil || type.identityToken != nil || type.identityProvider != nil else {
                throw CredentialError(
                    .unsupported, "account type '\(type.name)' has no private key for the jwt_bearer flow",
                    hint: "set private_key, identity_token or identity_provider")
            }
            let client = try client(for: request, scope: scope, needs: [.token], in: context)
            return try NonInteractiveFlow(client).jwtBearer(request, scope: scope)
        }
    }

    package func check(
        answer: String, to request: SignInRequest, pending: JSONObject, in context: AdapterContext
    ) throws(CredentialError) {
        guard pending["flow"]?.string == SignInFlow.code.rawValue else { return }
        let client = try client(
            for: request, scope: pending["scope"]?.array?.compactMap(\.string) ?? [],
            needs: [.authorization, .token], prover: DPoPKey.kept(in: pending), in: context)
        _ = try CodeFlow(client).refusal(request, pending: pending, answer: answer)
    }

    package func resume(
        _ request: SignInRequest, pending: JSONObject, with reply: InteractionReply, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep {
        let scope = pending["scope"]?.array?.compactMap(\.string) ?? []
        let prover = DPoPKey.kept(in: pending)
        switch (pending["flow"]?.string.flatMap(SignInFlow.init), reply) {
        case (.code, .redirect(let answer)):
            let client = try client(
                for: request, scope: scope, needs: [.authorization, .token], prover: prover, in: context)
            return try CodeFlow(client).resume(request, pending: pending, answer: answer)
        case (.code, .text(let answer)):
            let client = try client(
                for: request, scope: scope, needs: [.authorization, .token], prover: prover, in: context)
            return try CodeFlow(client).resume(request, pending: pending, answer: answer.reveal())
        case (.device, .poll):
            let client = try client(
                for: request, scope: scope, needs: [.deviceAuthorization, .token], prover: prover, in: context)
            return try DeviceFlow(client).poll(request, pending: pending)
        default:
            throw CredentialError(.validationFailed, "the pending sign-in is damaged", hint: "restart the sign-in")
        }
    }

    package func adopt(
        _ token: ImportedToken, _ request: SignInRequest, in context: AdapterContext
    ) throws(CredentialError) -> SignInResult {
        try check(request.type)
        let scope = effectiveScope(request.scope, of: request.type)
        let client = try client(for: request, scope: scope, needs: [.token], in: context)
        return try NonInteractiveFlow(client).adopt(token, request, scope: scope)
    }

    package func refresh(
        _ request: RefreshRequest, in context: AdapterContext
    ) throws(CredentialError) -> IssuedTokens {
        let scope = effectiveScope(request.scope, of: request.type)
        var needs: [AccountType.Endpoint] = [.token]
        if request.grant.idToken != nil || scope.contains("openid") { needs.append(.jwks) }
        let client = try client(of: request.type, grant: request.grant, needs: needs, in: context)
        if let token = request.subjectToken {
            return try TokenExchangeFlow(client).run(request, exchanging: token, scope: scope)
        }
        return try RefreshFlow(client).run(request, scope: scope)
    }

    package func assertIdentity(
        _ request: IdentityAssertionRequest, idToken: Secret, grant: Grant, of type: AccountType,
        in context: AdapterContext
    ) throws(CredentialError) -> Secret {
        try TokenExchangeFlow(client(of: type, grant: grant, needs: [.token], in: context))
            .identityAssertion(request, for: idToken)
    }

    package func revoke(
        _ grant: Grant, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) {
        try revoke(RevocationRequest(grant: grant, accessTokens: []), of: type, in: context)
    }

    package func revoke(
        _ revocable: RevocationRequest, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) {
        try SignOut(client(of: type, grant: revocable.grant, needs: [.revocation], in: context)).revoke(revocable)
    }

    package func introspect(
        _ token: AccessToken, grant: Grant, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> JSONObject {
        try Introspection(client(of: type, grant: grant, needs: [.introspection], in: context)).members(of: token)
    }

    package func accessTokenClaims(
        _ token: AccessToken, grant: Grant, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> JSONObject {
        try AccessTokenCheck(client(of: type, grant: grant, needs: [.jwks], in: context)).claims(of: token)
    }

    package func endSessionAddress(
        _ grant: Grant?, policy: String, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> URI? {
        try SignOut(client(of: type, grant: grant, needs: [.endSession], in: context)).endSessionAddress(grant)
    }

    // MARK: Clients

    private func client(
        for request: SignInRequest, scope: [String], needs: [AccountType.Endpoint], prover: DPoPKey? = nil,
        in context: AdapterContext
    ) throws(CredentialError) -> OAuthClient {
        let needs = scope.contains("openid") ? needs + [.jwks] : needs
        return try client(of: request.type, grant: nil, needs: needs, prover: prover, in: context)
    }

    private func client(
        of type: AccountType, grant: Grant?, needs: [AccountType.Endpoint], prover: DPoPKey? = nil,
        in context: AdapterContext
    ) throws(CredentialError) -> OAuthClient {
        let configuration = GenericConfiguration(type)
        let metadata = try configuration.metadata(
            needs: needs, source: grant == nil ? source : source.forGrants, in: context)
        // A refresh token that was issued for a key is good with that key only (RFC 9449 §5).
        var prover = prover ?? grant.flatMap { DPoPKey.kept(in: $0.adapterState) }
        if prover == nil, type.bindsAccessTokens { prover = try DPoPKey.make(in: context) }
        let client = OAuthClient(
            type: type, metadata: metadata, dialect: GenericDialect(type: type), source: source, grant: grant,
            context: context, prover: prover)
        // With the aliases for certificates, as they are used.
        try type.checkAuthor(of: client.metadata)
        return client
    }
}
