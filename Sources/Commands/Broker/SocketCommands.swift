import CommandLine
import CredentialCore
import FastToken
import OAuth
import StrictJSON

/// The commands at a broker's socket (`CREDMGR_SOCK`): those that use tokens ask the socket and read no store,
/// configuration or cache of this machine; those that change accounts are refused.
enum SocketCommands {
    /// The commands that do the same with and without a socket, and those that ask the socket by themselves.
    private static let independent = [
        "help", "explain", "version", "completion", "__complete", "relay", "exec", "goauth", "cargo", "bazel",
        "keyring", KeyringShimCommand.word, "terraform", "oidc-token", "google",
    ]

    /// Runs a command at the socket.
    ///
    /// - Returns: whether the command has been run; not without `CREDMGR_SOCK`, and not for commands that are
    ///   independent of it.
    /// - Throws: ``ErrorCode/usage`` for a command that is refused; the errors of ``BrokerClient/ask(_:)``.
    static func run(_ arguments: Arguments, _ session: CommandSession) throws(CredentialError) -> Bool {
        guard let client = SocketClient(session), let first = arguments.command.path.first,
            !independent.contains(first)
        else { return false }
        guard let run = commands[arguments.command.name] else { throw refusal(arguments.command.name, client.path) }
        try run(arguments, client, session)
        return true
    }

    private typealias Body = @Sendable (Arguments, SocketClient, CommandSession) throws(CredentialError) -> Void

    private static let commands: [String: Body] = [
        "token": token, "request": request, "git-credential": git, "docker-credential": docker,
        "kubernetes": kubernetes, "aws": aws, "which": which, "accounts": accounts, "status": status,
        "doctor": doctor,
    ]

    /// The error for a command that the accounts of this machine would serve.
    static func refusal(_ command: String, _ path: String) -> CredentialError {
        CredentialError(
            .usage, "'\(command)' is not available at the broker's socket \(UntrustedText.shown(path, limit: 200))",
            hint: "to use the accounts of this machine: unset CREDMGR_SOCK")
    }

    /// Refuses options that only the accounts of this machine can serve.
    private static func refuse(
        _ option: Option<Bool>, _ arguments: Arguments, _ client: SocketClient
    ) throws(CredentialError) {
        if arguments[option] {
            throw refusal("\(arguments.command.name) \(option.spec.written)", client.path)
        }
    }

    // MARK: Tokens

    private static let token: Body = { arguments, client, session throws(CredentialError) in
        try refuse(TokenCommand.introspect, arguments, client)
        try refuse(TokenCommand.takeOver, arguments, client)
        let query = TokenQuery(arguments, configuration: nil)
        let format = arguments[TokenCommand.format] ?? .token, keeps = arguments[TokenCommand.keep]
        guard let path = arguments[TokenCommand.output], path != "-" else {
            if keeps { throw CredentialError(.usage, "--keep needs --output FILE") }
            let info = session.context.environment[ExecCredential.variable]
            return try session.context.console.writeResult(
                try client.token(query).bytes(as: format, execInfo: format == .execCredential ? info : nil))
        }
        if path.isEmpty { throw CredentialError(.usage, "--output names no file") }
        let keeper = TokenFileRefresher(
            session, query, from: client.source,
            file: ReplacedFile(path: path, programs: session.context.programs), format: format, isWithdrawn: true)
        _ = try keeper.start()
        guard keeps else { return }
        session.notices.note("\(UntrustedText.shown(path)) is kept valid until this is stopped")
        if let failure = keeper.keep() { throw failure }
    }

    private static let kubernetes: Body = { arguments, client, session throws(CredentialError) in
        let environment = session.context.environment
        let query = TokenQuery(arguments, configuration: nil)
        try session.context.console.writeResult(
            try client.client.kubernetes(
                query.words(in: nil).filled { environment[$0] }, execInfo: environment[ExecCredential.variable],
                wantsIDToken: query.wantsIDToken, now: session.context.clock.now))
    }

    private static let git: Body = { arguments, client, session throws(CredentialError) in
        switch arguments[GitCredentialCommand.operation] {
        case "capability": return try session.print("version 0\ncapability authtype\n")
        case "get", "erase": break
        default: return
        }
        let bytes = try session.context.console.readInput(limit: FastToken.messageLimit)
        // Refuses input that git does not write. Without a host, git asks for no server's credential.
        guard try GitCredentialMessage(bytes)["host"] != nil else { return }
        do throws(CredentialError) {
            try session.context.console.writeResult(
                try client.client.git(BrokerClient.gitMembers(of: bytes), client.words(arguments)))
        } catch {
            // A server that is not in the broker gets no credential, so that git asks its next helper.
            guard error.isOriginRefused else { throw error }
            session.notices.detail("nothing is given: \(error.message)")
        }
    }

    private static let docker: Body = { arguments, client, session throws(CredentialError) in
        do throws(CredentialError) {
            switch arguments[DockerCredentialCommand.operation] {
            case "version": return try session.print("credmgr \(Program.version)\n")
            case "list": return try session.print("{}\n")
            case "erase":
                _ = try session.context.console.readInput(limit: DockerCredentialCommand.inputLimit)
                return
            case "get": break
            default:
                throw CredentialError(
                    .unsupported,
                    "credmgr returns tokens of its accounts to docker and stores no other credentials",
                    hint: "use another helper for this registry: credHelpers in ~/.docker/config.json")
            }
            let server = try DockerCredentialCommand.server(session)
            let output: JSONObject
            do throws(CredentialError) {
                output = try client.client.helper(
                    "docker", input: JSONObject(["ServerURL": .string(server)]),
                    entry: try client.client.entry(client.words(arguments)))
            } catch {
                guard error.isOriginRefused else { throw error }
                throw CredentialError(
                    .noSuchAccount, LocalizedMessage(verbatim: DockerCredentialCommand.notFound))
            }
            try session.print(JSONValue.object(output).text() + "\n")
        } catch {
            // Docker shows its user the text of standard output.
            try session.print(error.message + "\n")
            throw error
        }
    }

    private static let aws: Body = { arguments, client, session throws(CredentialError) in
        guard let role = arguments[AWSCommand.roleARN], !role.isEmpty else {
            throw CredentialError(
                .usage, "--role-arn is missing: the role whose credentials are wanted",
                hint: "credmgr aws --help")
        }
        try AWSCommand.check(role: role)
        guard arguments.hasOnly(["role-arn", "type", "account"]) else {
            throw CredentialError(
                .usage, "the broker's entry alone decides the token for a role",
                hint: "use only --role-arn, --type and --account")
        }
        let output = try client.client.helper(
            "aws", input: JSONObject(["role_arn": .string(role)]),
            entry: try client.client.entry(client.words(arguments)))
        try session.print(JSONValue.object(output).text() + "\n")
    }

    // MARK: Requests

    private static let request: Body = { arguments, client, session throws(CredentialError) in
        let message = try RequestMessage(arguments, session)
        guard var address = try RequestURL.absolute(arguments[RequestCommand.url]),
            let destination = Destination(address)
        else {
            throw CredentialError(
                .usage, "the URL must be absolute at the broker's socket", hint: "credmgr request --help")
        }
        guard destination.isProtected else {
            throw CredentialError(.denied, "a token is not sent over plain http to \(destination.host)")
        }
        let query = arguments[RequestCommand.query]
        if !query.isEmpty { address = address.appending(query: FormURLEncoding.encode(query)) }
        let asked = TokenQuery(arguments, configuration: nil), entry = try client.entry(arguments)
        // The host checks the origin of each request, with or without origins of the entry.
        var token = try client.token(asked, origin: address.origin)
        let plain = try message.request(
            to: address, of: AccountType(name: entry.type, adapter: "", clientID: ""), session)
        var output = RequestOutput(
            session, path: arguments[RequestCommand.output], showsHead: arguments[RequestCommand.include])
        func send() throws(CredentialError) -> HTTPResponse {
            var request = plain
            request.headers.append(("Authorization", "\(token.tokenType) \(try token.checkedToken())"))
            if token.tokenType == "DPoP" {
                request.headers.append(
                    ("DPoP", try client.proof(entry.name, method: request.method, url: address.description)))
            }
            return try session.context.transport.send(request, observer: output.observer())
        }
        var response = try send()
        if response.status == 401, !asked.forceRefresh {
            token = try client.client.replacement(
                of: token.accessToken, entry: entry.name, policy: nil, now: session.context.clock.now)
            output = RequestOutput(
                session, path: arguments[RequestCommand.output], showsHead: arguments[RequestCommand.include])
            response = try send()
        }
        try output.finish()
        if response.status >= 400 {
            throw CredentialError(
                .httpStatus, "\(address.origin)\(address.path) answered \(response.status) to \(plain.method)")
        }
    }

    // MARK: Accounts

    private static let which: Body = { arguments, client, session throws(CredentialError) in
        let entry = try client.entry(arguments)
        guard let id = entry.accountID else { throw missing(entry) }
        if arguments.wantsJSON {
            var json = json(of: entry).object ?? JSONObject()
            json["rule"] = "broker"
            return try session.print(.object(json))
        }
        try session.print("\(id)\t\(entry.type)\t\(UntrustedText.shown(entry.username ?? id))\n")
    }

    private static let accounts: Body = { arguments, client, session throws(CredentialError) in
        let type = arguments[SharedOption.type]
        let entries = try client.entries().filter { entry in
            entry.accountID != nil && (type.map { $0 == entry.type } ?? true)
        }
        if arguments.wantsJSON { return try session.print(.array(entries.map(json(of:)))) }
        guard !entries.isEmpty else { return session.notices.note("no account is signed in") }
        var table = Table(["NAME", "TYPE", "ENTRY", "ID"], whole: ["NAME", "ID"])
        for entry in entries {
            table.add([
                entry.username ?? entry.accountID ?? "-", entry.type, entry.name, entry.accountID ?? "-",
            ])
        }
        try session.print(table)
    }

    private static let status: Body = { arguments, client, session throws(CredentialError) in
        let isAll = arguments[StatusCommand.all]
        let entries = isAll ? try client.entries() : [try client.entry(arguments)]
        if arguments.wantsJSON {
            let list = entries.map(json(of:))
            try session.print(isAll ? .array(list) : list.first ?? .null)
        } else {
            for entry in entries {
                var facts = FactList()
                facts.add("account", entry.username ?? entry.accountID ?? "-")
                facts.add("id", entry.accountID)
                facts.add("type", entry.type)
                facts.add("chosen by", "the broker at \(UntrustedText.shown(client.path, limit: 200))")
                facts.add("status", entry.accountID == nil ? "needs-login" : "active")
                try session.print(session.shown(facts))
            }
        }
        guard let missed = entries.first(where: { $0.accountID == nil }) else { return }
        var error = missing(missed)
        error.isInResult = true
        throw error
    }

    private static func missing(_ entry: SocketClient.Entry) -> CredentialError {
        CredentialError(
            .signInRequired, "entry \(UntrustedText.shown(entry.name, limit: 60)) of the broker has no account",
            hint: "sign in on the host of the broker: credmgr login")
    }

    private static func json(of entry: SocketClient.Entry) -> JSONValue {
        [
            "id": JSONValue(entry.accountID), "type": .string(entry.type), "username": JSONValue(entry.username),
            "entry": .string(entry.name), "scope": JSONValue(entry.scope.joined(separator: " ")),
            "origins": JSONValue(entry.origins), "release": .string(entry.release),
            "status": .string(entry.accountID == nil ? "needs-login" : "active"),
        ]
    }

    private static let doctor: Body = { arguments, client, session throws(CredentialError) in
        let finding: Diagnostic
        do throws(CredentialError) {
            let hello = try client.client.ask(JSONObject(["op": "hello"]))
            let broker = UntrustedText.shown(hello["broker"]?.string ?? "?", limit: 200)
            finding = Diagnostic(
                "socket", .ok, "broker \(broker) answers at \(UntrustedText.shown(client.path, limit: 200))")
        } catch { finding = Diagnostic("socket", error) }
        if arguments.wantsJSON {
            try session.print([
                "ok": .bool(finding.state == .ok), "version": .string(Program.version),
                "checks": .array([finding.json]),
            ])
        } else {
            let mark = finding.state == .ok ? "ok     " : "PROBLEM"
            try session.print("\(mark)  \(finding.check): \(session.shown(finding.message))\n")
            if let remedy = finding.remedy { try session.print("           \(session.shown(remedy))\n") }
        }
        if finding.state != .ok { throw CredentialError(.problemsFound, "the broker's socket has a problem") }
    }
}

extension SocketClient {
    /// Returns a DPoP proof for a request (RFC 9449).
    ///
    /// - Throws: as ``BrokerClient/ask(_:)``.
    func proof(_ entry: String, method: String, url: String) throws(CredentialError) -> String {
        let reply = try client.ask(
            JSONObject([
                "op": "sign", "entry": .string(entry), "method": .string(method), "url": .string(url),
            ]))
        guard let proof = reply["dpop"]?.string else {
            throw CredentialError(.malformedReply, "the broker's reply is not one of its language")
        }
        return proof
    }
}
