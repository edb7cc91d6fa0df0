/// A question whether a caller may have a token.
public struct ConsentQuestion: Sendable {
    /// The caller.
    public var caller: Caller
    /// The entry's name.
    public var entry: String
    /// The account's name, as the user knows it.
    public var account: String
    /// The account type.
    public var type: String
    /// The scopes of the token.
    public var scope: [String]
    /// The origin that the caller named.
    public var origin: String?
    /// The broker's name.
    public var broker: String
    /// Whether each request needs a consent of its own (`ask: always`).
    public var always: Bool

    /// Makes a question.
    public init(
        caller: Caller, entry: String, account: String, type: String, scope: [String], origin: String?,
        broker: String, always: Bool
    ) {
        self.caller = caller
        self.entry = entry
        self.account = account
        self.type = type
        self.scope = scope
        self.origin = origin
        self.broker = broker
        self.always = always
    }
}

/// The result of a question.
public enum ConsentAnswer: Sendable, Equatable {
    /// The user consented.
    case granted
    /// The user refused.
    case refused
    /// The user refused three times; further requests are refused for an hour without a prompt.
    case refusedForNow
    /// No way to ask the user exists.
    case noPrompt
    /// The user refused, and ends the broker.
    case closeBroker
}

/// Asks the user.
public protocol ConsentDecider: Sendable {
    /// Returns the user's answer. It waits at most `prompt_timeout`; requests of the same caller, entry and scope
    /// share one prompt.
    func decide(_ question: ConsentQuestion) -> ConsentAnswer
}
