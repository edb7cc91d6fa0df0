import Broker
import CommandLine
import CredentialCore

/// `credmgr broker`: holds the commands about brokers.
enum BrokerCommands: CommandDescriptor {
    static let spec = CommandSpec(["broker"], role: .namespace, "release access tokens to sandboxes")
    static let name = Parameter.required("name", .any("NAME"), "the broker")
}

/// `credmgr broker serve`.
struct BrokerServeCommand: Command {
    static let spec = CommandSpec(
        ["broker", "serve"], "serve a broker's socket",
        details: """
            Serves the broker in the foreground, or on the socket that systemd passes. A broker has one server: a \
            second one exits with 6. SIGTERM ends the server and removes the socket.
            """,
        parameters: [BrokerCommands.name],
        options: [socket, socketGroup, idle],
        examples: [.init("serve the broker 'dev'", "credmgr broker serve dev")],
        exitStatuses: [2, 5, 6])

    private static let socket = Option.value("socket", .file, "listen at this path")
    private static let socketGroup = Option.value("socket-group", .any("GROUP"), "let this group connect, too")
    private static let idle = Option.time("idle", atLeast: 1, "end after this time without connections")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let name = try BrokerFiles.checked(arguments[BrokerCommands.name])
        let configuration = try BrokerFiles(session.context).read(name)
        session.context.brokers.blockSignals()
        let run = try BrokerRun(
            configuration, instance: name, path: arguments[Self.socket], group: arguments[Self.socketGroup],
            idle: arguments[Self.idle], BrokerRun.Surroundings(configuration, session), session)
        session.notices.note("broker \(name) listens at \(UntrustedText.shown(run.path))")
        session.notices.waiting.retire()
        try run.run(signals: true)
    }
}

/// `credmgr broker stop`.
struct BrokerStopCommand: Command {
    static let spec = CommandSpec(
        ["broker", "stop"], "end the servers of a broker",
        details: """
            Ends the servers of the broker, those of 'exec --broker' too, and waits until they have ended. No token \
            is released after this command returns.
            """,
        parameters: [name], options: [all],
        examples: [.init("end all servers", "credmgr broker stop --all")], exitStatuses: [2, 6])

    private static let name = Parameter.optional("name", .any("NAME"), "the broker")
    private static let all = Option.flag("all", "end the servers of all brokers")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let name = arguments[Self.name]
        guard (name == nil) == arguments[Self.all] else {
            throw CredentialError(
                .usage, "'broker stop' needs either a broker or --all", hint: "credmgr broker stop --help")
        }
        let stopped = try Self.stop(try name.map(BrokerFiles.checked), session)
        session.notices.note(
            "\(stopped, one: "\(stopped) server has ended", other: "\(stopped) servers have ended")")
    }

    /// Ends the servers of a broker, and removes its socket; of all brokers for `nil`.
    ///
    /// - Returns: how many have ended.
    /// - Throws: ``ErrorCode/temporary`` if a server does not end in time; the others are ended before.
    static func stop(_ name: String?, _ session: CommandSession) throws(CredentialError) -> Int {
        let host = session.context.brokers
        var stopped = 0
        var failures: [CredentialError] = []
        var instances: [String] = []
        for (instance, process) in try host.running()
        where name.map({ BrokerInstance.belongs(instance, process, to: $0) }) ?? true {
            instances.append(instance)
        }
        // systemd may wait at the socket of a broker without a server.
        var brokers = [name].compactMap(\.self)
        if name == nil {
            do throws(CredentialError) { brokers = try BrokerFiles(session.context).names() } catch {
                failures.append(error)
            }
        }
        for instance in instances + brokers.filter({ !instances.contains($0) }) {
            do throws(CredentialError) {
                if try host.stop(instance) { stopped += 1 }
            } catch { failures.append(error) }
        }
        guard let last = failures.popLast() else { return stopped }
        for failure in failures { session.notices.warning(failure) }
        throw last
    }
}

/// The names of served brokers.
enum BrokerInstance {
    /// The instance of `exec --broker`.
    static func name(of broker: String, process: Int32) -> String { "\(broker).\(process)" }

    /// Whether an instance serves a broker: its own, or that of `exec --broker` in the process that serves it.
    static func belongs(_ instance: String, _ process: Int32, to broker: String) -> Bool {
        instance == broker || instance == name(of: broker, process: process)
    }
}
