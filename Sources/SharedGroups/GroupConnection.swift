import CredentialCore
import StrictJSON
import Synchronization

/// This process's way to the cluster of one group: the connection, this host's key, and the data keys that it
/// opens.
final class GroupConnection: Sendable {
    let group: KeychainGroup
    let backend: ClusterConfiguration
    let cluster: any Cluster
    let parts: ClusterGroupService.Parts
    /// Whether this host goes on with leaving the group, which is all that it may do then.
    let isLeaving: Bool
    let state = Mutex(State())

    struct State {
        var hostKey: GroupMembership.HostKey?
        var dataKeys: [Int64: DataKey] = [:]
        /// The epochs that were looked up since this host was away.
        var missed: Set<Int64> = []
        /// The epochs' records as the cluster has them.
        var standing: [Int64: [UInt8]] = [:]
        /// Those of them that the makers of the keys have vouched for.
        var confirmed: [Int64: [UInt8]] = [:]
        var knownEpoch: Int64?
        var failure: (error: CredentialError, at: Int64)?
        /// The group's fingerprint by the first key, which was taken without anybody's word and is not told yet.
        var accepted: String?
        /// Whether the group's record declares that the cluster has records of the present form.
        var hasFormat = false
        /// Whether this process has raised the record's format, which is not reported yet.
        var raised = false
        /// The data keys of this host as the cluster has them, still wrapped.
        var given: [Int64: [UInt8]] = [:]
        /// Accounts as they were read.
        var seen: [String: CachedRead] = [:]
        /// The record of the newest account of the group when this process began to add one.
        var newcomers: ClusterRecord??
    }

    /// An account as it was read, and when by the clock of the machine's run, which all its processes share.
    struct CachedRead {
        var reading: AccountSnapshot
        var at: Int64
        /// Whether its content was given out already.
        var isTold = false
    }

    /// For how long a failed try counts for all who would try again, in milliseconds.
    private static let failureTime: Int64 = 10_000
    /// For how long it counts that an account was seen, in milliseconds.
    private static let seenTime: Int64 = 1_000

    init(
        _ group: KeychainGroup, _ backend: ClusterConfiguration, _ cluster: any Cluster,
        _ parts: ClusterGroupService.Parts,
        isLeaving: Bool = false
    ) {
        self.group = group
        self.backend = backend
        self.cluster = cluster
        self.parts = parts
        self.isLeaving = isLeaving
    }

    /// The fingerprint of a first key that was taken without anybody's word; it is given once.
    func takeAccepted() -> String? {
        state.withLock { state in
            defer { state.accepted = nil }
            return state.accepted
        }
    }

    /// Whether this process has raised the group's format; it is reported once.
    func takeRaised() -> Bool {
        state.withLock { state in
            defer { state.raised = false }
            return state.raised
        }
    }

    /// The group's fingerprint, by its newest key.
    ///
    /// - Throws: as ``standing(_:mayBeOlder:)``.
    func fingerprint() throws(CredentialError) -> String {
        let epoch = try KeyEpoch(try standing([], mayBeOlder: true).epoch)
        return try membership.wrap(backend.groupID).fingerprint(of: try key(of: epoch), epoch: epoch.number)
    }

    var path: String { backend.path(of: group) }

    var membership: GroupMembership {
        GroupMembership(
            cluster: cluster, path: path, cryptography: parts.cryptography, random: parts.random, clock: parts.clock
        )
    }

    var seal: GroupCipher {
        GroupCipher(groupID: backend.groupID, keys: self, cryptography: parts.cryptography, random: parts.random)
    }

    func keys(_ id: String) -> AccountKeys { AccountKeys(group: path, id: id) }

    /// The key under which a damaged record of an account is quarantined.
    func damagedPlace(_ key: String, _ id: String) -> String {
        let name = key.split(separator: "/").last ?? ""
        return "\(path)damaged/\(id)-\(name)-\(parts.clock.now.epochSeconds)"
    }

    /// The account whose set is under a key of the cluster; `nil` for any other key.
    func account(ofSet key: String) -> String? { account(of: key, "set") }

    /// The account whose intent is under a key of the cluster; `nil` for any other key.
    func account(ofIntent key: String) -> String? { account(of: key, "intent") }

    /// Whether a key below the accounts cannot belong to an account: another program has written it.
    func isForeign(_ key: String) -> Bool {
        ["set", "intent", "live", "aside"].allSatisfy { account(of: key, $0) == nil }
    }

    private func account(of key: String, _ name: String) -> String? {
        let prefix = path + "a/", suffix = "/" + name
        guard key.hasPrefix(prefix), key.hasSuffix(suffix) else { return nil }
        let id = String(key.dropFirst(prefix.count).dropLast(suffix.count))
        return Identifier.isValid(id) ? id : nil
    }

    // MARK: Reading

    /// The records of some accounts and the epoch, all of one moment; the record of this host is checked, too.
    ///
    /// - Throws: ``ErrorCode/temporary``; ``ErrorCode/storeUnavailable`` if another group is there;
    ///   ``ErrorCode/storeLocked`` if this host is not admitted to it.
    /// - Parameter mayBeOlder: whether the caller writes no account, or gives the group a new key, which a restored
    ///   cluster needs.
    func standing(
        _ ids: [String], mayBeOlder: Bool = false
    ) throws(CredentialError) -> (sets: [ClusterRecord?], epoch: ClusterRecord) {
        let sets = ids.map { keys($0).set }
        let (reading, epoch, _) = try standing(mayBeOlder) { (own) throws(CredentialError) in
            ReadResult(records: try cluster.read(own + sets))
        }
        return (reading.records, epoch)
    }

    /// All records of one account; this host is looked at, too.
    ///
    /// - Throws: as ``standing(_:mayBeOlder:)``.
    func account(_ id: String) throws(CredentialError) -> AccountSnapshot {
        let keys = AccountSnapshot.keys(keys(id))
        let (reading, epoch, host) = try standing(false) { (own) throws(CredentialError) in
            ReadResult(records: try cluster.read(own + keys))
        }
        return AccountSnapshot(reading.records, epoch: epoch, host: host)
    }

    /// The accounts' records without their content, the moment of which they are, and the number of the newest data
    /// key; this host is looked at, too.
    ///
    /// - Throws: as ``standing(_:mayBeOlder:)``.
    func listing() throws(CredentialError) -> (reading: ReadResult, epoch: Int64) {
        let (reading, epoch, _) = try standing(false) { (own) throws(CredentialError) in
            try cluster.read(own, listing: path + "a/")
        }
        return (reading, try GroupMembership.epoch(epoch))
    }

    /// Reads with the keys that show whether the group is this one, and this host in it; returns the other values
    /// read.
    private func standing(
        _ mayBeOlder: Bool, _ read: ([String]) throws(CredentialError) -> ReadResult
    ) throws(CredentialError) -> (reading: ReadResult, epoch: ClusterRecord, host: ClusterRecord?) {
        if let failure = recentFailure { throw failure }
        let membership = membership, known = try knownEpoch
        var own = [membership.groupKey, membership.epochKey, membership.hostKey(backend.host)]
        // The key is the next thing to be wanted.
        if known > 0 { own.append(membership.dataKey(known, backend.host)) }
        var reading: ReadResult
        do throws(CredentialError) { reading = try read(own) } catch {
            if error.allowsLocalCopy { note(error) }
            throw error
        }
        let found = Array(reading.records[..<own.count])
        reading.records.removeFirst(own.count)
        guard let record = found[0], let epoch = found[1],
            case let facts = try GroupFacts(record), facts.id == backend.groupID
        else {
            throw CredentialError(
                .storeUnavailable,
                "the cluster at \(backend.endpoints.joined(separator: ", ")) does not have this host's group "
                    + "\(group): it is another cluster, or the group was created again",
                hint: "before this host joins the group again: credmgr groups leave \(group) --keep")
        }
        // A restored cluster may say something else than before.
        state.withLock { $0.hasFormat = facts.format == GroupFacts.format }
        guard let host = try found[2].map({ (record) throws(CredentialError) in try GroupHost(record) }),
            host.publicKey == backend.publicKey
        else {
            throw CredentialError(
                .storeLocked, "this host, \(backend.host), does not belong to the group \(group) any more",
                hint: "before this host joins the group again: credmgr groups leave \(group)")
        }
        let newest = try KeyEpoch(epoch)
        // A host that was given a key may make a newer one, even if the newest is lost.
        guard newest.admits(host) || mayBeOlder && known > 0 else {
            let fingerprint = try host.fingerprint(parts.cryptography)
            throw CredentialError(
                .storeLocked, "this host, \(backend.host), waits for approval for the group \(group)",
                hint:
                    "on a host of the group: credmgr groups admit \(group) \(backend.host) --fingerprint \(fingerprint)"
            )
        }
        guard isLeaving || host.leaves == nil else {
            throw CredentialError(
                .storeLocked, "this host, \(backend.host), is leaving the group \(group)",
                hint: "credmgr groups leave \(group) --keep")
        }
        if known > 0, let wrapped = found[3] { state.withLock { $0.given[known] = wrapped.value } }
        if mayBeOlder {
            if try forgotten(by: newest).isEmpty { try take(facts, newest) }
        } else {
            try check(newest)
            // At once: this host's knowledge decides on later records.
            if newest.number != known { _ = try key(ofEpoch: newest.number) }
            try take(facts, newest)
        }
        return (reading, epoch, found[2])
    }

    /// Takes the settings that the hosts agree on, if one of them has set them; also if they are the initial ones,
    /// so that it knows.
    private func take(_ facts: GroupFacts, _ newest: KeyEpoch) throws(CredentialError) {
        if facts.settings == backend.settings, try settings != nil { return }
        guard try isAgreed(facts, newest) else { return }
        try facts.settings.write(to: parts.files, of: group)
    }

    /// Whether a host of the group has set the agreed settings in the record; without its newest key that cannot be
    /// decided.
    func isAgreed(_ facts: GroupFacts, _ newest: KeyEpoch) throws(CredentialError) -> Bool {
        let key: [UInt8]
        do throws(CredentialError) { key = try self.key(of: newest) } catch {
            guard error.isOfKey else { throw error }
            return false
        }
        return try membership.wrap(facts.id).isAgreed(facts, key: key, epoch: newest.number)
    }

    /// Notes which account of the group is the newest one: the next account added here comes right after it, or not
    /// at all.
    ///
    /// - Throws: as ``standing(_:mayBeOlder:)``.
    func beginNewAccount() throws(CredentialError) {
        let key = keys("").newcomers
        let (reading, _, _) = try standing(false) { (own) throws(CredentialError) in
            ReadResult(records: try cluster.read(own + [key]))
        }
        state.withLock { $0.newcomers = .some(reading.records[0]) }
    }

    /// The record that ``beginNewAccount()`` has noted; it is given once, and `nil` if no caller has begun.
    func takeNewcomers() -> ClusterRecord?? {
        state.withLock { state in
            defer { state.newcomers = nil }
            return state.newcomers
        }
    }

    /// Notes that the copy of an account is as the cluster has it; with `nil`, that it is not known to be.
    func noteSeen(_ id: String, _ reading: AccountSnapshot?) {
        let now = parts.bootClock.milliseconds
        state.withLock { $0.seen[id] = reading.map { CachedRead(reading: $0, at: now) } }
    }

    /// An account as it was seen a moment ago, to give out its content; it is given once. A command need not read
    /// an account again for its token if it has looked the account up for its choice.
    func tellSeen(_ id: String) -> AccountSnapshot? {
        let now = parts.bootClock.milliseconds
        return state.withLock { state in
            guard let seen = state.seen[id], !seen.isTold, Self.counts(seen, now) else { return nil }
            state.seen[id]?.isTold = true
            return seen.reading
        }
    }

    /// An account as it was seen a moment ago, to refresh it: who is overtaken reads again.
    func takeSeen(_ id: String) -> AccountSnapshot? {
        let now = parts.bootClock.milliseconds
        return state.withLock { $0.seen.removeValue(forKey: id) }.flatMap {
            Self.counts($0, now) ? $0.reading : nil
        }
    }

    private static func counts(_ seen: CachedRead, _ now: Int64) -> Bool { now - seen.at < seenTime }

    /// An account as it was seen a moment ago, with the data key that opens it, both sealed as they are in the
    /// cluster: for the process that is to refresh it.
    func handOver(_ id: String) -> JSONObject? {
        let now = parts.bootClock.milliseconds
        return state.withLock { state in
            guard let seen = state.seen[id], Self.counts(seen, now), let newest = state.given.keys.max(),
                let key = state.given[newest]
            else { return nil }
            var object = seen.reading.json
            object["at"] = .integer(seen.at)
            object["data_key"] = .integer(newest)
            object["wrapped"] = .string(Base64URL.encode(key))
            object["has_format"] = .bool(state.hasFormat)
            return object
        }
    }

    /// Resumes with the output that ``handOver(_:)`` has given to another process of this host.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func resume(_ id: String, with handed: JSONObject) throws(CredentialError) {
        guard let reading = AccountSnapshot(json: handed, keys(id), host: backend.host),
            let at = handed["at"]?.integer, let number = handed["data_key"]?.integer,
            let key = handed["wrapped"]?.string.flatMap(Base64URL.decode)
        else { throw CredentialError(.internalFault, "cannot read the inherited state of \(id)") }
        state.withLock { state in
            state.seen[id] = CachedRead(reading: reading, at: at)
            state.given[number] = key
            if handed["has_format"]?.bool == true { state.hasFormat = true }
        }
    }

    /// The number of the newest data key that this host was given; 0 if it was given no key.
    var knownEpoch: Int64 {
        get throws(CredentialError) {
            if let known = state.withLock({ $0.knownEpoch }) { return known }
            let known = try newestKept()
            state.withLock { $0.knownEpoch = max(known, $0.knownEpoch ?? 0) }
            return known
        }
    }

    /// Has a try count for all who would try again.
    func note(_ failure: CredentialError) {
        let now = parts.bootClock.milliseconds
        state.withLock { $0.failure = (failure, now) }
    }

    /// The error of the last try, if it was moments ago.
    var recentFailure: CredentialError? {
        let now = parts.bootClock.milliseconds
        return state.withLock { state in
            guard let failure = state.failure, now - failure.at < Self.failureTime else { return nil }
            return failure.error
        }
    }

    /// The number of the data key that is to be used now; of the last one known if the cluster cannot be asked.
    func currentEpoch() throws(CredentialError) -> Int64 {
        do throws(CredentialError) { return try GroupMembership.epoch(try standing([]).epoch) } catch {
            let known = try knownEpoch
            guard error.allowsLocalCopy, known > 0 else { throw error }
            return known
        }
    }

    // MARK: Keys

    /// This host's key pair.
    ///
    /// - Throws: the errors of the store that has it.
    func hostKey() throws(CredentialError) -> GroupMembership.HostKey {
        if let known = state.withLock({ $0.hostKey }) { return known }
        guard let key = try Self.storedKey(group, backend.keyStore, parts) else {
            throw CredentialError(
                .storeLocked,
                "the key of this host, \(backend.host), for the group \(group) is not in the "
                    + "\(backend.keyStore.shownName) any more",
                hint: "before this host joins the group again: credmgr groups leave \(group)")
        }
        state.withLock { $0.hostKey = key }
        return key
    }
}
