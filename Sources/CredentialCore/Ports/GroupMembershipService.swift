/// `share`, `join`, `admit`, `expel`, `hosts` and `leave`: who belongs to a shared group.
package protocol GroupMembershipService: Sendable {
    /// Begins a shared group with these accounts; from the return on the cluster has them.
    ///
    /// - Parameters:
    ///   - passphrase: one that lets further hosts in without anybody's word.
    /// - Returns: this host.
    func share(
        _ group: KeychainGroup, _ backend: ClusterConfiguration, _ sets: [TokenSet], passphrase: Secret?
    ) throws(CredentialError) -> GroupMember

    /// Asks to be let in; with the group's passphrase this host is let in at once.
    func join(
        _ group: KeychainGroup, _ backend: ClusterConfiguration, passphrase: Secret?
    ) throws(CredentialError) -> GroupMember

    /// Whether this host has asked to be let in under the name that `backend` has, and has not taken a key of the
    /// group yet.
    func waits(_ group: KeychainGroup, as backend: ClusterConfiguration) throws(CredentialError) -> Bool

    /// The fingerprint that users compare of the group itself; it changes when a host is removed.
    ///
    /// - Throws: as ``hosts(of:)``.
    func fingerprint(of group: KeychainGroup) throws(CredentialError) -> String

    /// Changes the settings that the hosts agree on; `nil` keeps a setting. The other hosts follow when they next
    /// ask the cluster.
    func change(
        _ group: KeychainGroup, cacheSeconds: Int64?, takeOverSeconds: Int64??
    ) throws(CredentialError)

    /// The hosts, by name.
    func hosts(of group: KeychainGroup) throws(CredentialError) -> [GroupMember]

    /// Gives a host that has asked the group's key.
    func admit(_ host: String, fingerprint: String, to group: KeychainGroup) throws(CredentialError)

    /// Removes a host: makes a new key, and seals every account again under it. A host that was expelled before and
    /// is in a cluster that was restored is taken out with it.
    ///
    /// - Parameter fingerprint: that of its key, if another machine may have come under its name since.
    /// - Throws: ``ErrorCode/denied`` if the host of that name has another fingerprint; ``ErrorCode/noSuchAccount``
    ///   if there is no such host.
    func expel(
        _ host: String, fingerprint: String?, from group: KeychainGroup
    ) throws(CredentialError) -> RemovalResult

    /// Seals again all data in the cluster that is not under the newest key, or is in an earlier form.
    ///
    /// - Returns: the accounts that could not be sealed, with the reasons.
    func sealAnew(_ group: KeychainGroup) throws(CredentialError) -> [(id: String, error: CredentialError)]

    /// Leaves the group; the last host takes the group itself away.
    ///
    /// - Parameters:
    ///   - agree: is given the token sets, and whether this is the last host, before anything is changed.
    ///   - take: is given the same once the group is one of this machine alone, and before the cluster forgets any
    ///     of it; without the accounts that an earlier run has noted as taken.
    /// - Returns: the messages to report.
    @discardableResult
    func leave(
        _ group: KeychainGroup, _ agree: ([TokenSet], Bool) throws(CredentialError) -> Void,
        take: ([TokenSet], Bool) throws(CredentialError) -> Void
    ) throws(CredentialError) -> LeaveResult

    /// Forgets the group on this host and asks no cluster: for a host that its cluster lets in no more. The others
    /// have it as one of theirs until one of them expels it.
    ///
    /// - Parameters:
    ///   - group: the group.
    ///   - drop: called once the group is one of this machine alone.
    /// - Returns: the name by which the others know this host.
    /// - Throws: ``ErrorCode/usage`` for a group that is not shared; the errors of `drop`;
    ///   ``ErrorCode/inputOutput``; the errors of the store that has this host's key. Said again, it goes on.
    func forget(
        _ group: KeychainGroup, _ drop: () throws(CredentialError) -> Void
    ) throws(CredentialError) -> String

    /// Notes that a host that leaves has taken an account along: it is not taken again, even if it changes here
    /// from then on.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func noteTaken(_ account: String, of group: KeychainGroup) throws(CredentialError)

    /// Returns the problems and notes about a group's cluster, for `doctor`.
    func findings(of group: KeychainGroup) -> [ClusterDiagnostic]
}

/// How a host has left a group.
package struct LeaveResult: Sendable, Hashable {
    /// The data that stays in the cluster though no host can open it: this host had lost its key, and was the last.
    package var abandoned: OrphanedGroup?
    /// The name by which the others know this host, if the cluster that answers does not know it: in the group's
    /// own cluster, this host may still be one of theirs.
    package var untold: String?

    package init(abandoned: OrphanedGroup? = nil, untold: String? = nil) {
        self.abandoned = abandoned
        self.untold = untold
    }
}

/// The remains of a group in its cluster when no host can open it any more.
package struct OrphanedGroup: Sendable, Hashable {
    /// How many accounts.
    package var accounts: Int
    /// The path below which their keys are stored.
    package var path: String

    package init(accounts: Int, path: String) {
        self.accounts = accounts
        self.path = path
    }
}

/// The result of an expel.
package struct RemovalResult: Sendable {
    /// A host that was taken out.
    package struct Host: Sendable, Hashable {
        /// The name that it had.
        package var name: String
        /// The user as which the cluster knew it; `nil` if no trusted source names the user.
        package var user: String?
        /// Another host that the cluster knows as the same, and that belongs to the group.
        package var sharesUserWith: String?

        package init(name: String, user: String?, sharesUserWith: String? = nil) {
            self.name = name
            self.user = user
            self.sharesUserWith = sharesUserWith
        }
    }

    /// The hosts that were taken out: the named host first, then those that had been expelled before, and were in
    /// the cluster again.
    package var hosts: [Host]
    /// Why some data that was encrypted for them stays in the cluster; it opens no new data.
    package var staleKeyringCopy: CredentialError?
    /// The accounts that could not be sealed again, and why.
    package var unsealed: [(id: String, error: CredentialError)] = []
    /// Why it is not known which are not: the cluster could not be asked any more.
    package var interruption: CredentialError?

    package init(hosts: [Host], staleKeyringCopy: CredentialError? = nil) {
        self.hosts = hosts
        self.staleKeyringCopy = staleKeyringCopy
    }
}

/// A host of a shared group.
package struct GroupMember: Sendable, Hashable {
    /// The name.
    package var name: String
    /// The fingerprint that users compare.
    package var fingerprint: String
    /// Whether it has the group's key.
    package var isAdmitted: Bool
    /// When it asked.
    package var joinedAt: Timestamp
    /// Whether only its name can be read: it is given no key, and can only be removed.
    package var isDamaged = false
    /// The name under which the cluster knows it.
    package var user: String
    /// The fingerprint of the group, if this is this host, and it has just been let in.
    package var groupFingerprint: String?

    /// A host of which only the name can be read.
    package init(damaged name: String) {
        self.init(name: name, fingerprint: "", isAdmitted: false, joinedAt: Timestamp(epochSeconds: 0))
        isDamaged = true
    }

    package init(name: String, fingerprint: String, isAdmitted: Bool, joinedAt: Timestamp) {
        self.name = name
        self.fingerprint = fingerprint
        self.isAdmitted = isAdmitted
        self.joinedAt = joinedAt
        user = name
    }
}
