/// What shapes an access token, besides account and client: two requests with equal keys may share one token.
public struct TokenRequestKey: Sendable, Hashable {
    /// The policy; empty where the provider has none.
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
    public var bearer: AccountType.BearerKind

    /// Makes a key; sorts the scopes.
    public init(
        policy: String = "", scope: [String], resource: String? = nil, audience: String? = nil,
        parameters: [String: String] = [:], bearer: AccountType.BearerKind = .accessToken
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

    /// Makes the key of a token that is asked for under a type: whoever asks, and whoever keeps an answer, has it from
    /// here.
    ///
    /// - Parameters:
    ///   - type: the account type.
    ///   - policy: canonical (``CredentialAdapter/policy(_:of:)``).
    ///   - scope: what is really sent (``CredentialAdapter/effectiveScope(_:of:)``).
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
