import CommandLine
import CredentialCore
import OAuth

/// `credmgr request`: an authenticated call to the API behind a type.
struct RequestCommand: Command {
    static let spec = CommandSpec(
        ["request"], "make an authenticated HTTP request",
        details: """
            Sends a request with the account's token. A relative URL is joined to the type's api_base. The body \
            of the reply goes to standard output. A token is sent only to the origins of api_base and api_origins \
            and never along a redirect to another one. When the reply is 401 with a Bearer challenge, the token is \
            refreshed and the request repeated once. Where the API wants a wider scope or another authentication, \
            nothing is repeated: the exit status is 4, and the hint is the sign-in that asks for it; 7, where that \
            was asked for already.
            """,
        parameters: [method, url],
        options: [
            SharedOption.type, SharedOption.account, SharedOption.policy, query, form, json, data, file, header,
            include, output,
        ],
        examples: [
            .init("list tasks", "credmgr request GET /api/tasks --type ToDoList"),
            .init("add one", "credmgr request POST /api/tasks --type ToDoList --form task=milk"),
        ],
        exitStatuses: [3, 4, 5, 6, 7, 8])

    static let method = Parameter.required(
        "method", .any("METHOD", .words(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])),
        "the HTTP method")
    static let url = Parameter.required(
        "url", .any("URL"), "where to; relative to the type's api_base, or absolute")
    static let query = Option.pairs("query", "KEY=VALUE", "add a parameter to the query")
    static let form = Option.pairs("form", "KEY=VALUE", "send a form field")
    static let json = Option.value("json", .any("TEXT"), "send JSON: the text, or @FILE; @- for standard input")
    static let data = Option.value("data", .any("@FILE"), "send a file's bytes as the body; @- for standard input")
    static let file = Option.pairs("file", "KEY=@FILE", "send a file as a part of a multipart form")
    static let header = Option.pairs("header", "KEY:VALUE", separator: ":", "add a header field")
    static let include = Option.flag("include", short: "i", "print the status line and the header fields too")
    static let output = Option.value("output", short: "o", .file, "write the body to a file")

    let arguments: Arguments

    func run(_ session: Session) throws(CredentialError) {
        let message = try RequestMessage(arguments, session)
        let (target, address) = try place(session)
        var query = TokenQuery(arguments, configuration: session.configuration)
        let access = TokenAccess(session)
        var answer = try access.token(query, target)
        for warning in answer.warnings { session.notices.warning(warning) }

        let prover = try access.prover(of: answer, target)
        var reply = try send(message, to: address, answer, prover, target, session)
        try refuseStepUp(reply.response, from: address, answer.token, target, session)
        if reply.response.status == 401, Self.asksForNewToken(reply.response) {
            // No refresh makes a token of the one authorization server good where the API takes those of another.
            if let moved = try ResourceTypes(session).moved(target.type, address, reply.response) { throw moved }
            session.notices.detail("the service refused the token; refreshing it once")
            query.forceRefresh = true
            answer = try access.token(query, target)
            reply = try send(message, to: address, answer, prover, target, session)
            try refuseStepUp(reply.response, from: address, answer.token, target, session)
        }
        try reply.output.finish()
        if reply.response.status >= 400 {
            throw CredentialError(
                .httpStatus,
                "\(address.origin)\(address.path) answered \(reply.response.status) to \(message.method)")
        }
    }

    /// Ends a request whose refusal takes another sign-in to mend.
    private func refuseStepUp(
        _ response: HTTPResponse, from address: WebAddress, _ token: AccessToken, _ target: Target,
        _ session: Session
    ) throws(CredentialError) {
        guard let advice = StepUpAdvice(response, from: address) else { return }
        throw advice.error(
            of: target.account, in: target.group, under: target.type, token: token,
            grant: try TokenAccess(session).grant(of: token, target), now: session.context.clock.now)
    }

    /// Whose token goes where.
    ///
    /// - Throws: ``ErrorCode/denied`` where the token may not go there.
    private func place(_ session: Session) throws(CredentialError) -> (Target, WebAddress) {
        let text = arguments[Self.url]
        let absolute = try RequestAddress.absolute(text)
        var options = TargetOptions(arguments)
        options.destination = absolute.flatMap(Destination.init)
        let resolver = TargetResolver(session)
        let target = try resolver.target(options)
        var address: WebAddress
        if let absolute { address = absolute } else { address = try RequestAddress.joined(text, to: target.type) }
        let query = arguments[Self.query]
        if !query.isEmpty { address = address.appending(query: FormCoding.encode(query)) }
        try Self.check(address, for: target, session)
        return (target, address)
    }

    /// Refuses an address that may not have the target's token.
    ///
    /// - Throws: ``ErrorCode/denied``.
    static func check(_ address: WebAddress, for target: Target, _ session: Session) throws(CredentialError) {
        guard let destination = Destination(address) else {
            throw CredentialError(.denied, "no token goes to \(address.origin)")
        }
        let authority = TargetResolver(session).authority
        if let refusal = authority.refusalOfTravel(to: destination) {
            throw CredentialError(.denied, refusal.message, hint: refusal.hint)
        }
        if case .refused = authority.ruling(on: destination, type: target.type, account: target.account) {
            for miss in authority.nearMisses(of: destination) { session.notices.warning(miss) }
            throw CredentialError(
                .denied, "a token of account type \(target.type.name) is not sent to \(destination)",
                hint: "allowed is what rules of config.json name, and api_base and api_origins of the type: "
                    + "credmgr types show \(ShellQuote.word(target.type.name))")
        }
    }

    private static func asksForNewToken(_ response: HTTPResponse) -> Bool {
        AuthenticationChallenge.parse(response.values(of: "www-authenticate")).contains(where: \.asksForFreshToken)
    }

    private struct Reply {
        let response: HTTPResponse
        let output: RequestOutput
    }

    /// Sends the request, and goes along redirects within its origin.
    private func send(
        _ message: RequestMessage, to address: WebAddress,
        _ answer: TokenService.Answer, _ prover: DPoPProver?, _ target: Target, _ session: Session
    ) throws(CredentialError) -> Reply {
        let resource = ResourceRequest(token: answer.token.token, type: answer.token.tokenType, prover: prover)
        let context = session.services(session.stores()).adapterContext
        var message = message
        var address = address
        for _ in 0..<10 {
            func newOutput() -> RequestOutput {
                RequestOutput(session, path: arguments[Self.output], showsHead: arguments[Self.include])
            }
            var output = newOutput()
            let response = try resource.send(
                try message.request(to: address, of: target.type, session), in: context
            ) {
                output = newOutput()
                return output.observer()
            }
            guard [301, 302, 303, 307, 308].contains(response.status),
                let location = response.value(of: "location")
            else {
                return Reply(response: response, output: output)
            }
            guard let next = address.resolving(location), next.isWeb else {
                throw CredentialError(.malformedReply, "\(address.origin) redirects to something that is no URL")
            }
            guard next.origin == address.origin else {
                throw CredentialError(
                    .denied, "\(address.origin) redirects to \(next.origin), and no token goes along",
                    hint: "if that one may have the token, ask it itself: "
                        + ShellQuote.line(
                            [
                                "credmgr", "request", message.method, ForeignText.shown(next.description),
                                "--account", target.account.id, "--group", target.group.name,
                            ]))
            }
            message = message.redirected(status: response.status)
            address = next
        }
        throw CredentialError(.denied, "more than 10 redirects from \(address.origin)")
    }
}
