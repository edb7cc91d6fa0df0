import CredentialCore
import StrictJSON

/// A data key of a group as it is given to a host.
struct DataKey: Sendable {
    /// The number of its epoch.
    let epoch: Int64
    /// 32 bytes.
    let bytes: [UInt8]
    /// The SHA-256 of the epoch's record as it was in the cluster: another one under the same number does not
    /// count.
    let recordDigest: [UInt8]
    /// That its maker had earlier keys, by their epochs' numbers; the output of ``KeyWrap/link(to:from:)``.
    var links: [Int64: [UInt8]] = [:]

    /// How many earlier keys one is linked to.
    static let linked = 16
}

/// The data key of an epoch, wrapped for one host by another: two agreements with the host's X25519 key, of a new
/// key and of the maker's own, HKDF, and ChaCha20-Poly1305. Only the maker can have wrapped it, as in the
/// authenticated mode of RFC 9180 §5.1.3.
///
/// ```
/// 03  MAKER'S PUBLIC KEY (32)  EPHEMERAL PUBLIC KEY (32)  NONCE (12)  SEALED KEY
/// ```
///
/// The group's id, the epoch and the host's name are authenticated, so that a key cannot be put under another's
/// name.
struct KeyWrap: Sendable {
    let cryptography: any Cryptography & KeyAgreement
    let random: any RandomSource
    let groupID: [UInt8]

    private static let version: UInt8 = 3
    private static let publicSize = 32
    private static let nonceSize = 12

    init(
        groupID: [UInt8], cryptography: any Cryptography & KeyAgreement, random: any RandomSource
    ) {
        self.groupID = groupID
        self.cryptography = cryptography
        self.random = random
    }

    /// The key of an epoch, to be given to hosts.
    ///
    /// - Parameter former: earlier keys that the maker has; the newest of them are linked to.
    /// - Throws: ``ErrorCode/internalFault``.
    func dataKey(
        _ bytes: [UInt8], of epoch: KeyEpoch, former: [Int64: DataKey] = [:]
    ) throws(CredentialError) -> DataKey {
        var key = DataKey(
            epoch: epoch.number, bytes: bytes, recordDigest: try cryptography.sha256(epoch.encoded))
        let earlier = former.values.filter { $0.epoch != epoch.number }.sorted { $0.epoch < $1.epoch }
        for one in earlier.suffix(DataKey.linked) { key.links[one.epoch] = try link(to: key, from: one) }
        return key
    }

    /// That who has made a key had an earlier one, with the record that its maker had vouched for.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func link(to key: DataKey, from earlier: DataKey) throws(CredentialError) -> [UInt8] {
        let digest = try cryptography.sha256(key.bytes + key.recordDigest + earlier.recordDigest)
        return try cryptography.deriveKey(
            from: earlier.bytes, salt: groupID, info: "credmgr link 1/\(key.epoch)/\(Base64URL.encode(digest))",
            length: 32)
    }

    /// Whether a key is linked to an earlier one.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func isLinked(_ key: DataKey, from earlier: DataKey) throws(CredentialError) -> Bool {
        guard let proof = key.links[earlier.epoch] else { return false }
        return ConstantTime.equal(proof, try link(to: key, from: earlier))
    }

    /// Wraps a data key for a host.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` when the host's key is not valid.
    func wrap(
        _ key: DataKey, for host: GroupHost, by maker: GroupMembership.HostKey
    ) throws(CredentialError) -> [UInt8] {
        let ephemeral = try cryptography.makeAgreementKey()
        let secret =
            try cryptography.agree(privateKey: ephemeral.privateKey, publicKey: host.publicKey)
            + cryptography.agree(privateKey: maker.privateKey, publicKey: host.publicKey)
        let head = maker.publicKey + ephemeral.publicKey, nonce = random.bytes(Self.nonceSize)
        let sealed = try cryptography.seal(
            key.encoded, key: try wrappingKey(secret, head + host.publicKey), nonce: nonce,
            authenticating: context(host.name, key.epoch))
        return [Self.version] + head + nonce + sealed
    }

    /// Opens a key wrapped for this host, and names the key of its maker.
    ///
    /// - Throws: ``ErrorCode/storeLocked`` when it was wrapped for another, or was changed.
    func unwrap(
        _ wrapped: [UInt8], _ own: GroupMembership.HostKey, host: String, epoch: Int64
    ) throws(CredentialError) -> (key: DataKey, maker: [UInt8]) {
        let middle = 1 + Self.publicSize, head = middle + Self.publicSize
        guard wrapped.count > head + Self.nonceSize, wrapped[0] == Self.version else { throw Self.notOurs }
        let maker = Array(wrapped[1..<middle])
        let secret =
            try cryptography.agree(privateKey: own.privateKey, publicKey: Array(wrapped[middle..<head]))
            + cryptography.agree(privateKey: own.privateKey, publicKey: maker)
        let content = try cryptography.open(
            Array(wrapped[(head + Self.nonceSize)...]),
            key: try wrappingKey(secret, Array(wrapped[1..<head]) + own.publicKey),
            nonce: Array(wrapped[head..<head + Self.nonceSize]), authenticating: context(host, epoch))
        guard let key = content.flatMap({ DataKey(decoding: $0, epoch: epoch) }) else { throw Self.notOurs }
        return (key, maker)
    }

    /// The fingerprint that people compare of the group itself: 16 bytes that HKDF makes of the data key of an
    /// epoch, in groups of four digits. Only holders of the data key can compute it, and it does not reveal the
    /// key. An expelled host knows the fingerprints of older keys only.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func fingerprint(of key: [UInt8], epoch: Int64) throws(CredentialError) -> String {
        GroupHost.shown(
            try cryptography.deriveKey(
                from: key, salt: groupID, info: "credmgr group fingerprint 1/\(epoch)", length: 16))
    }

    /// Checks the fingerprint of the first key that this host is given.
    ///
    /// - Throws: ``ErrorCode/denied`` if it is not the one that is expected.
    func check(_ key: [UInt8], epoch: Int64, has expected: String?) throws(CredentialError) {
        guard let expected else { return }
        let shown = try fingerprint(of: key, epoch: epoch)
        guard !ConstantTime.equal(shown, expected) else { return }
        throw CredentialError(
            .denied,
            "the key in the cluster has the group fingerprint \(shown), but 'groups join' expected \(expected)",
            hint:
                "pass the fingerprint that a host of the group shows now: credmgr groups join --help"
        )
    }

    /// The proof that a host was let in by one who has the data key of an epoch: HKDF of that key over the group,
    /// the epoch, and the host's name, key and user.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func admission(
        of host: GroupHost, key: [UInt8], epoch: Int64
    ) throws(CredentialError) -> KeyEndorsement {
        try proof(
            "credmgr admission 1/\(epoch)/\(Base64URL.encode(host.publicKey))/\(host.name)/\(host.shownUser)",
            key, epoch)
    }

    /// Whether a host was let in, and does not only claim so.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func isAdmitted(_ host: GroupHost, key: [UInt8], epoch: Int64) throws(CredentialError) -> Bool {
        guard let admission = host.admission else { return false }
        return Self.isSame(admission, try self.admission(of: host, key: key, epoch: epoch))
    }

    /// The proof that a holder of an epoch's data key has set the agreed settings.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func agreement(
        on settings: GroupSettings, key: [UInt8], epoch: Int64
    ) throws(CredentialError) -> KeyEndorsement {
        let takeOver = settings.takeOverSeconds.map(String.init) ?? "never"
        return try proof("credmgr settings 1/\(epoch)/\(settings.cacheSeconds)/\(takeOver)", key, epoch)
    }

    /// Whether a holder of an epoch's data key has set the content of the group's record.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func isAgreed(_ facts: GroupFacts, key: [UInt8], epoch: Int64) throws(CredentialError) -> Bool {
        guard let agreement = facts.agreement else { return false }
        return Self.isSame(agreement, try self.agreement(on: facts.settings, key: key, epoch: epoch))
    }

    private func proof(_ info: String, _ key: [UInt8], _ epoch: Int64) throws(CredentialError) -> KeyEndorsement {
        KeyEndorsement(
            epoch: epoch, proof: try cryptography.deriveKey(from: key, salt: groupID, info: info, length: 32))
    }

    private static func isSame(_ one: KeyEndorsement, _ other: KeyEndorsement) -> Bool {
        one.epoch == other.epoch && ConstantTime.equal(one.proof, other.proof)
    }

    /// Wraps a data key by a passphrase:
    ///
    /// ```
    /// 02  SALT (16)  NONCE (12)  SEALED KEY AND TAG (48)
    /// ```
    func wrap(_ key: [UInt8], by passphrase: Secret, epoch: Int64) throws(CredentialError) -> [UInt8] {
        let salt = random.bytes(Self.saltSize)
        let nonce = random.bytes(Self.nonceSize)
        let sealed = try cryptography.seal(
            key, key: try stretched(passphrase, salt), nonce: nonce, authenticating: context("", epoch))
        return [Self.passphraseVersion] + salt + nonce + sealed
    }

    /// Opens the output of ``wrap(_:by:epoch:)``.
    ///
    /// - Throws: ``ErrorCode/denied`` for another passphrase.
    func unwrap(
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

    private func wrappingKey(_ secret: [UInt8], _ keys: [UInt8]) throws(CredentialError) -> [UInt8] {
        try cryptography.deriveKey(from: secret, salt: keys, info: "credmgr group key 3", length: 32)
    }

    private func context(_ host: String, _ epoch: Int64) -> [UInt8] {
        groupID + Array("\(epoch)/\(host)".utf8)
    }

    private static var notOurs: CredentialError {
        CredentialError(.storeLocked, "the group's key in the cluster is not encrypted for this host")
    }
}

extension DataKey {
    fileprivate var encoded: [UInt8] {
        var object = JSONObject()
        object["key"] = .string(Base64URL.encode(bytes))
        object["record"] = .string(Base64URL.encode(recordDigest))
        object["links"] = .array(
            links.sorted { $0.key < $1.key }.map { number, proof in
                .array([.integer(number), .string(Base64URL.encode(proof))])
            })
        return JSONValue.object(object).bytes()
    }

    fileprivate init?(decoding content: [UInt8], epoch: Int64) {
        guard let object = try? JSONValue.parse(content, limits: .ownFile).object,
            let bytes = object["key"]?.string.flatMap(Base64URL.decode), bytes.count == 32,
            let digest = object["record"]?.string.flatMap(Base64URL.decode), let links = object["links"]?.array,
            links.count <= Self.linked
        else { return nil }
        self.init(epoch: epoch, bytes: bytes, recordDigest: digest)
        for link in links {
            guard let parts = link.array, parts.count == 2, let number = parts[0].integer,
                let proof = parts[1].string.flatMap(Base64URL.decode)
            else { return nil }
            self.links[number] = proof
        }
    }
}
