package import CredentialCore

/// Has the sign-in of one type vouch for another type's (draft-ietf-oauth-identity-assertion-authz-grant): the id
/// token of the one's account becomes an assertion that the other's authorization server takes.
package struct IdentityAssertionProvider: Sendable {
    private let accounts: AccountServices

    /// - Parameter accounts: those that give tokens of the account that vouches.
    package init(_ accounts: AccountServices) { self.accounts = accounts }

    /// Refuses a provider that has to be vouched for itself.
    ///
    /// - Throws: ``ErrorCode/configuration``.
    package static func check(_ provider: AccountType, for type: AccountType) throws(CredentialError) {
        guard provider.identityProvider == nil, provider.identityToken == nil else {
            throw CredentialError(
                .configuration,
                "account type '\(type.name)': identity_provider '\(provider.name)' must be a type that users sign "
                    + "in to"
            )
        }
    }

    /// An assertion for another type's authorization server.
    ///
    /// - Parameters:
    ///   - account: the account whose sign-in vouches, in `group`.
    ///   - provider: its type, and the adapter of that.
    /// - Throws: ``ErrorCode/signInRequired`` if the account has no ID token; as ``TokenService/token(_:)``; the
    ///   errors of the adapter.
    package func assertion(
        by account: Account, in group: KeychainGroup,
        _ provider: (type: AccountType, adapter: any CredentialAdapter),
        _ request: IdentityAssertionRequest
    ) throws(CredentialError) -> Secret {
        let wanted = try TokenDemand().request(
            of: account, under: provider.type, in: group, by: provider.adapter)
        if case .needsLogin(let reason) = account.status, account.policies.count < 2 {
            throw wanted.signInRequired(LocalizedMessage(kept: reason))
        }
        let answer = try accounts.tokens.tokenWithIDToken(wanted, now: accounts.machine.clock.now)
        let set = try accounts.repository.read(account, in: group, isLocked: false)
        guard let idToken = answer.idToken, let grant = set?.grants[answer.token.key.policy] else {
            throw CredentialError(
                .signInRequired, "account \(account.id) has no ID token for the assertion",
                hint:
                    "the scope of account type '\(provider.type.name)' needs openid: \(LoginHint(for: account, in: group, as: provider.type).description)"
            )
        }
        return try provider.adapter.assertIdentity(
            request, idToken: idToken, grant: grant, of: provider.type,
            in: accounts.adapterContext(of: provider.type))
    }
}
