package import CredentialCore
import Sodium
package import StrictJSON
import Synchronization

/// Cryptography by libsodium, which is linked, and by OpenSSL's libcrypto, which is opened when the first function
/// is called that only it has.
///
/// The former opens an account's record: libcrypto takes 4 ms until it has opened one, more than all else that is
/// done for a token.
package struct LibCryptography: Cryptography {
    private let library = LazyLibrary()

    /// Costs no time: the library is opened later.
    package init() {}

    /// The library, opened now if it was not.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when it is not installed.
    var libCrypto: LibCrypto {
        get throws(CredentialError) { try library.open() }
    }

    package func sha256(_ bytes: [UInt8]) throws(CredentialError) -> [UInt8] {
        SHA256.digest(bytes)
    }

    package func sha384(_ bytes: [UInt8]) throws(CredentialError) -> [UInt8] {
        try libCrypto.digest(bytes, algorithm: "SHA384")
    }

    package func sha512(_ bytes: [UInt8]) throws(CredentialError) -> [UInt8] {
        try libCrypto.digest(bytes, algorithm: "SHA512")
    }

    package func verify(
        _ signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm, key: JSONObject
    ) throws(CredentialError) -> Bool {
        try JWSSigner(try libCrypto, algorithm).verify(signature, of: message, key: key)
    }

    package func sign(
        _ message: [UInt8], algorithm: SignatureAlgorithm, privateKey: Secret
    ) throws(CredentialError) -> [UInt8] {
        try JWSSigner(try libCrypto, algorithm).sign(message, privateKey: privateKey)
    }

    package func seal(
        _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], authenticating header: [UInt8]
    ) throws(CredentialError) -> [UInt8] {
        guard let sealed = ChaCha20Poly1305.seal(plaintext, key: key, nonce: nonce, context: header) else {
            throw CredentialError(.internalFault, "a key or nonce of the wrong length")
        }
        return sealed
    }

    package func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], authenticating header: [UInt8]
    ) throws(CredentialError) -> [UInt8]? {
        guard key.count == ChaCha20Poly1305.keySize, nonce.count == ChaCha20Poly1305.nonceSize else {
            throw CredentialError(.internalFault, "a key or nonce of the wrong length")
        }
        return ChaCha20Poly1305.open(sealed, key: key, nonce: nonce, context: header)
    }

    package func deriveKey(
        from secret: [UInt8], salt: [UInt8], info: String, length: Int
    ) throws(CredentialError) -> [UInt8] {
        guard let key = SHA256.key(from: secret, salt: salt, info: Array(info.utf8), length: length) else {
            throw CredentialError(.internalFault, "a derived key of \(length) bytes")
        }
        return key
    }

    package func scrypt(
        _ password: [UInt8], salt: [UInt8], cost: UInt64, blockSize: UInt64, parallelism: UInt64, length: Int
    ) throws(CredentialError) -> [UInt8] {
        let memory: UInt64 = 1 << 30
        // The single bounds keep the products from overflowing; parallel lanes cost time, not memory.
        guard (2...1 << 24).contains(cost), cost & (cost - 1) == 0, (1...1 << 10).contains(blockSize),
            (1...1 << 10).contains(parallelism), (1...1 << 10).contains(length),
            128 * cost * blockSize <= memory, 128 * cost * blockSize * parallelism <= 4 * memory
        else {
            throw CredentialError(
                .configuration,
                "scrypt parameters beyond the limits: cost \(cost), block size \(blockSize), "
                    + "parallelism \(parallelism)")
        }
        let parameters: [CryptoParameter] = [
            .octets("pass", password), .octets("salt", salt), .integer("n", cost), .integer("r", blockSize),
            // The memory of the lanes themselves comes on top of the table.
            .integer("p", parallelism), .integer("maxmem_bytes", memory + memory / 4),
        ]
        return try libCrypto.derive("SCRYPT", parameters, length: length)
    }
}

/// The library, opened once.
private final class LazyLibrary: Sendable {
    private let opened = Mutex<LibCrypto?>(nil)

    func open() throws(CredentialError) -> LibCrypto {
        try opened.withLock { library throws(CredentialError) in
            if let library { return library }
            let new = try LibCrypto()
            library = new
            return new
        }
    }
}
