package import CredentialCore

/// Proof Key for Code Exchange (RFC 7636), method S256 and no other.
package struct PKCE: Sendable {
    /// The secret half, sent with the code: 43 to 128 unreserved characters.
    package let verifier: String
    /// The public half, sent with the authorization request.
    package let challenge: String

    /// Derives the challenge of a verifier.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when there is no SHA-256.
    package init(verifier: String, cryptography: any Cryptography) throws(CredentialError) {
        self.verifier = verifier
        challenge = Base64URL.encode(try cryptography.sha256(Array(verifier.utf8)))
    }
}
