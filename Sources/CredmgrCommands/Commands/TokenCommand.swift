import CredentialCore
import OAuth

/// `credmgr token`.
struct TokenCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let query = try TokenQuery(arguments, configuration: session.configuration)
        let target = try TargetResolver(session).target(query.target)
        let answer = try TokenAccess(session).token(query, target)
        for warning in answer.warnings { session.notices.warning(warning) }
        try session.context.console.writeResult(
            try Self.presentation(answer, target, wantsIDToken: query.wantsIDToken)
                .bytes(as: try format(), execInfo: session.context.environment["KUBERNETES_EXEC_INFO"]))
    }

    private func format() throws(CredentialError) -> TokenFormat { try arguments.choice("format") ?? .token }

    private static func presentation(
        _ answer: TokenService.Answer, _ target: Target, wantsIDToken: Bool
    ) throws(CredentialError) -> TokenPresentation {
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
        return TokenPresentation(
            accessToken: token, tokenType: answer.token.tokenType, expiresAt: expiresAt, scope: answer.token.scope,
            policy: answer.token.key.policy.isEmpty ? nil : answer.token.key.policy, accountID: target.account.id,
            accountType: target.type.name, username: target.account.username, refreshed: answer.refreshed)
    }
}
