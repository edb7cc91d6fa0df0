package import CredentialCore
import Platform
package import StrictJSON

extension LibCryptography {
    /// Makes a key pair for `algorithm`; RSA keys have 2,048 bits.
    ///
    /// - Returns: the private key as the text of a JWK, as ``sign(_:algorithm:privateKey:)`` takes it, and the
    ///   public JWK with the members that RFC 7638 names, no more.
    /// - Throws: ``ErrorCode/internalFault``.
    package func generateKey(
        _ algorithm: SignatureAlgorithm
    ) throws(CredentialError) -> (privateKey: Secret, publicJWK: JSONObject) {
        let library = try libCrypto
        let type = SignatureScheme(algorithm).keyType
        var jwk = JSONObject()
        jwk["kty"] = .string(type.jwkName)
        jwk["crv"] = type.curve.map(JSONValue.string)
        var privateMembers: [(name: String, bytes: [UInt8])] = []
        switch type {
        case .rsa:
            let key = try library.key(
                type: type.libraryName, parameters: [.integer("bits", 2_048)], from: .chance)
            for name in ["n", "e"] { jwk[name] = Self.member(try library.number(name, of: key)) }
            privateMembers.append(("d", try library.number("d", of: key)))
            for factor in JSONWebKey.rsaFactors {
                privateMembers.append((factor.jwk, try library.number(factor.library, of: key)))
            }
        case .elliptic(_, let group, let length):
            let key = try library.key(
                type: type.libraryName, parameters: [.text("group", group)], from: .chance)
            jwk["x"] = Self.member(try library.number("qx", of: key, width: length))
            jwk["y"] = Self.member(try library.number("qy", of: key, width: length))
            privateMembers.append(("d", try library.number("priv", of: key, width: length)))
        case .ed25519:
            let key = try library.key(type: type.libraryName, parameters: [], from: .chance)
            jwk["x"] = Self.member(try library.octets("pub", of: key))
            privateMembers.append(("d", try library.octets("priv", of: key)))
        }
        var privateJWK = jwk
        for index in privateMembers.indices {
            privateJWK[privateMembers[index].name] = Self.member(privateMembers[index].bytes)
            privateMembers[index].bytes.wipe()
        }
        return (Secret(JSONValue.object(privateJWK).text()), jwk)
    }

    /// The SHA-256 thumbprint of a key in base64url (RFC 7638, RFC 8037 §2): DPoP's `jkt`, or a `kid`.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` when the key lacks a member that its type requires.
    package func thumbprint(of key: JSONObject) throws(CredentialError) -> String {
        let required: [String]? =
            switch key["kty"]?.string {
            case "RSA": ["e", "kty", "n"]
            case "EC": ["crv", "kty", "x", "y"]
            case "OKP": ["crv", "kty", "x"]
            default: nil
            }
        guard let required else {
            throw CredentialError(.validationFailed, "a key of an unknown type has no thumbprint")
        }
        var canonical = JSONObject()
        for name in required {
            guard let value = key[name]?.string else {
                throw CredentialError(.validationFailed, "the key has no '\(name)'")
            }
            canonical[name] = .string(value)
        }
        return Base64URL.encode(try sha256(JSONValue.object(canonical).bytes()))
    }

    private static func member(_ bytes: [UInt8]) -> JSONValue { .string(Base64URL.encode(bytes)) }
}
