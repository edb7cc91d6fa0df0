/// The errors that a broker replies with.
public enum BrokerError: String, Sendable, CaseIterable {
    case denied, ended
    case signInRequired = "sign_in_required"
    case locked, temporary, rate, ambiguous, malformed, version, failed

    /// The exit status of the command at the socket.
    public var exitStatus: Int {
        switch self {
        case .denied, .ended: 7
        case .signInRequired: 4
        case .locked: 5
        case .temporary, .rate: 6
        case .ambiguous: 3
        case .malformed, .version: 2
        case .failed: 1
        }
    }

    /// The status of an HTTP response.
    public var httpStatus: Int {
        switch self {
        case .denied, .ended, .signInRequired: 403
        case .locked, .temporary: 503
        case .rate: 429
        case .ambiguous, .malformed, .version: 400
        case .failed: 500
        }
    }
}

/// The reasons that `denied` has.
public enum DenialReason: String, Sendable, CaseIterable {
    case notInBroker = "not_in_broker"
    case tooBroad = "too_broad"
    case tooLong = "too_long"
    case origin
    case proxyOnly = "proxy_only"
    case idToken = "id_token"
    case userRefused = "user_refused"
    case noPrompt = "no_prompt"
    case caller
}

/// A request that the broker refuses.
public struct BrokerFailure: Error, Sendable, Equatable {
    /// The error.
    public var error: BrokerError
    /// A word that says more, such as a ``DenialReason``.
    public var reason: String?
    /// After how many seconds another request may succeed.
    public var retryAfter: Int?

    /// Makes a failure.
    public init(_ error: BrokerError, reason: String? = nil, retryAfter: Int? = nil) {
        self.error = error
        self.reason = reason
        self.retryAfter = retryAfter
    }

    /// The failure `denied` with a reason.
    public static func denied(_ reason: DenialReason) -> BrokerFailure {
        BrokerFailure(.denied, reason: reason.rawValue)
    }
}
