package import StrictJSON

extension TokenService {
    /// A request for a token.
    package struct Request: Sendable {
        /// The keychain group of the account.
        package var group: KeychainGroup
        /// The account.
        package var account: Account
        /// The type it is asked for under.
        package var type: AccountType
        /// The key of the request that the token is for.
        package var key: TokenRequestKey
        /// The scopes in the order written.
        package var scope: [String]
        /// The scopes that a sign-in has to request to cover this token: the type's scopes and those wanted beside
        /// them; empty if the type's own scopes are enough.
        package var loginScope: [String] = []
        /// The flow by which the policy was signed in, if its grant has been read.
        package var flow: SignInFlow?
        /// The token to exchange for it (RFC 8693); `nil` to obtain it by a refresh.
        package var subject: (key: TokenRequestKey, scope: [String])?
        /// How long it must still be valid.
        package var freshness: Freshness
        /// Whether a token from before this request will not do.
        package var forceRefresh: Bool
        /// Whether the user asks to quarantine a refresh that another host has begun and whose end is not known.
        package var takesOver = false
        /// For how many seconds was waited so far, for a peer on this host or for nodes of a cluster: other hosts,
        /// and nodes, are waited for so much less.
        package var waited: Int64 = 0
        /// The data of the account that the caller has read in its cluster, as
        /// ``SharedGroupService/handOver(_:of:)`` returned it.
        package var handed: JSONObject?

        /// Makes a request.
        package init(
            group: KeychainGroup, account: Account, type: AccountType, key: TokenRequestKey, scope: [String],
            freshness: Freshness = Freshness(), forceRefresh: Bool = false
        ) {
            self.group = group
            self.account = account
            self.type = type
            self.key = key
            self.scope = scope
            self.freshness = freshness
            self.forceRefresh = forceRefresh
        }
    }

    /// A valid token.
    package struct Answer: Sendable {
        /// The token.
        package var token: AccessToken
        /// The newest id token of its policy.
        package var idToken: Secret?
        /// Whether it was refreshed for this request.
        package var refreshed: Bool
        /// The warnings for the user.
        package var warnings: [LocalizedMessage]
        /// Why it was not refreshed although it lives shorter than asked for; the warnings report it, too.
        package var failure: CredentialError?

        /// Makes an answer.
        package init(
            token: AccessToken, idToken: Secret?, refreshed: Bool, warnings: [LocalizedMessage] = [],
            failure: CredentialError? = nil
        ) {
            self.token = token
            self.idToken = idToken
            self.refreshed = refreshed
            self.warnings = warnings
            self.failure = failure
        }
    }
}

extension TokenService.Request {
    /// The token of `set` that will do.
    func fresh(in set: TokenSet, now: Timestamp) -> TokenService.Answer? {
        guard let token = set.accessToken(for: key), freshness.allows(token, now: now) else { return nil }
        return TokenService.Answer(token: token, idToken: set.idToken(of: key.policy), refreshed: false)
    }

    /// Whether an earlier token may be given in the place of an error. It may not if a new or longer-lived token is
    /// demanded, a store did not open, the user cancelled, or a response fails validation.
    package func allowsStaleToken(because error: CredentialError) -> Bool {
        guard !forceRefresh, !freshness.isDemanded, !error.forbidsStaleToken else { return false }
        return switch error.code {
        case .storeLocked, .interrupted, .cancelled, .validationFailed: false
        // A host that may not use a cluster any more gets no more tokens of it.
        case .storeUnavailable, .storeDamaged, .denied: account.store != .etcd || error.isClusterUnusable
        default: true
        }
    }

    /// The token that cannot be refreshed now but has not ended yet, if it may be given.
    func stillValid(in set: TokenSet, now: Timestamp, because error: CredentialError) -> TokenService.Answer? {
        guard allowsStaleToken(because: error), let token = set.accessToken(for: key),
            Freshness(minimumValidity: 1).allows(token, now: now)
        else {
            return nil
        }
        let left = token.expiresAt.seconds(since: now)
        return TokenService.Answer(
            token: token, idToken: set.idToken(of: key.policy), refreshed: false,
            warnings: ["this token ends in \(left) s; it could not be refreshed: \(error)"], failure: error)
    }

    /// A warning if a new token lives shorter than was asked for.
    func shortLife(of token: AccessToken, now: Timestamp) -> [LocalizedMessage] {
        guard let wanted = freshness.minimumValidity, token.expiresAt.seconds(since: now) < wanted else {
            return []
        }
        return [Self.shortLife(wanted)]
    }

    /// Says that no token lives as long as was asked for, in seconds.
    package static func shortLife(_ wanted: Int64) -> LocalizedMessage {
        "the provider's tokens are valid for less than the requested \(wanted) s"
    }

    /// The account can give no token until a person has signed in again.
    package func signInRequired(_ reason: LocalizedMessage) -> CredentialError {
        CredentialError(
            .signInRequired,
            "\(UntrustedText.shown(account.shownName)) (\(account.id)) must sign in again: \(reason)",
            hint: login.hint)
    }

    /// The store has no token set of the account.
    var secretsAreGone: CredentialError {
        signInRequired("the account's secrets are missing from the \(account.store.shownName)")
    }

    /// How to sign in again, by the same flow.
    package var login: LoginHint {
        var login = LoginHint(for: account, in: group, as: type, policy: key.policy, scope: loginScope)
        if let flow { login.name(flow, of: type) }
        return login
    }
}
