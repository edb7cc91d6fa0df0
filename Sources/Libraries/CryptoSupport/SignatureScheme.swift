import CredentialCore

/// The requirements of a JWS algorithm (RFC 7518 §3.1, RFC 8037) for its key and for libcrypto.
struct SignatureScheme {
    /// The key that serves, as JWK (RFC 7518 §6) and OpenSSL call it.
    let keyType: KeyType
    /// OpenSSL's name of the digest; `nil` if the algorithm brings its own.
    let digest: String?
    /// The parameters that make libcrypto's signature that of the algorithm.
    let parameters: [CryptoParameter]

    /// The kinds of keys.
    enum KeyType {
        /// RSA of 2,048 to 16,384 bits.
        case rsa
        /// A curve of NIST, with the length of its numbers in bytes.
        case elliptic(curve: String, group: String, length: Int)
        /// Ed25519.
        case ed25519

        /// The JWK's `kty`.
        var jwkName: String {
            switch self {
            case .rsa: "RSA"
            case .elliptic: "EC"
            case .ed25519: "OKP"
            }
        }

        /// OpenSSL's name.
        var libraryName: String {
            switch self {
            case .rsa: "RSA"
            case .elliptic: "EC"
            case .ed25519: "ED25519"
            }
        }

        /// The JWK's `crv`.
        var curve: String? {
            switch self {
            case .rsa: nil
            case .elliptic(let curve, _, _): curve
            case .ed25519: "Ed25519"
            }
        }
    }

    /// The scheme of `algorithm`.
    init(_ algorithm: SignatureAlgorithm) {
        switch algorithm {
        case .rs256: self.init(.rsa, "SHA256", Self.pkcs1)
        case .rs384: self.init(.rsa, "SHA384", Self.pkcs1)
        case .rs512: self.init(.rsa, "SHA512", Self.pkcs1)
        case .ps256: self.init(.rsa, "SHA256", Self.pss)
        case .ps384: self.init(.rsa, "SHA384", Self.pss)
        case .ps512: self.init(.rsa, "SHA512", Self.pss)
        case .es256: self.init(.elliptic(curve: "P-256", group: "prime256v1", length: 32), "SHA256")
        case .es384: self.init(.elliptic(curve: "P-384", group: "secp384r1", length: 48), "SHA384")
        case .es512: self.init(.elliptic(curve: "P-521", group: "secp521r1", length: 66), "SHA512")
        case .edDSA: self.init(.ed25519, nil)
        }
    }

    private init(_ keyType: KeyType, _ digest: String?, _ parameters: [CryptoParameter] = []) {
        self.keyType = keyType
        self.digest = digest
        self.parameters = parameters
    }

    private static var pkcs1: [CryptoParameter] { [.text("pad-mode", "pkcs1")] }
    /// MGF1 takes the digest of the signature if no digest is named; the salt is as long as the digest.
    private static var pss: [CryptoParameter] { [.text("pad-mode", "pss"), .text("saltlen", "digest")] }
}
