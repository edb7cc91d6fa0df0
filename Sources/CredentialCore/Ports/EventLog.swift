public import StrictJSON

/// Something that happened to an account; never a token in it.
public struct AccountEvent: Sendable, Hashable {
    /// The kind of event.
    public let kind: Kind
    /// When.
    public let time: Timestamp
    /// The keychain group.
    public let group: KeychainGroup
    /// The account type, if it is known.
    public let type: String?
    /// The account's ID, if there is one.
    public let account: String?
    /// The policy, if the provider has policies.
    public let policy: String?
    /// The reason of a failure or loss.
    public let reason: String?

    /// Makes an event.
    public init(
        kind: Kind, time: Timestamp, group: KeychainGroup, type: String?, account: String?, policy: String? = nil,
        reason: String? = nil
    ) {
        self.kind = kind
        self.time = time
        self.group = group
        self.type = type
        self.account = account
        self.policy = policy
        self.reason = reason
    }

    /// The kinds of events.
    public enum Kind: String, Sendable, CaseIterable {
        /// A new account was signed in.
        case accountAdded = "account.added"
        /// A known account was signed in again, labelled or made the default.
        case accountUpdated = "account.updated"
        /// An account was forgotten.
        case accountRemoved = "account.removed"
        /// An access token was refreshed.
        case tokenRefreshed = "token.refreshed"
        /// The grant is gone: a person has to sign in.
        case tokenLost = "token.lost"
        /// The sign-in ends soon, as the provider said: told seven days and one day before.
        case grantExpiring = "grant.expiring"
        /// A sign-in failed.
        case loginFailed = "login.failed"
    }
}

/// The destination of events, so that every process of the group can see them.
public protocol EventLog: Sendable {
    /// Adds an event. A log that cannot be written never fails the operation that it records.
    func append(_ event: AccountEvent)

    /// Follows the events that any process adds from now on.
    ///
    /// - Parameter group: the one to follow; all, also those that appear later, for `nil`.
    /// - Throws: ``ErrorCode/inputOutput``.
    func follow(_ group: KeychainGroup?) throws(CredentialError) -> any EventFeed
}

/// Events as they happen.
public protocol EventFeed {
    /// The next event, waiting for it at most `timeout` milliseconds; for ever for `nil`.
    ///
    /// - Returns: `nil` when no event came in time.
    /// - Throws: ``ErrorCode/inputOutput``.
    func next(timeout: Int64?) throws(CredentialError) -> AccountEvent?
}

extension AccountEvent {
    /// The event as `watch --json` shows it and the log keeps it.
    public var json: JSONObject {
        var json = JSONObject()
        json["event"] = .string(kind.rawValue)
        json["time"] = .string(time.rfc3339)
        json["group"] = .string(group.name)
        json["type"] = JSONValue(type)
        json["account"] = JSONValue(account)
        json["policy"] = policy.map(JSONValue.string)
        json["reason"] = reason.map(JSONValue.string)
        return json
    }

    /// Reads the output of ``json``.
    ///
    /// - Returns: `nil` for anything else, such as an event that only a newer version knows.
    public init?(json: JSONObject) {
        guard let kind = json["event"]?.string.flatMap(Kind.init(rawValue:)),
            let time = json["time"]?.string.flatMap(Timestamp.init(rfc3339:)),
            let name = json["group"]?.string, let group = try? KeychainGroup(name)
        else { return nil }
        self.init(
            kind: kind, time: time, group: group, type: json["type"]?.string, account: json["account"]?.string,
            policy: json["policy"]?.string, reason: json["reason"]?.string)
    }
}
