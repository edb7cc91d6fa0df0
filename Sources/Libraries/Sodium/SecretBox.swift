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

    /// Opens what ``seal(_:key:nonce:)`` gave; `nil` for anything else.
    package static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        guard key.count == keySize, nonce.count == nonceSize, sealed.count >= overhead else { return nil }
        var plain = [UInt8](repeating: 0, count: sealed.count - overhead)
        let result = unsafe crypto_secretbox_open_easy(&plain, sealed, UInt64(sealed.count), nonce, key)
        return result == 0 ? plain : nil
    }
}

/// One side of libsodium's key exchange (`crypto_kx`): X25519, and BLAKE2b of the shared secret and both public keys.
package final class KeyExchange: @unchecked Sendable {
    /// The bytes of a public key.
    package static let keySize = 32

    /// The public key.
    package let publicKey: [UInt8]
    /// Changed by `deinit` only.
    private var secretKey: [UInt8]

    /// Makes a key pair of unpredictable bytes; `nil` if the library refuses.
    package convenience init?() { self.init(seed: SystemRandom().bytes(Self.keySize)) }

    /// Makes the key pair of a seed of 32 bytes, for tests.
    package init?(seed: [UInt8]) {
        guard seed.count == Self.keySize else { return nil }
        var publicKey = [UInt8](repeating: 0, count: Self.keySize)
        var secretKey = publicKey
        guard unsafe crypto_kx_seed_keypair(&publicKey, &secretKey, seed) == 0 else { return nil }
        self.publicKey = publicKey
        self.secretKey = secretKey
    }

    deinit { secretKey.wipe() }

    /// The keys of the server's side; `nil` for a public key that is refused, as the zero key is.
    package func serverKeys(with client: [UInt8]) -> (receives: [UInt8], sends: [UInt8])? {
        guard client.count == Self.keySize else { return nil }
        var receives = [UInt8](repeating: 0, count: SecretBox.keySize), sends = receives
        guard unsafe crypto_kx_server_session_keys(&receives, &sends, publicKey, secretKey, client) == 0 else {
            return nil
        }
        return (receives, sends)
    }

    /// The keys of the client's side; `nil` for a public key that is refused.
    package func clientKeys(with server: [UInt8]) -> (receives: [UInt8], sends: [UInt8])? {
        guard server.count == Self.keySize else { return nil }
        var receives = [UInt8](repeating: 0, count: SecretBox.keySize), sends = receives
        guard unsafe crypto_kx_client_session_keys(&receives, &sends, publicKey, secretKey, server) == 0 else {
            return nil
        }
        return (receives, sends)
    }
}
