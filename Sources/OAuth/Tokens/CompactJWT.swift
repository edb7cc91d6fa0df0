public import CredentialCore
public import StrictJSON

/// A signed JSON Web Token in compact form (RFC 7515 §3.1, RFC 7519), taken apart but not verified.
public struct CompactJWT: Sendable {
    /// The JOSE header.
    public let header: JSONObject
    /// The claims, unverified.
    public let claims: JSONObject
    /// The bytes that the signature covers.
    public let signingInput: [UInt8]
    /// The signature.
    public let signature: [UInt8]

    /// The largest token read: 64 KiB.
    public static let maximumSize = 1 << 16

    /// The name of a token in messages.
    public enum Kind: String, Sendable {
        /// An id token (OpenID Connect Core §2).
        case idToken = "id token"
        /// An access token (RFC 9068).
        case accessToken = "access token"
        /// A platform's token that identifies a workload (RFC 7523 §2.1).
        case identityToken = "identity token"

        fileprivate var text: LocalizedMessage {
            switch self {
            case .idToken: "ID token"
            case .accessToken: "access token"
            case .identityToken: "identity token"
            }
        }
    }

    /// Takes a token apart.
    ///
    /// - Parameter kind: the token's name in messages.
    /// - Throws: ``ErrorCode/validationFailed`` unless it has three parts of unpadded base64url, the first two JSON
    ///   objects without repeated names.
    public init(_ text: String, _ kind: Kind = .idToken) throws(CredentialError) {
        guard text.utf8.count <= Self.maximumSize else { throw Self.refused("it is larger than 64 KiB", kind) }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw Self.refused(parts.count == 5 ? "it is encrypted" : "it does not have three parts", kind)
        }
        header = try Self.object(parts[0], "header", kind)
        claims = try Self.object(parts[1], "claims", kind)
        guard let signature = Base64URL.decode(String(parts[2])) else {
            throw Self.refused("its signature is not base64url", kind)
        }
        self.signature = signature
        signingInput = Array(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
    }

    private static func object(
        _ part: Substring, _ what: LocalizedMessage, _ kind: Kind
    ) throws(CredentialError) -> JSONObject {
        guard let bytes = Base64URL.decode(String(part)) else {
            throw refused("its \(what) is not base64url", kind)
        }
        guard let object = (try? JSONValue.parse(bytes))?.object else {
            throw refused("its \(what) is not a JSON object", kind)
        }
        return object
    }

    /// The error for an invalid token.
    static func refused(_ reason: LocalizedMessage, _ kind: Kind = .idToken) -> CredentialError {
        CredentialError(.validationFailed, "the \(kind.text) cannot be trusted: \(reason)")
    }
}
