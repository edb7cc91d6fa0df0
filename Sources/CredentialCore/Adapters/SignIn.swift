public import StrictJSON

/// The parameters of a sign-in.
public struct SignInRequest: Sendable {
    /// The type to sign in for.
    public var type: AccountType
    /// The flow.
    public var flow: SignInFlow
    /// The policy, canonical; empty if the provider has no policies.
    public var policy: String
    /// The scopes asked for, as the user or the type gave them.
    public var scope: [String]
    /// The resource indicator.
    public var resource: String?
    /// The audience.
    public var audience: String?
    /// The user that the provider should offer first.
    public var loginHint: String?
    /// The `prompt` parameter (OpenID Connect Core §3.1.2.1).
    public var prompt: String?
    /// Whether the provider should let the user choose a different account than that of its session in the browser.
    /// Each provider is asked in its own way if ``prompt`` is not set.
    public var wantsAnother = false
    /// The username of the password flow.
    public var username: String?
    /// The password of the password flow.
    public var password: Secret?
    /// The redirect URI to use, decided by the host: the loopback one it listens on, or the type's own.
    public var redirectURI: String

    /// Makes a request.
    public init(type: AccountType, flow: SignInFlow, policy: String, scope: [String], redirectURI: String) {
        self.type = type
        self.flow = flow
        self.policy = policy
        self.scope = scope
        self.redirectURI = redirectURI
    }
}

/// The state of a sign-in.
public enum SignInStep: Sendable {
    /// The sign-in needs the user; the adapter wants `pending` back. It holds secrets (verifier, nonce).
    case interaction(Interaction, pending: JSONObject)
    /// Signed in.
    case done(SignInResult)
}

/// The action that the user is asked for, by value: the host does it.
public enum Interaction: Sendable, Hashable {
    /// Open a URL; the provider answers at the redirect URI, with `state`.
    case openURL(URI, state: String)
    /// Show a code and the address at which to enter it, then ask again every `interval` seconds (RFC 8628).
    case showCode(
        userCode: String, verificationURI: URI, complete: URI?, interval: Int, expires: Timestamp)
    /// Ask for a line of text. The prompt says whose question it is.
    case ask(prompt: LocalizedMessage, isSecret: Bool)
}

/// The result of an interaction.
public enum InteractionReply: Sendable {
    /// The URL that the provider redirected to, whole.
    case redirect(String)
    /// The interval has passed: ask the provider.
    case poll
    /// The line entered.
    case text(Secret)
}

/// A finished sign-in: the user and the issued tokens.
public struct SignInResult: Sendable {
    /// The identity of the user.
    public var identity: Identity
    /// The tokens that were issued.
    public var tokens: IssuedTokens

    /// Makes a result.
    public init(identity: Identity, tokens: IssuedTokens) {
        self.identity = identity
        self.tokens = tokens
    }
}

/// The identity of an account, by validated claims.
public struct Identity: Sendable, Hashable {
    /// The issuer, if there is an ID token.
    public var issuer: String?
    /// The stable subject at the provider.
    public var subject: String
    /// The name it signs in with.
    public var username: String?
    /// The person's name.
    public var displayName: String?

    /// Makes an identity.
    public init(issuer: String?, subject: String, username: String? = nil, displayName: String? = nil) {
        self.issuer = issuer
        self.subject = subject
        self.username = username
        self.displayName = displayName
    }
}

/// The tokens that a provider issued in one response, checked.
public struct IssuedTokens: Sendable {
    /// The bearer token for the request, if one came: the access token, or the ID token if it serves as one.
    public var accessToken: AccessToken?
    /// The grant as it is now. A reply without a refresh token keeps the old one.
    public var grant: Grant
    /// The warnings for the user, such as a scope that the provider no longer grants.
    public var warnings: [LocalizedMessage] = []

    /// Makes a set of issued tokens.
    public init(accessToken: AccessToken?, grant: Grant) {
        self.accessToken = accessToken
        self.grant = grant
    }

    /// Whether the sign-in ends with this token: its grant cannot be refreshed, and the token's end is known.
    package var endWithToken: Bool { !grant.isRefreshable && accessToken?.hasKnownEnd ?? true }
}

/// The parameters of a refresh.
public struct RefreshRequest: Sendable {
    /// The type.
    public var type: AccountType
    /// The key of the access token that is wanted.
    public var key: TokenRequestKey
    /// The scopes asked for, in the order written.
    public var scope: [String]
    /// The grant to refresh.
    public var grant: Grant
    /// The subject of the account; the reply must be for the same.
    public var subject: String
    /// The account's access token to exchange for the one wanted (RFC 8693); `nil` to refresh the grant.
    public var subjectToken: AccessToken?
    /// Whether the response must have an ID token that holds: that of an earlier response was refused.
    public var needsIDToken = false

    /// Makes a request.
    public init(type: AccountType, key: TokenRequestKey, scope: [String], grant: Grant, subject: String) {
        self.type = type
        self.key = key
        self.scope = scope
        self.grant = grant
        self.subject = subject
    }
}

/// An adapter's finding in a response to a refresh, before the response is judged or after it was refused.
public struct RefreshFinding: Sendable, Hashable {
    /// The new refresh token, used only for the next refresh; `nil` if the response has no such token, or more than
    /// one.
    public var refreshToken: Secret?
    /// Whether the response names another subject or issuer than the account's, verified or not.
    public var isForeign: Bool
    /// Whether the response has an ID token that was refused.
    public var refusesIDToken: Bool

    /// Makes a finding.
    public init(refreshToken: Secret?, isForeign: Bool = false, refusesIDToken: Bool = false) {
        self.refreshToken = refreshToken
        self.isForeign = isForeign
        self.refusesIDToken = refusesIDToken
    }
}
