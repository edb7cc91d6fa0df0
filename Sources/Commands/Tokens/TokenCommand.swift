import CommandLine
import CredentialCore
import FastToken
import OAuth
import StrictJSON

/// `credmgr token`.
struct TokenCommand: Command {
    static let spec = CommandSpec(
        ["token"], "print a valid access token",
        details: """
            Prints a valid token from the cache, or refreshes the token first. It never opens a browser and never \
            prompts. Processes that ask at the same time cause only one refresh.
            """,
        options: [
            SharedOption.type, SharedOption.account, SharedOption.policy, SharedOption.scope, SharedOption.resource,
            SharedOption.audience, SharedOption.minValid, SharedOption.forceRefresh, SharedOption.idToken,
            introspect, format, output, keep, takeOver,
        ],
        examples: [
            .init(
                "call an API",
                "curl -H \"$(credmgr token --type ToDoList --format header)\" https://api.example.com/tasks"),
            .init(
                "a file for Prometheus, refreshed until it is stopped",
                "credmgr token --type Metrics --output /run/user/1000/metrics.token --keep"),
            .init("set ACCESS_TOKEN in a shell", "eval \"$(credmgr token --type ToDoList --format env)\""),
        ],
        exitStatuses: [3, 4, 5, 6, 7],
        remedy: { slip, words in
            // A word that is not whole in the hint would name something else.
            guard case .unknownOption(name: "--json", _) = slip, words.contains("--json"),
                words.allSatisfy({ UntrustedText.shown($0) == $0 })
            else { return nil }
            let line = words.flatMap { $0 == "--json" ? ["--format", "json"] : [$0] }
            return LocalizedMessage(verbatim: ShellQuoting.line(["credmgr"] + line))
        })

    static let introspect = Option.flag(
        "introspect", "print the provider's description of the token as JSON (RFC 7662)")
    static let format = Option.choice("format", "FORMAT", of: TokenFormat.self, "the output format")
    static let output = Option.value(
        "output", .file, "write to a private file, replaced atomically; - for standard output")
    static let takeOver = Option.flag(
        "take-over", "in a shared group: refresh despite another host's unfinished refresh")
    static let keep = Option.flag("keep", "with --output: refresh the file until you stop credmgr")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        var query = TokenQuery(arguments, configuration: session.configuration)
        query.takesOver = arguments[Self.takeOver]
        // A token for a cluster's server goes only to the server that may have it.
        let isForCluster = try format() == .execCredential
        let target =
            isForCluster
            ? try KubernetesCommand.target(
                query.target, session.context.environment[ExecCredential.variable], session)
            : try TargetResolver(session).target(query.target)
        if arguments[Self.keep] || arguments[Self.output].map({ $0 != "-" }) == true {
            return try write(query, target, session)
        }
        if arguments[Self.introspect] { return try introspect(query, target, session) }
        let answer = try TokenAcquirer(session).token(
            query, target, for: isForCluster ? nil : MemoizedCall(words: query.words(in: session.options.group)))
        TokenAcquirer(session).tell(answer)
        try session.context.console.writeResult(
            try TokenOutput(answer, target, wantsIDToken: query.wantsIDToken)
                .bytes(as: try format(), execInfo: session.context.environment[ExecCredential.variable]))
    }

    /// Writes the token to a file, and keeps that valid on request.
    private func write(_ query: TokenQuery, _ target: Target, _ session: CommandSession) throws(CredentialError) {
        if arguments[Self.output]?.isEmpty == true {
            throw CredentialError(.usage, "--output must name a file")
        }
        guard let path = arguments[Self.output], path != "-", !arguments[Self.introspect] else {
            throw CredentialError(
                .usage, "--keep requires --output FILE, and neither can be used with --introspect")
        }
        let file = ReplacedFile(path: path, programs: session.context.programs)
        let keeper = TokenFileRefresher(session, query, target, file: file, format: try format(), isWithdrawn: true)
        _ = try keeper.start()
        guard arguments[Self.keep] else { return }
        session.notices.note("refreshing \(UntrustedText.shown(path)) until you stop this command")
        if let failure = keeper.keep() { throw failure }
    }

    /// Prints the provider's response about the token (RFC 7662).
    private func introspect(
        _ query: TokenQuery, _ target: Target, _ session: CommandSession
    ) throws(CredentialError) {
        let (token, grant) = try TokenAcquirer(session).issued(query, target)
        let adapter = try session.context.adapters.adapter(of: target.type)
        let told = try adapter.introspect(
            token, grant: grant, of: target.type,
            in: session.services(session.stores()).adapterContext(of: target.type))
        try session.print(.object(told))
    }

    private func format() throws(CredentialError) -> TokenFormat { arguments[Self.format] ?? .token }
}

/// A file of the user's that holds a token. It stays when the program ends.
struct ReplacedFile: PrivateFile {
    let path: String
    let programs: any ProcessPort

    func write(_ bytes: [UInt8]) throws(CredentialError) {
        try programs.replaceFile(path, bytes, isProgram: false, isSecret: true)
    }
    func remove() throws(CredentialError) {}
    func withdraw() throws(CredentialError) { try programs.withdrawFile(path) }
}
