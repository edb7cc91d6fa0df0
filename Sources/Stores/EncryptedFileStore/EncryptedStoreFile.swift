import CredentialCore
import Platform

/// A store's file taken apart, its body still closed.
struct EncryptedStoreFile {
    /// The file is padded to steps of this many bytes, so that its size tells little.
    private static let step = 4_096
    private static let tagSize = 16
    private static let nonce = [UInt8](repeating: 0, count: 12)

    /// The header.
    let header: StoreHeader
    private let headerBytes: [UInt8]
    private let body: [UInt8]
    private let path: String

    /// Takes a file apart.
    ///
    /// - Parameter path: the file's path, for messages.
    /// - Throws: as ``StoreHeader/read(_:path:_:)``.
    init(_ file: [UInt8], path: String, _ cryptography: any Cryptography) throws(CredentialError) {
        let (header, size) = try StoreHeader.read(file, path: path, cryptography)
        let bodySize = file.count - size
        guard bodySize > Self.tagSize, (bodySize - Self.tagSize).isMultiple(of: Self.step) else {
            throw StoreHeader.damaged(path, "its end is missing")
        }
        self.header = header
        headerBytes = Array(file.prefix(size))
        body = Array(file.dropFirst(size))
        self.path = path
    }

    /// Opens the body with the file's data key.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``.
    func items(_ key: DataKey, _ cryptography: any Cryptography) throws(CredentialError) -> StoreItems {
        var bodyKey = try key.bodyKey(salt: header.bodySalt, cryptography)
        defer { bodyKey.wipe() }
        guard
            var plaintext = try cryptography.open(
                body, key: bodyKey, nonce: Self.nonce, authenticating: headerBytes)
        else { throw StoreHeader.damaged(path, "its content was changed") }
        defer { plaintext.wipe() }
        guard let items = StoreItems(plaintext) else {
            throw StoreHeader.damaged(path, "its content is not valid")
        }
        return items
    }

    /// The whole file for `items`.
    static func seal(
        _ items: StoreItems, header: StoreHeader, key: DataKey, _ cryptography: any Cryptography
    ) throws(CredentialError) -> [UInt8] {
        let headerBytes = try header.bytes(cryptography)
        var plaintext = items.bytes
        // White space at the end is still the same JSON.
        let padding = step - plaintext.count % step
        plaintext += [UInt8](repeating: UInt8(ascii: " "), count: padding)
        var bodyKey = try key.bodyKey(salt: header.bodySalt, cryptography)
        defer {
            bodyKey.wipe()
            plaintext.wipe()
        }
        return headerBytes
            + (try cryptography.seal(plaintext, key: bodyKey, nonce: nonce, authenticating: headerBytes))
    }
}

/// The content of a store's file when it was read.
struct DecryptedStore {
    /// The header.
    var header: StoreHeader
    /// The secrets.
    var items: StoreItems
    /// The data key.
    let key: DataKey
    /// The file that the content was read from.
    let origin: Origin

    /// The file that a store was read from.
    enum Origin {
        /// Nowhere: the group has no file yet.
        case new
        /// From this file, which becomes the generation before.
        case current([UInt8])
        /// From the generation before, as this file is damaged, or missing.
        case previous(damaged: [UInt8]?)
    }

    /// Whether header and items are the same.
    func hasSameContent(as other: DecryptedStore) -> Bool { header == other.header && items == other.items }
}
