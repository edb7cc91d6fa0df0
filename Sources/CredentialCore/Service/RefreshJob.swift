/// One refresh to be done.
struct RefreshJob: Sendable {
    /// The keychain group.
    var group: KeychainGroup
    /// The type the token is asked for under.
    var type: AccountType
    /// The key of the request that the token is for.
    var key: TokenRequestKey
    /// The scopes in the order written.
    var scope: [String]
    /// Which access token of the set is to be exchanged (RFC 8693); `nil` to refresh the grant.
    var subjectKey: TokenRequestKey?
    /// The token set as read under the lock.
    var tokenSet: TokenSet
    /// Whether room for the new tokens is reserved already.
    var hasRoom = false
    /// The account's lock.
    var lock: (any HeldLock)?
    /// When it was looked at that the refresh token may be sent, by the machine's boot clock; `nil` for now.
    var lookedAt: Int64?

    /// Makes a job.
    init(
        group: KeychainGroup, type: AccountType, key: TokenRequestKey, scope: [String], tokenSet: TokenSet
    ) {
        self.group = group
        self.type = type
        self.key = key
        self.scope = scope
        self.tokenSet = tokenSet
    }
}

/// The result of a refresh, persisted already.
struct RefreshOutcome: Sendable {
    /// The new token.
    var token: AccessToken
    /// The newest id token of its policy.
    var idToken: Secret?
    /// The warnings for the user.
    var warnings: [LocalizedMessage]
    /// Whether it was refreshed here; else another host had.
    var refreshed = true

    /// Makes an outcome.
    init(token: AccessToken, idToken: Secret?, warnings: [LocalizedMessage] = []) {
        self.token = token
        self.idToken = idToken
        self.warnings = warnings
    }
}
