import CredentialCore
import StrictJSON

/// Which data key of a group is the newest, and which hosts the group has expelled up to then: the value of `epoch`
/// in the cluster, and a host's memory of it.
///
/// Every new key is made because a host was expelled, and names one host more. So a restored cluster is recognized
/// by the hosts that it does not name: a number alone would not show it, since two hosts may count on from the same
/// one.
struct KeyEpoch: Sendable, Hashable {
    /// The number of the data key: how many there have been, and 32 random bits, so that no two keys of a group
    /// have one number even if the cluster was restored in between.
    let number: Int64
    /// The hosts that the group has expelled; in the cluster the earliest first.
    let expelled: [RevokedHost]
    /// The hosts that were given the key when it was made. A host that comes later has a proof in its own record.
    let hosts: [Host]
    /// As stored in the cluster, byte by byte.
    let encoded: [UInt8]

    /// A host that was given the key of an epoch.
    struct Host: Sendable, Hashable {
        /// The name of the host.
        let name: String
        /// Its key.
        let publicKey: [UInt8]
        /// The user that the cluster takes the host for.
        let user: String
    }

    private static let randomBits: Int64 = 32
    private static let countLimit: Int64 = 1 << 29

    init(number: Int64, expelled: [RevokedHost] = [], hosts: [Host] = []) {
        self.number = number
        self.expelled = expelled
        self.hosts = hosts
        var object = JSONObject()
        object["number"] = .integer(number)
        object["expelled"] = .array(
            expelled.map { host in
                let user = host.user.map { [JSONValue.string($0)] } ?? []
                return .array([.string(host.name), .string(Base64URL.encode(host.publicKey))] + user)
            })
        object["hosts"] = .array(
            hosts.map { .array([.string($0.name), .string(Base64URL.encode($0.publicKey)), .string($0.user)]) })
        encoded = JSONValue.object(object).bytes()
    }

    /// The number of the first of a group.
    static let firstNumber: Int64 = 1

    /// No epoch: the memory of a host that has not seen one yet.
    static let none = KeyEpoch(number: 0)

    /// The one after this and after all that `known` has, for a group without some more hosts.
    ///
    /// - Parameters:
    ///   - name: who is expelled now. The host has written the key in its record itself. If that key belongs only
    ///     to hosts that are expelled already, or to a host that stays, a key of no host takes its place.
    ///   - hosts: who is given the key.
    ///   - user: the cluster's user for a host that was expelled. The name in the cluster may come from any client.
    func next(
        expelling name: String, _ gone: [RevokedHost], known: KeyEpoch, hosts: [Host], _ random: any RandomSource,
        user: (RevokedHost) throws(CredentialError) -> String? = { _ in nil }
    ) throws(CredentialError) -> KeyEpoch {
        // If the cluster has a number that no host has counted up to, the count begins again.
        let count = (max(number, known.number) >> Self.randomBits) % Self.countLimit + 1
        let drawn = random.bytes(4).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        var added = gone.filter { host in
            !has(host) && !known.has(host) && !hosts.contains { $0.publicKey == host.publicKey }
        }
        if added.isEmpty { added = [RevokedHost(name: name, publicKey: random.bytes(32))] }
        var all = expelled + known.missing(in: self) + added
        for place in all.indices { all[place].user = try user(all[place]) }
        return KeyEpoch(number: count << Self.randomBits | drawn, expelled: all, hosts: hosts)
    }

    /// Whether the group has expelled a host.
    func has(_ host: RevokedHost) -> Bool { expelled.contains { $0.publicKey == host.publicKey } }

    /// The expelled hosts that this epoch names and another does not.
    func missing(in other: KeyEpoch) -> [RevokedHost] { expelled.filter { !other.has($0) } }

    /// Whether a host was given the key when it was made.
    func gaveKey(to host: GroupHost) -> Bool { hosts.contains(host.whenGivenKey) }

    /// Whether a host has the key, by the claims of this and its own record.
    func admits(_ host: GroupHost) -> Bool { gaveKey(to: host) || host.admission?.epoch == number }

    /// Reads a record of the cluster.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``.
    init(_ record: ClusterRecord) throws(CredentialError) {
        guard let epoch = KeyEpoch(content: record.value) else {
            throw GroupMembership.damaged("\(record.key) of the cluster names no key of the group", record.key)
        }
        self = epoch
    }

    /// Reads the output of ``encoded``; `nil` for any other content.
    init?(content: [UInt8]) {
        guard let object = try? JSONValue.parse(content, limits: .ownFile).object,
            let number = object["number"]?.integer, number > 0,
            let expelled = object["expelled"]?.array,
            let hosts = object["hosts"]?.array
        else { return nil }
        var gone: [RevokedHost] = [], given: [Host] = []
        for value in expelled {
            guard let parts = value.array, parts.count == 2 || parts.count == 3, let name = parts[0].string,
                let key = parts[1].string.flatMap(Base64URL.decode)
            else { return nil }
            gone.append(RevokedHost(name: name, publicKey: key, user: parts.count == 3 ? parts[2].string : nil))
        }
        for value in hosts {
            guard let parts = value.array, parts.count == 3, let name = parts[0].string,
                let key = parts[1].string.flatMap(Base64URL.decode), let user = parts[2].string
            else { return nil }
            given.append(Host(name: name, publicKey: key, user: user))
        }
        self.number = number
        self.expelled = gone
        self.hosts = given
        encoded = content
    }
}

/// A host that does not belong to a group any more. Another machine may come under its name, with another key.
struct RevokedHost: Sendable, Hashable {
    /// The name that the host had.
    let name: String
    /// Its key, which is given no new data key.
    let publicKey: [UInt8]
    /// The cluster's user for it, by the hosts that have expelled it; `nil` if they could not see it.
    var user: String?

    /// Whether another is this one, compared by name and key alone.
    func isSame(_ other: RevokedHost) -> Bool { name == other.name && publicKey == other.publicKey }

    /// The fingerprint that users compare, as for a host of the group.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func fingerprint(_ cryptography: any Cryptography) throws(CredentialError) -> String {
        try GroupHost.fingerprint(of: publicKey, cryptography)
    }

    /// The command that takes it out, and no host that may have come under its name since.
    ///
    /// - Throws: as ``fingerprint(_:)``.
    func expelling(
        from group: KeychainGroup, _ cryptography: any Cryptography
    ) throws(CredentialError) -> String {
        ShellQuoting.line(
            ["credmgr", "groups", "expel", group.name, name, "--fingerprint", try fingerprint(cryptography)])
    }
}
