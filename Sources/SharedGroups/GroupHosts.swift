package import CredentialCore
import StrictJSON

/// A host of a shared group.
package struct GroupHost: Sendable, Hashable {
    /// What it is called: its host name, unless another was chosen.
    package var name: String
    /// Its X25519 key, made when it joined; the other half stays in the host's own store.
    package var publicKey: [UInt8]
    /// What shows that it was given the group's data key; `nil` for one that waits.
    var admission: Admission?
    /// When it asked, by its own clock.
    package var joinedAt: Instant
    /// Whether it is about to leave, and how.
    var leaves: Leaving?
    /// Whom the cluster takes it for, by the common name of its certificate; `nil` where that is its name, or cannot be shown.
    var user: String?

    /// That whoever had the data key of an epoch has let a host in: the cluster takes any record, and nobody else can make this.
    struct Admission: Sendable, Hashable {
        /// The epoch.
        let epoch: Int64
        /// What ``KeyWrap/admission(of:key:epoch:)`` derives.
        let proof: [UInt8]
    }

    /// Whether it was given the group's data key, by what its record says: of another host only
    /// ``KeyWrap/isAdmitted(_:key:epoch:)`` tells.
    package var isAdmitted: Bool { admission != nil }

    /// How a host leaves.
    enum Leaving: String, Sendable {
        /// The group goes on without it.
        case asOneOfMany = "one"
        /// The group ends with it.
        case asTheLast = "last"
    }

    package init(name: String, publicKey: [UInt8], joinedAt: Instant) {
        self.name = name
        self.publicKey = publicKey
        self.joinedAt = joinedAt
    }

    /// What two people compare: the first 16 bytes of the key's SHA-256, in groups of four digits.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    package func fingerprint(_ cryptography: any Cryptography) throws(CredentialError) -> String {
        let digest = try cryptography.sha256(publicKey).prefix(16)
        let digits = digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] + digits[$0 + 1] }.joined(separator: "-")
    }

    /// Whether the group goes on with it: it has the key and is not leaving.
    ///
    /// - Parameter known: of whom one knows that they were expelled.
    func keepsGroup(_ known: KeyEpoch) -> Bool { isAdmitted && leaves == nil && !known.has(whenExpelled) }

    /// As whom the cluster knows it.
    var shownUser: String { user ?? name }

    /// What another than its name may be in its record: the text of a command, which anybody may have put there.
    func user(called user: String?) -> String? {
        guard let user, user != name, !user.isEmpty, !user.hasPrefix("-"), ForeignText.shown(user) == user else {
            return nil
        }
        return user
    }

    /// As it is remembered once it was expelled.
    var whenExpelled: ExpelledHost { ExpelledHost(name: name, publicKey: publicKey) }

    var encoded: [UInt8] {
        var object = JSONObject()
        object["version"] = 1
        object["name"] = .string(name)
        object["public_key"] = .string(Base64URL.encode(publicKey))
        if let admission {
            object["admitted"] = [
                "epoch": .integer(admission.epoch), "proof": .string(Base64URL.encode(admission.proof)),
            ]
        }
        object["joined_at"] = .integer(joinedAt.epochSeconds)
        object["leaves"] = (leaves?.rawValue).map(JSONValue.string)
        object["user"] = user.map(JSONValue.string)
        return JSONValue.object(object).bytes()
    }

    /// The error of a record that is none.
    static func damage(_ key: String) -> CredentialError {
        let parts = key.split(separator: "/hosts/", maxSplits: 1)
        let command = ShellQuote.line(
            [
                "credmgr", "groups", "expel", parts[0].split(separator: "/").last.map(String.init) ?? "",
                String(parts[1]),
            ])
        return CredentialError(
            .storeDamaged, "the record \(ForeignText.shown(key)) of the cluster is no host",
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
        self.init(name: name, publicKey: publicKey, joinedAt: Instant(epochSeconds: joinedAt))
        if let admitted = object["admitted"]?.object, let epoch = admitted["epoch"]?.integer,
            let proof = admitted["proof"]?.string.flatMap(Base64URL.decode)
        {
            admission = Admission(epoch: epoch, proof: proof)
        }
        leaves = object["leaves"]?.string.flatMap(Leaving.init(rawValue:))
        user = user(called: object["user"]?.string)
    }
}

/// The data key of an epoch, wrapped for one host: an X25519 key of its own, HKDF, and ChaCha20-Poly1305.
///
/// ```
/// 01  EPHEMERAL PUBLIC KEY (32)  NONCE (12)  SEALED KEY AND TAG (48)
/// ```
///
/// The group's id, the epoch and the host's name are authenticated, so that a key cannot be put under another's name.
package struct KeyWrap: Sendable {
    let cryptography: any Cryptography & KeyAgreement
    let random: any RandomSource
    let groupID: [UInt8]

    private static let version: UInt8 = 1
    private static let publicSize = 32
    private static let nonceSize = 12

    package init(
        groupID: [UInt8], cryptography: any Cryptography & KeyAgreement, random: any RandomSource
    ) {
        self.groupID = groupID
        self.cryptography = cryptography
        self.random = random
    }

    /// Wraps a data key for a host.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` when the host's key is none.
    package func wrap(_ key: [UInt8], for host: GroupHost, epoch: Int64) throws(CredentialError) -> [UInt8] {
        let ephemeral = try cryptography.makeAgreementKey()
        let secret = try cryptography.agree(privateKey: ephemeral.privateKey, publicKey: host.publicKey)
        let nonce = random.bytes(Self.nonceSize)
        let sealed = try cryptography.seal(
            key, key: try wrappingKey(secret, ephemeral.publicKey, host.publicKey), nonce: nonce,
            authenticating: context(host.name, epoch))
        return [Self.version] + ephemeral.publicKey + nonce + sealed
    }

    /// Opens what was wrapped for this host.
    ///
    /// - Throws: ``ErrorCode/storeLocked`` when it was wrapped for another, or was changed.
    package func unwrap(
        _ wrapped: [UInt8], privateKey: [UInt8], publicKey: [UInt8], host: String, epoch: Int64
    ) throws(CredentialError) -> [UInt8] {
        let head = 1 + Self.publicSize
        guard wrapped.count > head + Self.nonceSize, wrapped[0] == Self.version else { throw Self.notOurs }
        let ephemeral = Array(wrapped[1..<head])
        let secret = try cryptography.agree(privateKey: privateKey, publicKey: ephemeral)
        let key = try cryptography.open(
            Array(wrapped[(head + Self.nonceSize)...]), key: try wrappingKey(secret, ephemeral, publicKey),
            nonce: Array(wrapped[head..<head + Self.nonceSize]), authenticating: context(host, epoch))
        guard let key, key.count == 32 else { throw Self.notOurs }
        return key
    }

    /// The proof that a host was let in by one who has the data key of an epoch: HKDF of that key over the group, the epoch, and the
    /// host's name, key and user.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func admission(
        of host: GroupHost, key: [UInt8], epoch: Int64
    ) throws(CredentialError) -> GroupHost.Admission {
        GroupHost.Admission(
            epoch: epoch,
            proof: try cryptography.deriveKey(
                from: key, salt: groupID,
                info:
                    "credmgr admission 1/\(epoch)/\(Base64URL.encode(host.publicKey))/\(host.name)/\(host.shownUser)",
                length: 32))
    }

    /// Whether a host was let in, and not only says so.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func isAdmitted(_ host: GroupHost, key: [UInt8], epoch: Int64) throws(CredentialError) -> Bool {
        guard let admission = host.admission, admission.epoch == epoch else { return false }
        return ConstantTime.equal(
            admission.proof, try self.admission(of: host, key: key, epoch: epoch).proof)
    }

    /// Wraps a data key by a passphrase:
    ///
    /// ```
    /// 02  SALT (16)  NONCE (12)  SEALED KEY AND TAG (48)
    /// ```
    package func wrap(_ key: [UInt8], by passphrase: Secret, epoch: Int64) throws(CredentialError) -> [UInt8] {
        let salt = random.bytes(Self.saltSize)
        let nonce = random.bytes(Self.nonceSize)
        let sealed = try cryptography.seal(
            key, key: try stretched(passphrase, salt), nonce: nonce, authenticating: context("", epoch))
        return [Self.passphraseVersion] + salt + nonce + sealed
    }

    /// Opens what ``wrap(_:by:epoch:)`` made.
    ///
    /// - Throws: ``ErrorCode/denied`` for another passphrase.
    package func unwrap(
        _ wrapped: [UInt8], by passphrase: Secret, epoch: Int64
    ) throws(CredentialError) -> [UInt8] {
        let head = 1 + Self.saltSize
        guard wrapped.count > head + Self.nonceSize, wrapped[0] == Self.passphraseVersion,
            let key = try cryptography.open(
                Array(wrapped[(head + Self.nonceSize)...]),
                key: try stretched(passphrase, Array(wrapped[1..<head])),
                nonce: Array(wrapped[head..<head + Self.nonceSize]), authenticating: context("", epoch)),
            key.count == 32
        else { throw CredentialError(.denied, "this is not the passphrase of the group") }
        return key
    }

    /// scrypt with 128 MiB, as the encrypted file has it.
    private func stretched(_ passphrase: Secret, _ salt: [UInt8]) throws(CredentialError) -> [UInt8] {
        try cryptography.scrypt(
            Array(passphrase.reveal().utf8), salt: salt, cost: 1 << 17, blockSize: 8, parallelism: 1, length: 32)
    }

    private static let passphraseVersion: UInt8 = 2
    private static let saltSize = 16

    private func wrappingKey(
        _ secret: [UInt8], _ ephemeral: [UInt8], _ host: [UInt8]
    ) throws(CredentialError) -> [UInt8] {
        try cryptography.deriveKey(from: secret, salt: ephemeral + host, info: "credmgr group key 1", length: 32)
    }

    private func context(_ host: String, _ epoch: Int64) -> [UInt8] {
        groupID + Array("\(epoch)/\(host)".utf8)
    }

    private static var notOurs: CredentialError {
        CredentialError(.storeLocked, "the group's key in the cluster was not given to this host")
    }
}
