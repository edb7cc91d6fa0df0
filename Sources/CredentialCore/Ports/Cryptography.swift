public import StrictJSON

/// The cryptographic functions the product uses; libsodium and libcrypto behind a port.
public protocol Cryptography: Sendable {
    /// SHA-256 (FIPS 180-4).
    func sha256(_ bytes: [UInt8]) throws(CredentialError) -> [UInt8]
    /// SHA-384.
    func sha384(_ bytes: [UInt8]) throws(CredentialError) -> [UInt8]
    /// SHA-512.
    func sha512(_ bytes: [UInt8]) throws(CredentialError) -> [UInt8]

    /// Whether `signature` is that of `message` under a public key.
    ///
    /// - Parameters:
    ///   - signature: the signature, as JWS has it.
    ///   - message: the signed message.
    ///   - algorithm: the JWS algorithm (RFC 7518 §3.1, RFC 8037); its key type must be that of `key`.
    ///   - key: a JSON Web Key (RFC 7517).
    /// - Throws: ``ErrorCode/validationFailed`` when the key cannot serve for the algorithm;
    ///   ``ErrorCode/internalFault`` when the library is not there. A wrong signature is `false`, no error.
    func verify(
        _ signature: [UInt8], of message: [UInt8], algorithm: SignatureAlgorithm, key: JSONObject
    ) throws(CredentialError) -> Bool

    /// Signs with a private key in PEM (PKCS #8 or traditional) or as a JWK.
    ///
    /// - Throws: ``ErrorCode/configuration`` when the key cannot be read or cannot serve for the algorithm.
    func sign(
        _ message: [UInt8], algorithm: SignatureAlgorithm, privateKey: Secret
    ) throws(CredentialError) -> [UInt8]

    /// Makes a key pair for `algorithm`.
    ///
    /// - Returns: the private key as the text of a JWK, and the public JWK with its required members alone.
    /// - Throws: ``ErrorCode/internalFault``.
    func generateKey(
        _ algorithm: SignatureAlgorithm
    ) throws(CredentialError) -> (privateKey: Secret, publicJWK: JSONObject)

    /// Seals with ChaCha20-Poly1305 (RFC 8439) under a 32-byte key and a 12-byte nonce; the tag is the last 16
    /// bytes.
    func seal(
        _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], authenticating header: [UInt8]
    ) throws(CredentialError) -> [UInt8]

    /// Opens a message that ``seal(_:key:nonce:authenticating:)`` made; `nil` when it was changed or the key is
    /// another.
    func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], authenticating header: [UInt8]
    ) throws(CredentialError) -> [UInt8]?

    /// HKDF-SHA256 (RFC 5869).
    func deriveKey(
        from secret: [UInt8], salt: [UInt8], info: String, length: Int
    ) throws(CredentialError) -> [UInt8]

    /// scrypt (RFC 7914).
    ///
    /// - Throws: ``ErrorCode/configuration`` for parameters beyond 1 GiB of memory.
    func scrypt(
        _ password: [UInt8], salt: [UInt8], cost: UInt64, blockSize: UInt64, parallelism: UInt64, length: Int
    ) throws(CredentialError) -> [UInt8]
}

/// The signature algorithms that are accepted. `none` and the symmetric ones are not among them.
public enum SignatureAlgorithm: String, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5.
    case rs256 = "RS256", rs384 = "RS384", rs512 = "RS512"
    /// RSASSA-PSS.
    case ps256 = "PS256", ps384 = "PS384", ps512 = "PS512"
    /// ECDSA on P-256, P-384 and P-521; the signature is R and S side by side.
    case es256 = "ES256", es384 = "ES384", es512 = "ES512"
    /// Ed25519 (RFC 8037).
    case edDSA = "EdDSA"
}
