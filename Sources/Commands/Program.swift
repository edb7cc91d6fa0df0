import CommandLine
import CredentialCore
import FastToken
import StrictJSON

/// The program: words in, exit status out.
package struct Program: Sendable {
    /// The version of the product.
    package static let version = ProductVersion.current
    /// When it was released, as YYYY-MM-DD.
    static let releaseDate = ProductVersion.date
    /// The output of `--version`.
    static var versionLine: String { ProductVersion.line }

    private let context: CommandContext

    /// Makes the program.
    package init(context: CommandContext) { self.context = context }

    /// Runs one command line.
    ///
    /// - Parameter words: the words behind the program's name.
    /// - Returns: the exit status of docs/reference/errors-and-exit-codes.md.
    package func run(_ words: [String]) -> Int32 {
        let parser = ArgumentParser(.standard)
        var isVerbose = words.contains("-v") || words.contains("--verbose")
        var wantsJSON: Bool?
        do throws(CredentialError) {
            switch try parser.parse(words) {
            case .nothing: return try runNothing(words, parser)
            case .help(let path):
                let console = context.console
                try write(
                    try HelpText(.standard, width: console.width, in: console.translations).about(path))
            case .version:
                try write(Self.versionLine)
            case .command(let arguments):
                wantsJSON = arguments.wantsJSON
                isVerbose = arguments[GlobalOption.verbose]
                try run(arguments)
            }
            return 0
        } catch {
            if error.isInResult { return error.code.exitStatus }
            let notices = Notices(
                console: context.console, environment: context.environment, isQuiet: false, isVerbose: isVerbose)
            let error = advised(error, words, parser)
            notices.error(error)
            // The findings are the result, and have been printed.
            if error.code == .problemsFound { return error.code.exitStatus }
            if wantsJSON ?? parser.wantsJSON(words) {
                // The failure itself matters; if standard output is closed, standard error has it already.
                try? write(ErrorRenderer.json(error).text(.indented) + "\n")
            }
            return error.code.exitStatus
        }
    }

    /// No command is named: a terminal gets the state of things, or the first steps; anything else has forgotten a
    /// word.
    private func runNothing(_ words: [String], _ parser: ArgumentParser) throws(CredentialError) -> Int32 {
        let console = context.console
        guard console.resultIsTerminal,
            case .command(let arguments) = try parser.parse(StatusCommand.spec.path + words)
        else {
            console.writeNotice(
                try HelpText(.standard, width: console.width, in: console.translations).about([]))
            return ErrorCode.usage.exitStatus
        }
        let session = try session(arguments)
        // At a broker's socket there is no page: it would show the accounts of this machine.
        if SocketClient(session) != nil {
            let all = words.isEmpty ? [StatusCommand.all.spec.written] : words
            guard case .command(let status) = try parser.parse(StatusCommand.spec.path + all) else {
                throw CredentialError(.internalFault, "cannot run the command 'status'")
            }
            _ = try SocketCommands.run(status, session)
            return 0
        }
        try StartPage(arguments).print(session)
        return 0
    }

    /// The error of a command line, with a hint that explains the word without a place.
    private func advised(_ error: CredentialError, _ words: [String], _ parser: ArgumentParser) -> CredentialError {
        // At a broker's socket the names of this machine's types and accounts are not read.
        guard BrokerClient.path({ context.environment[$0] }) == nil, error.code == .usage,
            let stray = parser.stray(words),
            let hint = MisplacedArgument(stray.word).hint(for: stray.command, context)
        else { return error }
        var error = error
        error.advice = hint
        return error
    }

    private func session(_ arguments: Arguments) throws(CredentialError) -> CommandSession {
        let options = try GlobalOptions(arguments, environment: context.environment)
        return CommandSession(
            context: context, options: options,
            notices: Notices(
                console: context.console, environment: context.environment, isQuiet: options.isQuiet,
                isVerbose: options.isVerbose))
    }

    private func run(_ arguments: Arguments) throws(CredentialError) {
        let session = try session(arguments)
        guard let command = CommandList.command(arguments.command) else {
            throw CredentialError(.internalFault, "cannot run the command '\(arguments.command.name)'")
        }
        if try SocketCommands.run(arguments, session) { return }
        if let fault = session.configurationFault {
            switch command.configurationUse {
            case .needed: throw fault
            case .advisory: session.notices.warning("\(fault); this command ignores the file")
            case .unused: break
            }
        }
        defer { for note in context.machine.sharing.takeNotes() { session.notices.note(note) } }
        try command.init(arguments: arguments).run(session)
    }

    private func write(_ text: String) throws(CredentialError) { try context.console.writeResult(Array(text.utf8)) }
}
