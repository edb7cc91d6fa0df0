import CredentialCore
import StrictJSON

/// Which data key of a group is the newest, and whom the group has expelled up to then: what stands in the cluster under `epoch`,
/// and what a host remembers of it.
///
/// Every new key is made because somebody was expelled. So a cluster that was put back is known by whom it does not name: a
/// number alone would not tell, since two hosts may count on from the same one.
struct KeyEpoch: Sendable, Hashable {
    /// The number of the data key: how many there have been, and 32 random bits, so that no two keys of a group have one number
    /// even where the cluster was put back in between.
    var number: Int64
    /// Whom the group has expelled; in the cluster the earliest first.
    private(set) var expelled: [ExpelledHost]

    private static let randomBits: Int64 = 32

    init(number: Int64, expelled: [ExpelledHost] = []) {
        self.number = number
        self.expelled = expelled
    }

    /// The first of a group.
    static let first = KeyEpoch(number: 1)

    /// The one after this and after all that `known` has, for a group without some more hosts.
    func next(expelling hosts: [ExpelledHost], known: KeyEpoch, _ random: any RandomSource) -> KeyEpoch {
        let count = (max(number, known.number) >> Self.randomBits) + 1
        let drawn = random.bytes(4).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return KeyEpoch(
            number: count << Self.randomBits | drawn,
            expelled: expelled + known.missing(in: self) + hosts.filter { !has($0) && !known.has($0) })
    }

    /// Whether the group has expelled a host.
    func has(_ host: ExpelledHost) -> Bool { expelled.contains { $0.publicKey == host.publicKey } }

    /// Whom this one names and another does not.
    func missing(in other: KeyEpoch) -> [ExpelledHost] { expelled.filter { !other.has($0) } }

    /// As it stands in the cluster.
    var encoded: [UInt8] {
        var object = JSONObject()
        object["number"] = .integer(number)
        object["expelled"] = .array(
            expelled.map { .array([.string($0.name), .string(Base64URL.encode($0.publicKey))]) })
        return JSONValue.object(object).bytes()
    }

    /// Reads a record of the cluster.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``.
    init(_ record: ClusterRecord) throws(CredentialError) {
        guard let epoch = KeyEpoch(content: record.value) else {
            throw GroupMembership.damaged("\(record.key) of the cluster names no key of the group", record.key)
        }
        self = epoch
    }

    /// Reads what ``encoded`` gives; `nil` where it is none.
    init?(content: [UInt8]) {
        guard let object = try? JSONValue.parse(content, limits: .ownFile).object,
            let number = object["number"]?.integer, number > 0, let expelled = object["expelled"]?.array
        else { return nil }
        self.init(number: number)
        for value in expelled {
            guard let parts = value.array, parts.count == 2, let name = parts[0].string,
                let key = parts[1].string.flatMap(Base64URL.decode)
            else { return nil }
            self.expelled.append(ExpelledHost(name: name, publicKey: key))
        }
    }
}

/// A host that does not belong to a group any more. Another machine may come under its name, with another key.
struct ExpelledHost: Sendable, Hashable {
    /// What it was called.
    let name: String
    /// Its key, which is given nothing more.
    let publicKey: [UInt8]
}

// What this host remembers, whatever becomes of the cluster.
extension GroupLink {
    /// Before the key of an expelled host: each has a file of its own, since several processes of this host may learn of several at
    /// once.
    private static let expelledPrefix = "expelled-"

    /// What this host knows of the newest key and of who was expelled. Another process of it may have learned more meanwhile, so
    /// it is read each time.
    func remembered() throws(CredentialError) -> KeyEpoch {
        var known = KeyEpoch(number: 0)
        for name in try parts.files.names(of: group) where name.hasPrefix(Self.expelledPrefix) {
            // One that is damaged is written again when the cluster names that host.
            guard let one = try parts.files.read(name, of: group).flatMap(KeyEpoch.init(content:)) else { continue }
            known = KeyEpoch(
                number: max(known.number, one.number), expelled: known.expelled + one.missing(in: known))
        }
        return known
    }

    /// Whom this host knows to be expelled and the cluster does not name; what that names is remembered from now on.
    func forgotten(by epoch: KeyEpoch) throws(CredentialError) -> [ExpelledHost] {
        let known = try remembered()
        for host in epoch.missing(in: known) {
            let note = KeyEpoch(number: epoch.number, expelled: [host])
            try parts.files.write(
                note.encoded, to: Self.expelledPrefix + Base64URL.encode(host.publicKey), of: group)
        }
        return known.missing(in: epoch)
    }

    /// Whom this host knows to be expelled, with those whom the cluster names now.
    func known(_ epoch: KeyEpoch) throws(CredentialError) -> KeyEpoch {
        _ = try forgotten(by: epoch)
        return try remembered()
    }

    func check(_ epoch: KeyEpoch) throws(CredentialError) {
        let forgotten = try forgotten(by: epoch)
        guard let first = forgotten.first else { return }
        let names = forgotten.map { ForeignText.shown($0.name, limit: 80) }.joined(separator: ", ")
        throw CredentialError(
            .storeUnavailable,
            "the cluster of the group \(group) was put back to a time before \(names) was expelled, so nothing is written that "
                + "could be read there",
            hint: "credmgr groups expel \(group) \(first.name)")
    }
}
