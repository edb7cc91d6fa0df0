public import CredentialCore

/// How a client shows who it is at the token endpoint (RFC 6749 §2.3, RFC 7523 §2.2).
public enum ClientAuthentication: Sendable {
    /// A public client: `client_id` in the body and no secret field at all, as B2C and others demand.
    case none
    /// HTTP Basic, both halves form-encoded first (RFC 6749 §2.3.1).
    case secretBasic(Secret)
    /// `client_secret` in the body.
    case secretPost(Secret)
    /// A signed assertion in the body.
    case privateKeyJWT(assertion: Secret)
    /// The certificate of the TLS connection (RFC 8705 §2); the body only names the client.
    case certificate

    /// The methods by their registered words (RFC 7591 §2).
    public enum Method: String, Sendable, CaseIterable {
        /// ``ClientAuthentication/none``.
        case none
        /// ``ClientAuthentication/secretBasic(_:)``.
        case secretBasic = "client_secret_basic"
        /// ``ClientAuthentication/secretPost(_:)``.
        case secretPost = "client_secret_post"
        /// ``ClientAuthentication/privateKeyJWT(assertion:)``.
        case privateKeyJWT = "private_key_jwt"
        /// ``ClientAuthentication/certificate``, issued by an authority.
        case certificate = "tls_client_auth"
        /// ``ClientAuthentication/certificate``, signed by itself.
        case selfSignedCertificate = "self_signed_tls_client_auth"

        /// Whether it needs a certificate.
        public var usesCertificate: Bool { self == .certificate || self == .selfSignedCertificate }
    }

    /// The fields that go into the body.
    package func fields(clientID: String) -> [FormURLEncoding.Field] {
        switch self {
        case .none, .certificate: [("client_id", clientID)]
        case .secretBasic: []
        case .secretPost(let secret): [("client_id", clientID), ("client_secret", secret.reveal())]
        case .privateKeyJWT(let assertion):
            [
                ("client_id", clientID),
                ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
                ("client_assertion", assertion.reveal()),
            ]
        }
    }

    /// The parts that must not be shown: the secret or the assertion, and the pair in the header field.
    func secrets(clientID: String) -> [String] {
        switch self {
        case .none, .certificate: []
        case .secretPost(let secret): [secret.reveal()]
        case .secretBasic(let secret):
            [secret.reveal()] + headers(clientID: clientID).map { String($0.value.dropFirst("Basic ".count)) }
        case .privateKeyJWT(let assertion): [assertion.reveal()]
        }
    }

    /// The header fields.
    public func headers(clientID: String) -> [(name: String, value: String)] {
        guard case .secretBasic(let secret) = self else { return [] }
        let pair = FormURLEncoding.encode(clientID) + ":" + FormURLEncoding.encode(secret.reveal())
        return [("authorization", "Basic " + Base64URL.encodeOrdinary(Array(pair.utf8)))]
    }
}
