public import CredentialCore

/// The user's choice at a prompt.
public enum ConsentChoice: String, Sendable, CaseIterable {
    /// Release one token.
    case once
    /// Release, and remember the consent.
    case remember
    /// Refuse.
    case no
    /// Refuse, and end the broker.
    case close
    /// The user did not choose in time.
    case timeout

    /// The choices that a prompt offers.
    ///
    /// - Parameter remembers: whether a consent can be remembered.
    public static func offered(remembers: Bool) -> [ConsentChoice] {
        remembers ? [.once, .remember, .no, .close] : [.once, .no, .close]
    }

    /// The label of a button.
    public var label: LocalizedMessage {
        switch self {
        case .once: "Allow once"
        case .remember: "Remember"
        case .no, .timeout: "Refuse"
        case .close: "Refuse and end the broker"
        }
    }
}

/// The text of a prompt: plain text without control characters, for any name of the caller or the account.
public struct ConsentText: Sendable, Equatable {
    /// The greatest length of one value in characters.
    private static let limit = 120
    /// The greatest length of a scope or origin in characters, and of all scopes together.
    private static let wordLimit = 240, scopesLimit = 3_000

    /// One line.
    public let title: String
    /// Lines of a name and a value.
    public let lines: [String]
    /// The choices and their labels.
    public let choices: [(choice: ConsentChoice, label: String)]

    /// Whether both have the same title and lines.
    public static func == (left: ConsentText, right: ConsentText) -> Bool {
        left.title == right.title && left.lines == right.lines
    }

    /// Makes the text of a question.
    ///
    /// - Parameter text: the message in the language of the user.
    public init(_ question: ConsentQuestion, in text: (LocalizedMessage) -> String) {
        let caller = question.caller
        let name = Self.shown(caller.executable ?? caller.key.description)
        title = text("credmgr: \(name) requests a token")
        let scopes = UntrustedText.shown(
            question.scope.map(Self.shownWord).joined(separator: " "), limit: Self.scopesLimit)
        let process = caller.pid > 0 ? " (pid \(caller.pid))" : ""
        let key = Self.shown(caller.key.description)
        var rows: [LocalizedMessage] = [
            "Caller: \(name)\(process), \(key)", "Account: \(Self.shown(question.account))",
            "Type: \(Self.shown(question.type))",
        ]
        if !scopes.isEmpty { rows.append("Scopes: \(scopes)") }
        if let resource = question.resource { rows.append("Resource: \(Self.shownWord(resource))") }
        if let audience = question.audience { rows.append("Audience: \(Self.shownWord(audience))") }
        if question.wantsIDToken { rows.append("Tokens: access token and ID token") }
        if let origin = question.origin { rows.append("Origin: \(Self.shownWord(origin))") }
        rows.append("Broker: \(Self.shown(question.broker))")
        lines = rows.map(text)
        choices = ConsentChoice.offered(remembers: !question.always).map { ($0, text($0.label)) }
    }

    /// Whether the text has all scopes, the resource, the audience and the origin of a question without a cut. The
    /// caller may choose them, so a cut could hide one.
    public static func isShownWhole(_ question: ConsentQuestion) -> Bool {
        let words =
            question.scope + [question.resource, question.audience, question.origin].compactMap(\.self)
        return words.allSatisfy { shownWord($0) == $0 }
            && question.scope.joined(separator: " ").count <= scopesLimit
    }

    private static func shown(_ value: String) -> String { UntrustedText.shown(value, limit: limit) }

    private static func shownWord(_ value: String) -> String { UntrustedText.shown(value, limit: wordLimit) }
}

/// A way to prompt the user.
public protocol ConsentPrompt: Sendable {
    /// Prompts the user and waits for the choice.
    ///
    /// - Parameter milliseconds: the time until the choice is ``ConsentChoice/timeout``.
    /// - Returns: `nil` if there is no such prompt here, as without a session bus.
    func ask(_ text: ConsentText, milliseconds: Int32) -> ConsentChoice?
}

/// The refusals of callers since the start of a broker.
public struct ConsentRefusals: Sendable {
    /// The number of refusals in ``window`` after which a caller is refused without a prompt.
    private static let limit = 3
    /// Milliseconds.
    private static let window: Int64 = 600_000, pause: Int64 = 3_600_000
    /// The number of callers that are kept.
    private static let callerLimit = 4_096

    private var times: [CallerKey: [Int64]] = [:]
    private var ends: [CallerKey: Int64] = [:]

    /// Makes an empty list.
    public init() {}

    /// Whether a caller is refused without a prompt.
    ///
    /// - Parameter now: milliseconds on a clock that cannot be set.
    public func blocks(_ caller: CallerKey, at now: Int64) -> Bool { ends[caller].map { now < $0 } ?? false }

    /// Adds a refusal.
    public mutating func add(_ caller: CallerKey, at now: Int64) {
        if times.count >= Self.callerLimit { times = times.filter { ($0.value.last ?? 0) > now - Self.window } }
        if ends.count >= Self.callerLimit { ends = ends.filter { $0.value > now } }
        let recent = (times[caller] ?? []).filter { $0 > now - Self.window } + [now]
        guard recent.count >= Self.limit else {
            times[caller] = recent
            return
        }
        times[caller] = nil
        ends[caller] = now + Self.pause
    }
}
