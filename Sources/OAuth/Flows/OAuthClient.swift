public import CredentialCore
import StrictJSON

/// One client at one provider for the time of one operation: the state that the flows share.
public struct OAuthClient: Sendable {
    /// The account type.
    public let type: AccountType
    /// The known metadata of the provider.
    public let metadata: ServerMetadata
    /// The provider's differences from other providers.
    public let dialect: any ProviderDialect
    /// The machine.
    public internal(set) var context: AdapterContext
    /// The source of keys.
    let source: MetadataFetcher
    /// Proves the possession of the key that tokens are bound to; `nil` if they are bound to no key.
    public let prover: DPoPKey?
    /// The audience of the client's assertions.
    private let audience: AssertionAudience

    /// Makes a client.
    ///
    /// - Parameter grant: the grant that it works for; `nil` for a sign-in. The client learns from it how the
    ///   provider takes assertions, and uses older metadata if the provider is not reachable.
    public init(
        type: AccountType, metadata: ServerMetadata, dialect: any ProviderDialect, source: MetadataFetcher,
        grant: Grant? = nil, context: AdapterContext, prover: DPoPKey? = nil
    ) {
        var metadata = metadata
        if type.tlsClientCertificate != nil {
            // The type's own endpoints win over the provider's aliases (RFC 8705 §5).
            metadata.preferCertificateEndpoints(except: type.endpoints)
        }
        self.type = type
        self.metadata = metadata
        let isEndpoint = grant.map { GrantMetadata.wantsEndpointAudience($0.adapterState) } ?? false
        audience = AssertionAudience(
            isEndpoint: isEndpoint
                && AssertionAudience.mayBeEndpoint(of: metadata.issuer, metadata.endpoints[.token]))
        self.prover = prover
        self.dialect = dialect
        self.source = grant == nil ? source : source.forGrants
        self.context = context
    }

    // MARK: Requests

    /// A response, and what takes the secrets of its request out of the endpoint's messages.
    private typealias Answer = (response: HTTPResponse, removal: SecretRemoval)

    /// A response of an endpoint, as it came.
    struct RawResponse {
        /// The response; it may have a ``HTTPResponse/fault``.
        let response: HTTPResponse
        /// The endpoint, for messages.
        let place: LocalizedMessage
        /// Removes the secrets of the request from the endpoint's messages.
        let removal: SecretRemoval

        /// When it was made by the provider's clock, if the response has a date.
        var date: Timestamp? { response.value(of: "date").flatMap(Timestamp.init(httpDate:)) }

        /// Returns the content of the response.
        ///
        /// - Throws: as ``EndpointResponse/sort(_:from:)``; the fault of the response.
        func reply() throws(CredentialError) -> EndpointResponse {
            if let fault = response.fault { throw fault }
            let reply = try EndpointResponse.sort(response, from: place)
            // A refusal with a status of success has its text still.
            guard case .refused(let refusal) = reply else { return reply }
            return .refused(refusal.cleaned(by: removal))
        }
    }

    /// Asks the token endpoint.
    ///
    /// - Throws: the error that the refusal means; ``ErrorCode/temporary`` and the others of
    ///   ``EndpointResponse/sort(_:from:)``.
    func requestTokens(
        _ request: TokenRequest, _ operation: ProviderOperation
    ) throws(CredentialError) -> JSONObject {
        try members(of: try sendTokenRequest(request), operation)
    }

    /// The members of a response of the token endpoint.
    ///
    /// - Throws: as ``requestTokens(_:_:)``.
    func members(
        of response: RawResponse, _ operation: ProviderOperation
    ) throws(CredentialError) -> JSONObject {
        try stating { () throws(CredentialError) in
            switch try response.reply() {
            case .object(let members): return members
            case .refused(let refusal): throw dialect.error(for: refusal, in: operation)
            }
        }
    }

    /// Sends a request to the token endpoint and returns the response, even a refusal.
    ///
    /// - Parameter takesFaultyReply: whether a successful response that is cut off or too large is given as far as
    ///   it came.
    func sendTokenRequest(
        _ request: TokenRequest, takesFaultyReply: Bool = false
    ) throws(CredentialError) -> RawResponse {
        try stating { () throws(CredentialError) in
            var request = request
            request.extra.merge(type.tokenParameters) { _, theirs in theirs }
            request.extra.merge(dialect.tokenParameters) { typed, _ in typed }
            let endpoint = try metadata.required(.token)
            func post() throws(CredentialError) -> Answer {
                try exchange(request.fields, endpoint, proving: prover, takesFaultyReply: takesFaultyReply)
            }
            var answer = try post()
            // The first request spent no code or token (RFC 9449 §8).
            if let prover, prover.shouldRepeat(after: answer.response, from: endpoint) {
                context.note("the provider wants a nonce in the proof; asking again with it")
                answer = try post()
                _ = prover.shouldRepeat(after: answer.response, from: endpoint)
            }
            return RawResponse(
                response: answer.response, place: "token endpoint of \(endpoint.origin)", removal: answer.removal)
        }
    }

    /// Runs `work`; its error has the facts of the dialect's requests.
    private func stating<Result>(
        _ work: () throws(CredentialError) -> Result
    ) throws(CredentialError) -> Result {
        do throws(CredentialError) { return try work() } catch {
            var error = error
            error.details += dialect.requestFacts
            throw error
        }
    }

    /// Posts a form with the client's authentication and returns the response. An error is without the secrets of
    /// the request.
    func post(_ fields: [FormURLEncoding.Field], to endpoint: URI) throws(CredentialError) -> HTTPResponse {
        try exchange(fields, endpoint).response
    }

    /// Posts a form with the client's authentication, for a caller that judges by the status first.
    func rawReply(
        to fields: [FormURLEncoding.Field], of endpoint: URI, from place: LocalizedMessage
    ) throws(CredentialError) -> RawResponse {
        let answer = try exchange(fields, endpoint)
        return RawResponse(response: answer.response, place: place, removal: answer.removal)
    }

    /// Posts a form with the client's authentication and sorts the response. A refusal of any status is without the
    /// secrets of the request.
    ///
    /// - Throws: as ``EndpointResponse/sort(_:from:)``.
    func reply(
        to fields: [FormURLEncoding.Field], of endpoint: URI, from place: LocalizedMessage
    ) throws(CredentialError) -> EndpointResponse {
        try rawReply(to: fields, of: endpoint, from: place).reply()
    }

    /// Posts a form with the client's authentication, and a proof of the key if one is required.
    ///
    /// A client whose assertion is refused tries once more with the audience of older servers; it was not let in,
    /// so no code or token was spent.
    private func exchange(
        _ fields: [FormURLEncoding.Field], _ endpoint: URI, proving prover: DPoPKey? = nil,
        takesFaultyReply: Bool = false
    ) throws(CredentialError) -> Answer {
        let first = try send(fields, to: endpoint, proving: prover, takesFaultyReply)
        guard try method() == .privateKeyJWT, let issuer = metadata.issuer,
            audience.mayBeEndpoint(after: first.response, of: issuer, at: metadata.endpoints[.token])
        else { return first }
        context.note("the provider refused the client's assertion; asking again with one for its token endpoint")
        let second = try send(fields, to: endpoint, proving: prover, takesFaultyReply)
        audience.settle(by: second.response)
        return second
    }

    private func send(
        _ fields: [FormURLEncoding.Field], to endpoint: URI, proving prover: DPoPKey?, _ takesFaultyReply: Bool
    ) throws(CredentialError) -> Answer {
        guard endpoint.isSecure else {
            throw AddressAuthor.refusal(
                "cannot send credentials to '\(endpoint.origin)': the URL must use https", of: endpoint.origin,
                by: endpoint.author.party ?? LocalizedMessage(verbatim: "account type \(type.name)"), rule: .https,
                code: endpoint.author == .user ? .configuration : .validationFailed)
        }
        let authentication = try authentication()
        let body = FormURLEncoding.encode(
            fields
                + authentication.fields(clientID: type.clientID).filter { field in
                    !fields.contains { $0.name == field.name }
                })
        var headers: [(name: String, value: String)] = [
            ("accept", "application/json"), ("content-type", "application/x-www-form-urlencoded"),
        ]
        headers += authentication.headers(clientID: type.clientID)
        headers += dialect.headers
        headers += type.sortedHeaders
        if let prover {
            headers.append(("dpop", try prover.proof(method: "POST", address: endpoint, in: context)))
        }
        var request = HTTPRequest(
            method: "POST", address: endpoint, headers: headers, body: .bytes(Array(body.utf8)))
        // A client that authenticates by another method has its tokens bound to the certificate (RFC 8705 §3).
        request.clientCertificate = type.clientCertificate
        request.takesFaultyReply = takesFaultyReply
        var response = try context.transport.send(request)
        let removal = SecretRemoval(Self.secrets(of: fields) + authentication.secrets(clientID: type.clientID))
        if !(200..<300).contains(response.status) { response.body = removal.cleaned(body: response.body) }
        return (response, removal)
    }

    /// The values of a form that are secret.
    private static func secrets(of fields: [FormURLEncoding.Field]) -> [String] {
        fields.filter { !openFields.contains($0.name) }.map(\.value)
    }

    /// Fields that hold no secret: an error may name their values.
    private static let openFields: Set<String> = [
        "grant_type", "client_id", "redirect_uri", "scope", "resource", "audience", "username", "state", "nonce",
        "response_type", "response_mode", "code_challenge", "code_challenge_method", "prompt", "login_hint",
        "policy",
        "token_type_hint", "requested_token_type", "subject_token_type", "actor_token_type",
        "client_assertion_type",
        "acr_values", "max_age", "claims", "ui_locales", "display", "dpop_jkt",
    ]

    /// How the client authenticates: as the type defines, else by its own credentials and the methods that the
    /// provider accepts.
    private func authentication() throws(CredentialError) -> ClientAuthentication {
        switch try method() {
        case .none: return .none
        case .secretBasic: return .secretBasic(try secret())
        case .secretPost: return .secretPost(try secret())
        case .privateKeyJWT:
            let assertion = ClientAssertion(
                issuer: type.clientID, subject: type.clientID, audience: try assertionAudience())
            return .privateKeyJWT(assertion: try signed(assertion))
        case .certificate, .selfSignedCertificate: return .certificate
        }
    }

    /// Whether the client has no credentials to authenticate with.
    var isPublic: Bool {
        guard let method = try? method() else { return false }
        return method == ClientAuthentication.Method.none
    }

    private func method() throws(CredentialError) -> ClientAuthentication.Method {
        if let word = type.tokenEndpointAuthMethod {
            guard let method = ClientAuthentication.Method(rawValue: word) else {
                throw CredentialError(
                    .configuration,
                    "account type '\(type.name)': token_endpoint_auth_method "
                        + "'\(UntrustedText.shown(word, limit: 40))' is not supported",
                    hint:
                        "use one of "
                        + "\(ClientAuthentication.Method.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            return method
        }
        if type.privateKey != nil { return .privateKeyJWT }
        if type.tlsClientCertificate != nil { return .certificate }
        guard type.clientSecret != nil, let secret = try context.clientSecrets.clientSecret(of: type),
            !secret.isEmpty
        else { return .none }
        guard let offered = metadata.authenticationMethods else { return dialect.secretMethod }
        let candidates = [dialect.secretMethod, .secretBasic, .secretPost]
        return candidates.first { offered.contains($0.rawValue) } ?? dialect.secretMethod
    }

    private func secret() throws(CredentialError) -> Secret {
        guard let secret = try context.clientSecrets.clientSecret(of: type), !secret.isEmpty else {
            throw CredentialError(
                .configuration, "account type '\(type.name)' has no client secret to authenticate with",
                hint: "set client_secret, or token_endpoint_auth_method to none")
        }
        return secret
    }

    /// An assertion signed by the client's key.
    ///
    /// - Throws: ``ErrorCode/configuration`` when it has no key, or an unsuitable one.
    func signed(_ assertion: ClientAssertion) throws(CredentialError) -> Secret {
        try assertion.signed(
            with: privateKey(), named: type.tokenEndpointAuthSigningAlg.flatMap(SignatureAlgorithm.init),
            accepted: metadata.assertionAlgorithms, in: context)
    }

    /// The client's private key.
    ///
    /// - Throws: ``ErrorCode/configuration`` when it has no key.
    func privateKey() throws(CredentialError) -> Secret {
        guard let key = try context.clientSecrets.privateKey(of: type), !key.isEmpty else {
            throw CredentialError(
                .configuration, "account type '\(type.name)' has no private key to sign with",
                hint: "set private_key")
        }
        return key
    }

    /// The issuer, alone (draft-ietf-oauth-rfc7523bis §4): metadata that points to a foreign token endpoint has no
    /// assertions made for it. The token endpoint if the type names no issuer, or the provider accepts no other
    /// audience.
    private func assertionAudience() throws(CredentialError) -> String {
        if let issuer = metadata.issuer, !audience.isEndpoint { return issuer }
        return try metadata.required(.token).description
    }

    /// Whether the provider takes assertions for its token endpoint only: learned, never published.
    var wantsEndpointAudience: Bool { audience.isEndpoint }

    // MARK: Replies

    /// Fetches the provider's keys before a code or a refresh token is spent, so that a failure to fetch them loses
    /// no token.
    ///
    /// - Throws: ``ErrorCode/temporary``, ``ErrorCode/configuration``.
    func prepareKeys() throws(CredentialError) {
        guard metadata.issuer != nil, let keys = try metadata.usable(.jwks) else { return }
        try source.prepareKeys(at: keys, in: context)
    }

    /// Reads and checks a token response; no part of it is returned unless all of it is valid.
    ///
    /// - Parameters:
    ///   - nonce: the nonce sent, if any.
    ///   - code: the code exchanged, if any.
    ///   - state: the state of the grant to refresh; empty at a sign-in.
    ///   - date: the time to judge the id token by; now by this machine's clock for `nil`.
    /// - Throws: ``ErrorCode/malformedReply``, ``ErrorCode/validationFailed``.
    func receive(
        _ members: JSONObject, nonce: String? = nil, code: String? = nil, state: JSONObject = JSONObject(),
        date: Timestamp? = nil
    ) throws(CredentialError) -> VerifiedTokenResponse {
        var reply = try TokenResponse(
            members, now: context.clock.now, acceptsIDTokenAlone: type.bearer == .idToken,
            acceptsDPoP: prover != nil)
        if type.bindsAccessTokens, type.bearer == .accessToken, reply.tokenType != "DPoP" {
            throw CredentialError(
                .validationFailed, "the provider's access token is not bound to the DPoP key",
                hint:
                    "if the provider does not support DPoP (RFC 9449), remove dpop_bound_access_tokens from the "
                    + "account type")
        }
        guard let idToken = reply.idToken else { return VerifiedTokenResponse(reply: reply, claims: nil) }
        guard let issuer = metadata.issuer else {
            context.note("the id token is dropped: without an issuer in the account type it cannot be checked")
            reply.idToken = nil
            return VerifiedTokenResponse(reply: reply, claims: nil)
        }
        guard let keys = try metadata.usable(.jwks) else {
            throw CredentialError(
                .validationFailed, "cannot validate the ID token: the provider publishes no keys",
                hint: "set jwks_uri in the account type")
        }
        var validator = IDTokenValidator(
            issuer: issuer, clientID: type.clientID, algorithms: metadata.signingAlgorithms,
            now: date ?? context.clock.now)
        validator.nonce = nonce
        validator.code = code
        validator.accessToken = reply.accessToken
        if nonce != nil {
            validator.maximumAge = type.authorizeParameters["max_age"].flatMap { Int64($0) }
            validator.authentication = AuthenticationRequirements(type.authorizeParameters)
        }
        validator.subject = state[GrantMetadata.subject]?.string
        let claims = try validator.validate(idToken, cryptography: context.cryptography) {
            (algorithm, kid) throws(CredentialError) in
            try source.key(for: algorithm, kid: kid, at: keys, in: context)
        }
        try dialect.check(claims, against: state)
        return VerifiedTokenResponse(reply: reply, claims: claims)
    }
}

extension AccountType {
    /// The extra header fields of requests to the provider, in a fixed order.
    var sortedHeaders: [(name: String, value: String)] {
        headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    }

    /// The certificate that the client authenticates with; `nil` unless the type names it and its key.
    public var clientCertificate: ClientCertificate? {
        guard let tlsClientCertificate, let tlsClientKey else { return nil }
        return ClientCertificate(certificateFile: tlsClientCertificate, keyFile: tlsClientKey)
    }
}
