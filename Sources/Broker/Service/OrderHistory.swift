import CredentialCore

/// The kinds of token that a run of a broker has ordered, and their refreshes because of `min_valid`.
struct OrderHistory: Sendable {
    /// The kind of token that an order is for.
    struct Key: Sendable, Hashable {
        private let entry: String
        private let account: String
        private let policy: String?
        private let scope: [String]
        private let resource: String?
        private let audience: String?

        /// Makes the key of an order.
        init(_ order: TokenOrder, entry: String, account: String) {
            self.entry = entry
            self.account = account
            policy = order.policy
            scope = order.scope.sorted()
            resource = order.resource
            audience = order.audience
        }
    }

    /// The least time between two refreshes because of `min_valid`, in seconds.
    private static let pause: Int64 = 60

    private var ordered: Set<Key> = []
    private var refreshes: [Key: Timestamp] = [:]

    /// Whether a token of this kind was issued before.
    func has(_ key: Key) -> Bool { ordered.contains(key) }

    /// Notes that a token of this kind was issued.
    mutating func add(_ key: Key) { ordered.insert(key) }

    /// Whether the last refresh because of `min_valid` is too recent for another one.
    func isRecent(_ key: Key, at now: Timestamp) -> Bool {
        refreshes[key].map { Self.isInPause($0, at: now) } ?? false
    }

    /// Notes a refresh because of `min_valid`.
    mutating func addRefresh(_ key: Key, at now: Timestamp) {
        refreshes = refreshes.filter { Self.isInPause($0.value, at: now) }
        refreshes[key] = now
    }

    private static func isInPause(_ time: Timestamp, at now: Timestamp) -> Bool {
        (0..<pause).contains(now.seconds(since: time))
    }
}

/// The access tokens that a broker has released, for `revoke_at_end`.
struct ReleasedTokens: Sendable {
    /// The tokens of one account by one entry.
    typealias Part = (entry: BrokerEntry, account: any EntryAccount, tokens: [AccessToken])

    private var parts: [Part] = []

    /// Adds a token. Ended ones need no revocation.
    mutating func add(_ token: AccessToken, of entry: BrokerEntry, _ account: any EntryAccount, at now: Timestamp) {
        parts = valid(at: now)
        guard let index = parts.firstIndex(where: { $0.entry.name == entry.name && $0.account.id == account.id })
        else {
            parts.append((entry: entry, account: account, tokens: [token]))
            return
        }
        // The newer account object knows the newer files of the host.
        parts[index].entry = entry
        parts[index].account = account
        if !parts[index].tokens.contains(where: { $0.token == token.token }) { parts[index].tokens.append(token) }
    }

    /// The tokens that have not ended.
    func valid(at now: Timestamp) -> [Part] {
        var valid: [Part] = []
        for part in parts {
            let tokens = part.tokens.filter { $0.expiresAt > now }
            if !tokens.isEmpty { valid.append((entry: part.entry, account: part.account, tokens: tokens)) }
        }
        return valid
    }
}
