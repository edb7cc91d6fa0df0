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
    /// Where the grants of a shared group stand in their lines, by policy: which of two is the older one.
    package var lines: [String: GrantLine] = [:]
    /// What the sign-ins are known by that had to wait and were taken up, the newest last: none comes twice.
    package var takenUp: [[UInt8]] = []

    /// Makes the record of a new account.
    public init(account: Account, journalKey: [UInt8]) {
        generation = 0
        self.journalKey = journalKey
        self.account = account
        grants = [:]
        accessTokens = []
    }
}

/// A sign-in's refresh tokens, each in the place of the one before: a sign-in begins a line, a refresh is the next step in it.
package struct GrantLine: Sendable, Hashable {
    /// What tells it from every other: unpredictable bytes.
    package let id: [UInt8]
    /// How many refreshes there have been.
    package let step: Int64
    /// The host that has refreshed last.
    package let host: String?

    private static let size = 8

    package init(id: [UInt8], step: Int64, host: String? = nil) {
        self.id = id
        self.step = step
        self.host = host
    }

    /// That of a new sign-in.
    package init(_ random: any RandomSource) { self.init(id: random.bytes(Self.size), step: 0) }

    /// The next one, by a host.
    package func next(by host: String?) -> GrantLine { GrantLine(id: id, step: step + 1, host: host) }

    /// Whether another grant has taken the place of this one, maybe over several refreshes.
    package func isOlder(than other: GrantLine) -> Bool { id == other.id && step < other.step }
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
    /// When the sign-in was made that it comes from; a refresh leaves it as it is.
    public var signedInAt: Instant
    /// Why the provider takes it no more; `nil` while nothing speaks against it.
    public var lostReason: String?
    /// What the adapter wants to have back at the next refresh (endpoints pinned, tenant id, subject).
    public var adapterState: JSONObject

    /// Makes a grant.
    public init(flow: SignInFlow, obtainedAt: Instant) {
        self.flow = flow
        self.obtainedAt = obtainedAt
        signedInAt = obtainedAt
        scope = []
        adapterState = JSONObject()
    }

    /// Whether it can be refreshed without a person.
    public var isRefreshable: Bool {
        lostReason == nil && (refreshToken != nil || flow == .clientCredentials || flow == .jwtBearer)
    }
}
