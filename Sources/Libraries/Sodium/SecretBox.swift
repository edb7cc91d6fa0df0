import CSodium
import Platform

/// XSalsa20-Poly1305 as NaCl's `crypto_secretbox`: the tag comes first.
package enum SecretBox {
    /// The bytes of a key.
    package static let keySize = 32
    /// The bytes of a nonce.
    package static let nonceSize = 24
    /// The bytes that sealing adds.
    package static let overhead = 16

    /// Seals a message; `nil` if key or nonce have another size.
    package static func seal(_ plain: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        guard key.count == keySize, nonce.count == nonceSize else { return nil }
        var sealed = [UInt8](repeating: 0, count: plain.count + overhead)
        _ = unsafe crypto_secretbox_easy(&sealed, plain, UInt64(plain.count), nonce, key)
        return sealed
    }

    /// Opens the output of ``seal(_:key:nonce:)``; `nil` for anything else.
    package static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        guard key.count == keySize, nonce.count == nonceSize, sealed.count >= overhead else { return nil }
        var plain = [UInt8](repeating: 0, count: sealed.count - overhead)
        let result = unsafe crypto_secretbox_open_easy(&plain, sealed, UInt64(sealed.count), nonce, key)
        return result == 0 ? plain : nil
    }
}

/// A key pair of NaCl's `crypto_box`: X25519 (RFC 7748).
package final class BoxKeyPair: @unchecked Sendable {
    /// The bytes of a public key.
    package static let keySize = 32

    /// The public key.
    package let publicKey: [UInt8]
    /// Changed by `deinit` only.
    private var secretKey: [UInt8]

    /// Makes a key pair of unpredictable bytes; `nil` if the library refuses.
    package convenience init?() { self.init(seed: SystemRandom().bytes(Self.keySize)) }

    /// Makes the key pair of a seed of 32 bytes.
    package init?(seed: [UInt8]) {
        guard seed.count == Self.keySize else { return nil }
        var publicKey = [UInt8](repeating: 0, count: Self.keySize)
        var secretKey = publicKey
        guard unsafe crypto_box_seed_keypair(&publicKey, &secretKey, seed) == 0 else { return nil }
        self.publicKey = publicKey
        self.secretKey = secretKey
    }

    deinit { secretKey.wipe() }

    /// The key of ``SecretBox`` that both sides share; `nil` for a public key that is refused, as the zero key is.
    package func sharedKey(with peer: [UInt8]) -> [UInt8]? {
        guard peer.count == Self.keySize else { return nil }
        var key = [UInt8](repeating: 0, count: SecretBox.keySize)
        return unsafe crypto_box_beforenm(&key, peer, secretKey) == 0 ? key : nil
    }
}
