package import CredentialCore
package import CryptoSupport
package import StrictJSON

/// A key that signs tokens.
package struct DemoSigningKey: Sendable {
    /// Its name in the headers of tokens and in the key set.
    package var kid: String
    /// The RSA private key, PEM or JWK, as ``CredentialCore/Cryptography`` takes it.
    package var privateKey: Secret
    /// The RSA public key: at least `kty`, `n` and `e`.
    package var publicJWK: JSONObject

    /// Makes a key.
    package init(kid: String, privateKey: Secret, publicJWK: JSONObject) {
        self.kid = kid
        self.privateKey = privateKey
        self.publicJWK = publicJWK
    }

    /// A new RSA key, named by its thumbprint (RFC 7638).
    ///
    /// - Throws: ``ErrorCode/internalFault`` when libcrypto is not there.
    package static func generate(_ cryptography: LibCryptography) throws(CredentialError) -> DemoSigningKey {
        let (privateKey, publicJWK) = try cryptography.generateKey(.rs256)
        return DemoSigningKey(
            kid: try cryptography.thumbprint(of: publicJWK), privateKey: privateKey, publicJWK: publicJWK)
    }
}
