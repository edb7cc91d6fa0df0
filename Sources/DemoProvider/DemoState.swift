import CredentialCore

/// What a user agreed to: the base of codes and tokens.
struct DemoGrant: Sendable {
    /// Codes and refresh tokens of one sign-in share it.
    var family: Int
    var clientID: String
    var policy: DemoPolicy
    var objectID: String
    var scopes: [String]
    var nonce: String?
    var signedInAt: Instant
}

/// An authorization code that was given out.
struct DemoCode: Sendable {
    var grant: DemoGrant
    var redirectURI: String
    var challenge: DemoChallenge?
    var issuedAt: Instant
    var isUsed = false
}

/// A PKCE challenge (RFC 7636 §4.3).
struct DemoChallenge: Sendable {
    var value: String
    var isHashed: Bool
}

/// A refresh token that was given out.
struct DemoRefreshToken: Sendable {
    var grant: DemoGrant
    var issuedAt: Instant
    var isReplaced = false
}

/// A browser that is signed in.
struct DemoSession: Sendable {
    var objectID: String
    var signedInAt: Instant
}

/// An entry of a to-do list.
struct DemoTask: Sendable {
    var id: Int64
    var text: String
    var isCompleted = false
    var changedAt: Instant
}

/// Everything that changes while the provider runs.
struct DemoState: Sendable {
    var switches: DemoSwitches
    var counters = DemoCounters()
    var users: [DemoUser]
    var codes: [String: DemoCode] = [:]
    var refreshTokens: [String: DemoRefreshToken] = [:]
    /// The code verifiers that were shown.
    var verifiers: Set<String> = []
    var revokedFamilies: Set<Int> = []
    var lastFamily = 0
    var sessions: [String: DemoSession] = [:]
    var lastState: String?
    var tasks: [String: [DemoTask]] = [:]
    var lastTask: Int64 = 0
    /// Access and id tokens that the to-do API accepts, and those it no longer does.
    var liveTokens: Set<String> = []
    var expiredTokens: Set<String> = []

    func user(objectID: String) -> DemoUser? { users.first { $0.objectID == objectID } }

    func user(email: String, password: String) -> DemoUser? {
        users.first { $0.email == email.lowercased() && $0.password == Secret(password) }
    }

    /// Makes the to-do API refuse every token given out so far.
    mutating func expireTokens() {
        expiredTokens.formUnion(liveTokens)
        liveTokens = []
    }

    /// Revokes every grant given out so far.
    mutating func revokeRefreshTokens() {
        revokedFamilies.formUnion(refreshTokens.values.map(\.grant.family))
    }
}
