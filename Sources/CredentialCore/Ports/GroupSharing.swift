package import StrictJSON

/// The groups that are shared with other hosts through a cluster. Every other group knows nothing of it.
package protocol GroupSharing: Sendable {
    /// How a group is shared; `nil` for one of this machine alone.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``, ``ErrorCode/inputOutput``.
    func backend(of group: KeychainGroup) throws(CredentialError) -> GroupBackend?

    /// What seals token sets for the clusters.
    var vault: any TokenSetVault { get }

    /// Asks the cluster of a group, whether this host may use it now. A group that was not left to the end is used by nobody.
    ///
    /// - Throws: ``ErrorCode/temporary`` where it cannot be reached; ``ErrorCode/storeLocked`` where this host is not admitted,
    ///   or no more; ``ErrorCode/storeUnavailable``, ``ErrorCode/storeDamaged``, ``ErrorCode/denied``.
    func check(_ group: KeychainGroup) throws(CredentialError)

    /// Has the account that this process adds next to a group count only if no other host has added one since now: two first
    /// sign-ins of one person may meet. Who is second is overtaken, and looks again. The caller holds the lock of newcomers on
    /// this host, and looks who there is after this.
    ///
    /// - Parameter group: the group; of one that is not shared the lock says all.
    /// - Throws: as ``check(_:)``.
    func beginAdding(to group: KeychainGroup) throws(CredentialError)

    /// The error of this process's last try, if that was moments ago: who was refused then need not wait again.
    func recentFailure(of group: KeychainGroup) -> CredentialError?

    /// For how many seconds the nodes of clusters were waited for in vain just now, whichever group was asked for.
    var secondsLost: Int64 { get }

    /// What this process has read of an account a moment ago, sealed as it is in the cluster, for the process that is to refresh
    /// it; `nil` where it has not, and of a group that is not shared.
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

    /// Puts what an account's record held before in the place of one that is damaged, and sets that aside: by what the cluster
    /// remembers, else by what this host has seen of it. Of this nobody knows whether it was the newest, so its refresh tokens
    /// are not used any more; a host that knows a later one puts it back. So is what stands beside it mended: who refreshes it, and
    /// answers that came late. Where nobody knows what these were, its refresh tokens are not used any more, either.
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
    func follow(_ group: KeychainGroup, _ following: GroupFollowing)

    /// Who belongs to the groups.
    var membership: any GroupHosting { get }
}

/// Who follows a group.
package struct GroupFollowing: Sendable {
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

extension GroupSharing {
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

/// `share`, `join`, `admit`, `expel`, `hosts` and `leave`: who belongs to a shared group.
package protocol GroupHosting: Sendable {
    /// Begins a shared group with these accounts; from the return on the cluster has them.
    ///
    /// - Parameters:
    ///   - passphrase: one that lets further hosts in without anybody's word.
    /// - Returns: this host.
    func share(
        _ group: KeychainGroup, _ backend: GroupBackend, _ sets: [TokenSet], passphrase: Secret?
    ) throws(CredentialError) -> SharedHost

    /// Asks to be let in; with the group's passphrase this host is let in at once.
    func join(
        _ group: KeychainGroup, _ backend: GroupBackend, passphrase: Secret?
    ) throws(CredentialError) -> SharedHost

    /// Changes what the hosts agree on; `nil` leaves it as it is. The other hosts follow when they next ask the cluster.
    func change(
        _ group: KeychainGroup, cacheSeconds: Int64?, takeOverSeconds: Int64??
    ) throws(CredentialError)

    /// The hosts, by name.
    func hosts(of group: KeychainGroup) throws(CredentialError) -> [SharedHost]

    /// Gives a host that has asked the group's key.
    func admit(_ host: String, fingerprint: String, to group: KeychainGroup) throws(CredentialError)

    /// Takes a host out: a new key, and every account sealed anew under it.
    ///
    /// - Returns: the accounts that could not be sealed anew, and why.
    func expel(_ host: String, from group: KeychainGroup) throws(CredentialError) -> [(
        id: String, error: CredentialError
    )]

    /// Leaves the group; the last host takes the group itself away.
    ///
    /// - Parameters:
    ///   - agree: is given the token sets, and whether this is the last host, before anything is changed.
    ///   - take: is given the same once the group is one of this machine alone, and before the cluster forgets anything; without
    ///     what an earlier run has noted as taken.
    /// - Returns: what is to be told of it.
    @discardableResult
    func leave(
        _ group: KeychainGroup, _ agree: ([TokenSet], Bool) throws(CredentialError) -> Void,
        take: ([TokenSet], Bool) throws(CredentialError) -> Void
    ) throws(CredentialError) -> GroupDeparture

    /// Forgets the group on this host and asks no cluster: for a host that its cluster lets in no more. The others have it as one of
    /// theirs until one of them expels it.
    ///
    /// - Parameters:
    ///   - group: the group.
    ///   - drop: called once the group is one of this machine alone.
    /// - Returns: what the others call this host.
    /// - Throws: ``ErrorCode/usage`` for a group that is not shared; what `drop` throws; ``ErrorCode/inputOutput``; the errors of the
    ///   store that has this host's key. Said again, it goes on.
    func forget(
        _ group: KeychainGroup, _ drop: () throws(CredentialError) -> Void
    ) throws(CredentialError) -> String

    /// Notes that a host that leaves has taken an account along: whatever becomes of it here from then on, it is not taken again.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func noteTaken(_ account: String, of group: KeychainGroup) throws(CredentialError)

    /// What is wrong or worth knowing of a group's cluster, for `doctor`.
    func findings(of group: KeychainGroup) -> [GroupFinding]
}

/// How a host has left a group.
package struct GroupDeparture: Sendable, Hashable {
    /// What stays in the cluster though no host can open it: where this one had lost its key, and was the last.
    package var abandoned: AbandonedGroup?
    /// What the others call this host, where the cluster that answers does not know it: where the group is, this host may be one of
    /// theirs still.
    package var untold: String?

    package init(abandoned: AbandonedGroup? = nil, untold: String? = nil) {
        self.abandoned = abandoned
        self.untold = untold
    }
}

/// What is left of a group in its cluster when no host can open it any more.
package struct AbandonedGroup: Sendable, Hashable {
    /// How many accounts.
    package var accounts: Int
    /// Below which key they stand.
    package var path: String

    package init(accounts: Int, path: String) {
        self.accounts = accounts
        self.path = path
    }
}

/// How a group is shared, as this host knows it.
package struct GroupBackend: Sendable, Hashable {
    /// Where the cluster is reached, as `https://HOST:PORT`.
    package var endpoints: [String]
    /// The file of the certificate authorities that the nodes' certificates lead to.
    package var authorities: String?
    /// The certificate that this host shows, whose common name is its user in the cluster.
    package var certificate: ClientCertificate?
    /// What the keys begin with.
    package var prefix: String
    /// What this host is called.
    package var host: String
    /// How long an access token is kept before the cluster is asked again, in seconds.
    package var cacheSeconds: Int64
    /// After how many seconds a refresh is repeated that nobody knows the end of; `nil` for never.
    package var takeOverSeconds: Int64?
    /// The store of this machine that has this host's own key.
    package var keyStore: StoreKind
    /// The public half of that key; empty until there is one.
    package var publicKey: [UInt8]
    /// The group's random id; empty until the cluster has told it.
    package var groupID: [UInt8]

    /// How long access tokens are kept where nobody says.
    package static let standardCacheSeconds: Int64 = 60
    /// What keys begin with where nobody says.
    package static let standardPrefix = "/credmgr"

    /// Below which keys a group stands.
    package func path(of group: KeychainGroup) -> String { Self.path(of: group, below: prefix) }

    /// The same where nothing but the prefix is known.
    package static func path(of group: KeychainGroup, below prefix: String) -> String {
        (prefix.hasSuffix("/") ? prefix : prefix + "/") + group.name + "/"
    }

    /// The role of a group in its cluster. It gives all that is below the group's keys, so each prefix has its own; and it stands
    /// in commands, so what a shell would read otherwise is written as in an address.
    package static func role(of group: KeychainGroup, below prefix: String) -> String {
        let path = path(of: group, below: prefix)
        if path == self.path(of: group, below: standardPrefix) { return "credmgr-\(group)" }
        // No name of a group has a slash.
        return "credmgr"
            + path.dropLast().utf8.map { byte in
                let character = String(UnicodeScalar(byte))
                if byte == UInt8(ascii: "/") || Name.isValid("a" + character) { return character }
                return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }.joined()
    }

    /// Whether commands can be printed for a user of the cluster, which may be called as no host is.
    package static func isUser(_ name: String) -> Bool {
        !name.isEmpty && !name.hasPrefix("-") && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// What prints the commands that an administrator of the cluster gives this host its role with.
    ///
    /// - Parameter user: the common name of the certificate, by which the cluster knows the host.
    package func setup(of group: KeychainGroup, user: String?) -> Message {
        let user = user.flatMap { Self.isUser($0) ? $0 : nil } ?? host
        let command: Message = "credmgr groups share \(group) --print-etcd-setup --name \(ShellQuote.word(user))"
        if prefix == Self.standardPrefix { return command }
        return "\(command) --prefix \(ShellQuote.word(prefix))"
    }

    package init(
        endpoints: [String], authorities: String?, certificate: ClientCertificate?, prefix: String, host: String,
        keyStore: StoreKind
    ) {
        self.endpoints = endpoints
        self.authorities = authorities
        self.certificate = certificate
        self.prefix = prefix
        self.host = host
        cacheSeconds = Self.standardCacheSeconds
        self.keyStore = keyStore
        publicKey = []
        groupID = []
    }
}

/// A host of a shared group.
package struct SharedHost: Sendable, Hashable {
    /// What it is called.
    package var name: String
    /// What people compare.
    package var fingerprint: String
    /// Whether it has the group's key.
    package var isAdmitted: Bool
    /// When it asked.
    package var joinedAt: Instant
    /// Whether nothing but its name can be read: it is given no key, and can only be expelled.
    package var isDamaged = false
    /// As whom the cluster knows it.
    package var user: String

    /// One of which nothing but its name can be read.
    package init(damaged name: String) {
        self.init(name: name, fingerprint: "", isAdmitted: false, joinedAt: Instant(epochSeconds: 0))
        isDamaged = true
    }

    package init(name: String, fingerprint: String, isAdmitted: Bool, joinedAt: Instant) {
        self.name = name
        self.fingerprint = fingerprint
        self.isAdmitted = isAdmitted
        self.joinedAt = joinedAt
        user = name
    }
}

/// Something that was looked at.
package struct GroupFinding: Sendable {
    /// What, as a word.
    package var check: String
    /// What was found.
    package var text: Message
    /// What is wrong; `nil` where nothing is.
    package var error: CredentialError?
    /// Whether nothing is wrong yet.
    package var isEarly: Bool
    /// Of which account something is damaged that ``GroupSharing/restore(_:in:)`` mends; `nil` where nothing is.
    package var damagedAccount: String?

    package init(
        check: String, text: Message, error: CredentialError? = nil, isEarly: Bool = false,
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
    /// Whose grant is used.
    package var policy: String
    /// Whether the type's provider tolerates a refresh token that comes again.
    package var toleratesReuse: Bool
    /// Whether a person says that nobody else is at it any more.
    package var takesOver: Bool
    /// How long another host at work is waited for, in seconds.
    package var patience: Int
    /// For how many seconds the command has waited so far: nodes that are silent are waited for so much less.
    package var waited: Int64 = 0
    /// The command that puts aside what nobody knows the end of.
    package var hint: Message
    /// Whether what is there will do.
    package var isFresh: @Sendable (TokenSet) -> Bool
    /// Asks the provider, with the account's token set as it stood then.
    package var send: @Sendable (TokenSet) -> SharedRefreshAnswer
}

/// What a provider made of a refresh.
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
    /// What the user should know.
    package var warnings: [Message]

    package init(tokenSet: TokenSet, refreshed: Bool, warnings: [Message]) {
        self.tokenSet = tokenSet
        self.refreshed = refreshed
        self.warnings = warnings
    }
}

/// A machine without shared groups.
package struct NothingShared: GroupSharing, GroupHosting, TokenSetVault {
    package init() {}

    private static var error: CredentialError { CredentialError(.unsupported, "no group is shared here") }

    package var vault: any TokenSetVault { self }
    package var membership: any GroupHosting { self }
    package func backend(of group: KeychainGroup) throws(CredentialError) -> GroupBackend? { nil }
    package func check(_ group: KeychainGroup) throws(CredentialError) {}
    package func beginAdding(to group: KeychainGroup) throws(CredentialError) {}
    package func recentFailure(of group: KeychainGroup) -> CredentialError? { nil }
    package var secondsLost: Int64 { 0 }
    package func handOver(_ account: String, of group: KeychainGroup) -> JSONObject? { nil }
    package func resume(_ account: String, of group: KeychainGroup, with handed: JSONObject) {}
    package func catchUp(_ group: KeychainGroup, unlessWithin seconds: Int64) throws(CredentialError) -> Bool {
        false
    }
    package func refresh(
        _ job: SharedRefreshJob, in group: KeychainGroup
    ) throws(CredentialError) -> SharedRefreshOutcome { throw Self.error }
    package func follow(_ group: KeychainGroup, _ following: GroupFollowing) {}
    package func isUnfinished(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool { false }
    package func restore(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool { false }
    package func unsettled(in group: KeychainGroup) throws(CredentialError) -> [String] { [] }
    package func settle(_ account: String, in group: KeychainGroup) throws(CredentialError) { throw Self.error }
    package func share(
        _ group: KeychainGroup, _ backend: GroupBackend, _ sets: [TokenSet], passphrase: Secret?
    ) throws(CredentialError) -> SharedHost { throw Self.error }
    package func join(
        _ group: KeychainGroup, _ backend: GroupBackend, passphrase: Secret?
    ) throws(CredentialError) -> SharedHost { throw Self.error }
    package func change(
        _ group: KeychainGroup, cacheSeconds: Int64?, takeOverSeconds: Int64??
    ) throws(CredentialError) { throw Self.error }
    package func hosts(of group: KeychainGroup) throws(CredentialError) -> [SharedHost] { throw Self.error }
    package func admit(
        _ host: String, fingerprint: String, to group: KeychainGroup
    ) throws(CredentialError) { throw Self.error }
    package func expel(
        _ host: String, from group: KeychainGroup
    ) throws(CredentialError) -> [(id: String, error: CredentialError)] { throw Self.error }
    package func leave(
        _ group: KeychainGroup, _ agree: ([TokenSet], Bool) throws(CredentialError) -> Void,
        take: ([TokenSet], Bool) throws(CredentialError) -> Void
    ) throws(CredentialError) -> GroupDeparture { throw Self.error }
    package func forget(
        _ group: KeychainGroup, _ drop: () throws(CredentialError) -> Void
    ) throws(CredentialError) -> String { throw Self.error }
    package func noteTaken(_ account: String, of group: KeychainGroup) throws(CredentialError) { throw Self.error }
    package func findings(of group: KeychainGroup) -> [GroupFinding] { [] }

    package func seal(
        _ tokenSet: [UInt8], of account: String, generation: Int64, in group: KeychainGroup
    ) throws(CredentialError) -> SealedTokenSet { throw Self.error }
    package func open(
        _ sealed: SealedTokenSet, of account: String, in group: KeychainGroup
    ) throws(CredentialError) -> [UInt8] { throw Self.error }
    package func isOutdated(_ sealed: SealedTokenSet, in group: KeychainGroup) throws(CredentialError) -> Bool {
        false
    }
    package func forgetReplacedKeys(of group: KeychainGroup) throws(CredentialError) {}
}
