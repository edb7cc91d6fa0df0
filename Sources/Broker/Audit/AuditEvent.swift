public import CredentialCore

/// One event of a broker, which the audit log writes as one line.
public struct AuditEvent: Sendable, Equatable {
    /// The kind of an event.
    public enum What: String, Sendable, CaseIterable {
        /// The broker started.
        case start
        /// The broker released a token.
        case issue
        /// The broker refused a request or closed a connection.
        case deny
        /// The broker prompted the user.
        case ask
        /// The user answered a prompt.
        case answer
        /// The broker refreshed a token.
        case refresh
        /// The broker ended.
        case stop
    }

    /// The kind.
    public var what: What
    /// The name of the entry.
    public var entry: String?
    /// The ID of the account.
    public var account: String?
    /// The origin of the request.
    public var origin: String?
    /// The process that asked.
    public var caller: Caller?
    /// The purpose that the caller gave.
    public var why: String?
    /// The reason of a refusal, or the answer of a prompt.
    public var reason: String?
    /// The released token; the log writes 8 bytes of its HMAC and never the token.
    public var token: Secret?

    /// Makes an event.
    public init(
        _ what: What, entry: String? = nil, account: String? = nil, origin: String? = nil, caller: Caller? = nil,
        why: String? = nil, reason: String? = nil, token: Secret? = nil
    ) {
        self.what = what
        self.entry = entry
        self.account = account
        self.origin = origin
        self.caller = caller
        self.why = why
        self.reason = reason
        self.token = token
    }
}

extension AuditEvent {
    /// The greatest length of a text that callers choose, in bytes: of a purpose or a name, and of an origin, which
    /// has a host of up to 253 bytes.
    private static let textLimit = 200, originLimit = 300

    /// The event with the beginnings of the texts that callers choose. Longer lines would make the log's retention
    /// drop other lines earlier.
    package var bounded: AuditEvent {
        var event = self
        event.entry = entry.map { Self.beginning(of: $0, bytes: Self.textLimit) }
        event.origin = origin.map { Self.beginning(of: $0, bytes: Self.originLimit) }
        event.why = why.map { Self.beginning(of: $0, bytes: Self.textLimit) }
        return event
    }

    /// The first whole characters of a text.
    private static func beginning(of text: String, bytes limit: Int) -> String {
        if text.utf8.count <= limit { return text }
        var result = "", count = 0
        for character in text {
            count += character.utf8.count
            if count > limit { break }
            result.append(character)
        }
        return result
    }
}

/// Writes the audit log of one broker.
public protocol AuditWriter: Sendable {
    /// Writes one event before the reply that it describes.
    ///
    /// - Throws: ``ErrorCode/temporary`` if the disk is full; ``ErrorCode/inputOutput`` for another failure.
    func write(_ event: AuditEvent) throws(CredentialError)
}
