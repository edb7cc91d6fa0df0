/// An access token and the known facts about it.
public struct AccessToken: Sendable, Hashable {
    /// The request that the token was issued for.
    public var key: TokenRequestKey
    /// The token.
    public var token: Secret
    /// Its type (RFC 6749 §7.1) as it goes into the header: `Bearer`, `DPoP`.
    public var tokenType: String
    /// When it was received.
    public var issuedAt: Timestamp
    /// When it ends.
    public var expiresAt: Timestamp
    /// The scopes granted with it.
    public var scope: [String]
    /// Whether credmgr guessed ``expiresAt``, because the provider named no end.
    package var isEndGuessed = false

    /// The longest lifetime believed, and that of a token without a known end: one year, in seconds.
    package static let longestLifetime: Int64 = 31_536_000

    /// Whether it is known when the token ends.
    package var hasKnownEnd: Bool { expiresAt.seconds(since: issuedAt) < Self.longestLifetime }

    /// Makes an access token.
    public init(
        key: TokenRequestKey, token: Secret, tokenType: String, issuedAt: Timestamp, expiresAt: Timestamp,
        scope: [String]
    ) {
        self.key = key
        self.token = token
        self.tokenType = tokenType
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.scope = scope
    }
}
