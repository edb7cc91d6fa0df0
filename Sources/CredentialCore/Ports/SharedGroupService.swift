package import StrictJSON

/// The groups that are shared with other hosts through a cluster. The other groups do not know about the cluster.
package protocol SharedGroupService: Sendable {
    /// How a group is shared; `nil` for one of this machine alone.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``, ``ErrorCode/inputOutput``.
    func backend(of group: KeychainGroup) throws(CredentialError) -> ClusterConfiguration?

    /// The vault that seals token sets for the clusters.
    var vault: any TokenSetCipher { get }

    /// Asks the cluster of a group, whether this host may use it now. A group that was not left completely cannot
    /// be used.
    ///
    /// - Throws: ``ErrorCode/temporary`` if it cannot be reached; ``ErrorCode/storeLocked`` if this host is not
    ///   admitted, or no more; ``ErrorCode/storeUnavailable``, ``ErrorCode/storeDamaged``, ``ErrorCode/denied``.
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
    /// the process that is to refresh it. It returns `nil` without such data, and for a group that is not shared.
    func handOver(_ account: String, of group: KeychainGroup) -> JSONObject?

    /// Accepts the data that ``handOver(_:of:)`` gave in another process of this host, which need not be read
    /// again.
    ///
    /// - Throws: ``ErrorCode/internalFault`` for other data; as ``backend(of:)``.
    func resume(_ account: String, of group: KeychainGroup, with handed: JSONObject) throws(CredentialError)

    /// Refreshes a sign-in exactly once among all hosts. The caller holds the account's lock on this one.
    ///
    /// - Throws: ``ErrorCode/signInRequired``; ``ErrorCode/temporary`` while no host may refresh, or the cluster
    ///   cannot be reached; as ``check(_:)``.
    func refresh(_ job: SharedRefreshJob, in group: KeychainGroup) throws(CredentialError) -> SharedRefreshOutcome

    /// Whether a host has begun to refresh an account, and has not said how that ended; `false` in a group that is
    /// not shared.
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

    /// Restores the former content of an account's damaged record, and quarantines the damaged one. It uses the
    /// cluster's memory, else this host's last copy. This host's copy may not be the newest, so its refresh tokens
    /// are not used any more; a host that knows a later one restores it. It repairs the data beside the record,
    /// too: the host that refreshes it, and late responses. If the former values of these are not known, its
    /// refresh tokens are not used any more, either.
    ///
    /// - Returns: whether there was any data to be restored.
    /// - Throws: as ``check(_:)``.
    func restore(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool

    /// Takes over the changes of the other hosts.
    ///
    /// - Returns: whether the cluster was asked; else it was moments ago.
    /// - Throws: as ``check(_:)``.
    @discardableResult
    func catchUp(_ group: KeychainGroup, unlessWithin seconds: Int64) throws(CredentialError) -> Bool

    /// Takes over the changes of the other hosts as they happen, and records them in the event log. It returns when
    /// no caller wants it any more, or the group is shared no more; a failure is reported, and tried again.
    func follow(_ group: KeychainGroup, _ following: WatchRequest)

    /// The membership of hosts in the groups.
    var membership: any GroupMembershipService { get }
}

/// The follower of a group.
package struct WatchRequest: Sendable {
    /// Whether it is still wanted.
    package var isWanted: @Sendable () -> Bool
    /// Does work under the lock that an account has on this host, if that is free now; returns whether it was done.
    package var alone: @Sendable (String, () -> Void) -> Bool
    /// Called once with the reason when the other hosts are not seen for now, and with `nil` when all their changes
    /// are seen.
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
    /// How long an access token of a group is kept at most before the cluster is asked again; `nil` for as long as
    /// it lives.
    package func cacheSeconds(of group: KeychainGroup) -> Int64? {
        // The code that needs the group itself reports a file that cannot be read.
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
    /// The error; `nil` for success.
    package var error: CredentialError?
    /// Whether the state is not a fault yet.
    package var isEarly: Bool
    /// The account with damaged data that ``SharedGroupService/restore(_:in:)`` repairs; `nil` if no data is
    /// damaged.
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
    /// Whether the type's provider tolerates reuse of a refresh token.
    package var toleratesReuse: Bool
    /// Whether the user says that no other host is working on it any more.
    package var takesOver: Bool
    /// Whether a grant is sent of which the provider has said in other words than OAuth's that it is gone.
    package var triesDoubtful = false
    /// How long another host at work is waited for, in seconds.
    package var patience: Int
    /// For how many seconds the command has waited so far: nodes that are silent are waited for so much less.
    package var waited: Int64 = 0
    /// The command that quarantines a refresh with an unknown end.
    package var hint: LocalizedMessage
    /// Whether the present token set will do.
    package var isFresh: @Sendable (TokenSet) -> Bool
    /// Asks the provider, with the account's token set as it stood then. It runs the check directly before it
    /// sends.
    package var send: @Sendable (TokenSet, SendCheck) -> SharedRefreshAnswer
}

/// The provider's response to a refresh.
package enum SharedRefreshAnswer: Sendable {
    /// The token set with the issued tokens.
    case issued(TokenSet)
    /// The sign-in is gone.
    case refused(CredentialError)
    /// The refresh token has certainly not been used.
    case unsent(CredentialError)
    /// It is not known whether the refresh token has been used.
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
