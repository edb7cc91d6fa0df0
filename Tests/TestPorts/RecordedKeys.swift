import CredentialCore
import StrictJSON
import Synchronization

/// Cryptography that notes each use of a key: a key has one purpose, and a key and a nonce seal once.
package final class RecordedKeys: Cryptography, KeyAgreement {
    private struct Uses {
        var sealing: Set<[UInt8]> = []
        var deriving: Set<[UInt8]> = []
        var places: Set<[UInt8]> = []
        var repeated = 0
        var purposes: [[UInt8]: Set<String>] = [:]
    }

    private let base: any Cryptography & KeyAgreement
    private let uses = Mutex(Uses())

    /// Notes the calls of another.
    package init(_ base: any Cryptography & KeyAgreement) { self.base = base }

    /// How many keys both sealed, or opened, and were an input of HKDF.
    package var sharedKeys: Int { uses.withLock { $0.sealing.intersection($0.deriving).count } }

    /// How often a key has sealed with a nonce that it had sealed with before.
    package var repeatedNonces: Int { uses.withLock { $0.repeated } }

    /// How many keys were the key of the cipher.
    package var sealingKeys: Int { uses.withLock { $0.sealing.count } }

    /// How many derived keys have two purposes: HKDF gave the same bytes for two values of `info`.
    package var ambiguousKeys: Int { uses.withLock { uses in uses.purposes.values.count { $0.count > 1 } } }

    package func seal(
        _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], authenticating header: [UInt8]
    ) throws(CredentialError) -> [UInt8] {
        uses.withLock { uses in
            uses.sealing.insert(key)
            if !uses.places.insert(key + nonce).inserted { uses.repeated += 1 }
        }
        return try base.seal(plaintext, key: key, nonce: nonce, authenticating: header)
    }

    package func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], authenticating header: [UInt8]
    ) throws(CredentialError) -> [UInt8]? {
        uses.withLock { _ = $0.sealing.insert(key) }
        return try base.open(sealed, key: key, nonce: nonce, authenticating: header)
    }

    package func deriveKey(
        from secret: [UInt8], salt: [UInt8], info: String, length: Int
    ) throws(CredentialError) -> [UInt8] {
        let derived = try base.deriveKey(from: secret, salt: salt, info: info, length: length)
        uses.withLock { uses in
            uses.deriving.insert(secret)
            uses.purposes[derived, default: []].insert(info)
        }
        return derived
    }

    package func sha256(_ bytes: [UInt8]) throws(CredentialError) -> [UInt8] { try base.sha256(bytes) }
    package func sha384(_ bytes: [UInt8]) throws(CredentialError) -> [UInt8] { try base.sha384(bytes) }
    package func sha512(_ bytes: [UInt8]) throws(CredentialError) -> [UInt8] { try base.sha512(bytes) }

    package func verify(
        _ signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm, key: JSONObject
    ) throws(CredentialError) -> Bool {
        try base.verify(signature, of: message, algorithm: algorithm, key: key)
    }

    package func sign(
        _ message: [UInt8], algorithm: SignatureAlgorithm, privateKey: Secret
    ) throws(CredentialError) -> [UInt8] {
        try base.sign(message, algorithm: algorithm, privateKey: privateKey)
    }

    package func generateKey(
        _ algorithm: SignatureAlgorithm
    ) throws(CredentialError) -> (privateKey: Secret, publicJWK: JSONObject) { try base.generateKey(algorithm) }

    package func scrypt(
        _ password: [UInt8], salt: [UInt8], cost: UInt64, blockSize: UInt64, parallelism: UInt64, length: Int
    ) throws(CredentialError) -> [UInt8] {
        try base.scrypt(
            password, salt: salt, cost: cost, blockSize: blockSize, parallelism: parallelism, length: length)
    }

    package func makeAgreementKey() throws(CredentialError) -> (privateKey: [UInt8], publicKey: [UInt8]) {
        try base.makeAgreementKey()
    }

    package func agree(privateKey: [UInt8], publicKey: [UInt8]) throws(CredentialError) -> [UInt8] {
        try base.agree(privateKey: privateKey, publicKey: publicKey)
    }
}
