/// The ways to obtain a grant, by the words of `--flow`.
public enum SignInFlow: String, Sendable, CaseIterable {
    /// Authorization code with PKCE (RFC 6749 §4.1, RFC 7636).
    case code
    /// Device authorization (RFC 8628).
    case device
    /// Resource owner password (RFC 6749 §4.3).
    case password
    /// Client credentials (RFC 6749 §4.4).
    case clientCredentials = "client_credentials"
    /// JWT bearer (RFC 7523 §2.1).
    case jwtBearer = "jwt_bearer"
}
