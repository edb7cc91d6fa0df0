package import CredentialCore
package import StrictJSON

/// The claims of an id token that has been validated (OpenID Connect Core §2).
package struct IDTokenClaims: Sendable {
    /// All of them.
    package let members: JSONObject
    /// The issuer.
    package let issuer: String
    /// The subject.
    package let subject: String
    /// When the token ends.
    package let expiresAt: Instant

    /// Takes claims whose validity the caller has established.
    init(members: JSONObject, issuer: String, subject: String, expiresAt: Instant) {
        self.members = members
        self.issuer = issuer
        self.subject = subject
        self.expiresAt = expiresAt
    }

    /// A claim that is a string and not empty.
    package func text(_ name: String) -> String? {
        members[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }
}
