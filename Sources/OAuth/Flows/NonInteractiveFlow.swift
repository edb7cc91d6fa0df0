public import CredentialCore
import StrictJSON

/// Sign-ins without a browser: resource owner password (RFC 6749 §4.3), client credentials (§4.4) and JWT bearer
/// (RFC 7523 §2.1); also the adoption of another program's sign-in.
public struct NonInteractiveFlow: Sendable {
    private let client: OAuthClient

    /// Makes the flow for a client.
    public init(_ client: OAuthClient) { self.client = client }

    /// Signs in with a username and a password.
    ///
    /// - Parameter extra: fields that the adapter adds.
    /// - Throws: ``ErrorCode/usage`` without both; the error that a refusal means.
    public func password(
        _ request: SignInRequest, scope: [String], extra: [String: String] = [:]
    ) throws(CredentialError) -> SignInStep {
        guard let username = request.username, !username.isEmpty, let password = request.password else {
            throw CredentialError(
                .usage, "the password flow needs a username and a password",
                hint: "--username NAME --password-file FILE")
        }
        return try signIn(
            .password(username: username, password: password), .password, request, scope: scope, extra: extra)
    }

    /// Signs the client itself in.
    ///
    /// - Throws: the error that a refusal means.
    public func clientCredentials(_ request: SignInRequest, scope: [String]) throws(CredentialError) -> SignInStep {
        try signIn(.clientCredentials, .machine, request, scope: scope)
    }

    /// Signs in with an assertion: the platform's or the identity provider's, else one that the client's private
    /// key signs, for `request.username` or for the client itself.
    ///
    /// - Throws: ``ErrorCode/configuration`` without any of them; the error that a refusal means.
    public func jwtBearer(_ request: SignInRequest, scope: [String]) throws(CredentialError) -> SignInStep {
        let assertion = try client.bearerAssertion(
            subject: request.username, scope: scope, resource: request.resource ?? client.type.resource)
        return try signIn(.jwtBearer(assertion: assertion), .machine, request, scope: scope)
    }

    /// Adopts the tokens of another program of the same client: a refresh token by using it, an access token as it
    /// is.
    ///
    /// - Throws: the error that a refusal means.
    public func adopt(
        _ token: ImportedToken, _ request: SignInRequest, scope: [String]
    ) throws(CredentialError) -> SignInResult {
        let members: JSONObject
        switch token {
        case .access(let token):
            var reply = JSONObject()
            reply["access_token"] = .string(token.reveal())
            reply["token_type"] = "Bearer"
            members = reply
        case .refresh(let token):
            var reply = try client.requestTokens(
                TokenRequest(
                    grant: .refreshToken(token), scope: scope, resource: request.resource ?? client.type.resource,
                    audience: request.audience ?? client.type.audience),
                .refresh)
            // A reply without one keeps the old one (RFC 6749 §6).
            if reply["refresh_token"] == nil { reply["refresh_token"] = .string(token.reveal()) }
            members = reply
        }
        return try client.signInResult(client.receive(members), for: request, scope: scope)
    }

    private func signIn(
        _ grant: TokenRequest.Grant, _ operation: ProviderOperation, _ request: SignInRequest, scope: [String],
        extra: [String: String] = [:]
    ) throws(CredentialError) -> SignInStep {
        let members = try client.requestTokens(
            TokenRequest(
                grant: grant, scope: scope, resource: request.resource ?? client.type.resource,
                audience: request.audience ?? client.type.audience, extra: extra),
            operation)
        return .done(try client.signInResult(client.receive(members), for: request, scope: scope))
    }
}

extension OAuthClient {
    /// An assertion that serves as a grant: the workload's identity token as its platform made it, the identity
    /// provider's, or one of our own, whose audience is the token endpoint (RFC 7523 §3).
    func bearerAssertion(
        subject: String?, scope: [String], resource: String?
    ) throws(CredentialError) -> Secret {
        if let token = try workloadIdentity() { return token }
        if let provider = type.identityProvider {
            let audience = if let issuer = metadata.issuer { issuer } else { try metadata.required(.token).origin }
            let request = IdentityAssertionRequest(audience: audience, resource: resource, scope: scope)
            guard let assertion = try context.clientSecrets.identityAssertion(of: type, request) else {
                throw CredentialError(
                    .unsupported, "account type '\(type.name)': cannot request an assertion from '\(provider)'")
            }
            return assertion
        }
        let assertion = ClientAssertion(
            issuer: type.clientID, subject: subject ?? type.clientID,
            audience: try metadata.required(.token).description, scope: scope)
        return try signed(assertion)
    }
}
