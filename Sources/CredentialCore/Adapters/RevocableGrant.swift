/// What a provider still honours of a sign-in that is about to be forgotten.
public struct RevocableGrant: Sendable {
    /// The grant.
    public let grant: Grant
    /// The access tokens that have not ended: not every provider ends them with the refresh token (RFC 7009 §2.1).
    public let accessTokens: [AccessToken]

    /// Names what is to be revoked.
    public init(grant: Grant, accessTokens: [AccessToken]) {
        self.grant = grant
        self.accessTokens = accessTokens
    }
}
