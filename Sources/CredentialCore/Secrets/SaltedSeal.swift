/// Seals each message under a key of its own, for one purpose: HKDF-SHA256 of a long-lived key and of 32 random
/// bytes, the salt.
///
/// ```
/// SALT (32)  ChaCha20-Poly1305 of the message, with its tag (16)
/// ```
///
/// A derived key seals once, so its nonce is zero, and no number of messages makes two of them meet. The long-lived
/// key seals no message itself: it is an input of HKDF alone, and each purpose has an `info` of its own (decision
/// 33).
package struct SaltedSeal: Sendable {
    /// The number of random bytes before the sealed message.
    package static let saltSize = 32
    /// How many bytes sealing adds in all: the salt and the tag.
    package static let overhead = saltSize + 16
    private static let nonce = [UInt8](repeating: 0, count: 12)

    private let purpose: String

    /// Makes a seal for a purpose, which is the `info` of HKDF.
    package init(for purpose: String) { self.purpose = purpose }

    /// Seals a message.
    ///
    /// - Parameters:
    ///   - message: the message.
    ///   - key: the long-lived key, 32 bytes.
    ///   - context: the owner of the message; it opens with the same context only.
    ///   - random: gives the salt.
    ///   - cryptography: derives the key, and seals.
    /// - Throws: ``ErrorCode/internalFault``.
    package func seal(
        _ message: [UInt8], key: [UInt8], context: [UInt8], _ random: any RandomSource,
        _ cryptography: any Cryptography
    ) throws(CredentialError) -> [UInt8] {
        let salt = random.bytes(Self.saltSize)
        return salt
            + (try cryptography.seal(
                message, key: try derived(key, salt, cryptography), nonce: Self.nonce, authenticating: context))
    }

    /// Opens a message that ``seal(_:key:context:_:_:)`` made; `nil` if it was changed, or the key or the context
    /// is another.
    ///
    /// - Parameters:
    ///   - sealed: the salt and the sealed message.
    ///   - key: the long-lived key.
    ///   - context: the context it was sealed with.
    ///   - cryptography: derives the key, and opens.
    /// - Throws: ``ErrorCode/internalFault``.
    package func open(
        _ sealed: [UInt8], key: [UInt8], context: [UInt8], _ cryptography: any Cryptography
    ) throws(CredentialError) -> [UInt8]? {
        guard sealed.count >= Self.overhead else { return nil }
        return try cryptography.open(
            Array(sealed[Self.saltSize...]), key: try derived(key, Array(sealed[..<Self.saltSize]), cryptography),
            nonce: Self.nonce, authenticating: context)
    }

    private func derived(
        _ key: [UInt8], _ salt: [UInt8], _ cryptography: any Cryptography
    ) throws(CredentialError) -> [UInt8] {
        try cryptography.deriveKey(from: key, salt: salt, info: purpose, length: 32)
    }
}
