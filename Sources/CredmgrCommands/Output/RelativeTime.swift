package import CredentialCore

/// Times told by their distance.
package enum RelativeTime {
    /// How long until `instant`: `in 42 min`, `in 3 h`, `expired`. Rounded down to one unit.
    package static func until(_ instant: Instant, now: Instant) -> String {
        let seconds = instant.seconds(since: now)
        return switch seconds {
        case ..<1: "expired"
        case ..<60: "in \(seconds) s"
        case ..<3_600: "in \(seconds / 60) min"
        case ..<172_800: "in \(seconds / 3_600) h"
        default: "in \(seconds / 86_400) days"
        }
    }
}
