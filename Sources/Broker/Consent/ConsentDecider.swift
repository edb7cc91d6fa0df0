/// A request for a token for which a broker needs the user's consent.
public struct ConsentQuestion: Sendable, Equatable {
    /// The process that asks.
    public var caller: Caller
    /// The name of the entry.
    public var entry: String
    /// The account, as users know it: its user name or label.
    public var account: String
    /// The account's ID; without it, grants compare ``account``.
    public var accountID: String?
    /// The account type.
    public var type: String
    /// The scopes of the request.
    public var scope: [String]
    /// The origin of the request.
    public var origin: String?
    /// The resource of the request (RFC 8707).
    public var resource: String?
    /// The audience of the request.
    public var audience: String?
    /// Whether the request is for the ID token, too.
    public var wantsIDToken: Bool
    /// The name of the broker.
    public var broker: String
    /// Whether each request needs a prompt (`ask: always`); remembered grants do not apply.
    public var always: Bool

    /// Makes a question.
    public init(
        caller: Caller, entry: String, account: String, accountID: String? = nil, type: String,
        scope: [String] = [], origin: String? = nil, resource: String? = nil, audience: String? = nil,
        wantsIDToken: Bool = false, broker: String, always: Bool = false
    ) {
        self.caller = caller
        self.entry = entry
        self.account = account
        self.accountID = accountID
        self.type = type
        self.scope = scope
        self.origin = origin
        self.resource = resource
        self.audience = audience
        self.wantsIDToken = wantsIDToken
        self.broker = broker
        self.always = always
    }
}

/// The result of a question.
public enum ConsentAnswer: Sendable, Equatable {
    /// The user consented, now or earlier.
    case granted
    /// The user refused, or did not answer in time.
    case refused
    /// The caller was refused three times in 10 minutes, so the user is not prompted for an hour.
    case refusedForNow
    /// No prompt is available.
    case noPrompt
    /// The user refused and ended the broker.
    case closeBroker
}

/// Decides whether a caller receives a token.
public protocol ConsentDecider: Sendable {
    /// Decides a question; blocks at most for `prompt_timeout`.
    ///
    /// Requests share one prompt if they have the same caller, entry, account, scope, origin, resource and
    /// audience, and want the same tokens.
    func decide(_ question: ConsentQuestion) -> ConsentAnswer
}
