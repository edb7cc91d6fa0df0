package import CredentialCore

/// The request that a browser carries to the authorization endpoint (RFC 6749 §4.1.1, OpenID Connect Core
/// §3.1.2.1).
///
/// There is no form of it without `state` and without PKCE.
package struct AuthorizationRequest: Sendable {
    /// The endpoint; its own query is kept.
    package var endpoint: URI
    /// The client id.
    package var clientID: String
    /// The URI at which the provider answers.
    package var redirectURI: String
    /// The scopes, in order.
    package var scope: [String]
    /// At least 128 unpredictable bits.
    package var state: String
    /// The same for the id token; `nil` without `openid`.
    package var nonce: String?
    /// The S256 challenge (RFC 7636 §4.2).
    package var challenge: String
    /// `prompt`.
    package var prompt: String?
    /// `login_hint`.
    package var loginHint: String?
    /// `resource` (RFC 8707).
    package var resource: String?
    /// `audience`.
    package var audience: String?
    /// How the provider shall answer.
    package var responseMode: AccountType.ResponseMode?
    /// The thumbprint of the key that the code shall be bound to (RFC 9449 §10).
    package var keyThumbprint: String?
    /// The parameters that the type adds; names checked by ``ReservedParameters``.
    package var extra: [String: String] = [:]

    /// Makes a request with the parameters that every request needs.
    package init(
        endpoint: URI, clientID: String, redirectURI: String, scope: [String], state: String, nonce: String?,
        challenge: String
    ) {
        self.endpoint = endpoint
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.scope = scope
        self.state = state
        self.nonce = nonce
        self.challenge = challenge
    }

    /// The URL to open.
    package var address: URI { endpoint.appending(query: FormURLEncoding.encode(fields)) }

    /// The URL to open once the request has been pushed (RFC 9126 §4).
    package func address(ofPushed requestURI: String) -> URI {
        endpoint.appending(query: FormURLEncoding.encode([("client_id", clientID), ("request_uri", requestURI)]))
    }

    /// The parameters.
    package var fields: [FormURLEncoding.Field] {
        var fields: [FormURLEncoding.Field] = [
            ("response_type", "code"), ("client_id", clientID), ("redirect_uri", redirectURI),
        ]
        func add(_ name: String, _ value: String?) {
            if let value, !value.isEmpty { fields.append((name, value)) }
        }
        add("scope", Scope.text(scope))
        add("state", state)
        add("nonce", nonce)
        add("code_challenge", challenge)
        add("code_challenge_method", "S256")
        add("response_mode", responseMode?.rawValue)
        add("dpop_jkt", keyThumbprint)
        add("prompt", prompt)
        add("login_hint", loginHint)
        add("resource", resource)
        add("audience", audience)
        return fields.completed(by: extra)
    }
}

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
