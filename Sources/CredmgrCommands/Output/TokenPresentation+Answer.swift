import CredentialCore

extension TokenPresentation {
    /// What is told of the token that was found for a target.
    ///
    /// - Throws: ``ErrorCode/unsupported`` when the id token is wanted and there is none.
    init(
        _ answer: TokenService.Answer, _ target: Target, wantsIDToken: Bool = false
    ) throws(CredentialError) {
        var token = answer.token.token
        var expiresAt = answer.token.expiresAt
        if wantsIDToken {
            guard let idToken = answer.idToken else {
                throw CredentialError(
                    .unsupported, "account \(target.account.id) has no id token",
                    hint: "the type's scope needs 'openid'")
            }
            token = idToken
            expiresAt = try IDTokenFacts(idToken).expiresAt
        }
        self.init(
            accessToken: token, tokenType: answer.token.tokenType, expiresAt: expiresAt, scope: answer.token.scope,
            policy: answer.token.key.policy.isEmpty ? nil : answer.token.key.policy, accountID: target.account.id,
            accountType: target.type.name, username: target.account.username, refreshed: answer.refreshed)
    }
}
