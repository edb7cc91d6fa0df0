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

/// What is read of an id token that was validated when it was stored.
package struct IDTokenFacts: Sendable {
    /// When it ends.
    package let expiresAt: Instant

    /// Reads a token.
    package init(_ token: Secret) throws(CredentialError) {
        let claims = try CompactToken(token.reveal()).claims
        expiresAt = Instant(epochSeconds: claims["exp"]?.integer ?? 0)
    }
}

extension TokenService {
    /// A token with an id token that is valid, where the provider gives one at all: one that has ended is renewed.
    ///
    /// - Throws: as ``token(_:)``; ``ErrorCode/signInRequired`` where a refresh brings no new one.
    package func tokenWithIDToken(
        _ request: Request, now: Instant
    ) throws(CredentialError) -> Answer {
        let answer = try token(request)
        guard let idToken = answer.idToken, try IDTokenFacts(idToken).expiresAt <= now else { return answer }
        // It was tried just now.
        if let failure = answer.failure { throw failure }
        var again = request
        again.forceRefresh = true
        let renewed = try token(again)
        guard let idToken = renewed.idToken, try IDTokenFacts(idToken).expiresAt > now else {
            throw request.signInRequired("its id token has ended, and a refresh gives no new one")
        }
        return renewed
    }
}
