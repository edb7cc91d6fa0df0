/// One signed-in identity, as the registry knows it: facts only, never a secret.
///
/// Accounts belong to a registration (``registration``), not to a type's name: every type of the keychain group
/// with the same provider and client id sees them.
public struct Account: Sendable, Hashable {
    /// The stable opaque id: 16 lower-case hexadecimal digits.
    public let id: String
    /// The type it was signed in under.
    public var type: String
    /// The adapter that signed it in.
    public var adapter: String
    /// Provider and client.
    public var registration: ClientIdentity
    /// The issuer of its ID token, if there is one.
    public var issuer: String?
    /// The subject at the provider.
    public var subject: String
    /// The name it signs in with, if the provider gives it.
    public var username: String?
    /// The user's display name, if the provider gives it.
    public var displayName: String?
    /// The names from the sign-in before, if a keyring has the tokens: the last sign-in has changed the names, and
    /// a process that ended between keyring and record has left them in the record.
    package var previousNames: Names?
    /// The registration before `types set` moved the account, if a keyring has the tokens: a process that ends
    /// between keyring and record leaves the record with it.
    package var formerRegistration: ClientIdentity?
    /// The user's own name for it.
    public var label: String?
    /// The store of its secrets. Exactly one store is authoritative.
    public var store: StoreKind
    /// A store that may hold an invalid copy: one that a migration between the stores has begun to write, or has
    /// not removed yet.
    public var staleKeyringCopy: StoreKind?
    /// When it was made the default of its registration; of several the newest one counts.
    public var madeDefaultAt: Timestamp?
    /// Whether it can give tokens.
    public var status: Status
    /// The policies it holds grants for, sorted; empty if the provider has no policies.
    public var policies: [String]
    /// The flows that it was signed in by if that was not the type's own, by policy: a hint has to name them.
    package var flows: [String: SignInFlow] = [:]
    /// The scopes granted, of the newest grant.
    public var scope: [String]
    /// When the newest access token ends.
    public var expiresAt: Timestamp?
    /// When the refresh token ends, if the provider reports it.
    public var refreshExpiresAt: Timestamp?
    /// Whether it has no refresh token, so that it ends with its token.
    package var endsWithToken = false
    /// How near the end of the sign-in is, as far as that was told: see ``ExpiryNotice``.
    package var lastExpiryNotice: ExpiryNotice?
    /// From when to when its access tokens are valid; `nil` if that is not known.
    package var tokenTimes: [TokenValiditySummary]?
    /// Digests of its refresh tokens by a key of the machine that wrote them: see
    /// ``UsedRefreshTokens/digest(of:)``.
    package var tokenDigests: [String] = []
    /// When it was signed in first.
    public var createdAt: Timestamp
    /// When anything of it changed last.
    public var updatedAt: Timestamp

    /// Makes an account that has just been signed in.
    public init(
        id: String, type: String, adapter: String, registration: ClientIdentity, subject: String, store: StoreKind,
        now: Timestamp
    ) {
        self.id = id
        self.type = type
        self.adapter = adapter
        self.registration = registration
        self.subject = subject
        self.store = store
        status = .active
        policies = []
        scope = []
        createdAt = now
        updatedAt = now
    }

    /// The provider's names for a user.
    package struct Names: Sendable, Hashable {
        /// The name it signs in with.
        package var username: String?
        /// The person's name.
        package var displayName: String?
    }

    /// The provider's names for it.
    package var names: Names { Names(username: username, displayName: displayName) }

    /// Whether these facts, which are sealed with the tokens, agree with the record in clear: the same user at the
    /// same provider under the same names. The user and the provider never change while the account exists.
    package func fits(_ record: Account) -> Bool {
        (hasRegistration(of: record) || record.registration == formerRegistration) && subject == record.subject
            && (record.names == names || record.names == previousNames)
    }

    /// Whether this account and another one are of one registration, which one of both may name in the earlier
    /// form. Only the type tells which registration that is, so it has to be the same.
    package func hasRegistration(of other: Account) -> Bool {
        if registration == other.registration { return true }
        return type == other.type
            && (registration.earlier == other.registration || other.registration.earlier == registration)
    }

    /// Notes by which flow a policy was signed in.
    package mutating func noteFlow(_ flow: SignInFlow, of policy: String, under type: AccountType) {
        flows[policy] = flow == type.signInFlow ? nil : flow
    }

    /// Copies the members that only the record knows into the facts in a token set: its store, the user's choices,
    /// and the last notice.
    package mutating func adoptRecord(_ record: Account) {
        store = record.store
        staleKeyringCopy = record.staleKeyringCopy
        label = record.label
        madeDefaultAt = record.madeDefaultAt
        lastExpiryNotice = record.lastExpiryNotice
    }

    /// Whether an account can give tokens.
    public enum Status: Sendable, Hashable {
        /// It holds a grant that has no known fault.
        case active
        /// A person has to sign in again; the reason is fit to be shown.
        case needsLogin(reason: String)
    }

    /// The name to show: the label, else the username, else the person's name, else the subject.
    public var shownName: String { label ?? username ?? displayName ?? subject }
}

/// One client at one provider, which an account belongs to: see ``CredentialAdapter/provider(of:)``.
public struct ClientIdentity: Sendable, Hashable {
    /// The provider as its adapter names it; equal strings mean the same provider.
    public let provider: String
    /// The client id.
    public let clientID: String

    /// Makes a registration.
    public init(provider: String, clientID: String) {
        self.provider = provider
        self.clientID = clientID
    }
}

/// The steps in which the end of a sign-in comes near, if the provider gives its time (`refresh_expires_in`).
///
/// Each causes one notice: seven days and one day before. A sign-in that never lasts longer than a step is not told
/// to end within it, since that is always so.
package enum ExpiryNotice: Int64, Sendable, Hashable {
    /// Within seven days.
    case week = 7
    /// Within a day.
    case day = 1

    /// The nearest step that an end has come to; `nil` for one that is further away.
    package init?(of end: Timestamp?, now: Timestamp) {
        guard let left = end?.seconds(since: now) else { return nil }
        switch left {
        case ...86_400: self = .day
        case ...(7 * 86_400): self = .week
        default: return nil
        }
    }
}

extension Account {
    /// Notes how near the end of the sign-in is by now.
    ///
    /// - Returns: whether it has come a step nearer since it was noted last.
    package mutating func recordExpiryNotice(now: Timestamp) -> Bool {
        let ending = ExpiryNotice(of: refreshExpiresAt, now: now)
        defer { lastExpiryNotice = ending }
        guard let ending else { return false }
        return lastExpiryNotice.map { ending.rawValue < $0.rawValue } ?? true
    }

    /// Whether the end of the sign-in is near, and the account still works.
    package func endsSoon(now: Timestamp) -> Bool {
        guard case .active = status else { return false }
        return ExpiryNotice(of: refreshExpiresAt, now: now) != nil
    }
}
