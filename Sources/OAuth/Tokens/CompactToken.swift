package import CredentialCore
package import StrictJSON

/// A signed JSON Web Token in compact form (RFC 7515 §3.1, RFC 7519), taken apart but not verified.
package struct CompactToken: Sendable {
    /// The JOSE header.
    package let header: JSONObject
    /// The claims, unverified.
    package let claims: JSONObject
    /// What the signature is over.
    package let signingInput: [UInt8]
    /// The signature.
    package let signature: [UInt8]

    /// The largest token read: 64 KiB.
    package static let maximumSize = 1 << 16

    /// Takes a token apart.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` unless it has three parts of unpadded base64url, the first two JSON
    ///   objects without repeated names.
    package init(_ text: String) throws(CredentialError) {
        guard text.utf8.count <= Self.maximumSize else { throw Self.refused("it is larger than 64 KiB") }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw Self.refused(parts.count == 5 ? "it is encrypted" : "it does not have three parts")
        }
        header = try Self.object(parts[0], "header")
        claims = try Self.object(parts[1], "claims")
        guard let signature = Base64URL.decode(String(parts[2])) else {
            throw Self.refused("its signature is not base64url")
        }
        self.signature = signature
        signingInput = Array(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
    }

    private static func object(_ part: Substring, _ what: String) throws(CredentialError) -> JSONObject {
        guard let bytes = Base64URL.decode(String(part)) else { throw refused("its \(what) is not base64url") }
        guard let object = (try? JSONValue.parse(bytes))?.object else {
            throw refused("its \(what) is not a JSON object")
        }
        return object
    }

    /// The error for an id token that does not hold up.
    static func refused(_ reason: String) -> CredentialError {
        CredentialError(.validationFailed, "the id token cannot be trusted: \(reason)")
    }
}
