package import CredentialCore
import OAuth
package import StrictJSON

/// Azure AD B2C: one tenant, several policies, a grant of its own for each.
///
/// B2C is OAuth with differences: metadata per policy whose issuer is not its URL, tokens only for scopes that name
/// a resource, reasons as `AADB2C` numbers, and neither device flow nor revocation.
package struct AzureB2CAdapter: CredentialAdapter {
    package let name = "azure-b2c"
    package let sendsThroughContext = true
    package var summary: String { LocalizedMessage("Azure AD B2C, by tenant and policies").description }
    /// B2C registers native clients as `http://localhost` and refuses the address.
    package let defaultRedirectURI = "http://localhost"
    private let source = MetadataFetcher()

    /// Makes the adapter; metadata it fetches is kept as long as it lives.
    package init() {}

    package func check(_ type: AccountType) throws(CredentialError) { try B2CConfiguration.check(type) }

    package func checkRegistration() throws(CredentialError) {
        throw B2CConfiguration.lacks(
            "dynamic client registration", hint: "register a native client in the tenant, and set --client-id")
    }

    package func provider(of type: AccountType) throws(CredentialError) -> String {
        try B2CAuthority(of: type).provider
    }

    package func policy(_ name: String?, of type: AccountType) throws(CredentialError) -> String {
        try B2CPolicy.named(name, of: type).canonical
    }

    /// Adds `openid`; `offline_access`, unless the type has a scope of its own without it; and the client ID if no
    /// scope names a resource: without one B2C issues no access token. A scope that ends in `/.default` is for
    /// client credentials and is left alone.
    package func effectiveScope(_ scope: [String], of type: AccountType) -> [String] {
        B2CConfiguration.effectiveScope(scope, of: type)
    }

    package func begin(
        _ request: SignInRequest, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep {
        try B2CConfiguration.check(request.type)
        try B2CConfiguration.check(request.flow, of: request.type)
        switch request.flow {
        case .code:
            let request = B2CConfiguration.withLocalhost(request)
            let client = try client(of: request.type, policy: request.policy, in: context)
            let scope = effectiveScope(request.scope, of: request.type)
            let added = scope.filter { !request.scope.contains($0) }
            if !added.isEmpty { context.note("scopes that Azure AD B2C needs were added: \(Scope.text(added))") }
            return try CodeFlow(client).begin(request, scope: scope)
        case .password:
            let client = try client(of: request.type, policy: request.policy, in: context)
            return try NonInteractiveFlow(client).password(
                request, scope: effectiveScope(request.scope, of: request.type),
                extra: ["response_type": "token id_token"])
        case .clientCredentials:
            let scope = try B2CConfiguration.clientCredentialsScope(request.scope, of: request.type)
            let client = try client(
                of: request.type, policy: request.policy, needsIssuer: false, in: context)
            return try NonInteractiveFlow(client).clientCredentials(request, scope: scope)
        case .device, .jwtBearer:
            throw B2CConfiguration.lacks("the \(request.flow.rawValue) flow")
        }
    }

    package func check(
        answer: String, to request: SignInRequest, pending: JSONObject, in context: AdapterContext
    ) throws(CredentialError) {
        let request = asSent(B2CConfiguration.withLocalhost(request), pending)
        let client = try client(of: request.type, policy: request.policy, in: context)
        _ = try CodeFlow(client).refusal(request, pending: pending, answer: answer)
    }

    package func resume(
        _ request: SignInRequest, pending: JSONObject, with reply: InteractionReply, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep {
        let answer: String
        switch reply {
        case .redirect(let url): answer = url
        case .text(let text): answer = text.reveal()
        case .poll: throw B2CConfiguration.lacks("the device flow")
        }
        let request = B2CConfiguration.withLocalhost(request)
        if PasswordReset.isUnderWay(pending) {
            return try returnFromReset(request, pending: pending, answer: answer, in: context)
        }
        let flow = CodeFlow(try client(of: request.type, policy: request.policy, in: context))
        if let refusal = try flow.refusal(request, pending: pending, answer: answer),
            let reset = try PasswordReset(for: refusal, of: request, pending: pending)
        {
            context.note("the user has forgotten the password: policy '\(reset.request.policy)' resets it")
            let client = try client(of: request.type, policy: reset.request.policy, in: context)
            return PasswordReset.underWay(try CodeFlow(client).begin(reset.request, scope: ["openid"]))
        }
        return try flow.resume(request, pending: pending, answer: answer)
    }

    /// The request whose answer is pending: the one for the policy that resets passwords, while that runs.
    private func asSent(_ request: SignInRequest, _ pending: JSONObject) -> SignInRequest {
        guard PasswordReset.isUnderWay(pending) else { return request }
        var reset = request
        reset.policy = pending["policy"]?.string ?? ""
        return reset
    }

    /// After the policy that resets passwords, the sign-in begins again. The code of the reset is left unused: it
    /// would give a grant that cannot be refreshed.
    private func returnFromReset(
        _ request: SignInRequest, pending: JSONObject, answer: String, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep {
        let reset = asSent(request, pending)
        let client = try client(of: request.type, policy: reset.policy, in: context)
        if let refusal = try CodeFlow(client).refusal(reset, pending: pending, answer: answer) {
            throw client.dialect.error(for: refusal, in: .authorize)
        }
        return PasswordReset.over(try begin(request, in: context))
    }

    package func adopt(
        _ token: ImportedToken, _ request: SignInRequest, in context: AdapterContext
    ) throws(CredentialError) -> SignInResult {
        try B2CConfiguration.check(request.type)
        let client = try client(of: request.type, policy: request.policy, in: context)
        return try NonInteractiveFlow(client).adopt(
            token, request, scope: effectiveScope(request.scope, of: request.type))
    }

    package func refresh(
        _ request: RefreshRequest, in context: AdapterContext
    ) throws(CredentialError) -> IssuedTokens {
        let isMachine = request.grant.flow == .clientCredentials
        let client = try client(
            of: request.type, policy: request.key.policy, grant: request.grant, needsIssuer: !isMachine, in: context
        )
        let scope =
            isMachine
            ? try B2CConfiguration.clientCredentialsScope(request.scope, of: request.type)
            : B2CConfiguration.refreshScope(request.scope, of: request.type, grant: request.grant)
        return try RefreshFlow(client).run(request, scope: scope)
    }

    package func checkRevocation() throws(CredentialError) {
        throw B2CConfiguration.lacks(
            "revocation", hint: "ask an administrator to end all user sessions (Graph: revokeSignInSessions)")
    }

    package func revoke(
        _ grant: Grant, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) { try checkRevocation() }

    package func endSessionAddress(
        _ grant: Grant?, policy: String, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> URI? {
        try SignOut(client(of: type, policy: policy, needsIssuer: false, in: context)).endSessionAddress(grant)
    }

    /// The client of a policy. Only an id token needs the issuer, and only the issuer needs discovery.
    private func client(
        of type: AccountType, policy: String, grant: Grant? = nil, needsIssuer: Bool = true,
        in context: AdapterContext
    ) throws(CredentialError) -> OAuthClient {
        let provider = try B2CProvider(type, policy: policy.isEmpty ? nil : policy)
        var metadata = provider.endpoints
        var tenantID: String?
        if needsIssuer {
            metadata = try provider.metadata(source: grant == nil ? source : source.forGrants, in: context)
            tenantID = metadata.issuer.flatMap(B2CProvider.tenantID)
        }
        let dialect = B2CDialect(
            type: type, policy: provider.policy, tenantID: tenantID,
            requestID: try B2CDialect.requestID(in: context))
        for fact in dialect.requestFacts { context.note(fact) }
        return OAuthClient(
            type: type, metadata: metadata, dialect: dialect, source: source, grant: grant, context: context)
    }
}
