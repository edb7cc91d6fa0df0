import CredentialCore
import OAuth

/// Validates the id tokens that plugins bring, as those of built-in adapters are (OpenID Connect Core §3.1.3.7).
///
/// The account type must name the issuer; without it the token could not be checked, and is dropped.
struct IDTokenCheck: Sendable {
    private let source = MetadataFetcher()

    /// The claims of the ID token; `nil` if there is no ID token that can be checked.
    ///
    /// - Parameter subject: the subject it must have, at a refresh.
    /// - Throws: ``ErrorCode/validationFailed`` for a token that fails validation; ``ErrorCode/temporary`` when the
    ///   provider's keys cannot be had now.
    func validated(
        _ issued: IssuedTokensReader, of type: AccountType, subject: String?, in context: AdapterContext
    ) throws(CredentialError) -> IDTokenClaims? {
        try validated(issued, of: type, subject: subject, by: source, in: context)
    }

    private func validated(
        _ issued: IssuedTokensReader, of type: AccountType, subject: String?, by source: MetadataFetcher,
        in context: AdapterContext
    ) throws(CredentialError) -> IDTokenClaims? {
        guard let token = issued.idToken else { return nil }
        guard let name = type.issuer, let issuer = URI(name), issuer.isSecure else {
            context.note("the id token is dropped: without an issuer in the account type it cannot be checked")
            return nil
        }
        var metadata = ServerMetadata(issuer: name)
        metadata.endpoints[.jwks] = type.endpoints[.jwks].flatMap(URI.init)
        if metadata.endpoints[.jwks] == nil {
            metadata = try source.metadata(of: name, issuer, needs: [.jwks], in: context)
        }
        guard let keys = metadata.endpoints[.jwks] else {
            throw CredentialError(
                .validationFailed, "cannot validate the ID token: the provider publishes no keys",
                hint: "set jwks_uri in the account type")
        }
        var validator = IDTokenValidator(
            issuer: name, clientID: type.clientID, algorithms: metadata.signingAlgorithms, now: context.clock.now)
        validator.nonce = issued.nonce
        validator.accessToken = issued.accessToken
        validator.subject = subject
        return try validator.validate(token, cryptography: context.cryptography) {
            (algorithm, kid) throws(CredentialError) in
            try source.key(for: algorithm, kid: kid, at: keys, in: context)
        }
    }

    /// As ``validated(_:of:subject:in:)``, but if the keys cannot be had now, the new token is dropped and the old
    /// one stays. The reply may hold the only copy of a rotated refresh token.
    func validatedForRefresh(
        _ issued: IssuedTokensReader, _ request: RefreshRequest, in context: AdapterContext
    ) throws(CredentialError) -> IDTokenClaims? {
        do throws(CredentialError) {
            return try validated(
                issued, of: request.type, subject: request.subject, by: source.forGrants, in: context)
        } catch {
            guard error.code == .temporary, request.key.bearer == .accessToken else { throw error }
            context.note("the new id token is dropped: \(error)")
            return nil
        }
    }
}
