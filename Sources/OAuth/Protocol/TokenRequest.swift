package import CredentialCore

/// A request to the token endpoint (RFC 6749 §4.1.3, §4.3.2, §4.4.2, §6 and the extension grants) for any grant:
/// one code path builds the body of all of them.
package struct TokenRequest: Sendable {
    /// The grant that is exchanged for tokens.
    package var grant: Grant
    /// The scopes asked for; empty to leave them to the provider.
    package var scope: [String]
    /// `resource` (RFC 8707).
    package var resource: String?
    /// `audience`.
    package var audience: String?
    /// The parameters that the type or the adapter adds; names checked by ``ReservedParameters``.
    package var extra: [String: String]

    /// Makes a request.
    package init(
        grant: Grant, scope: [String] = [], resource: String? = nil, audience: String? = nil,
        extra: [String: String] = [:]
    ) {
        self.grant = grant
        self.scope = scope
        self.resource = resource
        self.audience = audience
        self.extra = extra
    }

    /// The grants.
    package enum Grant: Sendable {
        /// RFC 6749 §4.1.3, RFC 7636 §4.5.
        case authorizationCode(code: String, redirectURI: String, verifier: String)
        /// RFC 6749 §6.
        case refreshToken(Secret)
        /// RFC 6749 §4.4.
        case clientCredentials
        /// RFC 6749 §4.3.
        case password(username: String, password: Secret)
        /// RFC 8628 §3.4.
        case deviceCode(Secret)
        /// RFC 7523 §2.1.
        case jwtBearer(assertion: Secret)
        /// RFC 8693 §2.1.
        case tokenExchange(subjectToken: Secret, subjectTokenType: String)

        /// The grant's own fields, `grant_type` first.
        fileprivate var fields: [FormURLEncoding.Field] {
            switch self {
            case .authorizationCode(let code, let redirectURI, let verifier):
                [
                    ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectURI),
                    ("code_verifier", verifier),
                ]
            case .refreshToken(let token):
                [("grant_type", "refresh_token"), ("refresh_token", token.reveal())]
            case .clientCredentials:
                [("grant_type", "client_credentials")]
            case .password(let username, let password):
                [("grant_type", "password"), ("username", username), ("password", password.reveal())]
            case .deviceCode(let code):
                [
                    ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                    ("device_code", code.reveal()),
                ]
            case .jwtBearer(let assertion):
                [
                    ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                    ("assertion", assertion.reveal()),
                ]
            case .tokenExchange(let token, let type):
                [
                    ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
                    ("subject_token", token.reveal()), ("subject_token_type", type),
                ]
            }
        }
    }

    /// The fields of the body, those of the client's authentication left out.
    package var fields: [FormURLEncoding.Field] {
        var fields = grant.fields
        func add(_ name: String, _ value: String?) {
            if let value, !value.isEmpty { fields.append((name, value)) }
        }
        add("scope", Scope.text(scope))
        add("resource", resource)
        add("audience", audience)
        return fields.completed(by: extra)
    }
}
