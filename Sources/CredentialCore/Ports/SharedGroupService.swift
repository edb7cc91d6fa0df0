package import StrictJSON

/// The groups that are shared with other hosts through a cluster. Every other group knows nothing of it.
package protocol SharedGroupService: Sendable {
    /// How a group is shared; `nil` for one of this machine alone.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``, ``ErrorCode/inputOutput``.
    func backend(of group: KeychainGroup) throws(CredentialError) -> ClusterConfiguration?

    /// The vault that seals token sets for the clusters.
    var vault: any TokenSetCipher { get }

    /// Asks the cluster of a group, whether this host may use it now. A group that was not left to the end is used by nobody.
    ///
    /// - Throws: ``ErrorCode/temporary`` where it cannot be reached; ``ErrorCode/storeLocked`` where this host is not admitted,
    ///   or no more; ``ErrorCode/storeUnavailable``, ``ErrorCode/storeDamaged``, ``ErrorCode/denied``.
    func check(_ group: KeychainGroup) throws(CredentialError)

    /// Has the account that this process adds next to a group count only if no other host has added one since now:
    /// two first sign-ins of one person may meet. The second host is overtaken, and looks again. The caller holds
    /// the lock of newcomers on this host, and looks who there is after this.
    ///
    /// - Parameter group: the group; of one that is not shared the lock says all.
    /// - Throws: as ``check(_:)``.
    func beginNewAccount(to group: KeychainGroup) throws(CredentialError)

    /// The error of this process's last try, if that was moments ago: who was refused then need not wait again.
    func recentFailure(of group: KeychainGroup) -> CredentialError?

    /// Notes about groups that this process has come to know, to be told; each is given once.
    func takeNotes() -> [LocalizedMessage]

    /// For how many seconds the nodes of clusters were waited for in vain just now, whichever group was asked for.
    var secondsSpent: Int64 { get }

    /// Returns the data of an account that this process has read a moment ago, sealed as it is in the cluster, for
    /// the process that is to refresh it; `nil` if it has read none, and for a group that is not shared.
    func handOver(_ account: String, of group: KeychainGroup) -> JSONObject?

    /// Takes up what ``handOver(_:of:)`` has given to another process of this host, which need not be read again.
    ///
    /// - Throws: ``ErrorCode/internalFault`` where it is none; as ``backend(of:)``.
    func resume(_ account: String, of group: KeychainGroup, with handed: JSONObject) throws(CredentialError)

    /// Refreshes a sign-in exactly once among all hosts. The caller holds the account's lock on this one.
    ///
    /// - Throws: ``ErrorCode/signInRequired``; ``ErrorCode/temporary`` while nobody may refresh, or the cluster cannot be
    ///   reached; as ``check(_:)``.
    func refresh(_ job: SharedRefreshJob, in group: KeychainGroup) throws(CredentialError) -> SharedRefreshOutcome

    /// Whether a host has begun to refresh an account, and has not said how that ended; `false` in a group that is not shared.
    ///
    /// - Throws: as ``check(_:)``.
    func isUnfinished(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool

    /// The accounts of which this host has an answer of a provider that it has not put into the cluster yet.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func unsettled(in group: KeychainGroup) throws(CredentialError) -> [String]

    /// Puts such an answer into the cluster. The caller holds the account's lock on this host.
    ///
    /// - Throws: as ``refresh(_:in:)``.
    func settle(_ account: String, in group: KeychainGroup) throws(CredentialError)

    /// Puts what an account's record held before in the place of one that is damaged, and sets that aside: by what
    /// the cluster remembers, else by what this host has seen of it. Of this nobody knows whether it was the
    /// newest, so its refresh tokens are not used any more; a host that knows a later one puts it back. So is what
    /// stands beside it mended: who refreshes it, and answers that came late. If the former values of these are not
    /// known, its refresh tokens are not used any more, either.
    ///
    /// - Returns: whether there was anything to be put back.
    /// - Throws: as ``check(_:)``.
    func restore(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool

    /// Takes over what the other hosts have changed.
    ///
    /// - Returns: whether the cluster was asked; else it was moments ago.
    /// - Throws: as ``check(_:)``.
    @discardableResult
    func catchUp(_ group: KeychainGroup, unlessWithin seconds: Int64) throws(CredentialError) -> Bool

    /// Takes over what the other hosts change, as they do it, and tells of it in the event log. It returns when nobody wants it
    /// any more, or the group is shared no more; what goes wrong is told, and tried again.
    func follow(_ group: KeychainGroup, _ following: WatchRequest)

    /// The membership of hosts in the groups.
    var membership: any GroupMembershipService { get }
}

/// The follower of a group.
package struct WatchRequest: Sendable {
    /// Whether it is still wanted.
    package var isWanted: @Sendable () -> Bool
    /// Does something under the lock that an account has on this host, if nobody has that now; gives whether it was done.
    package var alone: @Sendable (String, () -> Void) -> Bool
    /// Is told once that the other hosts are not seen for now, and why; and with `nil` that all they did is seen.
    package var tell: @Sendable (CredentialError?) -> Void

    package init(
        isWanted: @escaping @Sendable () -> Bool, alone: @escaping @Sendable (String, () -> Void) -> Bool,
        tell: @escaping @Sendable (CredentialError?) -> Void
    ) {
        self.isWanted = isWanted
        self.alone = alone
        self.tell = tell
    }
}

extension SharedGroupService {
    /// How long an access token of a group is kept at most before the cluster is asked again; `nil` for as long as it lives.
    package func cacheSeconds(of group: KeychainGroup) -> Int64? {
        // A file that cannot be read is told of by who needs the group itself.
        (try? backend(of: group)).flatMap { $0?.cacheSeconds }
    }

    /// Whether a group is shared.
    ///
    /// - Throws: as ``backend(of:)``.
    package func isShared(_ group: KeychainGroup) throws(CredentialError) -> Bool { try backend(of: group) != nil }
}

/// Something that was looked at.
package struct ClusterDiagnostic: Sendable {
    /// The check, as a word.
    package var check: String
    /// The finding.
    package var text: LocalizedMessage
    /// The error; `nil` if there is none.
    package var error: CredentialError?
    /// Whether nothing is wrong yet.
    package var isEarly: Bool
    /// Of which account something is damaged that ``SharedGroupService/restore(_:in:)`` mends; `nil` where nothing is.
    package var damagedAccount: String?

    package init(
        check: String, text: LocalizedMessage, error: CredentialError? = nil, isEarly: Bool = false,
        damagedAccount: String? = nil
    ) {
        self.check = check
        self.text = text
        self.error = error
        self.isEarly = isEarly
        self.damagedAccount = damagedAccount
    }
}

/// One refresh in a shared group.
package struct SharedRefreshJob: Sendable {
    /// The account.
    package var account: String
    /// The policy whose grant is used.
    package var policy: String
    /// Whether the type's provider tolerates a refresh token that comes again.
    package var toleratesReuse: Bool
    /// Whether a person says that nobody else is at it any more.
    package var takesOver: Bool
    /// Whether a grant is sent of which the provider has said in other words than OAuth's that it is gone.
    package var triesDoubtful = false
    /// How long another host at work is waited for, in seconds.
    package var patience: Int
    /// For how many seconds the command has waited so far: nodes that are silent are waited for so much less.
    package var waited: Int64 = 0
    /// The command that puts aside what nobody knows the end of.
    package var hint: LocalizedMessage
    /// Whether what is there will do.
    package var isFresh: @Sendable (TokenSet) -> Bool
    /// Asks the provider, with the account's token set as it stood then. It runs the check directly before it sends.
    package var send: @Sendable (TokenSet, SendCheck) -> SharedRefreshAnswer
}

/// The provider's response to a refresh.
package enum SharedRefreshAnswer: Sendable {
    /// The token set with what was issued.
    case issued(TokenSet)
    /// The sign-in is gone.
    case refused(CredentialError)
    /// The refresh token has certainly not been used up.
    case unsent(CredentialError)
    /// Nobody knows whether it has.
    case unknown(CredentialError)
}

/// How a refresh in a shared group ended.
package struct SharedRefreshOutcome: Sendable {
    /// The account's token set as it is now.
    package var tokenSet: TokenSet
    /// Whether this call has refreshed; else another host had.
    package var refreshed: Bool
    /// The warnings for the user.
    package var warnings: [LocalizedMessage]

    package init(tokenSet: TokenSet, refreshed: Bool, warnings: [LocalizedMessage]) {
        self.tokenSet = tokenSet
        self.refreshed = refreshed
        self.warnings = warnings
    }
}

/// A machine without shared groups.
package struct NoSharedGroups: SharedGroupService, GroupMembershipService, TokenSetCipher {
    package init() {}

    private static var error: CredentialError { CredentialError(.unsupported, "no group is shared here") }

    package var vault: any TokenSetCipher { self }
    package var membership: any GroupMembershipService { self }
    package func backend(of group: KeychainGroup) throws(CredentialError) -> ClusterConfiguration? { nil }
    package func check(_ group: KeychainGroup) throws(CredentialError) {}
    package func beginNewAccount(to group: KeychainGroup) throws(CredentialError) {}
    package func recentFailure(of group: KeychainGroup) -> CredentialError? { nil }
    package var secondsSpent: Int64 { 0 }
    package func takeNotes() -> [LocalizedMessage] { [] }
    package func handOver(_ account: String, of group: KeychainGroup) -> JSONObject? { nil }
    package func resume(_ account: String, of group: KeychainGroup, with handed: JSONObject) {}
    package func catchUp(_ group: KeychainGroup, unlessWithin seconds: Int64) throws(CredentialError) -> Bool {
        false
    }
    package func refresh(
        _ job: SharedRefreshJob, in group: KeychainGroup
    ) throws(CredentialError) -> SharedRefreshOutcome { throw Self.error }
    package func follow(_ group: KeychainGroup, _ following: WatchRequest) {}
    package func isUnfinished(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool { false }
    package func restore(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool { false }
    package func unsettled(in group: KeychainGroup) throws(CredentialError) -> [String] { [] }
    package func settle(_ account: String, in group: KeychainGroup) throws(CredentialError) { throw Self.error }
    package func share(
        _ group: KeychainGroup, _ backend: ClusterConfiguration, _ sets: [TokenSet], passphrase: Secret?
    ) throws(CredentialError) -> GroupMember { throw Self.error }
    package func join(
        _ group: KeychainGroup, _ backend: ClusterConfiguration, passphrase: Secret?
    ) throws(CredentialError) -> GroupMember { throw Self.error }
    package func change(
        _ group: KeychainGroup, cacheSeconds: Int64?, takeOverSeconds: Int64??
    ) throws(CredentialError) { throw Self.error }
    package func hosts(of group: KeychainGroup) throws(CredentialError) -> [GroupMember] { throw Self.error }
    package func waits(_ group: KeychainGroup, as backend: ClusterConfiguration) throws(CredentialError) -> Bool {
        false
    }
    package func fingerprint(of group: KeychainGroup) throws(CredentialError) -> String { throw Self.error }
    package func admit(
        _ host: String, fingerprint: String, to group: KeychainGroup
    ) throws(CredentialError) { throw Self.error }
    package func expel(
        _ host: String, fingerprint: String?, from group: KeychainGroup
    ) throws(CredentialError) -> RemovalResult { throw Self.error }
    package func sealAnew(_ group: KeychainGroup) throws(CredentialError) -> [(id: String, error: CredentialError)]
    {
        throw Self.error
    }
    package func leave(
        _ group: KeychainGroup, _ agree: ([TokenSet], Bool) throws(CredentialError) -> Void,
        take: ([TokenSet], Bool) throws(CredentialError) -> Void
    ) throws(CredentialError) -> LeaveResult { throw Self.error }
    package func forget(
        _ group: KeychainGroup, _ drop: () throws(CredentialError) -> Void
    ) throws(CredentialError) -> String { throw Self.error }
    package func noteTaken(_ account: String, of group: KeychainGroup) throws(CredentialError) { throw Self.error }
    package func findings(of group: KeychainGroup) -> [ClusterDiagnostic] { [] }

    package func seal(
        _ tokenSet: [UInt8], of account: String, generation: Int64, in group: KeychainGroup
    ) throws(CredentialError) -> SealedTokenSet { throw Self.error }
    package func open(
        _ sealed: SealedTokenSet, of account: String, in group: KeychainGroup
    ) throws(CredentialError) -> [UInt8] { throw Self.error }
    package func currentKey(of group: KeychainGroup) throws(CredentialError) -> String? { throw Self.error }
    package func forgetReplacedKeys(
        of group: KeychainGroup, but needed: Set<String>
    ) throws(CredentialError) -> Int { throw Self.error }
}
