/// Agrees on a secret between two keys: X25519 (RFC 7748 §5); libcrypto behind a port.
package protocol KeyAgreement: Sendable {
    /// Makes a key pair; both are 32 bytes.
    ///
    /// - Throws: ``ErrorCode/internalFault``.
    func makeAgreementKey() throws(CredentialError) -> (privateKey: [UInt8], publicKey: [UInt8])

    /// The secret of one's own private key and another's public key, 32 bytes; to be put through a key derivation.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` when the public key is invalid, or gives the secret that is all
    ///   zeros (RFC 7748 §6.1).
    func agree(privateKey: [UInt8], publicKey: [UInt8]) throws(CredentialError) -> [UInt8]
}
