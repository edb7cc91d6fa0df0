import CredentialCore
import Platform

/// The consent of a user: the base of codes and tokens.
struct DemoGrant: Sendable {
    /// Codes and refresh tokens of one sign-in share it.
    var family: Int
    /// The client it was given to.
    var clientID: String
    /// The policy it was made at.
    var policy: DemoPolicy
    /// The user.
    var objectID: String
    /// The scopes requested at the sign-in.
    var scopes: [String]
    /// The `nonce` of the sign-in.
    var nonce: String?
    /// When the user signed in.
    var signedInAt: Timestamp
}

/// An authorization code that was given out.
struct DemoCode: Sendable {
    /// The grant that it belongs to.
    var grant: DemoGrant
    /// The redirect URI it was sent to.
    var redirectURI: String
    /// The challenge its verifier must meet.
    var challenge: DemoChallenge?
    /// When it was given out.
    var issuedAt: Timestamp
    /// Whether it was redeemed.
    var isUsed = false
}

/// A PKCE challenge (RFC 7636 §4.3).
struct DemoChallenge: Sendable {
    /// The challenge.
    var value: String
    /// Whether the method is S256, not plain.
    var isHashed: Bool
}

/// A refresh token that was given out.
struct DemoRefreshToken: Sendable {
    /// The grant that it belongs to.
    var grant: DemoGrant
    /// When it was given out.
    var issuedAt: Timestamp
    /// Whether it was used, and a new one given for it.
    var isReplaced = false
}

/// A browser that is signed in.
struct DemoSession: Sendable {
    /// The user.
    var objectID: String
    /// When the user signed in.
    var signedInAt: Timestamp
}

/// An entry of a to-do list.
struct DemoTask: Sendable {
    /// Its number, unique in the provider.
    var id: Int64
    /// The task to be done.
    var text: String
    /// Whether it is done.
    var isCompleted = false
    /// When it was last changed.
    var changedAt: Timestamp
}

/// Everything that changes while the provider runs.
struct DemoState: Sendable {
    /// The switches.
    var switches: DemoSwitches
    /// The counters.
    var counters = DemoCounters()
    /// The users who may sign in.
    var users: [DemoUser]
    /// The codes given out.
    var codes: [String: DemoCode] = [:]
    /// The refresh tokens given out.
    var refreshTokens: [String: DemoRefreshToken] = [:]
    /// The code verifiers that were shown.
    var verifiers: Set<String> = []
    /// Families whose refresh tokens are revoked.
    var revokedFamilies: Set<Int> = []
    /// The number of the last family.
    var lastFamily = 0
    /// Signed-in browsers by their cookie.
    var sessions: [String: DemoSession] = [:]
    /// The `state` of the last sign-in.
    var lastState: String?
    /// The to-do lists by owner.
    var tasks: [String: [DemoTask]] = [:]
    /// The number of the last task.
    var lastTask: Int64 = 0
    /// Path and query of the last request of the to-do API.
    var lastTaskTarget: String?
    /// Access and id tokens that the to-do API accepts, and those it no longer does.
    var liveTokens: Set<String> = []
    var expiredTokens: Set<String> = []
    /// How many token responses to come are kept back, and the gate at which the held ones wait.
    var repliesToHold = 0
    var heldReplies: [OneShot<Void, Never>] = []
    /// The callers that wait until so many replies are kept back.
    var waitingForReplies: [(count: Int, gate: OneShot<Void, Never>)] = []

    /// Returns the gate at which the next token reply waits; `nil` if it does not wait.
    mutating func holdReply() -> OneShot<Void, Never>? {
        guard repliesToHold > 0 else { return nil }
        repliesToHold -= 1
        let gate = OneShot<Void, Never>()
        heldReplies.append(gate)
        for waiting in waitingForReplies where waiting.count <= heldReplies.count { waiting.gate.put(.success(())) }
        waitingForReplies.removeAll { $0.count <= heldReplies.count }
        return gate
    }

    /// Returns the gate at which a caller waits until so many replies are kept back; `nil` if they are already.
    mutating func waitForReplies(_ count: Int) -> OneShot<Void, Never>? {
        guard heldReplies.count < count else { return nil }
        let gate = OneShot<Void, Never>()
        waitingForReplies.append((count, gate))
        return gate
    }

    /// Lets every token reply go, those to come as well.
    mutating func releaseReplies() {
        repliesToHold = 0
        for gate in heldReplies { gate.put(.success(())) }
        heldReplies = []
    }

    /// The user with an object id.
    func user(objectID: String) -> DemoUser? { users.first { $0.objectID == objectID } }

    /// The user with a sign-in name, in any case, if the password is right.
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
