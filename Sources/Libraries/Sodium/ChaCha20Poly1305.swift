import CSodium

/// ChaCha20-Poly1305 (RFC 8439): a cipher whose nonce is too short to be unpredictable, for keys that are used
/// once, or under nonces that are counted.
package enum ChaCha20Poly1305 {
    /// How many bytes a key has.
    package static let keySize = 32
    /// How many bytes a nonce has.
    package static let nonceSize = 12
    /// How many bytes sealing adds: the tag, at the end.
    package static let overhead = 16

    /// Seals `plain` so that it opens with the same key, nonce and context only; `nil` if key or nonce have another
    /// size.
    package static func seal(_ plain: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8]? {
        guard key.count == keySize, nonce.count == nonceSize else { return nil }
        var sealed = [UInt8](repeating: 0, count: plain.count + overhead)
        _ = unsafe crypto_aead_chacha20poly1305_ietf_encrypt(
            &sealed, nil, plain, UInt64(plain.count), context, UInt64(context.count), nil, nonce, key)
        return sealed
    }

    /// Opens the output of ``seal(_:key:nonce:context:)``; `nil` for anything else.
    package static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8]? {
        guard key.count == keySize, nonce.count == nonceSize, sealed.count >= overhead else { return nil }
        var plain = [UInt8](repeating: 0, count: sealed.count - overhead)
        let result = unsafe crypto_aead_chacha20poly1305_ietf_decrypt(
            &plain, nil, nil, sealed, UInt64(sealed.count), context, UInt64(context.count), nonce, key)
        return result == 0 ? plain : nil
    }
}
