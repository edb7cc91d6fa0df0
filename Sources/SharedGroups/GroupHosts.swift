package import CredentialCore
import StrictJSON

/// A host of a shared group.
package struct GroupHost: Sendable, Hashable {
    /// The name of the host: its host name, unless another was chosen.
    package var name: String
    /// Its X25519 key, made when it joined; the other half stays in the host's own store.
    package var publicKey: [UInt8]
    /// The proof that the host was given the group's data key; `nil` for a waiting host.
    var admission: KeyEndorsement?
    /// When it asked, by its own clock.
    package var joinedAt: Timestamp
    /// Whether it is about to leave, and how.
    var leaves: Leaving?
    /// The user that the cluster takes the host for, by the common name of its certificate; `nil` if that is the
    /// host's name, or cannot be shown.
    var user: String?

    /// Whether it was ever given the group's data key, by its own record: for another host only
    /// ``GroupMembership/isProven(_:in:key:_:)`` decides.
    package var isAdmitted: Bool { admission != nil }

    /// How a host leaves.
    enum Leaving: String, Sendable {
        /// The group goes on without it.
        case asOneOfMany = "one"
        /// The group ends with it.
        case asTheLast = "last"
    }

    package init(name: String, publicKey: [UInt8], joinedAt: Timestamp) {
        self.name = name
        self.publicKey = publicKey
        self.joinedAt = joinedAt
    }

    /// The text that two users compare: the first 16 bytes of the key's SHA-256, in groups of four digits.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    package func fingerprint(_ cryptography: any Cryptography) throws(CredentialError) -> String {
        try Self.fingerprint(of: publicKey, cryptography)
    }

    /// The same of any key.
    static func fingerprint(
        of publicKey: [UInt8], _ cryptography: any Cryptography
    ) throws(CredentialError) -> String {
        shown(try cryptography.sha256(publicKey).prefix(16))
    }

    /// Sixteen bytes as people compare them.
    static func shown(_ digest: some Collection<UInt8>) -> String {
        let digits = digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] + digits[$0 + 1] }.joined(separator: "-")
    }

    /// Whether the group goes on with it: it has the newest key and is not leaving.
    ///
    /// - Parameter known: the hosts that are known to be expelled.
    func keepsGroup(_ newest: KeyEpoch, known: KeyEpoch) -> Bool {
        newest.admits(self) && leaves == nil && !known.has(whenExpelled)
    }

    /// The name under which the cluster knows it.
    var shownUser: String { user ?? name }

    /// The user in the host's record if it differs from the host's name: it becomes part of a command, and any
    /// client may have put it there.
    func user(called user: String?) -> String? {
        guard let user, user != name, !user.isEmpty, !user.hasPrefix("-"), UntrustedText.shown(user) == user else {
            return nil
        }
        return user
    }

    /// As it is in the epoch whose key it is given.
    var whenGivenKey: KeyEpoch.Host { KeyEpoch.Host(name: name, publicKey: publicKey, user: shownUser) }

    /// As it is remembered once it was expelled.
    var whenExpelled: RevokedHost { RevokedHost(name: name, publicKey: publicKey) }

    var encoded: [UInt8] {
        var object = JSONObject()
        object["version"] = 1
        object["name"] = .string(name)
        object["public_key"] = .string(Base64URL.encode(publicKey))
        object["admitted"] = admission?.json
        object["joined_at"] = .integer(joinedAt.epochSeconds)
        object["leaves"] = (leaves?.rawValue).map(JSONValue.string)
        object["user"] = user.map(JSONValue.string)
        return JSONValue.object(object).bytes()
    }

    /// The error of a record that is not valid.
    static func damage(_ key: String) -> CredentialError {
        let parts = key.split(separator: "/hosts/", maxSplits: 1)
        let command = ShellQuoting.line(
            [
                "credmgr", "groups", "expel", parts[0].split(separator: "/").last.map(String.init) ?? "",
                String(parts[1]),
            ])
        return CredentialError(
            .storeDamaged, "the record \(UntrustedText.shown(key)) of the cluster is not a host",
            hint: "on a host of the group: \(command)")
    }

    /// Reads a record of the cluster.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``.
    init(_ record: ClusterRecord) throws(CredentialError) {
        guard let object = try? JSONValue.parse(record.value, limits: .ownFile).object, object["version"] == 1,
            let name = object["name"]?.string, record.key.hasSuffix("/hosts/\(name)"),
            let publicKey = object["public_key"]?.string.flatMap(Base64URL.decode), publicKey.count == 32,
            let joinedAt = object["joined_at"]?.integer
        else { throw Self.damage(record.key) }
        self.init(name: name, publicKey: publicKey, joinedAt: Timestamp(epochSeconds: joinedAt))
        admission = KeyEndorsement(object["admitted"])
        leaves = object["leaves"]?.string.flatMap(Leaving.init(rawValue:))
        user = user(called: object["user"]?.string)
    }
}
