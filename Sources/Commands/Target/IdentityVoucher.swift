import CredentialCore

/// Has the sign-in of one type vouch for another type's (draft-ietf-oauth-identity-assertion-authz-grant): the id token
/// of the one's account becomes an assertion that the other's authorization server takes.
struct IdentityVoucher: Sendable {
    private let session: Session

    init(_ session: Session) { self.session = session }

    /// An assertion for `type`.
    ///
    /// - Parameter provider: the name of the type that vouches.
    /// - Throws: ``ErrorCode/configuration`` for a type that needs to be vouched for itself;
    ///   ``ErrorCode/signInRequired`` and ``ErrorCode/noSuchAccount`` when nobody has signed in there; what its adapter
    ///   throws.
    func assertion(
        by provider: String, for type: AccountType, _ request: IdentityAssertionRequest
    ) throws(CredentialError) -> Secret {
        let resolver = TargetResolver(session)
        let idp = try resolver.type(named: provider)
        guard idp.identityProvider == nil, idp.identityToken == nil else {
            throw CredentialError(
                .configuration,
                "account type '\(type.name)': its identity_provider '\(provider)' is no type that people sign in to"
            )
        }
        let target = try resolver.target(ofType: idp, TargetOptions(type: provider))
        var query = TokenQuery()
        query.wantsIDToken = true
        let answer = try TokenAccess(session).token(query, target)
        guard let idToken = answer.idToken,
            let grant = try TokenAccess(session).grant(of: answer.token, target)
        else {
            throw CredentialError(
                .signInRequired, "account \(target.account.id) has no id token to vouch with",
                hint: "the scope of account type '\(provider)' needs openid: "
                    + LoginCommandLine(for: target.account, in: target.group, as: idp).description)
        }
        let context = session.services(session.stores(mayPrompt: false)).adapterContext
        return try session.context.adapters.adapter(of: idp).assertIdentity(
            request, idToken: idToken, grant: grant, of: idp, in: context)
    }
}
