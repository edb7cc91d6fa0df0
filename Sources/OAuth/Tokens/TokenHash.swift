package import CredentialCore

/// `at_hash` and `c_hash` (OpenID Connect Core §3.1.3.6 and §3.3.2.11).
package enum TokenHash {
    /// The left half of the hash of a token, with the hash of the signature's algorithm, as base64url.
    ///
    /// - Throws: ``ErrorCode/internalFault`` when there is no such hash.
    package static func of(
        _ token: String, algorithm: SignatureAlgorithm, cryptography: any Cryptography
    ) throws(CredentialError) -> String {
        let bytes = Array(token.utf8)
        let hash: [UInt8] =
            switch algorithm {
            case .rs256, .ps256, .es256: try cryptography.sha256(bytes)
            case .rs384, .ps384, .es384: try cryptography.sha384(bytes)
            case .rs512, .ps512, .es512, .edDSA: try cryptography.sha512(bytes)
            }
        return Base64URL.encode(Array(hash.prefix(hash.count / 2)))
    }
}
