import CSodium
import Platform

/// A key in two halves, each of 32 unpredictable bytes: one half alone gives no information.
///
/// Data is sealed under it with XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03); the key itself is BLAKE2b (RFC
/// 7693) of both halves, overwritten with the last reference.
package final class SplitKey: @unchecked Sendable {
    /// How many bytes a half has.
    package static let halfSize = 32
    /// How many bytes a nonce has: enough for unpredictable ones never to meet.
    package static let nonceSize = 24
    /// How many bytes sealing adds.
    package static let overhead = 16
    private static let size = 32

    /// The key of the cipher, and the one that names are hashed with; changed by `deinit` only.
    private var cipherKey: [UInt8], nameKey: [UInt8]

    /// Joins two halves; `nil` if one of them has another size.
    package init?(_ one: [UInt8], _ other: [UInt8]) {
        guard one.count == Self.halfSize, other.count == Self.halfSize else { return nil }
        var keys = Self.hash(other, key: one, size: 2 * Self.size)
        defer { keys.wipe() }
        cipherKey = Array(keys[..<Self.size])
        nameKey = Array(keys[Self.size...])
    }

    deinit {
        cipherKey.wipe()
        nameKey.wipe()
    }

    /// A name for `text` that reveals no part of it without the key.
    ///
    /// - Parameter size: how many bytes, 16 to 64.
    package func name(of text: [UInt8], size: Int) -> [UInt8] {
        Self.hash(text, key: nameKey, size: size)
    }

    /// Seals `plain` so that it opens with the same nonce and context only.
    ///
    /// - Parameter nonce: ``nonceSize`` bytes, used once.
    package func seal(_ plain: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8] {
        precondition(nonce.count == Self.nonceSize)
        var sealed = [UInt8](repeating: 0, count: plain.count + Self.overhead)
        _ = unsafe crypto_aead_xchacha20poly1305_ietf_encrypt(
            &sealed, nil, plain, UInt64(plain.count), context, UInt64(context.count), nil, nonce, cipherKey)
        return sealed
    }

    /// Opens the output of ``seal(_:nonce:context:)``; `nil` for anything else.
    package func open(_ sealed: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Self.overhead, nonce.count == Self.nonceSize else { return nil }
        var plain = [UInt8](repeating: 0, count: sealed.count - Self.overhead)
        let result = unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
            &plain, nil, nil, sealed, UInt64(sealed.count), context, UInt64(context.count), nonce, cipherKey)
        return result == 0 ? plain : nil
    }

    private static func hash(_ text: [UInt8], key: [UInt8], size: Int) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: size)
        let result = unsafe crypto_generichash_blake2b(&hash, size, text, UInt64(text.count), key, key.count)
        precondition(result == 0)
        return hash
    }
}
