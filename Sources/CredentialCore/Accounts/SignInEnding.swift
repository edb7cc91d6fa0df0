/// The steps in which the end of a sign-in comes near, where the provider says when that is (`refresh_expires_in`).
///
/// Each is told of once: seven days and one day before. A sign-in that never lasts longer than a step is not told to end
/// within it, since that is always so.
package enum SignInEnding: Int64, Sendable, Hashable {
    /// Within seven days.
    case week = 7
    /// Within a day.
    case day = 1

    /// The nearest step that an end has come to; `nil` for one that is further away.
    package init?(of end: Instant?, now: Instant) {
        guard let left = end?.seconds(since: now) else { return nil }
        switch left {
        case ...86_400: self = .day
        case ...(7 * 86_400): self = .week
        default: return nil
        }
    }
}

extension Account {
    /// Notes how near the end of the sign-in is by now.
    ///
    /// - Returns: whether it has come a step nearer since it was noted last.
    package mutating func noteEnding(now: Instant) -> Bool {
        let ending = SignInEnding(of: refreshExpiresAt, now: now)
        defer { toldEnding = ending }
        guard let ending else { return false }
        return toldEnding.map { ending.rawValue < $0.rawValue } ?? true
    }

    /// Whether the end of the sign-in is near, and the account still works.
    package func endsSoon(now: Instant) -> Bool {
        guard case .active = status else { return false }
        return SignInEnding(of: refreshExpiresAt, now: now) != nil
    }
}
