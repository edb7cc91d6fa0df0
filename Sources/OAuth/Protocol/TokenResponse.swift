public import CredentialCore
public import StrictJSON

/// A successful reply of the token endpoint (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3), as providers really send
/// it.
///
/// Times and scopes that cannot be read count as absent: the response may hold the only copy of a rotated refresh
/// token, so a strange `expires_in` must not cost a sign-in. Parsing is strict for members that go into a header or
/// decide something.
public struct TokenResponse: Sendable {
    /// The access token.
    public var accessToken: String?
    /// Its type as it goes into the header: `Bearer`, or `DPoP` if that was requested.
    public var tokenType: String
    /// When the access token ends; ``defaultLifetime`` after receipt when the reply does not say.
    public var expiresAt: Timestamp
    /// Whether the reply says when the access token ends.
    public var saysEnd: Bool
    /// The end that the access token itself names, if the response has no lifetime; not verified.
    var jwtEnd: Timestamp?
    /// The refresh token.
    public var refreshToken: String?
    /// When the refresh token ends, if the response has that.
    public var refreshExpiresAt: Timestamp?
    /// The id token, not validated yet.
    public var idToken: String?
    /// When the ID token ends, if the response has that.
    public var idTokenExpiresAt: Timestamp?
    /// The scopes granted; `nil` when the reply does not say, which means those asked for.
    public var scope: [String]?
    /// All members, for those that only one provider sends.
    public var members: JSONObject

    /// Seconds an access token that can be refreshed is trusted for when the reply does not say.
    public static let defaultLifetime: Int64 = 600
    /// The longest lifetime believed: one year.
    public static let longestLifetime = AccessToken.longestLifetime
    /// The bytes of the longest refresh token that is stored: a record has at most 8 MiB.
    private static let refreshTokenLimit = 65_536
    /// The least number that is a time since 1970, not a lifetime: ten years in seconds.
    private static let leastTime: Int64 = 315_360_000

    /// Reads a reply.
    ///
    /// - Parameters:
    ///   - members: the JSON object received.
    ///   - now: when it was received.
    ///   - acceptsIDTokenAlone: whether a reply without an access token will do if it has an id token.
    ///   - acceptsDPoP: whether the request proved the possession of a key, so that the token may be bound to it.
    /// - Throws: ``ErrorCode/malformedReply`` when there is no token, one is not printable, or its type is unknown.
    public init(
        _ members: JSONObject, now: Timestamp, acceptsIDTokenAlone: Bool, acceptsDPoP: Bool = false
    ) throws(CredentialError) {
        self.members = members
        jwtEnd = nil
        accessToken = try Self.token("access_token", in: members)
        refreshToken = try Self.token("refresh_token", in: members)
        idToken = try Self.token("id_token", in: members)
        if let refreshToken, refreshToken.utf8.count > Self.refreshTokenLimit {
            throw CredentialError(
                .malformedReply, "the provider's refresh token is longer than \(Self.refreshTokenLimit) bytes")
        }
        guard accessToken != nil || (acceptsIDTokenAlone && idToken != nil) else {
            throw CredentialError(
                .malformedReply, "the token endpoint's response has no access token",
                hint: idToken == nil
                    ? nil
                    : "request a scope of the API, or use the ID token: set \"bearer\": \"id_token\" in the type")
        }
        tokenType = try Self.tokenType(members["token_type"], acceptsDPoP: acceptsDPoP)
        // A lifetime of 0 or less means that there is no end, or that the response does not name it (Keycloak,
        // Mailchimp, VK).
        func lifetime(_ name: String) -> Int64? {
            LenientNumber.read(members[name], in: 0...Self.longestLifetime).flatMap { $0 > 0 ? $0 : nil }
        }
        func end(in names: String..., at absolute: String? = nil) -> Timestamp? {
            // Of two the smaller one counts: the other may be in milliseconds.
            if let seconds = names.compactMap(lifetime).min() { return now.adding(seconds) }
            guard let absolute, let time = LenientNumber.read(members[absolute], in: 0...Int64.max), time > 0 else {
                return nil
            }
            // A time soon after 1970 is a lifetime; one in the past is none, as a lifetime of 0.
            if time < Self.leastTime { return now.adding(min(time, Self.longestLifetime)) }
            guard time > now.epochSeconds else { return nil }
            return Timestamp(epochSeconds: min(time, now.adding(Self.longestLifetime).epochSeconds))
        }
        let told = end(in: "expires_in", "expires_in_sec", at: "expires_on")
        expiresAt = told ?? now.adding(Self.defaultLifetime)
        saysEnd = told != nil
        refreshExpiresAt = end(
            in: "refresh_token_expires_in", "refresh_expires_in", at: "refresh_token_expires_at")
        idTokenExpiresAt = end(in: "id_token_expires_in")
        scope = Self.scope(members["scope"])
        if !saysEnd { shorten(to: accessToken.flatMap(Self.endOfJWT)) }
    }

    /// Shortens a guessed lifetime to the end that the access token itself names. It is not verified, and lengthens
    /// no lifetime.
    private mutating func shorten(to end: Timestamp?) {
        guard let end else { return }
        jwtEnd = end
        expiresAt = min(expiresAt, end)
    }

    /// `exp` of an access token that is a JSON Web Token, without any check.
    private static func endOfJWT(_ token: String) -> Timestamp? {
        guard let claims = try? CompactJWT(token, .accessToken).claims,
            let time = LenientNumber.read(claims["exp"], in: 1...Int64.max)
        else { return nil }
        return Timestamp(epochSeconds: time)
    }

    private static func token(_ name: String, in members: JSONObject) throws(CredentialError) -> String? {
        switch members[name] {
        case nil, .null?, .string("")?: return nil
        case .string(let text)?:
            guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw CredentialError(.malformedReply, "the \(name) received has a character not allowed in tokens")
            }
            return text
        case let other?:
            throw CredentialError(.malformedReply, "the \(name) received is \(other.kind), not a string")
        }
    }

    /// `Bearer` in any case, or absent. idpyoidc says `access_token` for client credentials and means the same.
    private static func tokenType(_ value: JSONValue?, acceptsDPoP: Bool) throws(CredentialError) -> String {
        switch value {
        case nil, .null?: return "Bearer"
        case .string(let text)? where ["", "bearer", "access_token"].contains(text.lowercased()): return "Bearer"
        case .string(let text)? where acceptsDPoP && text.lowercased() == "dpop": return "DPoP"
        case .string(let text)?:
            throw CredentialError(
                .malformedReply, "the token type '\(UntrustedText.shown(text, limit: 40))' is not supported",
                hint: text.lowercased() == "dpop"
                    ? "set \"dpop_bound_access_tokens\": true in the account type"
                    : "only Bearer (RFC 6750) and DPoP tokens (RFC 9449) can be used")
        case let other?:
            throw CredentialError(
                .malformedReply, "the token_type received is \(other.kind), not a string")
        }
    }

    /// A string of words or an array of them.
    private static func scope(_ value: JSONValue?) -> [String]? {
        let words: [String]
        switch value {
        // GitHub parts its scopes with commas, and has no spaces then.
        case .string(let text)?: words = text.split(separator: text.contains(" ") ? " " : ",").map(String.init)
        case .array(let elements)?: words = elements.compactMap(\.string)
        default: return nil
        }
        let valid = Scope.distinct(words).filter(Scope.isValid)
        return valid.isEmpty ? nil : valid
    }
}

/// Numbers of token replies: providers write them as JSON numbers or as strings, and some write nonsense.
enum LenientNumber {
    /// The number nearest to `value` within `range`; `nil` when it is no number at all.
    static func read(_ value: JSONValue?, in range: ClosedRange<Int64>) -> Int64? {
        switch value {
        case .integer(let number)?: return clamp(number, range)
        case .decimal(let text)?: return Double(text).flatMap { clamp($0, range) }
        case .string(let text)?:
            guard text.utf8.count <= 32, text.utf8.allSatisfy({ "+-.eE0123456789".utf8.contains($0) }) else {
                return nil
            }
            if let number = Int64(text) { return clamp(number, range) }
            return Double(text).flatMap { clamp($0, range) }
        default: return nil
        }
    }

    private static func clamp(_ number: Int64, _ range: ClosedRange<Int64>) -> Int64 {
        min(max(number, range.lowerBound), range.upperBound)
    }

    private static func clamp(_ number: Double, _ range: ClosedRange<Int64>) -> Int64? {
        if !number.isFinite { return nil }
        if number >= Double(range.upperBound) { return range.upperBound }
        if number <= Double(range.lowerBound) { return range.lowerBound }
        return Int64(exactly: number.rounded(.down))
    }
}
