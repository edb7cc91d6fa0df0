/// The parameters that shape an access token, in addition to account and client: two requests with equal keys may
/// share one token.
public struct TokenRequestKey: Sendable, Hashable {
    /// The policy; empty if the provider has no policies.
    public var policy: String
    /// The scopes asked for, sorted, without duplicates.
    public var scope: [String]
    /// The resource indicator (RFC 8707).
    public var resource: String?
    /// The audience.
    public var audience: String?
    /// Every extra parameter that goes into the request.
    public var parameters: [String: String]
    /// Which token serves as bearer.
    public var bearer: BearerKind

    /// Makes a key; sorts the scopes.
    public init(
        policy: String = "", scope: [String], resource: String? = nil, audience: String? = nil,
        parameters: [String: String] = [:], bearer: BearerKind = .accessToken
    ) {
        self.policy = policy
        // Without a set, whose first one costs the fast path a search of all conformances.
        var distinct: [String] = []
        for word in scope.sorted() where distinct.last != word { distinct.append(word) }
        self.scope = distinct
        self.resource = resource
        self.audience = audience
        self.parameters = parameters
        self.bearer = bearer
    }
}

/// Which token serves as the bearer token.
public enum BearerKind: String, Sendable, CaseIterable {
    /// The access token.
    case accessToken = "access_token"
    /// The id token, as old B2C services want it.
    case idToken = "id_token"
}
