import CommandLine
import Commands
import CredentialCore
import Platform
import PluginHost
import TestPorts

/// Commands run in memory: each call is a process of its own on one machine.
package struct CommandScene: Sendable {
    /// The machine.
    package let machine: MemoryMachine
    /// Programs and the user's files.
    package let programs: MemoryPrograms
    /// The network.
    package let transport = MemoryTransport()
    /// Listeners.
    package let redirects = MemoryRedirects()
    /// The data folder that `doctor` looks at from outside.
    package var dataFolder = MemoryDataFolder()
    /// The environment.
    package let environment: [String: String]
    /// The folder that commands are called in.
    package var workingDirectory = "/memory/home"

    /// The traces that a call has left behind.
    package struct Outcome: Sendable {
        /// The exit status.
        package let status: Int32
        /// Standard output.
        package let output: String
        /// Standard error.
        package let notices: String
    }

    /// Makes a scene with an empty machine.
    package init(cryptography: any Cryptography, environment: [String: String] = [:]) {
        self.environment = environment.merging(["HOME": "/memory/home"]) { own, _ in own }
        machine = MemoryMachine(cryptography: cryptography)
        programs = MemoryPrograms(
            machine,
            MemoryWorker(
                machine, caller: PortTrace(), environment: self.environment, transport: transport))
    }

    /// The context of a process.
    package func context(_ console: any Console, _ trace: PortTrace = PortTrace()) -> CommandContext {
        CommandContext(
            machine: machine.process(trace, environment: environment, transport: transport, programs: programs),
            workingDirectories: [workingDirectory], console: console, settings: UnexpectedSettings(),
            dataFolder: dataFolder,
            providers: PluginCatalog(
                places: [], reserved: [machine.provider.name], environment: [:],
                walls: SandboxPolicy(supervisor: nil, keptOut: [])),
            presets: PresetCatalog(folders: ["/memory/presets"], files: machine.process().typeFiles),
            programs: programs, redirects: redirects, qrCodes: MemoryQRCodes(),
            demonstration: UnexpectedDemonstration())
    }

    /// Runs one command line.
    ///
    /// - Parameters:
    ///   - input: standard input; `nil` if it may not be read.
    ///   - answers: the user's input at the terminal; `nil` without a user.
    package func run(
        _ words: String..., input: String? = nil, answers: [String]? = nil, trace: PortTrace = PortTrace()
    ) -> Outcome {
        run(words, input: input, answers: answers, trace: trace)
    }

    /// Runs one command line.
    ///
    /// - Parameters:
    ///   - words: the words behind the program's name.
    ///   - input: standard input; `nil` if it may not be read.
    ///   - answers: the user's input at the terminal; `nil` without a user.
    ///   - endsAfterAnswers: whether the terminal ends after the answers; else a further question is unexpected.
    ///   - trace: takes the calls.
    package func run(
        _ words: [String], input: String? = nil, answers: [String]? = nil, endsAfterAnswers: Bool = false,
        trace: PortTrace = PortTrace()
    ) -> Outcome {
        run(
            words, on: MemoryConsole(input: input, answers: answers, endsAfterAnswers: endsAfterAnswers),
            trace: trace)
    }

    /// Runs one command line on a terminal of one's own.
    package func run(_ words: [String], on console: MemoryConsole, trace: PortTrace = PortTrace()) -> Outcome {
        let status = Program(context: context(console, trace)).run(words)
        return Outcome(
            status: programs.ending?.exitStatus ?? status, output: console.result, notices: console.notices)
    }

    /// A call with these options of every command, for a part of a command by itself.
    package func session(
        _ console: any Console = MemoryConsole(), group: String? = nil, trace: PortTrace = PortTrace()
    ) throws(CredentialError) -> CommandSession {
        let words = ["version"] + (group.map { ["--group", $0] } ?? [])
        guard case .command(let arguments) = try ArgumentParser(.standard).parse(words) else {
            throw CredentialError(.internalFault, "no command")
        }
        return CommandSession(
            context: context(console, trace), options: try GlobalOptions(arguments, environment: environment),
            notices: Notices(console: console, environment: environment, isQuiet: false, isVerbose: true))
    }

    // MARK: What is there

    /// Defines a type of the provider in memory.
    package func define(_ name: String = "Tasks", _ members: String = #""scope": "read""#) {
        machine.setFile(
            "/memory/types/\(name).json", #"{"adapter": "memory", "client_id": "c", \#(members)}"#)
    }

    /// Lets the browser come back for a person.
    package func expectBrowser(_ person: String) {
        programs.install("xdg-open") { _, _ in ProcessResult(output: [], exitStatus: 0) }
        redirects.visit { [self] in
            let words = programs.started.last ?? []
            let page = words.last.flatMap { machine.file($0) } ?? ""
            let state = page.split(separator: "state=").dropFirst().first?.prefix { $0 != "\"" } ?? ""
            return "http://127.0.0.1/?state=\(state)&code=\(person)"
        }
    }

    /// Signs a person in, as `login` does.
    ///
    /// - Returns: the account's id.
    package func signIn(_ person: String, to type: String = "Tasks") -> Outcome {
        run(
            "login", "--type", type, "--flow", "password", "--username", person, "--password-file", "-",
            input: "p\n")
    }
}
