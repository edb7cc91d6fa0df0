public import StrictJSON

/// All that is secret about one account, as one record: what its one item in the store holds.
///
/// Every write raises ``generation`` by one; a writer that read generation *n* may only replace generation *n*.
public struct TokenSet: Sendable, Hashable {
    /// The number of this state of the record, counted from 1.
    public var generation: Int64
    /// The key that a generation in flight is sealed with, 32 bytes, made once.
    public var journalKey: [UInt8]
    /// The account's facts, so that a lost registry can be rebuilt.
    public var account: Account
    /// One grant per policy; the empty name where the provider has no policies.
    public var grants: [String: Grant]
    /// Access tokens, the newest last; one per ``TokenRequestKey``.
    public var accessTokens: [AccessToken]
    /// What programs keep of their own beside the account, kept through sign-ins and refreshes: NXOAuth2's `userData`.
    public var userData = JSONObject()

    /// Makes the record of a new account.
    public init(account: Account, journalKey: [UInt8]) {
        generation = 0
        self.journalKey = journalKey
        self.account = account
        grants = [:]
        accessTokens = []
    }
}

/// What lets new access tokens be had without a person.
public struct Grant: Sendable, Hashable {
    /// How it was obtained; flows without a person are simply run again.
    public var flow: SignInFlow
    /// The refresh token, where there is one.
    public var refreshToken: Secret?
    /// When the refresh token ends, where the provider tells.
    public var refreshExpiresAt: Instant?
    /// The newest id token, validated.
    public var idToken: Secret?
    /// The scopes granted.
    public var scope: [String]
    /// When it was obtained or refreshed.
    public var obtainedAt: Instant
    /// Why the provider takes it no more; `nil` while nothing speaks against it.
    public var lostReason: String?
    /// What the adapter wants to have back at the next refresh (endpoints pinned, tenant id, subject).
    public var adapterState: JSONObject

    /// Makes a grant.
    public init(flow: SignInFlow, obtainedAt: Instant) {
        self.flow = flow
        self.obtainedAt = obtainedAt
        scope = []
        adapterState = JSONObject()
    }

    /// Whether it can be refreshed without a person.
    public var isRefreshable: Bool {
        lostReason == nil && (refreshToken != nil || flow == .clientCredentials || flow == .jwtBearer)
    }
}
