public import CredentialCore
public import StrictJSON

/// A request for a token, in any language of the socket.
public struct TokenAsk: Sendable, Equatable {
    /// The entry's name.
    public var entry: String?
    /// The account type.
    public var type: String?
    /// The issuer of the account's type, in place of the entry's name.
    public var issuer: String?
    /// The account's name.
    public var account: String?
    /// The policy.
    public var policy: String?
    /// The scopes, a part of the entry's; `nil` for the entry's.
    public var scope: [String]?
    /// The resource (RFC 8707); `nil` for the entry's first.
    public var resource: String?
    /// The audience; `nil` for the entry's first.
    public var audience: String?
    /// The origin that the token is for.
    public var origin: String?
    /// The caller's own words on its purpose, for the log.
    public var why: String?
    /// For how many seconds the token must be valid, from 0 to 86,400.
    public var minValid: Int?
    /// Whether the ID token is wanted, too.
    public var wantsIDToken = false
    /// The `aud` that the ID token must have, else `denied` with `id_token`; `nil` for any.
    public var idTokenAudience: String?

    /// Makes a request for the broker's only entry.
    public init(entry: String? = nil, type: String? = nil) {
        self.entry = entry
        self.type = type
    }
}

/// A token that the broker releases.
public struct ReleasedToken: Sendable {
    /// The token.
    public var accessToken: Secret
    /// Its type (RFC 6749 §7.1).
    public var tokenType: String
    /// When it ends, in seconds since 1970; `nil` if that is unknown.
    public var expiresOn: Int64?
    /// The scopes that the provider granted.
    public var scope: [String]
    /// The ID token, if the caller wanted it.
    public var idToken: Secret?
    /// The issuer of the account's type.
    public var issuer: String?
    /// The account's ID.
    public var accountID: String
    /// The account's type.
    public var accountType: String
    /// The name that the account signs in with.
    public var username: String?
    /// The origins that the type may have in this broker.
    public var origins: [String]

    /// Makes a released token.
    public init(
        accessToken: Secret, tokenType: String = "Bearer", expiresOn: Int64? = nil, scope: [String] = [],
        idToken: Secret? = nil, issuer: String? = nil, accountID: String, accountType: String,
        username: String? = nil, origins: [String] = []
    ) {
        self.accessToken = accessToken
        self.tokenType = tokenType
        self.expiresOn = expiresOn
        self.scope = scope
        self.idToken = idToken
        self.issuer = issuer
        self.accountID = accountID
        self.accountType = accountType
        self.username = username
        self.origins = origins
    }
}

/// The helper whose input a caller sends.
public enum BrokerHelper: String, Sendable, CaseIterable {
    case git, docker, kubernetes, aws
}

/// Releases tokens: the part of a broker that every language of the socket uses.
///
/// A releaser writes the audit line `issue` before it returns a token, and `deny` before it throws.
public protocol TokenReleaser: Sendable {
    /// Returns a token that the broker's configuration and the user allow.
    ///
    /// - Throws: ``BrokerFailure``.
    func release(_ ask: TokenAsk, to caller: Caller) throws(BrokerFailure) -> ReleasedToken

    /// The entries that callers may use now.
    func entries() -> [BrokerEntry]

    /// Returns the issuer of an entry's account type or account; `nil` if both are unknown.
    func issuer(of entry: BrokerEntry) -> String?

    /// Answers one of the helpers for other programs; the host checks the origin. `aws` returns the credentials of
    /// the role in the form of `credmgr aws`.
    ///
    /// - Parameters:
    ///   - input: the members of the helper's input; for `aws`: `role_arn`.
    ///   - entry: the entry's name; `nil` for the broker's only entry.
    /// - Throws: ``BrokerFailure``.
    func helper(
        _ helper: BrokerHelper, input: JSONObject, entry: String?, to caller: Caller
    ) throws(BrokerFailure) -> JSONObject
}
