package import CredentialCore
import StrictJSON

/// The membership of hosts in a shared group: `share`, `join`, `admit`, `expel`, `leave`.
///
/// Below `PREFIX/GROUP/`: `group` (the group's random id), `epoch` (the number of the data key, who was expelled
/// and who was given it), `hosts/NAME`, `keys/EPOCH/NAME` and `keys/EPOCH/-epoch`. Each change is a
/// compare-and-swap on the epoch.
package struct GroupMembership: Sendable {
    let cluster: any Cluster
    let cryptography: any Cryptography & KeyAgreement
    let random: any RandomSource
    let clock: any WallClock
    /// `PREFIX/GROUP/`.
    package let path: String

    static let attempts = 8
    static let keySize = 32

    package init(
        cluster: any Cluster, path: String, cryptography: any Cryptography & KeyAgreement,
        random: any RandomSource, clock: any WallClock
    ) {
        self.cluster = cluster
        self.path = path
        self.cryptography = cryptography
        self.random = random
        self.clock = clock
    }

    /// The key pair of a host in one group.
    package struct HostKey: Sendable {
        /// Stays in the host's own store.
        package var privateKey: [UInt8]
        /// Stored in the cluster.
        package var publicKey: [UInt8]

        package init(privateKey: [UInt8], publicKey: [UInt8]) {
            self.privateKey = privateKey
            self.publicKey = publicKey
        }
    }

    /// The name of the group on this host.
    var groupName: String { path.split(separator: "/").last.map(String.init) ?? "" }
    var groupKey: String { path + "group" }
    var epochKey: String { path + "epoch" }
    /// No host can be called this.
    static let passphraseName = "-passphrase"
    /// Nor this: the value of ``epochKey`` while an epoch was the newest, for hosts that were away.
    private static let recordName = "-epoch"
    func recordKey(_ epoch: Int64) -> String { dataKey(epoch, Self.recordName) }
    func hostKey(_ name: String) -> String { path + "hosts/" + name }
    func dataKey(_ epoch: Int64, _ name: String) -> String { path + "keys/\(epoch)/\(name)" }

    /// Begins a group: its id, its first data key, and this host as the first that has it.
    ///
    /// - Parameters:
    ///   - settings: the settings that its hosts agree on.
    ///   - passphrase: one that opens the data key, too.
    /// - Throws: ``ErrorCode/usage`` when there is a group under this path already.
    package func share(
        _ name: String, _ key: HostKey, settings: GroupSettings = GroupSettings(), passphrase: Secret? = nil
    ) throws(CredentialError) {
        var host = own(name, key)
        let facts = GroupFacts(settings: settings, random), secret = random.bytes(Self.keySize)
        let epoch = KeyEpoch(number: KeyEpoch.firstNumber, hosts: [host.whenGivenKey])
        var transaction = ClusterTransaction()
        transaction.conditions = [groupKey: 0, epochKey: 0]
        let wrap = wrap(facts.id)
        host.admission = try wrap.admission(of: host, key: secret, epoch: epoch.number)
        transaction.changes = [
            .put(groupKey, try facts.encoded(agreeing: settings, wrap, key: secret, epoch: epoch.number)),
            .put(epochKey, epoch.encoded), .put(recordKey(epoch.number), epoch.encoded),
            .put(hostKey(name), host.encoded),
            try give(try wrap.dataKey(secret, of: epoch), to: host, by: key, facts.id),
        ]
        if let passphrase {
            transaction.changes.append(
                .put(
                    dataKey(epoch.number, Self.passphraseName),
                    try wrap.wrap(secret, by: passphrase, epoch: epoch.number)))
        }
        if try cluster.commit(transaction) { return }
        throw CredentialError(
            .usage, "there is a shared group at \(path) already",
            hint: "join this host to the group: credmgr groups join --help")
    }

    /// Has a group that this host alone belongs to be as it is asked for now: the result of the first try, which
    /// may have asked for something else, is unknown.
    ///
    /// - Throws: as ``facts()``; ``ErrorCode/storeLocked``; ``ErrorCode/temporary``.
    func shareAgain(
        _ name: String, _ key: HostKey, settings: GroupSettings, passphrase: Secret?
    ) throws(CredentialError) {
        let id = try groupID()
        try change(known: settings) { (epoch) throws(CredentialError) in
            try open(epoch.number, id, (name, key))
        } _: {
            $0 = settings
        }
        for _ in 0..<Self.attempts {
            guard let epochRecord = try cluster.read([epochKey])[0] else { break }
            let epoch = try Self.epoch(epochRecord)
            let place = dataKey(epoch, Self.passphraseName)
            var transaction = ClusterTransaction()
            // A host that comes in by the other passphrase meanwhile writes the epoch again.
            transaction.expect(epochRecord, at: epochKey)
            transaction.changes = [.remove(place)]
            if let passphrase {
                let secret = try open(epoch, id, (name, key))
                transaction.changes = [.put(place, try wrap(id).wrap(secret, by: passphrase, epoch: epoch))]
            }
            if try cluster.commit(transaction) { return }
        }
        throw busy
    }

    /// Asks to be let in.
    ///
    /// - Throws: ``ErrorCode/usage`` when another host has this name, or there is no group.
    package func join(_ name: String, _ key: HostKey) throws(CredentialError) -> GroupHost {
        let host = own(name, key)
        _ = try groupID()
        var transaction = ClusterTransaction()
        transaction.conditions = [hostKey(name): 0]
        transaction.changes = [.put(hostKey(name), host.encoded)]
        if try cluster.commit(transaction) { return host }
        guard let record = try cluster.read([hostKey(name)])[0] else { return try join(name, key) }
        let standing = try GroupHost(record)
        if standing.publicKey == key.publicKey { return standing }
        throw isTaken(name)
    }

    /// This host as it asks.
    private func own(_ name: String, _ key: HostKey) -> GroupHost {
        var host = GroupHost(name: name, publicKey: key.publicKey, joinedAt: clock.now)
        host.user = ownUser(of: host)
        return host
    }

    /// The user that the cluster takes this host for, in the form of a host's record.
    func ownUser(of host: GroupHost) -> String? { host.user(called: cluster.ownCertificate?.commonName) }

    private func isTaken(_ name: String) -> CredentialError {
        CredentialError(
            .usage, "another host of the group is called \(name)", hint: "choose another host name with --name")
    }

    /// Lets this host in by the group's passphrase.
    ///
    /// - Parameter fingerprint: that the group must have.
    /// - Throws: as ``join(_:_:)``; ``ErrorCode/denied`` for another passphrase, ``ErrorCode/unsupported`` if the
    ///   group has no passphrase.
    package func join(
        _ name: String, _ key: HostKey, passphrase: Secret, expecting fingerprint: String? = nil
    ) throws(CredentialError) -> GroupHost {
        for _ in 0..<Self.attempts {
            let id = try groupID()
            let found = try cluster.read([hostKey(name), epochKey])
            guard let epochRecord = found[1] else { continue }
            // It is put with the key and not before, so no record is left of a host that does not know the
            // passphrase.
            var host = own(name, key)
            if let record = found[0] { host = try GroupHost(record) }
            guard host.publicKey == key.publicKey else { throw isTaken(name) }
            let newest = try KeyEpoch(epochRecord), epoch = newest.number
            if newest.admits(host), try cluster.read([dataKey(epoch, name)])[0] != nil { return host }
            // After the epoch, which the last host writes again as it begins to leave: the key would open no
            // record.
            guard try hosts().contains(where: { $0.keepsGroup(newest, known: .none) }) else {
                throw CredentialError(
                    .temporary, "the last host of the group is leaving it",
                    hint: "try again, or share the group again: credmgr groups share --help")
            }
            guard let wrapped = try cluster.read([dataKey(epoch, Self.passphraseName)])[0] else {
                throw CredentialError(
                    .unsupported, "the group has no passphrase, or its passphrase ended when a host was removed",
                    hint: "join without a passphrase, then approve this host on a host of the group")
            }
            let secret = try wrap(id).unwrap(wrapped.value, by: passphrase, epoch: epoch)
            try wrap(id).check(secret, epoch: epoch, has: fingerprint)
            host.admission = try wrap(id).admission(of: host, key: secret, epoch: epoch)
            var transaction = ClusterTransaction()
            transaction.expect(found[0], at: hostKey(name))
            transaction.expect(epochRecord, at: epochKey)
            transaction.changes = [
                .put(hostKey(name), host.encoded),
                try give(try wrap(id).dataKey(secret, of: newest), to: host, by: key, id),
                // A host that is about to leave as the last one notices this change.
                .put(epochKey, epochRecord.value),
            ]
            if try cluster.commit(transaction) { return host }
        }
        throw busy
    }

    /// Whether the group has expelled the host that had this key.
    func hasExpelled(_ publicKey: [UInt8]) throws(CredentialError) -> Bool {
        guard let record = try cluster.read([epochKey])[0] else { return false }
        return try KeyEpoch(record).has(RevokedHost(name: "", publicKey: publicKey))
    }

    /// The hosts of the group, by name. A host whose record is damaged does not count: it has no key that another
    /// could be wrapped for.
    package func hosts() throws(CredentialError) -> [GroupHost] { try roster().hosts }

    /// The hosts of the group, and the names whose records cannot be read.
    func roster() throws(CredentialError) -> (hosts: [GroupHost], damaged: [String]) {
        var roster: (hosts: [GroupHost], damaged: [String]) = ([], [])
        for record in try cluster.list(path + "hosts/") {
            if let host = try? GroupHost(record) {
                roster.hosts.append(host)
            } else {
                roster.damaged.append(name(of: record))
            }
        }
        return roster
    }

    func name(of record: ClusterRecord) -> String { String(record.key.dropFirst(hostKey("").count)) }

    /// The group's random id.
    ///
    /// - Throws: ``ErrorCode/configuration`` when there is no group; ``ErrorCode/storeDamaged``.
    package func groupID() throws(CredentialError) -> [UInt8] {
        guard let record = try cluster.read([groupKey])[0] else {
            throw CredentialError(
                .configuration, "there is no shared group at \(path)")
        }
        return try GroupFacts(record).id
    }

    /// Has the group's record declare that the cluster has records of the present form.
    ///
    /// - Returns: whether it said so before.
    /// - Throws: as ``groupID()``; ``ErrorCode/temporary``.
    func raiseFormat() throws(CredentialError) -> Bool {
        for _ in 0..<Self.attempts {
            let found = try cluster.read([groupKey])[0]
            guard let record = found else { break }
            let facts = try GroupFacts(record)
            if facts.format == GroupFacts.format { return true }
            var transaction = ClusterTransaction()
            transaction.expect(record, at: groupKey)
            transaction.changes = [.put(groupKey, facts.raised)]
            if try cluster.commit(transaction) { return false }
        }
        throw busy
    }

    /// Changes the settings that the hosts agree on.
    ///
    /// - Parameters:
    ///   - known: the settings as this host knows them, if no host of the group has set the ones in the record.
    ///   - key: that of an epoch.
    /// - Throws: as ``groupID()``; ``ErrorCode/temporary``; the errors of `key`.
    @discardableResult
    func change(
        known: GroupSettings, _ key: (KeyEpoch) throws(CredentialError) -> [UInt8],
        _ change: (inout GroupSettings) -> Void
    ) throws(CredentialError) -> GroupSettings {
        for _ in 0..<Self.attempts {
            let found = try cluster.read([groupKey, epochKey])
            guard let record = found[0], let epochRecord = found[1] else { break }
            let facts = try GroupFacts(record), epoch = try KeyEpoch(epochRecord), key = try key(epoch)
            let wrap = wrap(facts.id)
            var settings = try wrap.isAgreed(facts, key: key, epoch: epoch.number) ? facts.settings : known
            change(&settings)
            var transaction = ClusterTransaction()
            transaction.expect(record, at: groupKey)
            // A host that is expelled meanwhile can prove no claim by the key that is made then.
            transaction.expect(epochRecord, at: epochKey)
            transaction.changes = [
                .put(
                    groupKey,
                    try facts.encoded(agreeing: settings, wrap, key: key, epoch: epoch.number))
            ]
            if try cluster.commit(transaction) { return settings }
        }
        throw busy
    }

    /// The error of a record that the group cannot do without.
    static func damaged(_ text: LocalizedMessage, _ key: String) -> CredentialError {
        let group = key.split(separator: "/").dropLast().last.map(String.init) ?? ""
        return CredentialError(
            .storeDamaged, text,
            hint:
                "have a cluster administrator restore the record from a backup, or give up the group here: "
                + "credmgr groups leave \(group) --forget")
    }

    /// The data key of an epoch as the cluster has it for a host.
    ///
    /// - Throws: ``ErrorCode/storeLocked`` if it has no key.
    func open(
        _ epoch: Int64, _ id: [UInt8], _ own: (name: String, key: HostKey)
    ) throws(CredentialError) -> [UInt8] {
        guard let record = try cluster.read([dataKey(epoch, own.name)])[0] else {
            throw CredentialError(
                .storeLocked, "this host, \(own.name), is not approved for the group")
        }
        return try wrap(id).unwrap(record.value, own.key, host: own.name, epoch: epoch).key.bytes
    }

    /// Gives a host a data key.
    func give(
        _ key: DataKey, to host: GroupHost, by maker: HostKey, _ id: [UInt8]
    ) throws(CredentialError) -> ClusterTransaction.Change {
        .put(dataKey(key.epoch, host.name), try wrap(id).wrap(key, for: host, by: maker))
    }

    func wrap(_ id: [UInt8]) -> KeyWrap { KeyWrap(groupID: id, cryptography: cryptography, random: random) }

    static func epoch(_ record: ClusterRecord) throws(CredentialError) -> Int64 { try KeyEpoch(record).number }

    var busy: CredentialError {
        CredentialError(.temporary, "the group is being changed by other hosts", hint: "try again")
    }
}
