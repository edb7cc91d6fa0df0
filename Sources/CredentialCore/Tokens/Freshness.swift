/// How long a token must still be valid to be given out.
package struct Freshness: Sendable, Hashable {
    /// The margin that guards a token in flight against a slow network, at most.
    static let standardMargin: Int64 = 60

    /// The seconds asked for; `nil` for the default: the smaller of 60 s and a fifth of the token's lifetime, so
    /// that short-lived tokens are still cached.
    package var minimumValidity: Int64?
    /// Whether it was asked for with this call: then a token that lives shorter will not do if the refresh fails.
    package var isDemanded: Bool

    /// Makes a rule.
    package init(minimumValidity: Int64? = nil, isDemanded: Bool = false) {
        self.minimumValidity = minimumValidity
        self.isDemanded = isDemanded
    }

    /// The seconds that a call demands, else those that are configured, else the default.
    package init(demanded: Int64?, configured: Int64?) {
        self.init(minimumValidity: demanded ?? configured, isDemanded: demanded != nil)
    }

    /// Whether `token` may be given out at `now`.
    ///
    /// A token that was issued in the future, or ends further off than its lifetime, was seen through a clock that
    /// has since been moved: it is not trusted.
    package func allows(_ token: AccessToken, now: Timestamp) -> Bool {
        allows(from: token.issuedAt, to: token.expiresAt, now: now)
    }

    /// As ``allows(_:now:)``, for a token of which only the times are known.
    package func allows(from issuedAt: Timestamp, to expiresAt: Timestamp, now: Timestamp) -> Bool {
        let lifetime = expiresAt.seconds(since: issuedAt)
        guard !Self.isAhead(issuedAt, now: now), lifetime > 0 else { return false }
        return expiresAt.seconds(since: now) >= margin(lifetime: lifetime)
    }

    /// The seconds that a token of `lifetime` must still be valid: at least one, for at its end it is of no use,
    /// however short its life or small the wish.
    package func margin(lifetime: Int64) -> Int64 {
        max(1, minimumValidity ?? min(Self.standardMargin, lifetime / 5))
    }

    /// How long until `token` is to be replaced, in seconds; zero or less when it is time.
    package func secondsLeft(of token: AccessToken, now: Timestamp) -> Int64 {
        token.expiresAt.seconds(since: now) - margin(lifetime: token.expiresAt.seconds(since: token.issuedAt))
    }

    /// The rule by which a program that keeps `token` fresh replaces it: two seconds before this rule, or at half
    /// of the token's life if that is later. The clock counts whole seconds, and a refresh takes time.
    package func early(for token: AccessToken) -> Freshness {
        let lifetime = token.expiresAt.seconds(since: token.issuedAt), own = margin(lifetime: lifetime)
        return Freshness(minimumValidity: max(own, min(own + 2, lifetime / 2)), isDemanded: isDemanded)
    }

    /// How long to sleep at most between two looks at the clock, in seconds: a suspended machine counts no sleep.
    package static let longestPause: Int64 = 30

    /// The rule for a token in a place that cannot be updated, such as an environment: it is to live for five
    /// minutes more, or half of its life if that is less. This rule itself applies if it asks for as much.
    package func whereKept(_ token: AccessToken) -> Freshness {
        let wanted = min(Self.keptValidity, token.expiresAt.seconds(since: token.issuedAt) / 2)
        return minimumValidity ?? 0 < wanted ? Freshness(minimumValidity: wanted) : self
    }

    private static let keptValidity: Int64 = 300

    /// Whether something was issued so far in the future that one of two clocks must be wrong.
    package static func isAhead(_ issuedAt: Timestamp, now: Timestamp) -> Bool {
        now < issuedAt.adding(-clockTolerance)
    }

    private static let clockTolerance: Int64 = 300
}
