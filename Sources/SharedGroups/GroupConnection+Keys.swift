import CredentialCore
import Synchronization

// The data keys that this host was given, and takes.
extension GroupConnection: GroupKeys {
    /// Before the number of a data key: each has a file of its own, since several processes may be given several at
    /// once.
    static let keyPrefix = "key-"

    func key(ofEpoch epoch: Int64) throws(CredentialError) -> [UInt8] {
        var known = state.withLock { $0.dataKeys[epoch] }
        if known == nil { known = try kept(epoch).flatMap { openedKept($0, epoch) } }
        // A number never has two keys: another one that another program has written there since does not count.
        if let known { try confirm(known) }
        let key = if let known { known } else { try taken(epoch) }
        state.withLock { $0.dataKeys[epoch] = key }
        return key.bytes
    }

    func key(of epoch: KeyEpoch) throws(CredentialError) -> [UInt8] {
        noteStanding(epoch)
        return try key(ofEpoch: epoch.number)
    }

    func key(toOpen epoch: Int64) throws(CredentialError) -> [UInt8] {
        do throws(CredentialError) { return try key(ofEpoch: epoch) } catch {
            guard error.code == .storeUnavailable else { throw error }
            if let kept = try kept(epoch), let key = openedKept(kept, epoch) { return key.bytes }
            return try unwrap(try givenKey(epoch), epoch).key.bytes
        }
    }

    func raiseFormat() throws(CredentialError) {
        if state.withLock({ $0.hasFormat }) { return }
        let hadFormat = try membership.raiseFormat()
        state.withLock { state in
            state.hasFormat = true
            state.raised = state.raised || !hadFormat
        }
    }

    /// A data key that the cluster has for this host, with the record of its epoch.
    private func taken(_ epoch: Int64) throws(CredentialError) -> DataKey {
        if let failure = recentFailure { throw failure }
        let wrapped = try givenKey(epoch), record: KeyEpoch?
        // A locked store gives no answer about the key.
        _ = try hostKey()
        let key: DataKey, maker: [UInt8]
        do throws(CredentialError) { (key, maker) = try unwrap(wrapped, epoch) } catch {
            // A host of the group has given this one a key that opens; it may have been changed since, or be from
            // another program.
            guard error.isOfKey, try !givenKeys().isEmpty else { throw error }
            var told = try foreignKey()
            let command = ShellQuoting.line(["credmgr", "groups", "expel", group.name, backend.host])
            if let advice = told.advice {
                told.advice = "if other hosts use the group, on one of them: \(command); otherwise \(advice)"
            }
            throw told
        }
        if let standing = standing(epoch) { record = standing } else { record = try past(epoch) }
        guard let record, try parts.cryptography.sha256(record.encoded) == key.recordDigest else {
            throw try foreignKey()
        }
        try checkMaker(maker, of: key, record)
        let isFirst = try givenKeys().isEmpty, wrap = membership.wrap(backend.groupID)
        // Anybody who may write below the group's keys can give a new host a key of their own.
        if isFirst { try wrap.check(key.bytes, epoch: epoch, has: backend.groupFingerprint) }
        try keep(key, record, wrapped)
        if isFirst, backend.groupFingerprint == nil {
            let fingerprint = try wrap.fingerprint(of: key.bytes, epoch: epoch)
            state.withLock { $0.accepted = fingerprint }
        }
        return key
    }

    /// Keeps a key with the record of its epoch, and remembers the hosts that the record names.
    func keep(_ key: DataKey, _ record: KeyEpoch, _ wrapped: [UInt8]) throws(CredentialError) {
        _ = try known(record)
        // First the record that names the hosts that it was given to: without the key that has no meaning.
        try confirm(key)
        try keep(wrapped, key.epoch)
    }

    /// The epoch that stood in the cluster while it was the newest.
    private func past(_ epoch: Int64) throws(CredentialError) -> KeyEpoch? {
        let record = try cluster.read([membership.recordKey(epoch)])[0]
        return record.flatMap { KeyEpoch(content: $0.value) }.flatMap { $0.number == epoch ? $0 : nil }
    }

    /// The content of a kept key; a key that was wrapped for a key pair from before this host joined again no
    /// longer opens.
    private func openedKept(_ wrapped: [UInt8], _ epoch: Int64) -> DataKey? { try? unwrap(wrapped, epoch).key }

    func givenKeys() throws(CredentialError) -> [Int64: DataKey] {
        var keys: [Int64: DataKey] = [:]
        for number in try keptNumbers() { keys[number] = try kept(number).flatMap { openedKept($0, number) } }
        return keys
    }

    /// The key of an epoch that was the newest while this host was away, with the cluster's record of that time;
    /// `nil` if there is no such key. Each is looked up once: who has written them may have linked each to all.
    func missed(_ epoch: Int64) throws(CredentialError) -> (key: DataKey, epoch: KeyEpoch)? {
        guard state.withLock({ !$0.missed.contains(epoch) }) else { return nil }
        let record = try past(epoch), wrapped = try cluster.read([membership.dataKey(epoch, backend.host)])[0]
        state.withLock { _ = $0.missed.insert(epoch) }
        guard let record, let wrapped, let key = openedKept(wrapped.value, epoch) else { return nil }
        return (key, record)
    }

    // MARK: What stands in the cluster

    /// Notes the cluster's record of an epoch.
    func noteStanding(_ epoch: KeyEpoch) {
        guard epoch.number > 0 else { return }
        state.withLock { $0.standing[epoch.number] = epoch.encoded }
    }

    /// The cluster's record of an epoch, as far as this process has read it.
    func standing(_ epoch: Int64) -> KeyEpoch? {
        state.withLock { $0.standing[epoch] }.flatMap(KeyEpoch.init(content:))
    }

    /// The same, unless that was looked at already.
    func unconfirmed(_ epoch: Int64) -> [UInt8]? {
        state.withLock { $0.standing[epoch] == $0.confirmed[epoch] ? nil : $0.standing[epoch] }
    }

    /// Notes that the maker of a key has vouched for the cluster's record of its epoch.
    func noteConfirmed(_ epoch: Int64, _ content: [UInt8]) { state.withLock { $0.confirmed[epoch] = content } }

    private func unwrap(
        _ wrapped: [UInt8], _ epoch: Int64
    ) throws(CredentialError) -> (key: DataKey, maker: [UInt8]) {
        let own = try hostKey()
        do throws(CredentialError) {
            return try membership.wrap(backend.groupID).unwrap(wrapped, own, host: backend.host, epoch: epoch)
        } catch {
            throw error.withHint(
                "before this host joins again, on another host of the group: "
                    + "credmgr groups expel \(group) \(ShellQuoting.line([backend.host]))"
            )
        }
    }

    /// Whether the cluster has the data key for this host as it was given.
    ///
    /// - Throws: as ``key(ofEpoch:)``.
    func checkGivenKey(_ epoch: Int64) throws(CredentialError) { _ = try unwrap(try givenKey(epoch), epoch) }

    /// The data key of an epoch as the cluster has it for this host.
    private func givenKey(_ epoch: Int64) throws(CredentialError) -> [UInt8] {
        if let given = state.withLock({ $0.given[epoch] }) { return given }
        let key = membership.dataKey(epoch, backend.host), found: ClusterRecord?
        do throws(CredentialError) { found = try cluster.read([key])[0] } catch {
            if error.allowsLocalCopy { note(error) }
            throw error
        }
        guard let record = found else {
            guard try !cluster.listKeys(membership.dataKey(epoch, "")).isEmpty else {
                throw CredentialError(
                    .storeDamaged,
                    "no host of the group \(group) has the key \(epoch): the records with this key were changed",
                    hint: "credmgr doctor")
            }
            throw CredentialError(
                .storeLocked, "this host, \(backend.host), is not approved for the group \(group)",
                hint: "credmgr groups hosts \(group)")
        }
        return record.value
    }

    // MARK: What is kept here

    /// The newest data key that this host was given; 0 if it was given no key.
    func newestKept() throws(CredentialError) -> Int64 {
        try keptNumbers().max() ?? 0
    }

    private func keptNumbers() throws(CredentialError) -> [Int64] {
        try parts.files.names(of: group).filter { $0.hasPrefix(Self.keyPrefix) }
            .compactMap { Int64($0.dropFirst(Self.keyPrefix.count)) }
    }

    /// A data key that this host was given, as it was wrapped for it. The copies of this host open with it while
    /// the cluster cannot be reached, and if the cluster was restored.
    private func kept(_ epoch: Int64) throws(CredentialError) -> [UInt8]? {
        try parts.files.read(Self.keyPrefix + String(epoch), of: group)
    }

    private func keep(_ wrapped: [UInt8], _ epoch: Int64) throws(CredentialError) {
        guard try kept(epoch) != wrapped else { return }
        try parts.files.write(wrapped, to: Self.keyPrefix + String(epoch), of: group)
        state.withLock { $0.knownEpoch = max(epoch, $0.knownEpoch ?? 0) }
    }
}
