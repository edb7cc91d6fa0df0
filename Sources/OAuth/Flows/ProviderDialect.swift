public import CredentialCore
public import StrictJSON

/// The differences of one kind of provider from the others that speak OAuth; the flows ask it, and the adapters are
/// little more than their dialect.
public protocol ProviderDialect: Sendable {
    /// Fields that go into every authorization request, in addition to the type's.
    var authorizeParameters: [String: String] { get }
    /// Fields that go into every token request, in addition to the type's.
    var tokenParameters: [String: String] { get }
    /// Header fields of every token request, in addition to the type's.
    var headers: [(name: String, value: String)] { get }
    /// The facts that find a token request of this client in the provider's logs, for the details of its failure.
    var requestFacts: [String] { get }
    /// How a client with a secret authenticates when neither type nor metadata says.
    var secretMethod: ClientAuthentication.Method { get }
    /// Whether a refresh names its scopes even when they are those of the sign-in.
    var alwaysSendsScope: Bool { get }

    /// The value of `prompt` with which the provider lets a different user sign in; `nil` if its metadata decide.
    var promptForAnother: String? { get }

    /// Returns the error that a refusal means.
    func error(for refusal: OAuthError, in operation: ProviderOperation) -> CredentialError

    /// Checks of a validated id token that only this provider needs.
    ///
    /// - Parameter state: the state that the grant to refresh keeps of earlier responses; empty at a sign-in.
    /// - Throws: ``ErrorCode/validationFailed``.
    func check(_ claims: IDTokenClaims, against state: JSONObject) throws(CredentialError)

    /// Returns the identity of the user who signed in.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` when the claims name no user.
    func identity(
        of received: VerifiedTokenResponse, for request: SignInRequest, by client: OAuthClient
    ) throws(CredentialError) -> Identity

    /// Returns the state that the grant keeps for the next refresh, in addition to the state that every grant
    /// keeps.
    func state(of received: VerifiedTokenResponse) -> JSONObject
}

extension ProviderDialect {
    /// As the metadata says.
    public var promptForAnother: String? { nil }
}

/// A token reply together with the claims of its id token, checked.
public struct VerifiedTokenResponse: Sendable {
    /// The reply.
    public var reply: TokenResponse
    /// The claims; `nil` when there was no ID token, or its claims cannot be checked.
    public let claims: IDTokenClaims?
}
