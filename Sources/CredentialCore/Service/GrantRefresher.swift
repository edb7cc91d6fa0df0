/// One refresh to be done: everything it needs, so that another process can do it.
package struct RefreshJob: Sendable {
    /// The keychain group.
    package var group: KeychainGroup
    /// The type the token is asked for under.
    package var type: AccountType
    /// What the token is wanted for.
    package var key: TokenRequestKey
    /// The scopes in the order written.
    package var scope: [String]
    /// Which access token of the set is to be exchanged (RFC 8693); `nil` to renew the grant.
    package var subjectKey: TokenRequestKey?
    /// The token set as read under the lock.
    package var tokenSet: TokenSet

    /// Makes a job.
    package init(
        group: KeychainGroup, type: AccountType, key: TokenRequestKey, scope: [String], tokenSet: TokenSet
    ) {
        self.group = group
        self.type = type
        self.key = key
        self.scope = scope
        self.tokenSet = tokenSet
    }
}

/// What a refresh gave, persisted already.
package struct RefreshOutcome: Sendable {
    /// The new token.
    package var token: AccessToken
    /// The newest id token of its policy.
    package var idToken: Secret?
    /// What the user should know.
    package var warnings: [String]

    /// Makes an outcome.
    package init(token: AccessToken, idToken: Secret?, warnings: [String] = []) {
        self.token = token
        self.idToken = idToken
        self.warnings = warnings
    }
}

/// Does a refresh from the request to the persisted reply.
///
/// ``RefreshOperation`` does it in this process; the command line hands it to a process of its own, so that the
/// reply is persisted even if the caller is killed meanwhile.
package protocol GrantRefresher: Sendable {
    /// Refreshes and persists.
    ///
    /// - Parameter lock: the account's lock, held since before the token set was read.
    /// - Throws: ``ErrorCode/signInRequired`` when the grant is gone (the account is marked so); ``ErrorCode/temporary``
    ///   when nothing has changed; the errors of the store.
    func refresh(_ job: RefreshJob, holding lock: any HeldLock) throws(CredentialError) -> RefreshOutcome
}
