public import CredentialCore
public import StrictJSON

/// Sign-in by authorization code with PKCE (RFC 6749 §4.1, RFC 7636, OpenID Connect Core §3.1, RFC 9207).
public struct CodeFlow: Sendable {
    private let client: OAuthClient

    /// Makes the flow for a client.
    public init(_ client: OAuthClient) { self.client = client }

    /// Makes the URL to open, with a new state, verifier and nonce.
    ///
    /// - Parameter scope: the scopes to send.
    /// - Throws: ``ErrorCode/configuration`` for a redirect URI that cannot be used; ``ErrorCode/unsupported`` for
    ///   a provider that tells it cannot do S256.
    public func begin(_ request: SignInRequest, scope: [String]) throws(CredentialError) -> SignInStep {
        try checkRedirect(request.redirectURI)
        try client.metadata.checkCodesAreSafe()
        let random = client.context.random
        let state = random.urlSafeToken()
        // Without an issuer no ID token is trusted, and the flow does not wait for one.
        let nonce = scope.contains("openid") && client.metadata.issuer != nil ? random.urlSafeToken() : nil
        let proof = try PKCE(verifier: random.urlSafeToken(), cryptography: client.context.cryptography)
        var authorization = AuthorizationRequest(
            endpoint: try client.metadata.required(.authorization), clientID: client.type.clientID,
            redirectURI: request.redirectURI,
            scope: Scope.distinct(scope + client.type.additionalScope), state: state, nonce: nonce,
            challenge: proof.challenge)
        let prompt = request.prompt == nil && request.wantsAnother ? promptForAnother(scope) : nil
        authorization.prompt = request.prompt ?? prompt
        authorization.loginHint = request.loginHint
        authorization.resource = request.resource ?? client.type.resource
        authorization.audience = request.audience ?? client.type.audience
        authorization.responseMode = client.type.responseMode
        authorization.keyThumbprint = try client.prover?.thumbprint(client.context.cryptography)
        authorization.extra = client.dialect.authorizeParameters.merging(client.type.authorizeParameters) { $1 }

        var pending = JSONObject()
        pending["flow"] = .string(SignInFlow.code.rawValue)
        pending["state"] = .string(state)
        pending["verifier"] = .string(proof.verifier)
        pending["nonce"] = nonce.map { .string($0) }
        pending["redirect_uri"] = .string(request.redirectURI)
        pending["policy"] = .string(request.policy)
        pending["scope"] = JSONValue(scope)
        pending[Self.ownPrompt] = prompt.map { .string($0) }
        pending["issuer"] = client.metadata.issuer.map { .string($0) }
        pending["token_endpoint"] = .string(try client.metadata.required(.token).description)
        if client.metadata.sendsIssuer { pending["requires_issuer"] = true }
        client.prover?.keep(in: &pending)
        let address = try PushedAuthorizationRequest(client).address(of: authorization) ?? authorization.address
        return .interaction(.openURL(address, state: state), pending: pending)
    }

    /// Checks the provider's response and exchanges the code.
    ///
    /// - Parameters:
    ///   - pending: the state that ``begin(_:scope:)`` returned.
    ///   - answer: the redirect URL, or the pasted text.
    /// - Throws: ``ErrorCode/validationFailed`` for an invalid redirect, response or ID token; the error that a
    ///   refusal means.
    public func resume(
        _ request: SignInRequest, pending: JSONObject, answer: String
    ) throws(CredentialError) -> SignInStep {
        guard let state = pending["state"]?.string, let verifier = pending["verifier"]?.string,
            let redirectURI = pending["redirect_uri"]?.string, let scope = pending["scope"]?.array
        else { throw Self.damaged }
        try checkUnchanged(pending, request)
        let response = try AuthorizationResponse.parse(answer, redirectURI: redirectURI)
        let words = scope.compactMap(\.string)
        if let prompt = pending[Self.ownPrompt]?.string, let error = response.error, error.mayMeanPrompt {
            try response.check(
                state: state, issuer: client.metadata.issuer, requiresIssuer: requiresIssuer(pending))
            client.context.note("the provider refused prompt=\(prompt); the page opens once more without it")
            var plain = request
            plain.wantsAnother = false
            return try begin(plain, scope: words)
        }
        let code = try response.checkedCode(
            state: state, issuer: client.metadata.issuer, requiresIssuer: requiresIssuer(pending)
        ) { client.dialect.error(for: $0, in: .authorize) }

        if response.isBareCode, client.type.issuerIsNamedByAPI, requiresIssuer(pending) {
            throw CredentialError(
                .validationFailed, "cannot check which server issued the code: the URL is incomplete",
                hint: "paste the whole redirect URL from the browser")
        }
        if pending["nonce"] != nil { try client.prepareKeys() }
        let members = try client.requestTokens(
            TokenRequest(
                grant: .authorizationCode(code: code, redirectURI: redirectURI, verifier: verifier),
                scope: client.dialect.alwaysSendsScope ? words : [],
                resource: request.resource ?? client.type.resource,
                audience: request.audience ?? client.type.audience),
            .exchangeCode)
        let nonce = pending["nonce"]?.string
        let received = try client.receive(members, nonce: nonce, code: code)
        if nonce != nil, received.claims == nil {
            throw CredentialError(
                .validationFailed, "the provider sent no ID token although the scope includes openid",
                hint: "remove openid from the scope if the provider does not support OpenID Connect")
        }
        return .done(try client.signInResult(received, for: request, scope: words))
    }

    /// The pending member with the `prompt` value that credmgr itself chose for `login --new`.
    package static let ownPrompt = "own_prompt"

    /// The value of `prompt` for a different user: a choice of accounts if the provider has one, else a new
    /// sign-in, which OpenID Connect Core §3.1.2.1 defines.
    private func promptForAnother(_ scope: [String]) -> String? {
        if let prompt = client.dialect.promptForAnother { return prompt }
        let offersAccounts =
            client.metadata.prompts?.contains("select_account") ?? false
            || KnownProvider(of: client.type)?.offersAccounts == true
        if offersAccounts { return "select_account" }
        return scope.contains("openid") ? "login" : nil
    }

    /// Returns the error with which the provider refused; `nil` if it gave a code, which is not exchanged.
    ///
    /// For adapters that know how to go on after some refusals. Parameters as for ``resume(_:pending:answer:)``.
    ///
    /// - Throws: ``ErrorCode/validationFailed`` for an answer that is not one to this sign-in.
    public func refusal(
        _ request: SignInRequest, pending: JSONObject, answer: String
    ) throws(CredentialError) -> OAuthError? {
        guard let state = pending["state"]?.string, let redirectURI = pending["redirect_uri"]?.string else {
            throw Self.damaged
        }
        try checkUnchanged(pending, request)
        let response = try AuthorizationResponse.parse(answer, redirectURI: redirectURI)
        try response.check(
            state: state, issuer: client.metadata.issuer, requiresIssuer: requiresIssuer(pending))
        return response.error
    }

    /// Whether the response has to name its issuer: the metadata require it now, or did when the page was opened.
    private func requiresIssuer(_ pending: JSONObject) -> Bool {
        client.metadata.sendsIssuer || pending["requires_issuer"] == true
    }

    private static var damaged: CredentialError {
        CredentialError(.validationFailed, "the pending sign-in is damaged", hint: "restart the sign-in")
    }

    /// The code goes only to the endpoint that its request was made for (RFC 9207 §1).
    private func checkUnchanged(_ pending: JSONObject, _ request: SignInRequest) throws(CredentialError) {
        let endpoint = try client.metadata.required(.token).description
        guard ConstantTime.equal(pending["issuer"]?.string ?? "", client.metadata.issuer ?? ""),
            ConstantTime.equal(pending["token_endpoint"]?.string ?? "", endpoint),
            ConstantTime.equal(pending["policy"]?.string ?? "", request.policy)
        else {
            throw CredentialError(
                .validationFailed, "the provider or the account type has changed since the sign-in began",
                hint: "begin the sign-in again")
        }
    }

    private func checkRedirect(_ text: String) throws(CredentialError) {
        guard let address = URI(text), address.fragment == nil,
            address.scheme != "http" || address.isLoopback
        else {
            throw CredentialError(
                .configuration,
                "account type '\(client.type.name)': redirect_uri '\(UntrustedText.shown(text))' cannot be used",
                hint: "use http://127.0.0.1, an https URL, a private scheme or \(RedirectURI.outOfBand)")
        }
    }
}
