public import StrictJSON

/// A provider's plugin: it knows how to sign in, refresh and sign out for a type.
///
/// Built-in adapters and external ones (`PluginAdapter`) are the same to the host. An adapter is given the material
/// of one account and gives new material back; it never opens a store, never prompts and never prints. If a user is
/// needed, it returns an ``Interaction`` and the host drives it.
public protocol CredentialAdapter: Sendable {
    /// The word that types name it by.
    var name: String { get }
    /// One line for `credmgr adapters`.
    var summary: String { get }

    /// The redirect URI of types that do not name one: a loopback one, its port chosen at sign-in (RFC 8252 §7.3).
    var defaultRedirectURI: String { get }

    /// Whether all its requests go through ``AdapterContext/transport``; else it is unknown after an error whether
    /// a refresh token has left this machine.
    var sendsThroughContext: Bool { get }

    /// Checks the definition of a type without any network call.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the key.
    func check(_ type: AccountType) throws(CredentialError)

    /// Checks that the provider registers clients on request (RFC 7591), without any network call.
    ///
    /// - Throws: ``ErrorCode/unsupported`` if it does not.
    func checkRegistration() throws(CredentialError)

    /// The provider that a type's client is registered at, without any network call: types with equal providers and
    /// client IDs share their accounts. So it has to name each place that their tokens and secrets go to.
    ///
    /// - Throws: ``ErrorCode/configuration``.
    func provider(of type: AccountType) throws(CredentialError) -> String

    /// The policy meant by a name or alias, in its canonical spelling, or the default policy for `nil`; empty for
    /// a provider without policies.
    ///
    /// - Throws: ``ErrorCode/usage`` for a policy name that does not exist.
    func policy(_ name: String?, of type: AccountType) throws(CredentialError) -> String

    /// The scopes that a request for `scope` really sends, in order: the adapter adds those that its provider
    /// needs.
    func effectiveScope(_ scope: [String], of type: AccountType) -> [String]

    /// Begins a sign-in.
    ///
    /// - Throws: ``ErrorCode/configuration``, ``ErrorCode/temporary``, ``ErrorCode/denied``,
    ///   ``ErrorCode/unsupported`` for a flow that the provider lacks, before any network call.
    func begin(_ request: SignInRequest, in context: AdapterContext) throws(CredentialError) -> SignInStep

    /// Checks that a redirected URL answers a sign-in that waits for it, before the sign-in is consumed: no part of
    /// the answer is sent to a server.
    ///
    /// - Parameters:
    ///   - answer: the redirected URL, or its parameters alone.
    ///   - request: the request of the sign-in.
    ///   - pending: as for ``resume(_:pending:with:in:)``.
    ///   - context: the parts of the machine that may be used.
    /// - Throws: ``ErrorCode/validationFailed`` for an answer to something else; then the sign-in waits on.
    func check(
        answer: String, to request: SignInRequest, pending: JSONObject, in context: AdapterContext
    ) throws(CredentialError)

    /// Goes on with a sign-in after the interaction it asked for.
    ///
    /// - Parameters:
    ///   - request: the request of the sign-in.
    ///   - pending: the value that ``SignInStep/interaction(_:pending:)`` gave, perhaps in another process.
    ///   - reply: the result of the interaction.
    ///   - context: the parts of the machine that may be used.
    /// - Throws: as ``begin(_:in:)``; ``ErrorCode/validationFailed`` for a response that is not valid.
    func resume(
        _ request: SignInRequest, pending: JSONObject, with reply: InteractionReply, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep

    /// Takes over the tokens that another program of the same client obtained, as a sign-in of its own.
    ///
    /// - Throws: ``ErrorCode/unsupported`` if the provider's adapter cannot; else as ``refresh(_:in:)``.
    func adopt(
        _ token: ImportedToken, _ request: SignInRequest, in context: AdapterContext
    ) throws(CredentialError) -> SignInResult

    /// Refreshes a grant.
    ///
    /// - Throws: ``ErrorCode/signInRequired`` when the provider reports that the grant is gone;
    ///   ``ErrorCode/temporary`` when the state is unknown; any other error leaves the grant as it was.
    func refresh(_ request: RefreshRequest, in context: AdapterContext) throws(CredentialError) -> IssuedTokens

    /// Has the provider vouch, at another authorization server, for the person that an id token is about.
    ///
    /// - Throws: ``ErrorCode/unsupported`` if the adapter cannot; else as ``refresh(_:in:)``.
    func assertIdentity(
        _ request: IdentityAssertionRequest, idToken: Secret, grant: Grant, of type: AccountType,
        in context: AdapterContext
    ) throws(CredentialError) -> Secret

    /// Checks that the provider has revocation, as far as that can be known without any network call.
    ///
    /// - Throws: ``ErrorCode/unsupported`` if it does not have it for any type.
    func checkRevocation() throws(CredentialError)

    /// Revokes a grant at the provider.
    ///
    /// - Throws: ``ErrorCode/unsupported`` if the provider has no revocation.
    func revoke(_ grant: Grant, of type: AccountType, in context: AdapterContext) throws(CredentialError)

    /// Revokes a grant at the provider, and with it the access tokens that it would honour on.
    ///
    /// - Throws: as for a grant alone. A grant or token that was revoked before may be revoked again.
    func revoke(_ revocable: RevocationRequest, of type: AccountType, in context: AdapterContext)
        throws(CredentialError)

    /// Asks the provider about an access token (RFC 7662).
    ///
    /// - Returns: its response, with the member `active`.
    /// - Throws: ``ErrorCode/unsupported`` if the provider has no introspection.
    func introspect(
        _ token: AccessToken, grant: Grant, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> JSONObject

    /// Reads the claims of an access token, and checks it (RFC 9068 §4).
    ///
    /// - Returns: its claims.
    /// - Throws: ``ErrorCode/unsupported`` for a token that only its API can read; ``ErrorCode/validationFailed``.
    func accessTokenClaims(
        _ token: AccessToken, grant: Grant, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> JSONObject

    /// The URL that ends the session in the browser, if the provider has one.
    func endSessionAddress(
        _ grant: Grant?, policy: String, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> URI?
}

extension CredentialAdapter {
    /// For adapters that know only the state and the redirect URI of an answer, which are the host's to check.
    public func check(
        answer: String, to request: SignInRequest, pending: JSONObject, in context: AdapterContext
    ) throws(CredentialError) {}

    /// Not known.
    public var sendsThroughContext: Bool { false }

    /// Refuses.
    public func adopt(
        _ token: ImportedToken, _ request: SignInRequest, in context: AdapterContext
    ) throws(CredentialError) -> SignInResult {
        throw CredentialError(
            .unsupported, "the adapter \(name) cannot import accounts of other programs",
            hint: "credmgr login --type \(request.type.name)")
    }

    /// Refuses.
    public func assertIdentity(
        _ request: IdentityAssertionRequest, idToken: Secret, grant: Grant, of type: AccountType,
        in context: AdapterContext
    ) throws(CredentialError) -> Secret {
        throw CredentialError(
            .unsupported, "the adapter \(name) cannot vouch for its users at other servers",
            hint: "name a type of the adapter oauth2 as identity_provider")
    }

    /// For providers at which an administrator registers clients.
    ///
    /// - Throws: ``ErrorCode/unsupported``.
    public func checkRegistration() throws(CredentialError) {
        throw CredentialError(
            .unsupported, "the adapter \(name) cannot register clients",
            hint: "register a client at the provider, and set --client-id")
    }

    /// For providers that may have it: revoking reports an error.
    public func checkRevocation() throws(CredentialError) {}

    /// For providers that end a grant's access tokens with it.
    public func revoke(
        _ revocable: RevocationRequest, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) { try revoke(revocable.grant, of: type, in: context) }

    /// For providers without introspection.
    ///
    /// - Throws: ``ErrorCode/unsupported``.
    public func introspect(
        _ token: AccessToken, grant: Grant, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> JSONObject {
        throw CredentialError(.unsupported, "the provider of account type '\(type.name)' has no introspection")
    }

    /// For providers whose access tokens are their APIs' business alone.
    ///
    /// - Throws: ``ErrorCode/unsupported``.
    public func accessTokenClaims(
        _ token: AccessToken, grant: Grant, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> JSONObject {
        throw CredentialError(
            .unsupported, "the adapter \(name) does not read access tokens: only their API can")
    }
}

/// The parts of the machine that an adapter may use.
public struct AdapterContext: Sendable {
    /// Sends requests.
    public internal(set) var transport: any HTTPTransport
    /// Tells the time.
    public let clock: any WallClock
    /// Gives unpredictable bytes.
    public let random: any RandomSource
    /// Hashes, verifies and signs.
    public let cryptography: any Cryptography
    /// Gives the secrets of the type's client.
    public let clientSecrets: any ClientSecrets
    /// Keeps the metadata that providers publish.
    public let metadataCache: any MetadataCache
    /// How many seconds a request, or a run of a plugin, may take at most; `nil` for the usual limits.
    public let timeout: Int?
    /// The id that finds the requests in the provider's logs, a UUID; `nil` to make one for each.
    public let correlationID: String?
    /// Takes a fact for `--verbose`; never a secret.
    public let note: @Sendable (String) -> Void
    /// Saves the result of a response to a refresh. An adapter calls it with a response that it refuses, and before
    /// it asks the network for data to judge a response by. A provider that rotates refresh tokens accepts only the
    /// new one from then on.
    ///
    /// - Throws: the errors of the store, if neither the store nor the journal saved it.
    public var saveFirst: @Sendable (RefreshFinding) throws(CredentialError) -> Void = {
        (_) throws(CredentialError) in
    }
    /// Gives the way that requests of a type reach their servers.
    var connection: @Sendable (AccountType) throws(CredentialError) -> ConnectionSettings = {
        (type) throws(CredentialError) in ConnectionSettings(of: type)
    }

    /// Makes a context, whose transport keeps to the timeout.
    public init(
        transport: any HTTPTransport, clock: any WallClock, random: any RandomSource,
        cryptography: any Cryptography, clientSecrets: any ClientSecrets,
        metadataCache: any MetadataCache = NoMetadataCache(), timeout: Int? = nil, correlationID: String? = nil,
        note: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.transport = timeout.map { TimeLimitedTransport(transport: transport, seconds: $0) } ?? transport
        self.clock = clock
        self.random = random
        self.cryptography = cryptography
        self.clientSecrets = clientSecrets
        self.metadataCache = metadataCache
        self.timeout = timeout
        self.correlationID = correlationID
        self.note = note
    }
}

/// Gives the secrets that a type's definition points to.
public protocol ClientSecrets: Sendable {
    /// The client secret; `nil` for a public client. An empty one counts as missing.
    ///
    /// - Throws: ``ErrorCode/configuration`` when it is promised but not there; the errors of the store.
    func clientSecret(of type: AccountType) throws(CredentialError) -> Secret?
    /// The private key of the client; `nil` if it does not have one.
    ///
    /// - Throws: as ``clientSecret(of:)``.
    func privateKey(of type: AccountType) throws(CredentialError) -> Secret?
    /// The workload's identity token, read again at each call; `nil` if the type does not name one.
    ///
    /// - Throws: as ``ClientSecrets/clientSecret(of:)``.
    func identityToken(of type: AccountType) throws(CredentialError) -> Secret?
    /// The request that makes the platform issue the identity token; `nil` if the token is read as it is.
    ///
    /// - Throws: as ``ClientSecrets/clientSecret(of:)``.
    func identityTokenRequest(of type: AccountType) throws(CredentialError) -> IdentityTokenRequest?
    /// Returns the assertion of the type's identity provider; `nil` if the type does not name one.
    ///
    /// - Throws: ``ErrorCode/signInRequired`` when no user has signed in there; the errors of that provider's
    ///   adapter.
    func identityAssertion(
        of type: AccountType, _ request: IdentityAssertionRequest
    ) throws(CredentialError) -> Secret?
}

extension ClientSecrets {
    /// None.
    public func identityToken(of type: AccountType) throws(CredentialError) -> Secret? { nil }
    /// None.
    public func identityTokenRequest(of type: AccountType) throws(CredentialError) -> IdentityTokenRequest? { nil }
    /// None.
    public func identityAssertion(
        of type: AccountType, _ request: IdentityAssertionRequest
    ) throws(CredentialError) -> Secret? { nil }
}

/// The audience for which an identity provider shall vouch (draft-ietf-oauth-identity-assertion-authz-grant §4).
public struct IdentityAssertionRequest: Sendable, Hashable {
    /// The issuer of the authorization server that the assertion is for.
    public var audience: String
    /// The protected resource that tokens are wanted for.
    public var resource: String?
    /// The scopes wanted there.
    public var scope: [String]

    /// Makes a request.
    public init(audience: String, resource: String?, scope: [String]) {
        self.audience = audience
        self.resource = resource
        self.scope = scope
    }
}

extension AdapterContext {
    /// The same context, which calls `work` before it sends a request.
    ///
    /// - Parameter work: called before each request; its error is thrown in place of sending.
    package func before(
        eachRequest work: @escaping @Sendable () throws(CredentialError) -> Void
    ) -> AdapterContext {
        var context = self
        context.transport = PreparedTransport(transport: transport, work: work)
        return context
    }
}

extension AdapterContext {
    /// The same context, which sends its requests through another transport.
    package func sending(
        through wrapped: (any HTTPTransport) -> any HTTPTransport
    ) -> AdapterContext {
        var context = self
        context.transport = wrapped(transport)
        return context
    }
}

/// Sends requests after something else has been done.
private struct PreparedTransport: HTTPTransport {
    let transport: any HTTPTransport
    let work: @Sendable () throws(CredentialError) -> Void

    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        try work()
        return try transport.send(request, observer: observer)
    }
}

/// Sends requests that may take less time than they ask for.
private struct TimeLimitedTransport: HTTPTransport {
    let transport: any HTTPTransport
    let seconds: Int

    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        var request = request
        request.timeout = min(request.timeout ?? seconds, seconds)
        return try transport.send(request, observer: observer)
    }
}

/// The credentials that a provider still honours, of a sign-in that is about to be forgotten.
public struct RevocationRequest: Sendable {
    /// The grant.
    public let grant: Grant
    /// The access tokens that have not ended: not every provider ends them with the refresh token (RFC 7009 §2.1).
    public let accessTokens: [AccessToken]

    /// Names the grant and tokens to revoke.
    public init(grant: Grant, accessTokens: [AccessToken]) {
        self.grant = grant
        self.accessTokens = accessTokens
    }
}
