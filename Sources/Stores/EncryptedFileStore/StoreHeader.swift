import CredentialCore

/// The header of a store's file, format version 1; `docs/reference/file-store.md` describes it byte by byte.
struct StoreHeader: Equatable {
    /// The first bytes of every version.
    static let magic = Array("CREDMGR1".utf8)
    /// The format that this program writes.
    static let version: UInt16 = 1
    /// HKDF-SHA256 and ChaCha20-Poly1305.
    static let suite: UInt16 = 1
    /// The size of a file's id, of a key check and of the header's digest, in bytes.
    static let checkSize = 16
    /// How many slots there may be.
    static let slotCounts = 1...8

    /// The permanent identifier of this file; 16 random bytes.
    let fileID: [UInt8]
    /// How often it was written.
    var generation: UInt64
    /// Tells the right data key from a wrong one.
    let keyCheck: [UInt8]
    /// The salt of the body's key; fresh with every write.
    var bodySalt: [UInt8]
    /// The wrappings of the data key.
    var slots: [KeySlot]

    /// The encoded header with the digest at its end.
    func bytes(_ cryptography: any Cryptography) throws(CredentialError) -> [UInt8] {
        var bytes = Self.magic + Self.version.bigEndianBytes + Self.suite.bigEndianBytes
        bytes += [UInt8(truncatingIfNeeded: slots.count), 0, 0, 0]
        bytes += fileID + generation.bigEndianBytes + keyCheck + bodySalt
        for slot in slots { bytes += slot.bytes }
        return bytes + (try Self.digest(bytes, cryptography))
    }

    /// Reads the header that `file` begins with.
    ///
    /// - Parameter path: the file's path, for messages.
    /// - Returns: the header and its size in bytes.
    /// - Throws: ``ErrorCode/storeDamaged``; ``ErrorCode/unsupported`` for a format of a newer program.
    static func read(
        _ file: [UInt8], path: String, _ cryptography: any Cryptography
    ) throws(CredentialError) -> (header: StoreHeader, size: Int) {
        let (header, covered, digest) = try fields(of: file, path: path)
        // The digest finds the damage of a disk or a careless program before any key is asked for; against people
        // there is the body's tag, which covers the header, too.
        guard try ConstantTime.equal(digest, Self.digest(Array(file.prefix(covered)), cryptography))
        else { throw damaged(path, "its header was changed") }
        return (header, covered + checkSize)
    }

    /// As ``read(_:path:_:)``, without a look whether anything was changed: no library is opened for this.
    static func unchecked(_ file: [UInt8], path: String) throws(CredentialError) -> StoreHeader {
        try fields(of: file, path: path).header
    }

    /// - Returns: the header, how many bytes its digest covers, and the digest.
    private static func fields(
        of file: [UInt8], path: String
    ) throws(CredentialError) -> (header: StoreHeader, covered: Int, digest: [UInt8]) {
        var reader = ByteReader(file)
        guard reader.bytes(magic.count) == magic, let version = reader.number(UInt16.self), version > 0,
            let suite = reader.number(UInt16.self)
        else { throw damaged(path, "it does not start with the header of a store") }
        guard version == Self.version, suite == Self.suite else {
            throw CredentialError(
                .unsupported, "\(path) was written by a newer credmgr (format \(version), suite \(suite))",
                hint: "upgrade credmgr")
        }
        guard let count = reader.number(UInt8.self), slotCounts.contains(Int(count)),
            reader.bytes(3) == [0, 0, 0], let fileID = reader.bytes(checkSize),
            let generation = reader.number(UInt64.self), let keyCheck = reader.bytes(checkSize),
            let bodySalt = reader.bytes(32)
        else { throw damaged(path, "its header is not valid") }
        var encoded: [[UInt8]] = []
        for _ in 0..<count { if let bytes = reader.bytes(KeySlot.size) { encoded.append(bytes) } }
        guard let digest = reader.bytes(checkSize) else { throw damaged(path, "its header was changed") }
        let slots = encoded.compactMap { KeySlot($0) }
        guard slots.count == count else { throw damaged(path, "a key slot is not valid") }
        let header = StoreHeader(
            fileID: fileID, generation: generation, keyCheck: keyCheck, bodySalt: bodySalt, slots: slots)
        return (header, 88 + Int(count) * KeySlot.size, digest)
    }

    /// The error for a file that is not as it was written.
    static func damaged(_ path: String, _ reason: LocalizedMessage) -> CredentialError {
        CredentialError(.storeDamaged, "the store \(path) is damaged: \(reason)")
    }

    private static func digest(
        _ bytes: [UInt8], _ cryptography: any Cryptography
    ) throws(CredentialError) -> [UInt8] {
        Array(try cryptography.sha256(bytes).prefix(checkSize))
    }
}

/// Reads fields of a fixed width, numbers big-endian, from bytes; never beyond their end.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    /// Starts at the first byte.
    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// The next `count` bytes; `nil` when there are fewer.
    mutating func bytes(_ count: Int) -> [UInt8]? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// The next number; `nil` when its bytes are not all there.
    mutating func number<Number: FixedWidthInteger & UnsignedInteger>(_ type: Number.Type) -> Number? {
        bytes(type.bitWidth / 8)?.reduce(0) { ($0 << 7) << 1 | Number($1) }
    }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// The bytes of the number, big-endian.
    var bigEndianBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> Self($0)) }
    }
}
