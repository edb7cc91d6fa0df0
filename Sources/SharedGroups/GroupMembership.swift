package import CredentialCore
import StrictJSON

/// Who belongs to a shared group: `share`, `join`, `admit`, `expel`, `leave`.
///
/// Below `PREFIX/GROUP/`: `group` (the group's random id), `epoch` (the number of the data key), `hosts/NAME` and
/// `keys/EPOCH/NAME`. Each change is a compare-and-swap on the epoch.
package struct GroupMembership: Sendable {
    let cluster: any Cluster
    let cryptography: any Cryptography & KeyAgreement
    let random: any RandomSource
    let clock: any WallClock
    /// `PREFIX/GROUP/`.
    package let path: String

    private static let attempts = 8
    private static let keySize = 32
    private static let idSize = 16

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
        /// Stands in the cluster.
        package var publicKey: [UInt8]

        package init(privateKey: [UInt8], publicKey: [UInt8]) {
            self.privateKey = privateKey
            self.publicKey = publicKey
        }
    }

    private var groupKey: String { path + "group" }
    private var epochKey: String { path + "epoch" }
    private func hostKey(_ name: String) -> String { path + "hosts/" + name }
    private func dataKey(_ epoch: Int64, _ name: String) -> String { path + "keys/\(epoch)/\(name)" }

    /// Begins a group: its id, its first data key, and this host as the first that has it.
    ///
    /// - Throws: ``ErrorCode/usage`` when there is a group under this path already.
    package func share(_ name: String, _ key: HostKey) throws(CredentialError) {
        let host = GroupHost(name: name, publicKey: key.publicKey, isAdmitted: true, joinedAt: clock.now)
        let id = random.bytes(Self.idSize)
        var transaction = ClusterTransaction()
        transaction.conditions = [groupKey: 0, epochKey: 0]
        var object = JSONObject()
        object["version"] = 1
        object["id"] = .string(Base64URL.encode(id))
        transaction.changes = [
            .put(groupKey, JSONValue.object(object).bytes()),
            .put(epochKey, Array("1".utf8)),
            .put(hostKey(name), host.encoded),
            .put(dataKey(1, name), try wrap(id).wrap(random.bytes(Self.keySize), for: host, epoch: 1)),
        ]
        if try cluster.commit(transaction) { return }
        throw CredentialError(
            .usage, "there is a shared group at \(path) already")
    }

    /// Asks to be let in.
    ///
    /// - Throws: ``ErrorCode/usage`` when another host has this name, or there is no group.
    package func join(_ name: String, _ key: HostKey) throws(CredentialError) -> GroupHost {
        let host = GroupHost(name: name, publicKey: key.publicKey, isAdmitted: false, joinedAt: clock.now)
        _ = try groupID()
        var transaction = ClusterTransaction()
        transaction.conditions = [hostKey(name): 0]
        transaction.changes = [.put(hostKey(name), host.encoded)]
        if try cluster.commit(transaction) { return host }
        guard let record = try cluster.read([hostKey(name)])[0] else { return try join(name, key) }
        let standing = try GroupHost(record)
        if standing.publicKey == key.publicKey { return standing }
        throw CredentialError(
            .usage, "another host of the group is called \(name)")
    }

    /// The hosts of the group, by name.
    package func hosts() throws(CredentialError) -> [GroupHost] {
        try cluster.list(path + "hosts/").map { (record) throws(CredentialError) in try GroupHost(record) }
    }

    /// Gives a host the group's data key.
    ///
    /// - Parameter fingerprint: what its own side shows; it must be that of the key in the cluster.
    /// - Throws: ``ErrorCode/noSuchAccount`` when no such host has asked; ``ErrorCode/denied`` when the fingerprint is
    ///   another; ``ErrorCode/storeLocked`` when this host is not admitted itself.
    package func admit(
        _ name: String, fingerprint: String, by own: (name: String, key: HostKey)
    ) throws(CredentialError) {
        for _ in 0..<Self.attempts {
            let found = try cluster.read([hostKey(name), epochKey])
            guard let record = found[0], let epochRecord = found[1] else {
                throw CredentialError(
                    .noSuchAccount, "no host called \(name) has asked to join")
            }
            var host = try GroupHost(record)
            let shown = try host.fingerprint(cryptography)
            guard ConstantTime.equal(Array(shown.utf8), Array(fingerprint.lowercased().utf8)) else {
                throw CredentialError(
                    .denied, "the key in the cluster has the fingerprint \(shown), which is not what \(name) shows")
            }
            if host.isAdmitted { return }
            let id = try groupID()
            let epoch = try Self.epoch(epochRecord)
            let key = try open(epoch, id, own)
            host.isAdmitted = true
            var transaction = ClusterTransaction()
            transaction.expect(record, at: hostKey(name))
            transaction.expect(epochRecord, at: epochKey)
            transaction.changes = [
                .put(hostKey(name), host.encoded),
                .put(dataKey(epoch, name), try wrap(id).wrap(key, for: host, epoch: epoch)),
            ]
            if try cluster.commit(transaction) { return }
        }
        throw busy
    }

    /// Makes a new data key that `name` does not get, and takes its old ones away. What is sealed under the old key stays so
    /// until it is sealed anew: see ``reseal(_:)``.
    ///
    /// - Throws: as ``admit(_:fingerprint:by:)``.
    package func expel(_ name: String, by own: (name: String, key: HostKey)) throws(CredentialError) {
        for _ in 0..<Self.attempts {
            let found = try cluster.read([hostKey(name), epochKey])
            guard let record = found[0], let epochRecord = found[1] else {
                throw CredentialError(
                    .noSuchAccount, "no host of the group is called \(name)")
            }
            let id = try groupID()
            let epoch = try Self.epoch(epochRecord)
            // Who is not admitted cannot expel.
            _ = try open(epoch, id, own)
            let key = random.bytes(Self.keySize)
            var transaction = ClusterTransaction()
            transaction.expect(record, at: hostKey(name))
            transaction.expect(epochRecord, at: epochKey)
            transaction.changes = [.remove(hostKey(name)), .put(epochKey, Array("\(epoch + 1)".utf8))]
            for known in try cluster.list(path + "hosts/") where known.key != hostKey(name) {
                let host = try GroupHost(known)
                transaction.expect(known, at: known.key)
                guard host.isAdmitted else { continue }
                transaction.changes.append(
                    .put(dataKey(epoch + 1, host.name), try wrap(id).wrap(key, for: host, epoch: epoch + 1)))
            }
            for old in try cluster.list(path + "keys/") where old.key.hasSuffix("/\(name)") {
                transaction.changes.append(.remove(old.key))
            }
            if try cluster.commit(transaction) { return }
        }
        throw busy
    }

    /// The group's random id.
    ///
    /// - Throws: ``ErrorCode/configuration`` when there is no group; ``ErrorCode/storeDamaged``.
    package func groupID() throws(CredentialError) -> [UInt8] {
        guard let record = try cluster.read([groupKey])[0] else {
            throw CredentialError(
                .configuration, "there is no shared group at \(path)")
        }
        guard let object = try? JSONValue.parse(record.value, limits: .ownFile).object, object["version"] == 1,
            let id = object["id"]?.string.flatMap(Base64URL.decode), id.count == Self.idSize
        else { throw CredentialError(.storeDamaged, "\(groupKey) of the cluster is no group of this version") }
        return id
    }

    /// The data keys that this host was given, read as they are asked for.
    package func keys(_ name: String, _ key: HostKey) throws(CredentialError) -> some GroupKeys {
        ClusterKeys(membership: self, groupID: try groupID(), name: name, key: key)
    }

    fileprivate func open(
        _ epoch: Int64, _ id: [UInt8], _ own: (name: String, key: HostKey)
    ) throws(CredentialError) -> [UInt8] {
        guard let record = try cluster.read([dataKey(epoch, own.name)])[0] else {
            throw CredentialError(
                .storeLocked, "this host, \(own.name), is not admitted to the group")
        }
        return try wrap(id).unwrap(
            record.value, privateKey: own.key.privateKey, publicKey: own.key.publicKey, host: own.name, epoch: epoch
        )
    }

    private func wrap(_ id: [UInt8]) -> KeyWrap { KeyWrap(groupID: id, cryptography: cryptography, random: random) }

    private static func epoch(_ record: ClusterRecord) throws(CredentialError) -> Int64 {
        guard let epoch = Int64(String(decoding: record.value, as: UTF8.self)), epoch > 0 else {
            throw CredentialError(.storeDamaged, "\(record.key) of the cluster is no number")
        }
        return epoch
    }

    private var busy: CredentialError {
        CredentialError(.temporary, "the group is being changed by other hosts", hint: "try again")
    }
}

/// The keys as they stand in the cluster, opened with this host's key.
private struct ClusterKeys: GroupKeys {
    let membership: GroupMembership
    let groupID: [UInt8]
    let name: String
    let key: GroupMembership.HostKey

    func key(ofEpoch epoch: Int64) throws(CredentialError) -> [UInt8] {
        try membership.open(epoch, groupID, (name, key))
    }
}
