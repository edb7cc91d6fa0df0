package import CredentialCore
package import StrictJSON

/// Asks the provider about a token (RFC 7662).
package struct Introspection: Sendable {
    private let client: OAuthClient

    /// Makes it for a client.
    package init(_ client: OAuthClient) { self.client = client }

    /// Returns the provider's introspection response for an access token, including `active`.
    ///
    /// - Throws: ``ErrorCode/unsupported`` when the provider has no such endpoint; the error that a refusal means;
    ///   ``ErrorCode/malformedReply`` when the reply does not say whether the token is active.
    package func members(of token: AccessToken) throws(CredentialError) -> JSONObject {
        let endpoint = try client.metadata.required(.introspection)
        let fields: [FormURLEncoding.Field] = [
            ("token", token.token.reveal()), ("token_type_hint", "access_token"),
        ]
        let place: LocalizedMessage = "introspection endpoint of \(endpoint.origin)"
        switch try client.reply(to: fields, of: endpoint, from: place) {
        case .object(let members):
            guard members["active"]?.bool != nil else {
                throw CredentialError(.malformedReply, "the \(place) does not say whether the token is active")
            }
            return members
        case .refused(let refusal):
            let error = client.dialect.error(for: refusal, in: .introspect)
            let isOfClient =
                refusal.isWithoutCode
                ? [401, 403].contains(refusal.status)
                : ["invalid_client", "unauthorized_client"].contains(refusal.code.lowercased())
            guard isOfClient, client.isPublic else { throw error }
            throw CredentialError(
                .configuration,
                "the provider does not support token introspection without a client secret: "
                    + "\(error.text)",
                hint: "show the claims of a readable token: "
                    + "credmgr claims --access-token --type \(ShellQuoting.word(client.type.name))",
                details: error.details)
        }
    }
}

/// Reads the claims of an access token, if it has a readable form (RFC 9068).
package struct AccessTokenCheck: Sendable {
    private let client: OAuthClient

    /// Makes it for a client.
    package init(_ client: OAuthClient) { self.client = client }

    /// Says that a token is one that only its API, and its provider by introspection, can read.
    package static let opaque = CredentialError(
        .unsupported, "the access token is opaque: only its API and its provider can read it")

    /// The claims of an access token, once all of RFC 9068 §4 holds.
    ///
    /// - Throws: ``ErrorCode/unsupported`` for a token that is opaque, or a provider whose tokens cannot be
    ///   checked; ``ErrorCode/validationFailed``; ``ErrorCode/temporary``.
    package func claims(of token: AccessToken) throws(CredentialError) -> JSONObject {
        let text = token.token.reveal()
        guard AccessTokenValidator.isReadable(text) else {
            throw Self.opaque
        }
        guard let issuer = client.metadata.issuer, let keys = try client.metadata.usable(.jwks) else {
            throw CredentialError(
                .unsupported, "cannot check the access token: the provider's issuer and keys are not known",
                hint: "set issuer, or issuer and jwks_uri, in the account type")
        }
        let validator = AccessTokenValidator(
            issuer: issuer, clientID: client.type.clientID, audience: token.key.resource ?? token.key.audience,
            now: client.context.clock.now)
        return try validator.validate(text, cryptography: client.context.cryptography) {
            (algorithm, kid) throws(CredentialError) in
            try client.source.key(for: algorithm, kid: kid, at: keys, in: client.context)
        }
    }
}
