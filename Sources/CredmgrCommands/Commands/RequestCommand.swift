import CredentialCore
import OAuth

/// `credmgr request`: an authenticated call to the API behind a type.
struct RequestCommand: Command {
    let arguments: ParsedArguments

    func run(_ session: Session) throws(CredentialError) {
        let message = try RequestMessage(arguments, session)
        let target = try TargetResolver(session).target(TargetOptions(arguments))
        let origins = try RequestOrigins(of: target.type)
        let address = try origins.address(of: try arguments.required("url"), query: try arguments.pairs("query"))
        var query = try TokenQuery(arguments, configuration: session.configuration)
        let access = TokenAccess(session)
        var answer = try access.token(query, target)
        for warning in answer.warnings { session.notices.warning(warning) }

        let prover = try access.prover(of: answer, target)
        var reply = try send(message, to: address, origins, answer, prover, target.type, session)
        if reply.response.status == 401, Self.asksForNewToken(reply.response) {
            session.notices.detail("the service refused the token; refreshing it once")
            query.forceRefresh = true
            answer = try access.token(query, target)
            reply = try send(message, to: address, origins, answer, prover, target.type, session)
        }
        try reply.output.finish()
        if reply.response.status >= 400 {
            throw CredentialError(
                .httpStatus,
                "\(address.origin)\(address.path) answered \(reply.response.status) to \(message.method)")
        }
    }

    private static func asksForNewToken(_ response: HTTPResponse) -> Bool {
        AuthenticationChallenge.parse(response.values(of: "www-authenticate")).contains(where: \.asksForFreshToken)
    }

    private struct Reply {
        let response: HTTPResponse
        let output: RequestOutput
    }

    /// Sends the request, and goes along redirects within the origins that may have the token.
    private func send(
        _ message: RequestMessage, to address: WebAddress, _ origins: RequestOrigins,
        _ answer: TokenService.Answer, _ prover: DPoPProver?, _ type: AccountType, _ session: Session
    ) throws(CredentialError) -> Reply {
        let resource = ResourceRequest(token: answer.token.token, type: answer.token.tokenType, prover: prover)
        let context = session.adapterContext(session.stores())
        var message = message
        var address = address
        for _ in 0..<10 {
            try origins.check(address)
            func newOutput() -> RequestOutput {
                RequestOutput(session, path: arguments.string("output"), showsHead: arguments.flag("include"))
            }
            var output = newOutput()
            let response = try resource.send(try message.request(to: address, of: type, session), in: context) {
                output = newOutput()
                return output.observer()
            }
            guard [301, 302, 303, 307, 308].contains(response.status),
                let location = response.value(of: "location")
            else {
                return Reply(response: response, output: output)
            }
            guard let next = RequestOrigins.resolve(location, against: address) else {
                throw CredentialError(.malformedReply, "\(address.origin) redirects to something that is no URL")
            }
            guard origins.allows(next) else {
                throw CredentialError(
                    .denied,
                    "\(address.origin) redirects to \(next.origin), which may not have the token",
                    hint: "if it belongs to the same service, add it to api_origins of the account type")
            }
            message = message.redirected(status: response.status)
            address = next
        }
        throw CredentialError(.denied, "more than 10 redirects from \(address.origin)")
    }
}
