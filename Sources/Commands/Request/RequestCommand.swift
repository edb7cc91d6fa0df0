import CommandLine
import CredentialCore
import OAuth

/// `credmgr request`: an authenticated call to the API behind a type.
struct RequestCommand: Command {
    static let spec = CommandSpec(
        ["request"], "make an authenticated HTTP request",
        details: """
            Sends a request with the account's token. credmgr joins a relative URL to the type's api_base. The \
            response body goes to standard output. credmgr sends a token only to the origins of api_base and \
            api_origins, and never along a redirect to a different origin. If the response is 401 with a Bearer \
            challenge, credmgr refreshes the token and repeats the request once. If the API requires a wider scope \
            or a different authentication, credmgr does not repeat the request. It exits with 4, and the hint is \
            the sign-in that asks for it. If you have already signed in that way, it exits with 7.
            """,
        parameters: [method, url],
        options: [
            SharedOption.type, SharedOption.account, SharedOption.policy, query, form, json, data, file, header,
            include, output,
        ],
        examples: [
            .init("list tasks", "credmgr request GET /api/tasks --type ToDoList"),
            .init("add a task", "credmgr request POST /api/tasks --type ToDoList --form task=milk"),
        ],
        exitStatuses: [3, 4, 5, 6, 7, 8],
        remedy: { slip, words in
            guard case .missing(given: let given) = slip, given.count == 1, given[0].contains("/"),
                let place = words.firstIndex(of: given[0]), Self.mayBeRepeated(words, url: given[0])
            else { return nil }
            // The method comes first, and the URL keeps its position.
            var words = words
            words.insert("GET", at: place)
            return LocalizedMessage(verbatim: ShellQuoting.line(["credmgr"] + words))
        })

    /// Whether a hint may have the words: they are whole there, and have no header, field, body or query with a
    /// secret.
    private static func mayBeRepeated(_ words: [String], url: String) -> Bool {
        let harmless: Set = ["--type", "--account", "--policy", "--include"]
        return !url.contains { "?@#".contains($0) }
            && words.allSatisfy { word in
                UntrustedText.shown(word) == word
                    && (!word.hasPrefix("-") || harmless.contains(String(word.prefix { $0 != "=" })))
            }
    }

    static let method = Parameter.required(
        "method", .any("METHOD", .words(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])),
        "the HTTP method")
    static let url = Parameter.required(
        "url", .any("URL"), "the URL: absolute, or relative to the type's api_base")
    static let query = Option.pairs("query", "KEY=VALUE", "add a parameter to the query")
    static let form = Option.pairs("form", "KEY=VALUE", "send a form field")
    static let json = Option.value("json", .any("TEXT"), "send JSON: the text, or @FILE; @- for standard input")
    static let data = Option.value("data", .any("@FILE"), "send a file's bytes as the body; @- for standard input")
    static let file = Option.pairs("file", "KEY=@FILE", "send a file as a part of a multipart form")
    static let header = Option.pairs("header", "KEY:VALUE", separator: ":", "add a header field")
    static let include = Option.flag("include", short: "i", "print the status line and the header fields too")
    static let output = Option.value("output", short: "o", .file, "write the body to a file")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let message = try RequestMessage(arguments, session)
        let (target, address) = try place(session)
        var call = call(of: target, session)
        call.check = { (next) throws(CredentialError) in try Self.check(next, for: target, session) }
        call.hintOfRedirect = { method, next in
            let command = ShellQuoting.line([
                "credmgr", "request", method, UntrustedText.shown(next.description), "--account", target.account.id,
                "--group", target.group.name,
            ])
            return "if that server may receive the token, send the request to it: \(command)"
        }
        func newOutput() -> RequestOutput {
            RequestOutput(session, path: arguments[Self.output], showsHead: arguments[Self.include])
        }
        var output = newOutput()
        let response = try call.send(message.request(to: address, of: target.type, session)) {
            output = newOutput()
            return output.observer()
        }
        try output.finish()
        if response.status >= 400 {
            throw CredentialError(
                .httpStatus, "\(address.origin)\(address.path) returned \(response.status) for \(message.method)")
        }
    }

    /// A call with the target's token.
    private func call(of target: Target, _ session: CommandSession) -> ResourceCall {
        let access = TokenAcquirer(session)
        let asked = TokenQuery(arguments, configuration: session.configuration)
        return ResourceCall(
            of: target.account, in: target.group, under: target.type,
            context: session.services(session.stores()).adapterContext(of: target.type)
        ) { isRefused throws(CredentialError) in
            var query = asked
            if isRefused { query.forceRefresh = true }
            let answer = try access.token(query, target)
            if !isRefused { access.tell(answer) }
            return ResourceCall.Access(token: answer.token, failure: answer.failure) { () throws(CredentialError) in
                try access.grant(of: answer.token, target)
            }
        }
    }

    /// Returns the account whose token is sent, and its destination.
    ///
    /// - Throws: ``ErrorCode/denied`` if the token may not go there.
    private func place(_ session: CommandSession) throws(CredentialError) -> (Target, URI) {
        let text = arguments[Self.url]
        let absolute = try RequestURL.absolute(text)
        var options = TargetOptions(arguments)
        options.destination = absolute.flatMap(Destination.init)
        let resolver = TargetResolver(session)
        let target = try resolver.target(options)
        var address: URI
        if let absolute { address = absolute } else { address = try RequestURL.joined(text, to: target.type) }
        let query = arguments[Self.query]
        if !query.isEmpty { address = address.appending(query: FormURLEncoding.encode(query)) }
        try Self.check(address, for: target, session, isNamedByUser: true)
        return (target, address)
    }

    /// Refuses an address that may not have the target's token.
    ///
    /// - Parameter isNamedByUser: whether the user has named the address, and no redirect: only then the hint
    ///   allows its origin.
    /// - Throws: ``ErrorCode/denied``.
    static func check(
        _ address: URI, for target: Target, _ session: CommandSession, isNamedByUser: Bool = false
    ) throws(CredentialError) {
        guard let destination = Destination(address) else {
            throw CredentialError(.denied, "no token goes to \(address.origin)")
        }
        let authority = TargetResolver(session).authority
        if let refusal = authority.refusalOfTravel(to: destination) {
            throw CredentialError(.denied, refusal.text, hint: refusal.advice)
        }
        if case .refused(let refusal) = authority.ruling(
            on: destination, type: target.type, account: target.account)
        {
            if refusal.isOfTrust { throw CredentialError(.denied, refusal.text, hint: refusal.advice) }
            for miss in authority.nearMisses(of: destination) { session.notices.warning(miss) }
            let name = ShellQuoting.word(target.type.name)
            let allows = isNamedByUser && target.type.apiBase == nil && address.isSecure
            let command = "credmgr types set \(name) api_base=\(address.origin)"
            throw CredentialError(
                .denied, "a token of account type \(target.type.name) is not sent to \(destination)",
                hint: allows
                    ? "if this API may have the token: \(command)"
                    : "tokens go only to hosts in rules of config.json, api_base and api_origins: "
                        + "credmgr types show \(name)")
        }
    }
}
