import CredentialCore
import OAuth
import StrictJSON

/// An adapter in Swift, to copy from: only the differences of one provider from others that speak OAuth.
///
/// A program gives it to its store, `AccountStore.Options.adapters`, and tries it by
/// `AccountStore.conformance(of:)`.
struct NotesAdapter: CredentialAdapter {
    let name = "notes"
    let summary = "the notes service, which tells who signed in by a field of its own"
    let defaultRedirectURI = "http://127.0.0.1"
    private let source = MetadataFetcher()

    init() {}

    func check(_ type: AccountType) throws(CredentialError) { _ = try endpoints(of: type) }

    func provider(of type: AccountType) throws(CredentialError) -> String {
        try endpoints(of: type).token.origin
    }

    func policy(_ name: String?, of type: AccountType) throws(CredentialError) -> String {
        guard let name, !name.isEmpty else { return "" }
        throw CredentialError(.usage, "account type '\(type.name)' has no policies")
    }

    func effectiveScope(_ scope: [String], of type: AccountType) -> [String] { Scope.distinct(scope) }

    func begin(
        _ request: SignInRequest, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep {
        guard request.flow == .code else {
            throw CredentialError(.unsupported, "the notes service has no \(request.flow.rawValue) flow")
        }
        return try CodeFlow(client(of: request.type, in: context)).begin(
            request, scope: effectiveScope(request.scope, of: request.type))
    }

    func resume(
        _ request: SignInRequest, pending: JSONObject, with reply: InteractionReply, in context: AdapterContext
    ) throws(CredentialError) -> SignInStep {
        let answer: String
        switch reply {
        case .redirect(let url): answer = url
        case .text(let text): answer = text.reveal()
        case .poll: throw CredentialError(.validationFailed, "nothing was to be asked again")
        }
        return try CodeFlow(client(of: request.type, in: context)).resume(request, pending: pending, answer: answer)
    }

    func refresh(
        _ request: RefreshRequest, in context: AdapterContext
    ) throws(CredentialError) -> IssuedTokens {
        try RefreshFlow(client(of: request.type, in: context)).run(
            request, scope: effectiveScope(request.scope, of: request.type))
    }

    func revoke(
        _ grant: Grant, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) {
        throw CredentialError(.unsupported, "the notes service has no revocation")
    }

    func endSessionAddress(
        _ grant: Grant?, policy: String, of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> URI? { nil }

    // MARK: The provider

    private func endpoints(of type: AccountType) throws(CredentialError) -> (
        authorization: URI, token: URI
    ) {
        func address(_ endpoint: AccountType.Endpoint) throws(CredentialError) -> URI {
            guard let address = type.endpoints[endpoint].flatMap(URI.init), address.isSecure else {
                throw CredentialError(.configuration, "account type '\(type.name)' needs \(endpoint.rawValue)")
            }
            return address
        }
        return (try address(.authorization), try address(.token))
    }

    private func client(
        of type: AccountType, in context: AdapterContext
    ) throws(CredentialError) -> OAuthClient {
        let endpoints = try endpoints(of: type)
        var metadata = ServerMetadata(issuer: nil)
        metadata.endpoints = [.authorization: endpoints.authorization, .token: endpoints.token]
        return OAuthClient(
            type: type, metadata: metadata, dialect: NotesDialect(typeName: type.name), source: source,
            context: context)
    }
}

/// The behavior that is specific to the notes service.
private struct NotesDialect: ProviderDialect {
    let typeName: String
    let authorizeParameters = ["view": "desktop"]
    let tokenParameters: [String: String] = [:]
    let headers: [(name: String, value: String)] = []
    let requestFacts: [String] = []
    let secretMethod = ClientAuthentication.Method.secretPost
    let alwaysSendsScope = false

    func error(for refusal: OAuthError, in operation: ProviderOperation) -> CredentialError {
        OAuthErrorMapping.error(refusal, in: operation, type: typeName)
    }

    func check(_ claims: IDTokenClaims, against state: JSONObject) throws(CredentialError) {}

    /// Its token replies have the person in `user`.
    func identity(
        of received: VerifiedTokenResponse, for request: SignInRequest, by client: OAuthClient
    ) throws(CredentialError) -> Identity {
        guard let user = received.reply.members["user"]?.string else {
            throw CredentialError(.validationFailed, "the notes service did not say who signed in")
        }
        return Identity(issuer: nil, subject: user, username: user)
    }

    func state(of received: VerifiedTokenResponse) -> JSONObject { JSONObject() }
}
