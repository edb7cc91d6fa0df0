package import CredentialCore
package import StrictJSON

/// Checks an access token that is a JSON Web Token (RFC 9068 §4).
///
/// Its API decides by it, not its client: a client checks it to show its content to the user.
package struct AccessTokenValidator: Sendable {
    /// The issuer it must be from, byte for byte.
    package var issuer: String
    /// The client it must have been issued to.
    package var clientID: String
    /// The audience that it was requested for: a resource or an audience; `nil` if no audience was named, and any
    /// will do.
    package var audience: String?
    /// The time now.
    package var now: Timestamp

    /// Makes a validator.
    package init(issuer: String, clientID: String, audience: String?, now: Timestamp) {
        self.issuer = issuer
        self.clientID = clientID
        self.audience = audience
        self.now = now
    }

    /// Whether a token has the form of a JSON Web Token, signed or encrypted; any other is opaque.
    package static func isReadable(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 || parts.count == 5, let bytes = Base64URL.decode(String(parts[0])) else {
            return false
        }
        return (try? JSONValue.parse(bytes))?.object?["alg"] != nil
    }

    /// Checks a token and gives its claims.
    ///
    /// - Parameters:
    ///   - text: the token.
    ///   - cryptography: verifies.
    ///   - key: finds the key for an algorithm and a `kid`; `nil` when there is no such key.
    /// - Throws: ``ErrorCode/validationFailed`` with the failed check; the errors of `keys`.
    package func validate(
        _ text: String, cryptography: any Cryptography,
        keys: (SignatureAlgorithm, String?) throws(CredentialError) -> [JSONObject]
    ) throws(CredentialError) -> JSONObject {
        try checkType(CompactJWT(text, .accessToken).header)
        let check = JWTVerifier(
            of: .accessToken, issuer: issuer, algorithms: SignatureAlgorithm.allCases, now: now)
        let claims = try check.validate(text, cryptography: cryptography, keys: keys).claims
        let named = try claims.audience(of: .accessToken)
        if let audience, !named.contains(where: { ConstantTime.equal($0, audience) }) {
            throw refused("it is for another audience than '\(UntrustedText.shown(audience))'")
        }
        for name in ["sub", "jti", "client_id"] where try claims.text(name, of: .accessToken)?.isEmpty ?? true {
            throw refused("it has no \(name)")
        }
        guard let client = try claims.text("client_id", of: .accessToken), ConstantTime.equal(client, clientID)
        else { throw refused("it was issued to another client") }
        return claims
    }

    /// `at+jwt`, with or without the first part of a media type, which has no case (RFC 9068 §2.1, RFC 7515
    /// §4.1.9).
    private func checkType(_ header: JSONObject) throws(CredentialError) {
        let type = try header.text("typ", of: .accessToken)
        guard ["at+jwt", "application/at+jwt"].contains(type?.lowercased()) else {
            let shown = type.map { "'\(UntrustedText.shown($0, limit: 40))'" } ?? "not given"
            throw refused("its type is \(shown), not at+jwt (RFC 9068)")
        }
    }

    private func refused(_ reason: LocalizedMessage) -> CredentialError { CompactJWT.refused(reason, .accessToken) }
}
