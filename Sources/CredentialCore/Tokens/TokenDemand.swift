/// The requirements for a token, in the words of the caller; missing words are filled in from the type.
///
/// Every caller that asks for a token (the command, a helper, the library or the timer's `refresh`) makes its
/// request here. Two requests that mean the same then find the same token.
package struct TokenDemand: Sendable {
    /// The policy, by alias or name; `nil` for the type's default.
    package var policy: String?
    /// The scopes in place of the type's own; empty for those.
    package var scope: [String]
    /// The resource indicator (RFC 8707) in place of the type's own.
    package var resource: String?
    /// The audience in place of the type's own.
    package var audience: String?
    /// How long it must still be valid.
    package var freshness: Freshness
    /// Whether a token from before this demand will not do.
    package var forceRefresh: Bool
    /// Whether a refresh of another host with an unknown end is quarantined.
    package var takesOver = false

    /// Whether a cached token will not do without a look at the present state.
    package var bypassesCache: Bool { forceRefresh || takesOver }

    /// Makes a demand.
    package init(
        policy: String? = nil, scope: [String] = [], resource: String? = nil, audience: String? = nil,
        freshness: Freshness = Freshness(), forceRefresh: Bool = false
    ) {
        self.policy = policy
        self.scope = scope
        self.resource = resource
        self.audience = audience
        self.freshness = freshness
        self.forceRefresh = forceRefresh
    }

    /// The request for a token of `account` under `type`.
    ///
    /// - Parameter adapter: that of the type.
    /// - Throws: ``ErrorCode/usage`` for a policy name that does not exist.
    package func request(
        of account: Account, under type: AccountType, in group: KeychainGroup, by adapter: any CredentialAdapter
    ) throws(CredentialError) -> TokenService.Request {
        request(
            of: account, under: type, in: group, by: adapter, policy: try adapter.policy(policy, of: type))
    }

    /// As ``request(of:under:in:by:)``, for a policy that is known to be one: its canonical name.
    package func request(
        of account: Account, under type: AccountType, in group: KeychainGroup, by adapter: any CredentialAdapter,
        policy: String
    ) -> TokenService.Request {
        let isOwn = (resource ?? type.resource) == type.resource && (audience ?? type.audience) == type.audience
        // A token for another party's API is asked for with the scopes given, not with those of the sign-in.
        let wanted = scope.isEmpty && !(type.exchangesTokens && !isOwn) ? type.scope : scope
        let effective = adapter.effectiveScope(wanted, of: type)
        let key = TokenRequestKey(
            under: type, policy: policy, scope: effective, resource: resource, audience: audience)
        var request = request(of: account, under: type, in: group, by: adapter, key: key, scope: effective)
        let further = request.subject == nil ? scope.filter { !type.scope.contains($0) } : []
        if !further.isEmpty { request.loginScope = type.scope + further }
        return request
    }

    /// The request for another token like one that was had under `type`: the demand's freshness counts, the key
    /// says the rest.
    package func request(
        of account: Account, under type: AccountType, in group: KeychainGroup, by adapter: any CredentialAdapter,
        again key: TokenRequestKey
    ) -> TokenService.Request {
        request(of: account, under: type, in: group, by: adapter, key: key, scope: key.scope)
    }

    private func request(
        of account: Account, under type: AccountType, in group: KeychainGroup, by adapter: any CredentialAdapter,
        key: TokenRequestKey, scope: [String]
    ) -> TokenService.Request {
        var request = TokenService.Request(
            group: group, account: account, type: type, key: key, scope: scope, freshness: freshness,
            forceRefresh: forceRefresh)
        request.takesOver = takesOver
        if type.exchangesTokens, key.resource != type.resource || key.audience != type.audience {
            let own = adapter.effectiveScope(type.scope, of: type)
            request.subject = (TokenRequestKey(under: type, policy: key.policy, scope: own), own)
        }
        return request
    }
}

extension TokenRequestKey {
    /// Whether a token of this key is one that `type` asks for.
    package func isAsked(under type: AccountType) -> Bool { parameters == type.tokenShape && bearer == type.bearer }
}
