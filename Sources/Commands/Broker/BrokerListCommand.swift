import Broker
import CommandLine
import CredentialCore
import FastToken
import StrictJSON

/// The facts about a broker that `list` and `show` print.
struct BrokerFacts: Sendable {
    let configuration: BrokerConfiguration
    let file: String
    let socket: String
    /// The process that serves it; `nil` if no process serves it.
    let process: Int32?
    var lastUse: String?
    var grants = 0
    var refused = 0

    init(
        _ name: String, _ session: CommandSession, running: [(instance: String, process: Int32)]
    ) throws(CredentialError) {
        let files = BrokerFiles(session.context)
        configuration = try files.read(name)
        file = files.path(of: name)
        let serving =
            running.first { $0.instance == name }
            ?? running.first { BrokerInstance.belongs($0.instance, $0.process, to: name) }
        socket = session.context.brokers.socketPath(of: serving?.instance ?? name)
        process = serving?.process
        let records = session.context.brokerRecords, now = session.context.clock.now
        grants = ((try? records.grants.grants(of: name)) ?? []).filter { $0.until > now }.count
        // A broker that was never served has no log.
        guard let lines = try? records.auditLogs.lines(of: name) else { return }
        while let line = (try? lines.next()) ?? nil {
            guard let event = (try? JSONValue.parse(line))?.object else { continue }
            switch event["what"]?.string {
            case AuditEvent.What.issue.rawValue: lastUse = event["t"]?.string
            case AuditEvent.What.deny.rawValue: refused += 1
            default: break
            }
        }
    }

    /// The object that `--json` prints.
    var json: JSONValue {
        let entries = configuration.entries.map { entry -> JSONValue in
            [
                "name": .string(entry.name), "type": .string(entry.type), "account": JSONValue(entry.account),
                "policy": JSONValue(entry.policy), "scope": entry.scope.map { JSONValue($0) } ?? .null,
                "resource": JSONValue(entry.resource), "audience": JSONValue(entry.audience),
                "origins": JSONValue(entry.origins), "release": .string(entry.release.rawValue),
            ]
        }
        return [
            "name": .string(configuration.name), "file": .string(file), "socket": .string(socket),
            "served": .bool(process != nil), "pid": JSONValue(process.map(Int64.init)),
            "until": JSONValue(configuration.until?.rfc3339), "last_use": JSONValue(lastUse),
            "entries": .array(entries), "grants": .integer(Int64(grants)), "refused": .integer(Int64(refused)),
        ]
    }
}

/// `credmgr broker list`.
struct BrokerListCommand: Command {
    static let spec = CommandSpec(
        ["broker", "list"], aliases: [["broker", "ls"]], "list the brokers",
        details: "Lists each broker with its entries, its socket, and the process that serves it.",
        options: [SharedOption.json], exitStatuses: [2])

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let running = try session.context.brokers.running()
        var all: [BrokerFacts] = []
        for name in try BrokerFiles(session.context).names() {
            all.append(try BrokerFacts(name, session, running: running))
        }
        if arguments.wantsJSON { return try session.print(.array(all.map(\.json))) }
        guard !all.isEmpty else {
            return session.notices.note("no broker is defined; to define one: credmgr broker add --help")
        }
        var table = Table(["NAME", "ENTRIES", "PROCESS", "SOCKET"], whole: ["NAME"])
        for facts in all {
            table.add([
                facts.configuration.name, facts.configuration.entries.map(\.name).joined(separator: ", "),
                facts.process.map { String($0) } ?? "-", facts.socket,
            ])
        }
        try session.print(table)
    }
}

/// `credmgr broker show`.
struct BrokerShowCommand: Command {
    static let spec = CommandSpec(
        ["broker", "show"], "show a broker",
        details: "Shows the entries of a broker, its socket, and the process that serves it.",
        parameters: [BrokerCommands.name], options: [SharedOption.json], exitStatuses: [2])

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let name = try BrokerFiles.checked(arguments[BrokerCommands.name])
        let facts = try BrokerFacts(name, session, running: try session.context.brokers.running())
        if arguments.wantsJSON { return try session.print(facts.json) }
        var lines = [
            "name: \(name)", "file: \(facts.file)", "socket: \(facts.socket)",
            "process: \(facts.process.map { String($0) } ?? "-")", "ask: \(facts.configuration.ask.rawValue)",
            "speak: \(facts.configuration.speak.map(\.rawValue).joined(separator: ", "))",
        ]
        if let until = facts.configuration.until { lines.append("until: \(until.rfc3339)") }
        for entry in facts.configuration.entries {
            var line = "entry: \(entry.name), type \(entry.type), release \(entry.release.rawValue)"
            if let account = entry.account { line += ", account \(account)" }
            if let scope = entry.scope { line += ", scope \(scope.joined(separator: " "))" }
            if !entry.origins.isEmpty { line += ", origins \(entry.origins.joined(separator: " "))" }
            lines.append(line)
        }
        try session.print(lines.map { UntrustedText.shown($0, limit: 4_000) + "\n" }.joined())
    }
}

/// `credmgr broker remove`.
struct BrokerRemoveCommand: Command {
    static let spec = CommandSpec(
        ["broker", "remove"], "remove a broker",
        details: "Ends the servers of the broker, then deletes its file and its grants.",
        parameters: [BrokerCommands.name], options: [audit], exitStatuses: [2, 6])

    static let audit = Option.flag("audit", "delete the broker's audit log, too")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let name = try BrokerFiles.checked(arguments[BrokerCommands.name]), files = BrokerFiles(session.context)
        let isDefined = try files.names().contains(name)
        _ = try BrokerStopCommand.stop(name, session)
        guard isDefined else { throw files.missing(name) }
        try files.remove(name)
        let records = session.context.brokerRecords
        _ = try records.grants.forget(nil, of: name)
        if arguments[Self.audit] { try records.auditLogs.remove(name) }
        session.notices.note("broker \(name) is removed")
    }
}

/// `credmgr broker env`.
struct BrokerEnvCommand: Command {
    static let spec = CommandSpec(
        ["broker", "env"], "print the variables for a sandbox",
        details: """
            Prints the variables that programs in a sandbox need, as NAME=value lines. They have no token. In a \
            container the directory of the socket is expected at /run/credmgr.
            """,
        parameters: [BrokerCommands.name], options: [place, SharedOption.json],
        examples: [
            .init("a container", "podman run --env-file <(credmgr broker env dev --for container) …")
        ],
        exitStatuses: [2])

    private enum Place: String, CaseIterable { case container, ssh, shell }
    private static let place = Option.choice(
        "for", "PLACE", of: Place.self, "the environment of the program that uses the variables")

    /// The path of the socket in a container.
    private static let pathInContainer = "/run/credmgr/sock"
    /// The path of the socket on a remote host, as `setup ssh-host` forwards it.
    private static func pathOverSSH(_ broker: String) -> String { "~/.credmgr-brokers/\(broker)/sock" }

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let name = try BrokerFiles.checked(arguments[BrokerCommands.name])
        let configuration = try BrokerFiles(session.context).read(name)
        let place = arguments[Self.place] ?? .shell, host = session.context.brokers
        let socket =
            switch place {
            case .container: Self.pathInContainer
            case .ssh: Self.pathOverSSH(name)
            case .shell: host.socketPath(of: name)
            }
        var variables = BrokerVariables(socket: socket, configuration).all
        // A container may have no user of that number, so that the client asks which user to trust.
        if place == .container { variables.append(("CREDMGR_SOCK_UID", String(host.user))) }
        if arguments.wantsJSON {
            var object = JSONObject()
            for (name, value) in variables { object[name] = .string(value) }
            return try session.print(.object(object))
        }
        try session.print(variables.map { "\($0.name)=\($0.value)\n" }.joined())
    }
}

/// The variables for programs in a sandbox.
struct BrokerVariables: Sendable {
    /// The name and the value of each variable.
    let all: [(name: String, value: String)]

    init(socket: String, _ configuration: BrokerConfiguration) {
        var all = [(name: BrokerClient.variable, value: socket)]
        if configuration.speak.contains(.oidcAgent) { all.append(("OIDC_SOCK", socket)) }
        self.all = all
    }
}
