public import CredentialCore
public import StrictJSON

/// The code that `credmgr token` uses: account choice, cache, token service and refresh worker. The broker has no
/// other path to a token.
public protocol TokenIssuer: Sendable {
    /// Returns the account that an entry means now.
    ///
    /// - Throws: ``ErrorCode/noSuchAccount``, ``ErrorCode/ambiguousAccount``, ``ErrorCode/unknownType``.
    func account(of entry: BrokerEntry) throws(CredentialError) -> any EntryAccount

    /// Returns the values that an account type has by its definition; empty ones for a type that is not defined.
    func defaults(ofType type: String) -> TypeDefaults

    /// Returns the user name that a server at an origin requires beside an entry's token, after the host's own
    /// check that the server may have the token; `nil` if it may not.
    ///
    /// - Throws: ``ErrorCode/denied``, ``ErrorCode/noSuchAccount``, ``ErrorCode/ambiguousAccount``.
    func permission(
        for entry: BrokerEntry, at destination: HelperDestination
    ) throws(CredentialError) -> HelperPermission?
}

/// The values of an account type that apply if an entry has no list of its own.
public struct TypeDefaults: Sendable, Hashable {
    /// The scopes.
    public var scope: [String]
    /// The resource (RFC 8707).
    public var resource: String?
    /// The audience.
    public var audience: String?

    /// Makes the values.
    public init(scope: [String] = [], resource: String? = nil, audience: String? = nil) {
        self.scope = scope
        self.resource = resource
        self.audience = audience
    }
}

/// The server that a helper's input names.
public struct HelperDestination: Sendable, Equatable {
    /// The scheme: `https`.
    public var scheme: String
    /// The host, with a port if it has one.
    public var authority: String
    /// The path, if it is known.
    public var path: String?
    /// The user name in the request; `nil` if the request has no user name.
    public var username: String?

    /// Makes a destination.
    public init(scheme: String, authority: String, path: String? = nil, username: String? = nil) {
        self.scheme = scheme
        self.authority = authority
        self.path = path
        self.username = username
    }
}

/// The permission to send an entry's token to a server.
public struct HelperPermission: Sendable, Equatable {
    /// The origin of the server, for the log and for `origins`.
    public var origin: String
    /// The user name beside the token: the requested one, else that of a rule; `nil` without both.
    public var username: String?

    /// Makes a permission.
    public init(origin: String, username: String?) {
        self.origin = origin
        self.username = username
    }
}

/// The account of an entry, and its tokens.
public protocol EntryAccount: Sendable {
    /// The account's ID.
    var id: String { get }
    /// The name that the account signs in with.
    var username: String? { get }
    /// The name that the user knows the account by.
    var shownName: String { get }
    /// The issuer of the type, else that of the account; `nil` if both are unknown.
    var issuer: String? { get }
    /// The type's own scopes, resource and audience.
    var ownScope: [String] { get }
    /// The type's resource.
    var ownResource: String? { get }
    /// The type's audience.
    var ownAudience: String? { get }

    /// Whether a name means this account, as `--account` reads it.
    func isCalled(_ name: String) -> Bool

    /// Whether both names mean the same policy; `nil` means the type's default.
    func isSamePolicy(_ left: String?, _ right: String?) -> Bool

    /// Returns the scopes that a request for `scope` sends: the provider's adapter adds some.
    func effectiveScope(_ scope: [String]) -> [String]

    /// Returns a valid token, as `credmgr token` does.
    ///
    /// - Throws: the errors of `credmgr token`.
    func token(_ order: TokenOrder) throws(CredentialError) -> IssuedToken

    /// Returns a DPoP proof (RFC 9449) with the key that a token is bound to; `nil` for a token without a key.
    ///
    /// - Throws: ``ErrorCode/usage`` for a URL that is not valid; the errors of the store.
    func proof(
        for token: IssuedToken, method: String, url: String, nonce: String?
    ) throws(CredentialError) -> String?

    /// Returns the credentials of a cloud role, in the form of `credmgr aws`, from the ID token.
    ///
    /// - Throws: the errors of `credmgr aws`.
    func roleCredentials(_ role: String, by token: IssuedToken) throws(CredentialError) -> JSONObject

    /// Revokes access tokens of this account at the provider (RFC 7009). The grant and its refresh token stay
    /// valid.
    ///
    /// - Parameter revoked: is called after each revocation, with the token.
    /// - Throws: as ``checkRevocation()``; the errors of the requests.
    func revoke(_ tokens: [AccessToken], revoked: (AccessToken) -> Void) throws(CredentialError)

    /// Checks that ``revoke(_:revoked:)`` has an endpoint at the provider; it sends no request for a revocation.
    ///
    /// - Throws: ``ErrorCode/unsupported`` without the endpoint.
    func checkRevocation() throws(CredentialError)
}

/// An order for a token, within the bounds of an entry.
public struct TokenOrder: Sendable, Equatable {
    /// The policy; `nil` for the type's default.
    public var policy: String?
    /// The scopes; if empty, the type's scopes apply.
    public var scope: [String] = []
    /// The resource; `nil` for the type's.
    public var resource: String?
    /// The audience; `nil` for the type's.
    public var audience: String?
    /// For how many seconds the token must be valid; `nil` for the default.
    public var minValid: Int64?
    /// Whether the ID token is wanted, too.
    public var wantsIDToken = false
    /// Whether the current token was refused by the API.
    public var forceRefresh = false
    /// The broker's name, if the broker has tokens of its own.
    public var owner: String?

    /// Makes an order for the type's token.
    public init() {}
}

/// A token that the host's code has.
public struct IssuedToken: Sendable {
    /// The access token.
    public var token: AccessToken
    /// The ID token, if it was ordered.
    public var idToken: Secret?
    /// When the ID token ends.
    public var idTokenExpiresAt: Timestamp?
    /// Whether it was refreshed for this order.
    public var wasRefreshed: Bool

    /// Makes a token.
    public init(
        _ token: AccessToken, idToken: Secret? = nil, idTokenExpiresAt: Timestamp? = nil, wasRefreshed: Bool = false
    ) {
        self.token = token
        self.idToken = idToken
        self.idTokenExpiresAt = idTokenExpiresAt
        self.wasRefreshed = wasRefreshed
    }
}

/// The configuration file of a running broker.
public protocol BrokerFile: Sendable {
    /// Returns the state of the file since the last call.
    func look() -> BrokerFileChange
}

/// The result of a look at the configuration file.
public enum BrokerFileChange: Sendable {
    /// The file is the same.
    case same
    /// Another file is in its place.
    case replaced(BrokerConfiguration)
    /// The file is not valid, or cannot be read.
    case unusable(CredentialError)
    /// The file is gone.
    case removed
}
