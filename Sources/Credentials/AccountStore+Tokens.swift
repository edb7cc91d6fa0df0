public import CredentialCore
import OAuth

extension AccountStore {
    /// A valid access token of an account: the stored one while it is fresh, else renewed, exactly once however many
    /// programs ask.
    ///
    /// - Parameters:
    ///   - policy: by alias or name, where the provider has policies.
    ///   - scope: in place of the type's own.
    ///   - minimumValidity: how long it must still be valid, in seconds; `nil` for the smaller of 60 s and a fifth of
    ///     its lifetime.
    ///   - forceRefresh: whether a token from before this call will not do.
    /// - Throws: ``CredentialCore/ErrorCode/signInRequired``, ``CredentialCore/ErrorCode/temporary``,
    ///   ``CredentialCore/ErrorCode/lockTimeout``, the errors of the store.
    public func accessToken(
        of account: Account, ofType name: String, policy: String? = nil, scope: [String]? = nil,
        minimumValidity: Int64? = nil, forceRefresh: Bool = false
    ) throws(CredentialError) -> AccessToken {
        let type = try type(named: name)
        let adapter = try parts.adapters.adapter(of: type)
        let effective = adapter.effectiveScope(scope ?? type.scope, of: type)
        let answer = try parts.tokens.token(
            TokenService.Request(
                group: group(of: type), account: account, type: type,
                key: TokenRequestKey(
                    policy: try adapter.policy(policy, of: type), scope: effective, resource: type.resource,
                    audience: type.audience, parameters: type.tokenParameters, bearer: type.bearer),
                scope: effective, freshness: Freshness(minimumValidity: minimumValidity), forceRefresh: forceRefresh
            ))
        for warning in answer.warnings { options.warn(warning) }
        return answer.token
    }

    /// Sends a request with the account's token.
    ///
    /// The token goes only to the origins of the type's `api_base` and `api_origins`. A 401 with a Bearer challenge
    /// refreshes the token once and repeats the request once. Redirects are not followed.
    ///
    /// - Throws: ``CredentialCore/ErrorCode/denied`` for another origin; as
    ///   ``accessToken(of:ofType:policy:scope:minimumValidity:forceRefresh:)``.
    public func send(
        _ request: HTTPRequest, as account: Account, ofType name: String, policy: String? = nil
    ) throws(CredentialError) -> HTTPResponse {
        let type = try type(named: name)
        let origins = Set(([type.apiBase] + type.apiOrigins).compactMap { $0.flatMap(WebAddress.init)?.origin })
        guard request.address.isSecure, origins.contains(request.address.origin) else {
            throw CredentialError(
                .denied, "a token of account type \(name) is not sent to \(request.address.origin)",
                hint: "allowed is what apiBase and apiOrigins of the type name")
        }
        let first = try authorized(request, account, name, policy, forceRefresh: false)
        let challenges = AuthenticationChallenge.parse(first.values(of: "www-authenticate"))
        guard first.status == 401, challenges.contains(where: \.asksForFreshToken) else { return first }
        return try authorized(request, account, name, policy, forceRefresh: true)
    }

    private func authorized(
        _ request: HTTPRequest, _ account: Account, _ name: String, _ policy: String?, forceRefresh: Bool
    ) throws(CredentialError) -> HTTPResponse {
        let token = try accessToken(of: account, ofType: name, policy: policy, forceRefresh: forceRefresh)
        var request = request
        request.headers.removeAll { $0.name.lowercased() == "authorization" }
        request.headers.append(("Authorization", "\(token.tokenType) \(token.token.reveal())"))
        return try parts.transport.send(request)
    }
}
