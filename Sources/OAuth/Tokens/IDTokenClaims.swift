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
    public let expiresAt: Timestamp

    /// Takes claims whose validity the caller has established.
    init(members: JSONObject, issuer: String, subject: String, expiresAt: Timestamp) {
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

/// The facts that are read from an ID token that was validated when it was stored.
package struct StoredIDToken: Sendable {
    /// When it ends.
    package let expiresAt: Timestamp
    /// When it was issued, if the token has that claim.
    package let issuedAt: Timestamp?

    /// Reads a token.
    package init(_ token: Secret) throws(CredentialError) {
        let claims = try CompactJWT(token.reveal()).claims
        expiresAt = Timestamp(epochSeconds: claims["exp"]?.integer ?? 0)
        issuedAt = claims["iat"]?.integer.map(Timestamp.init(epochSeconds:))
    }

    /// Whether it may be given out at `now`: as an access token, by its own life. One that does not tell when it
    /// was issued was issued now.
    func isFresh(by freshness: Freshness, now: Timestamp) -> Bool {
        let left = expiresAt.seconds(since: now)
        return left >= freshness.margin(lifetime: issuedAt.map { expiresAt.seconds(since: $0) } ?? left)
    }
}

extension TokenService {
    /// A token with an ID token that is valid for as long as requested, if the provider issues ID tokens at all:
    /// one that has ended, or is about to, is renewed.
    ///
    /// - Throws: as ``token(_:)``; ``ErrorCode/signInRequired`` if a refresh brings no new one.
    package func tokenWithIDToken(
        _ request: Request, now: Timestamp
    ) throws(CredentialError) -> Answer {
        var answer = try token(request)
        guard let idToken = answer.idToken else { return answer }
        let facts = try StoredIDToken(idToken), hasEnded = facts.expiresAt <= now
        if facts.isFresh(by: request.freshness, now: now) { return answer }
        // It was tried just now.
        if !hasEnded, answer.refreshed || answer.failure != nil { return answer }
        if let failure = answer.failure { throw failure }
        var again = request
        again.forceRefresh = true
        let renewed: Answer
        do throws(CredentialError) { renewed = try token(again) } catch {
            // An id token that lives on is given in the place of an error, as an access token is.
            guard !hasEnded, request.allowsStaleToken(because: error) else { throw error }
            let left = facts.expiresAt.seconds(since: now)
            answer.warnings.append("this ID token expires in \(left) s; the refresh failed: \(error)")
            answer.failure = error
            return answer
        }
        guard let idToken = renewed.idToken, try StoredIDToken(idToken).expiresAt > now else {
            throw request.signInRequired("its ID token has expired, and a refresh returns no new ID token")
        }
        return renewed
    }
}
