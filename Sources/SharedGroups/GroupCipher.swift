import CredentialCore

/// Seals and opens the records in the cluster, each under a key of its own that is derived from the group's data
/// key of an epoch (``SaltedSeal``).
///
/// ```
/// 02  EPOCH (8 bytes, most significant first)  SALT (32)  SEALED AND TAG
/// ```
///
/// The first form, which is read still, is ChaCha20-Poly1305 under the data key itself:
///
/// ```
/// 01  EPOCH (8)  NONCE (12)  SEALED AND TAG
/// ```
///
/// The first nine bytes, the group's id and the record's key are authenticated. So a record that is under another's
/// key, in another group, under another epoch or in another form does not open. Every value that was once written
/// stays in the log and the snapshots of every node of the cluster; only the output of this type may ever be
/// written there.
package struct GroupCipher: Sendable {
    private let groupID: [UInt8]
    let keys: any GroupKeys
    private let cryptography: any Cryptography
    private let random: any RandomSource

    private static let salted = SaltedSeal(for: "credmgr group record 2")
    private static let version: UInt8 = 2
    private static let firstVersion: UInt8 = 1
    private static let headSize = 9
    private static let nonceSize = 12

    /// Makes a seal; opens no record.
    ///
    /// - Parameters:
    ///   - groupID: the group's random id, 16 bytes; never the cluster's, which a restored cluster does not keep.
    ///   - keys: the data keys that this host was given.
    init(
        groupID: [UInt8], keys: any GroupKeys, cryptography: any Cryptography, random: any RandomSource
    ) {
        self.groupID = groupID
        self.keys = keys
        self.cryptography = cryptography
        self.random = random
    }

    /// Seals `plaintext` to be put into the cluster, for the record under `key`.
    ///
    /// - Throws: the errors of ``GroupKeys/key(ofEpoch:)`` and ``GroupKeys/raiseFormat()``.
    func seal(_ plaintext: [UInt8], at key: String, epoch: Int64) throws(CredentialError) -> [UInt8] {
        try keys.raiseFormat()
        return try sealHere(plaintext, at: key, epoch: epoch)
    }

    /// As ``seal(_:at:epoch:)``, for data that stays on this host: no message goes to the others.
    ///
    /// - Throws: the errors of ``GroupKeys/key(ofEpoch:)``.
    func sealHere(_ plaintext: [UInt8], at key: String, epoch: Int64) throws(CredentialError) -> [UInt8] {
        var head = [Self.version]
        for shift in stride(from: 56, through: 0, by: -8) {
            head.append(UInt8(truncatingIfNeeded: epoch >> Int64(shift)))
        }
        return head
            + (try Self.salted.seal(
                plaintext, key: try keys.key(ofEpoch: epoch), context: context(head, key), random, cryptography))
    }

    /// Opens a record.
    ///
    /// - Throws: ``ErrorCode/storeDamaged`` when it is not of this group, is of another key, or was changed; the
    ///   errors of ``GroupKeys/key(toOpen:)``.
    func open(_ record: ClusterRecord) throws(CredentialError) -> [UInt8] {
        let key = try keys.key(toOpen: Self.epoch(of: record))
        let context = context(Array(record.value[..<Self.headSize]), record.key)
        let rest = Array(record.value[Self.headSize...])
        let plaintext =
            Self.isOfThisForm(record)
            ? try Self.salted.open(rest, key: key, context: context, cryptography)
            : try openFirstForm(rest, key: key, context: context)
        guard let plaintext else { throw Self.damaged(record.key) }
        return plaintext
    }

    private func openFirstForm(
        _ rest: [UInt8], key: [UInt8], context: [UInt8]
    ) throws(CredentialError) -> [UInt8]? {
        guard rest.count > Self.nonceSize else { return nil }
        return try cryptography.open(
            Array(rest[Self.nonceSize...]), key: key, nonce: Array(rest[..<Self.nonceSize]), authenticating: context
        )
    }

    /// Whether a record has the form that this program writes.
    static func isOfThisForm(_ record: ClusterRecord) -> Bool { record.value.first == version }

    /// The token set that the record of an account holds.
    ///
    /// - Throws: as ``open(_:)``; the remedy is to restore its earlier content.
    func tokenSet(in record: ClusterRecord) throws(CredentialError) -> TokenSet {
        do throws(CredentialError) { return try TokenSet(decoding: try open(record)) } catch {
            guard error.code == .storeDamaged else { throw error }
            throw CredentialError(.storeDamaged, error.text, hint: "credmgr doctor --fix", details: error.details)
        }
    }

    /// The number of the key that a record is sealed under.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``.
    static func epoch(of record: ClusterRecord) throws(CredentialError) -> Int64 {
        guard record.value.count > headSize, record.value[0] == version || record.value[0] == firstVersion else {
            throw damaged(record.key)
        }
        return record.value[1..<headSize].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    }

    private func context(_ head: [UInt8], _ key: String) -> [UInt8] { head + groupID + Array(key.utf8) }

    private static func damaged(_ key: String) -> CredentialError {
        CredentialError(
            .storeDamaged, "the record \(key) of the cluster does not belong there, or was changed",
            hint: "credmgr doctor")
    }
}

extension CredentialError {
    /// Whether a data key is not there for this host, does not open, or was not made by a host of the group.
    var isOfKey: Bool { [.storeUnavailable, .storeLocked, .storeDamaged, .validationFailed].contains(code) }
}

/// The data keys of a group that this host was given, one per epoch.
protocol GroupKeys: Sendable {
    /// The key of an epoch to seal by, 32 bytes.
    ///
    /// - Throws: ``ErrorCode/storeLocked`` when this host is not admitted to the group, or no more;
    ///   ``ErrorCode/storeUnavailable`` when no host of the group has made it.
    func key(ofEpoch epoch: Int64) throws(CredentialError) -> [UInt8]

    /// The key of an epoch whose record in the cluster is this.
    ///
    /// - Throws: as ``key(ofEpoch:)``.
    func key(of epoch: KeyEpoch) throws(CredentialError) -> [UInt8]

    /// The key of an epoch, made by any host: records that a host has sealed that did not know better are not lost
    /// for that.
    ///
    /// - Throws: ``ErrorCode/storeLocked``; ``ErrorCode/storeDamaged`` if no host has it.
    func key(toOpen epoch: Int64) throws(CredentialError) -> [UInt8]

    /// Has the group's record declare that the cluster has records of the present form. A host of an earlier
    /// version would take them for damaged; so it takes no action in the group.
    ///
    /// - Throws: ``ErrorCode/temporary``; ``ErrorCode/storeUnavailable`` for a group of a newer form.
    func raiseFormat() throws(CredentialError)

    /// Checks that the cluster names every host that this host knows to be expelled. From now on, records sealed
    /// under this epoch's key are in the cluster in which the maker of that key has made it.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable`` if it does not, since it was restored: no record is written there.
    func check(_ epoch: KeyEpoch) throws(CredentialError)
}
