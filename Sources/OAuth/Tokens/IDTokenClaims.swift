public import CredentialCore
public import StrictJSON

/// The claims of an id token that has been validated (OpenID Connect Core §2).
public struct IDTokenClaims: Sendable {
    /// All of them.
    public let members: JSONObject
    /// The issuer.
    public let issuer: String
    /// The subject.
    public let subject: String
    /// When the token ends.
    public let expiresAt: Instant

    /// Takes claims whose validity the caller has established.
    init(members: JSONObject, issuer: String, subject: String, expiresAt: Instant) {
        self.members = members
        self.issuer = issuer
        self.subject = subject
        self.expiresAt = expiresAt
    }

    /// A claim that is a string and not empty.
    public func text(_ name: String) -> String? {
        members[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }
}
