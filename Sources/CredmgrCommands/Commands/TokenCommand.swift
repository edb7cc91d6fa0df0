import CredentialCore
import OAuth
import StrictJSON

/// `credmgr token`.
struct TokenCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let query = try TokenQuery(arguments, configuration: session.configuration)
        let target = try TargetResolver(session).target(query.target)
        let answer = try TokenAccess(session).token(query, target)
        for warning in answer.warnings { session.notices.warning(warning) }
        if arguments.flag("introspect") { return try introspect(answer.token, target, session) }
        try session.context.console.writeResult(
            try TokenPresentation(answer, target, wantsIDToken: query.wantsIDToken)
                .bytes(as: try format(), execInfo: session.context.environment["KUBERNETES_EXEC_INFO"]))
    }

    /// Prints what the provider says of the token (RFC 7662).
    private func introspect(
        _ token: AccessToken, _ target: Target, _ session: Session
    ) throws(CredentialError) {
        guard let grant = try TokenAccess(session).grant(of: token, target) else {
            throw CredentialError(.signInRequired, "account \(target.account.id) has no sign-in any more")
        }
        let adapter = try session.context.adapters.adapter(of: target.type)
        let told = try adapter.introspect(
            token, grant: grant, of: target.type, in: session.adapterContext(session.stores()))
        try session.print(.object(told))
    }

    private func format() throws(CredentialError) -> TokenFormat { try arguments.choice("format") ?? .token }
}
