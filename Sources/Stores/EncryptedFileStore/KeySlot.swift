import CredentialCore
import Platform

/// One wrapping of a file's data key: a holder of the slot's own secret has the data key.
struct KeySlot: Equatable {
    /// The size of an encoded slot in bytes.
    static let size = 88

    /// The kind of secret that opens the slot.
    let kind: Kind
    /// Makes the wrapping key of this slot unlike any other; 32 random bytes.
    let salt: [UInt8]
    /// The data key under the wrapping key, with its tag: 48 bytes.
    let wrapped: [UInt8]

    /// The kind of secret that opens a slot.
    enum Kind: Equatable {
        /// A passphrase.
        case passphrase(ScryptCost)
        /// The user's key file.
        case keyFile
    }

    private init(kind: Kind, salt: [UInt8], wrapped: [UInt8]) {
        self.kind = kind
        self.salt = salt
        self.wrapped = wrapped
    }

    /// Wraps a data key.
    ///
    /// - Parameter secret: the UTF-8 of the passphrase, or the content of the key file.
    /// - Throws: as the cryptography.
    init(
        wrapping key: DataKey, kind: Kind, secret: [UInt8], fileID: [UInt8], random: any RandomSource,
        _ cryptography: any Cryptography
    ) throws(CredentialError) {
        let salt = random.bytes(32)
        var wrapping = try Self.wrappingKey(kind, secret: secret, salt: salt, cryptography)
        defer { wrapping.wipe() }
        let wrapped = try cryptography.seal(
            key.bytes, key: wrapping, nonce: Self.nonce,
            authenticating: fileID + Self.prefix(kind: kind, salt: salt))
        self.init(kind: kind, salt: salt, wrapped: wrapped)
    }

    /// The data key; `nil` when the slot was not made with `secret`.
    ///
    /// - Throws: as the cryptography.
    func unwrap(
        secret: [UInt8], fileID: [UInt8], _ cryptography: any Cryptography
    ) throws(CredentialError) -> DataKey? {
        var wrapping = try Self.wrappingKey(kind, secret: secret, salt: salt, cryptography)
        defer { wrapping.wipe() }
        return try cryptography.open(
            wrapped, key: wrapping, nonce: Self.nonce,
            authenticating: fileID + Self.prefix(kind: kind, salt: salt)
        ).flatMap { DataKey($0) }
    }

    // MARK: Bytes

    /// The encoded slot.
    var bytes: [UInt8] { Self.prefix(kind: kind, salt: salt) + wrapped }

    /// Reads a slot; `nil` when this version cannot have written it.
    init?(_ bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let kind = reader.number(UInt8.self), let logarithm = reader.number(UInt8.self),
            let blockSize = reader.number(UInt16.self), let parallelism = reader.number(UInt16.self),
            reader.number(UInt16.self) == 0, let salt = reader.bytes(32), let wrapped = reader.bytes(48)
        else { return nil }
        let cost = ScryptCost(logarithm: logarithm, blockSize: blockSize, parallelism: parallelism)
        switch kind {
        case 1 where cost.isAcceptable: self.init(kind: .passphrase(cost), salt: salt, wrapped: wrapped)
        case 2 where cost == .none: self.init(kind: .keyFile, salt: salt, wrapped: wrapped)
        default: return nil
        }
    }

    private static func prefix(kind: Kind, salt: [UInt8]) -> [UInt8] {
        let (number, cost): (UInt8, ScryptCost) =
            switch kind {
            case .passphrase(let cost): (1, cost)
            case .keyFile: (2, .none)
            }
        return [number, cost.logarithm] + cost.blockSize.bigEndianBytes + cost.parallelism.bigEndianBytes + [0, 0]
            + salt
    }

    // MARK: Keys

    /// A wrapping key encrypts once, as its salt is never used again.
    private static let nonce = [UInt8](repeating: 0, count: 12)
    private static let info = "credmgr file store v1: key slot"

    private static func wrappingKey(
        _ kind: Kind, secret: [UInt8], salt: [UInt8], _ cryptography: any Cryptography
    ) throws(CredentialError) -> [UInt8] {
        guard case .passphrase(let cost) = kind else {
            return try cryptography.deriveKey(from: secret, salt: salt, info: info, length: DataKey.size)
        }
        var material = try cryptography.scrypt(
            secret, salt: salt, cost: 1 << UInt64(cost.logarithm), blockSize: UInt64(cost.blockSize),
            parallelism: UInt64(cost.parallelism), length: DataKey.size)
        defer { material.wipe() }
        return try cryptography.deriveKey(from: material, salt: salt, info: info, length: DataKey.size)
    }
}

/// The cost of guessing a passphrase: the parameters of scrypt (RFC 7914 §2).
package struct ScryptCost: Sendable, Equatable {
    /// The base-2 logarithm of N.
    package let logarithm: UInt8
    /// r: the block size.
    package let blockSize: UInt16
    /// p: the parallelism.
    package let parallelism: UInt16

    /// The cost of new slots: N = 2^17, r = 8, p = 1; 128 MiB and about a third of a second.
    package static let standard = ScryptCost(logarithm: 17, blockSize: 8, parallelism: 1)

    /// The cost in slots that need no scrypt.
    static let none = ScryptCost(logarithm: 0, blockSize: 0, parallelism: 0)

    /// Makes parameters; a slot takes only those that are ``isAcceptable``.
    package init(logarithm: UInt8, blockSize: UInt16, parallelism: UInt16) {
        self.logarithm = logarithm
        self.blockSize = blockSize
        self.parallelism = parallelism
    }

    /// Whether a file may ask for it: 8 MiB to 1 GiB of memory, so that a hostile file can neither exhaust the
    /// machine nor have the passphrase hashed cheaply.
    var isAcceptable: Bool {
        guard (10...23).contains(logarithm), (1...32).contains(blockSize), (1...4).contains(parallelism) else {
            return false
        }
        return (8 << 20...1 << 30).contains(128 * Int(blockSize) << Int(logarithm))
    }
}
