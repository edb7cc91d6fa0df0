import CommandLine
import CredentialCore
import Relay

/// `credmgr relay`.
struct RelayCommand: Command {
    static let spec = CommandSpec(
        [RelayArguments.word], "run a command in a sandbox beside a relay to a broker",
        details: """
            Runs the command in a sandbox with a broker's socket. The SDKs of Google, Azure, AWS and GitHub Actions get \
            tokens through a port on 127.0.0.1, which only this command's variables name. The relay reads no \
            configuration. Exit status and signals pass through.
            """,
        parameters: [command, argument], options: [socket, port, file],
        examples: [
            .init("with the socket at /run/credmgr/sock", "credmgr relay -- ./deploy.sh"),
            .init("with a token file", "credmgr relay --file work=/run/token -- kubectl get pods"),
        ],
        exitStatuses: [2, 3, 4, 5, 6, 7], runsProgram: true)

    private static let command = Parameter.required("command", .any("COMMAND", .file), "the command")
    private static let argument = Parameter.variadic("argument", .any("ARGUMENT", .file), "its arguments")
    private static let socket = Option.value(
        "socket", .any("PATH", .file), "the broker's socket; else CREDMGR_SOCK, else /run/credmgr/sock")
    private static let port = Option.integer(
        "port", "N", in: 1...65_535, "the port on 127.0.0.1; else any free port")
    private static let file = Option.pairs("file", "ENTRY=PATH", "keep a valid token of an entry in a file")

    static let configurationUse = ConfigurationUse.unused

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let relay = RelayArguments(
            socket: arguments[Self.socket], port: arguments[Self.port].map { UInt16($0) } ?? 0,
            files: arguments[Self.file].map { .init(entry: $0.name, path: $0.value) }, command: words)
        session.notices.waiting.retire()
        let ending = try session.context.programs.relay(relay) { session.notices.warning($0) }
        try session.context.programs.end(like: ending)
    }

    private var words: [String] { [arguments[Self.command]] + arguments[Self.argument] }
}
