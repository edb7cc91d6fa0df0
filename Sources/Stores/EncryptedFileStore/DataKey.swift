import CredentialCore
import Platform

/// The key of a store's file: 32 bytes, overwritten with the last reference.
///
/// What the overwriting cannot reach are copies that the calls of the cryptography port make on their way.
final class DataKey: @unchecked Sendable {
    /// How many bytes a key has.
    static let size = 32
    /// The bytes; changed by `deinit` only.
    private(set) var bytes: [UInt8]

    /// Takes over key bytes; `nil` unless there are 32.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = bytes
    }

    deinit { bytes.wipe() }

    /// The value that tells, without the body, whether this is the key of the file called `fileID`.
    func check(fileID: [UInt8], _ cryptography: any Cryptography) throws(CredentialError) -> [UInt8] {
        try cryptography.deriveKey(
            from: bytes, salt: fileID, info: "credmgr file store v1: key check", length: StoreHeader.checkSize)
    }

    /// The key of one record's token set, as fresh as its salt.
    func recordKey(salt: [UInt8], _ cryptography: any Cryptography) throws(CredentialError) -> [UInt8] {
        try cryptography.deriveKey(
            from: bytes, salt: salt, info: "credmgr file store v1: record", length: Self.size)
    }

    /// The key of one body: a fresh salt makes a fresh key, so that its nonce may be zero.
    func bodyKey(salt: [UInt8], _ cryptography: any Cryptography) throws(CredentialError) -> [UInt8] {
        try cryptography.deriveKey(from: bytes, salt: salt, info: "credmgr file store v1: body", length: Self.size)
    }
}
