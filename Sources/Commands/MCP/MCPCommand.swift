import CommandLine
import CredentialCore
import OAuth

/// `credmgr mcp`: a server of the Model Context Protocol behind a URL, for clients that start a command.
struct MCPCommand: Command {
    static let spec = CommandSpec(
        ["mcp"], "run a remote MCP server as a local command",
        details: """
            Runs a remote MCP server for programs that start MCP servers as commands, over standard input and \
            output. credmgr sends each message to URL with the account's token and writes the responses, also \
            streams, line by line. It refreshes the token when the token expires, and once if the server refuses \
            the token.

            If you have not signed in, the browser opens once. Other processes that start at the same time wait \
            and use the same sign-in. The account type is that of login --resource URL.
            """,
        parameters: [url],
        options: [SharedOption.type, SharedOption.account, clientID],
        examples: [
            .init("in the configuration of an MCP client", "credmgr mcp https://mcp.example.com/mcp")
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let url = Parameter.required("url", .any("URL"), "the server's address")
    private static let clientID = Option.value(
        "client-id", .any("ID"), "the client ID to use instead of registering a client")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let url = arguments[Self.url]
        guard let address = URI(url), address.isWeb, address.isSecure, address.fragment == nil else {
            throw CredentialError(.usage, "'\(UntrustedText.shown(url))' is not an https URL")
        }
        let target = try target(url, session)
        try RequestCommand.check(address, for: target, session)
        try MCPBridge(session, target, address).run()
    }

    // MARK: Signing in

    /// The account to speak for, signed in by one of all that are started at once.
    private func target(_ url: String, _ session: CommandSession) throws(CredentialError) -> Target {
        if let (target, answer) = try signedIn(url, session), answer.failure?.code != .signInRequired {
            return target
        }
        guard arguments[SharedOption.account] == nil else {
            throw CredentialError(
                .signInRequired, "the account has to sign in again",
                hint: LocalizedMessage(
                    verbatim: ShellQuoting.line(
                        ["credmgr", "login", "--account", arguments[SharedOption.account] ?? ""]
                            + (session.options.group.map { ["--group", $0.name] } ?? []))))
        }
        var words = ["login", "--if-needed"]
        if let known = try known(url, session) {
            // No other account replaces the one whose sign-in has ended.
            words += ["--account", known.account.id, "--type", known.type.name]
        } else {
            words += ["--resource", url]
            if let type = arguments[SharedOption.type] { words += ["--type", type] }
            if let client = arguments[Self.clientID] { words += ["--client-id", client] }
        }
        if let group = session.options.group { words += ["--group", group.name] }
        guard case .command(let login) = try ArgumentParser(.standard).parse(words) else {
            throw CredentialError(.internalFault, "cannot parse the sign-in command")
        }
        // Standard output belongs to the protocol.
        var context = session.context
        context.console = StderrConsole(console: context.console)
        try LoginCommand(arguments: login).run(
            CommandSession(context: context, options: session.options, notices: session.notices))
        guard let (target, _) = try signedIn(url, session) else {
            throw CredentialError(.signInRequired, "the sign-in created no account for \(UntrustedText.shown(url))")
        }
        return target
    }

    /// The account whose token needs no user, for as long as that token lives; `nil` if a user has to sign in
    /// first.
    private func signedIn(
        _ url: String, _ session: CommandSession
    ) throws(CredentialError) -> (Target, TokenService.Answer)? {
        guard let target = try known(url, session) else { return nil }
        do throws(CredentialError) {
            return (target, try TokenAcquirer(session).token(TokenQuery(), target))
        } catch {
            if error.code == .signInRequired { return nil }
            throw error
        }
    }

    /// The account that is meant, whether its sign-in works or not; `nil` if there is no such account.
    private func known(_ url: String, _ session: CommandSession) throws(CredentialError) -> Target? {
        do throws(CredentialError) {
            guard
                let type = try ResourceTypeDiscovery(session.definitions).defined(
                    for: url, named: arguments[SharedOption.type])
            else {
                return nil
            }
            return try TargetResolver(session).target(
                ofType: type, TargetOptions(type: type.name, account: arguments[SharedOption.account]))
        } catch {
            if error.code == .noSuchAccount, arguments[SharedOption.account] == nil { return nil }
            throw error
        }
    }
}

/// A console that prints results on the same stream as notices.
private struct StderrConsole: Console {
    let console: any Console

    func writeResult(_ bytes: [UInt8]) throws(CredentialError) {
        console.writeNotice(String(decoding: bytes, as: UTF8.self))
    }

    func writeNotice(_ text: String) { console.writeNotice(text) }
    var translations: any Translations { console.translations }
    var resultIsTerminal: Bool { console.noticeIsTerminal }
    var noticeIsTerminal: Bool { console.noticeIsTerminal }
    var width: Int { console.width }
    var waiting: any ProgressDisplay { console.waiting }
    /// Standard input belongs to the protocol, too.
    var hasPerson: Bool { false }

    func ask(_ prompt: LocalizedMessage, isSecret: Bool) throws(CredentialError) -> Secret {
        throw CredentialError(.signInRequired, "cannot ask for input: the protocol uses standard input")
    }

    func unseen(_ work: () throws(CredentialError) -> Void) throws(CredentialError) { try work() }

    func readLine(
        status: @escaping (Int64) -> String?, accepts: @escaping (String) -> Bool,
        asides: @escaping () -> [String], while work: @escaping @Sendable () -> Void
    ) throws(CredentialError) -> Secret? {
        work()
        return nil
    }

    func readInputLine(limit: Int) throws(CredentialError) -> String? { nil }
    func readInput(limit: Int) throws(CredentialError) -> [UInt8] { [] }
}
