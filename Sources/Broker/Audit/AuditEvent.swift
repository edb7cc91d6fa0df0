public import CredentialCore

/// An event that the audit log has a line for.
public struct AuditEvent: Sendable {
    /// The kind of event.
    public enum What: String, Sendable {
        case start, issue, deny, ask, answer, refresh, stop
    }

    /// The kind of event.
    public var what: What
    /// The entry.
    public var entry: String?
    /// The account's ID.
    public var account: String?
    /// The origin that the caller named.
    public var origin: String?
    /// The caller.
    public var caller: Caller?
    /// The caller's own words on its purpose.
    public var why: String?
    /// The reason, such as a word of the table of errors.
    public var reason: String?
    /// The token that was released. The log has only 8 bytes of its HMAC.
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

/// Writes the audit log of one broker.
public protocol AuditWriter: Sendable {
    /// Writes one line.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` if the disk is full. The request then fails as `temporary`, unless
    ///   `on_failure` is `continue`.
    func write(_ event: AuditEvent) throws(CredentialError)
}
