public import StrictJSON

/// All secrets of one account, as one record: the content of its one item in the store.
///
/// Every write raises ``generation`` by one; a writer that read generation *n* may only replace generation *n*.
public struct TokenSet: Sendable, Hashable {
    /// The number of this state of the record, counted from 1.
    public var generation: Int64
    /// The key that a generation in flight is sealed with, 32 bytes, made once.
    public var journalKey: [UInt8]
    /// The account's facts, so that a lost registry can be rebuilt.
    public var account: Account
    /// The grant of each policy that is used first; the name is empty if the provider has no policies.
    public var grants: [String: Grant]
    /// Older sign-ins of a policy that can do something which the one in ``grants`` cannot.
    package var further: [FurtherGrant] = []
    /// Access tokens, the newest last; one per ``TokenRequestKey``.
    public var accessTokens: [AccessToken]
    /// The data that programs keep of their own beside the account, kept through sign-ins and refreshes: NXOAuth2's
    /// `userData`.
    public var userData = JSONObject()
    /// The positions of a shared group's grants in their lines, by policy: they show which of two grants is older.
    package var lines: [String: TokenFamily] = [:]
    /// The identifiers of the merged sign-ins that had to wait, the newest last: no sign-in is merged twice.
    package var mergedSignIns: [[UInt8]] = []
    /// Of a sign-in that waits: whether it ends every other grant of its policy, as `login --replace` does.
    package var replacesOthers = false

    /// Makes the record of a new account.
    public init(account: Account, journalKey: [UInt8]) {
        generation = 0
        self.journalKey = journalKey
        self.account = account
        grants = [:]
        accessTokens = []
    }
}

/// A sign-in's refresh tokens, each in the place of the one before: a sign-in begins a line, a refresh is the next
/// step in it.
package struct TokenFamily: Sendable, Hashable {
    /// The ID that tells the line from every other: unpredictable bytes.
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
    package func next(by host: String?) -> TokenFamily { TokenFamily(id: id, step: step + 1, host: host) }

    /// Whether another grant has taken the place of this one, maybe over several refreshes.
    package func isOlder(than other: TokenFamily) -> Bool { id == other.id && step < other.step }
}

/// A credential that obtains new access tokens without the user.
public struct Grant: Sendable, Hashable {
    /// Random bytes in Base64url that identify the grant. A sign-in makes a new ID; `nil` for a grant of an earlier
    /// version.
    package var id: String?
    /// How often a refresh has brought another refresh token.
    package var rotation: Int64 = 0
    /// How it was obtained; flows without a person are simply run again.
    public var flow: SignInFlow
    /// The refresh token, if there is one.
    public var refreshToken: Secret?
    /// The refresh token of a response that was refused, kept beside ``refreshToken``; `nil` if the newest response
    /// was accepted.
    package var pending: PendingToken?
    /// Whether the last refresh that held gave another refresh token; `nil` before the first one.
    package var rotates: Bool?
    /// Whether an ID token of a refresh was refused: no access token of a later response is given out unless that
    /// response has an ID token that holds.
    package var awaitsIDToken = false
    /// When the refresh token ends, if the provider reports it.
    public var refreshExpiresAt: Timestamp?
    /// The newest id token, validated.
    public var idToken: Secret?
    /// The scopes granted.
    public var scope: [String]
    /// When it was obtained or refreshed.
    public var obtainedAt: Timestamp
    /// When the sign-in was made that it comes from; a refresh leaves it as it is.
    public var signedInAt: Timestamp
    /// Why the provider takes it no more; `nil` while it is not known to be lost.
    public var lostReason: String?
    /// Whether the provider has refused it in other words than those of RFC 6749, so that another try may succeed.
    package var isDoubtful = false
    /// The state that the adapter gets back at the next refresh (endpoints pinned, tenant ID, subject).
    public var adapterState: JSONObject

    /// Makes a grant.
    public init(flow: SignInFlow, obtainedAt: Timestamp) {
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

    /// Whether a forced refresh may try it: it can be refreshed, or the provider's refusal is in doubt.
    package var isWorthATry: Bool {
        var grant = self
        if isDoubtful { grant.lostReason = nil }
        return grant.isRefreshable
    }

    /// The grant as a refresh or a revocation sends it: a pending refresh token has the place of the older one.
    package var toSend: Grant {
        guard let pending, !pending.isQuarantined else { return self }
        var grant = self
        grant.refreshToken = pending.token
        grant.pending = nil
        return grant
    }
}

/// A refresh token of a response that was not used, because the response did not hold. A provider that rotates
/// refresh tokens takes no other from then on.
package struct PendingToken: Sendable, Hashable {
    /// The refresh token.
    package var token: Secret
    /// Whether the response named another subject or issuer. The token is kept, and never sent.
    package var isQuarantined: Bool

    /// Makes one.
    package init(token: Secret, isQuarantined: Bool = false) {
        self.token = token
        self.isQuarantined = isQuarantined
    }
}
