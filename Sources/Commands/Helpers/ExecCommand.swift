import CommandLine
package import CredentialCore
import FastToken
import Platform
import Synchronization

/// `credmgr exec`.
package struct ExecCommand: Command {
    static let spec = CommandSpec(
        ["exec"], "run a command with a token",
        details: """
            Runs the command with a token in the environment variable ACCESS_TOKEN. CREDMGR_TOKEN_FILE names a \
            private file with a token that stays valid while the command runs. The file is in memory, in its own \
            directory, and is removed when the command ends. If the machine has no such directory, \
            CREDMGR_TOKEN_FILE is not set. With --file-env, a second variable names the file, and the token in the \
            file ends without a newline. Exit status and signals pass through.
            """,
        parameters: [command, argument],
        options: [
            SharedOption.type, SharedOption.account, SharedOption.policy, SharedOption.scope, SharedOption.resource,
            SharedOption.audience, SharedOption.minValid, SharedOption.idToken, TokenCommand.format,
            environmentVariable, fileVariable, broker, relay,
        ],
        examples: [
            .init("a script that reads ACCESS_TOKEN", "credmgr exec --type ToDoList -- ./backup.sh"),
            .init("with another variable name", "credmgr exec --type GitHub --env GH_TOKEN -- gh pr list"),
            .init(
                "for programs that read a file",
                "credmgr exec --type Work --id-token --file-env AWS_WEB_IDENTITY_TOKEN_FILE -- aws s3 ls"),
        ],
        exitStatuses: [3, 4, 5, 6, 7], runsProgram: true)

    private static let command = Parameter.required("command", .any("COMMAND", .file), "the command")
    private static let argument = Parameter.variadic("argument", .any("ARGUMENT", .file), "its arguments")
    private static let environmentVariable = Option.value(
        "env", .any("NAME"), "the variable to use instead of ACCESS_TOKEN")
    private static let fileVariable = Option.value(
        "file-env", .any("NAME"), "an additional variable for the name of the token file")

    private static let broker = Option.value(
        "broker", .any("NAME"), "serve this broker while the command runs")
    private static let relay = Option.flag(
        "relay", "with --broker: join the cloud SDKs of the command to the socket")

    let arguments: Arguments

    func run(_ session: CommandSession) throws(CredentialError) {
        let environment = try tokenEnvironment()
        let words = words
        guard session.context.programs.isProgram(words[0]) else {
            throw CredentialError(
                .usage,
                words[0].contains("/")
                    ? "'\(UntrustedText.shown(words[0]))' is not an executable program"
                    : "no program '\(UntrustedText.shown(words[0]))' in PATH")
        }
        let client = SocketClient(session)
        if let name = arguments[Self.broker] {
            if let client { throw SocketCommands.refusal("exec --broker", client.path) }
            guard arguments.hasOnly(["broker", "relay", "command", "argument"]) else {
                throw CredentialError(.usage, "--broker excludes the options for a token")
            }
            return try BrokerExec(name, isRelayed: arguments[Self.relay], words).run(session)
        }
        if arguments[Self.relay] { throw CredentialError(.usage, "--relay needs --broker") }
        let target = client == nil ? try TargetResolver(session).target(TargetOptions(arguments)) : nil
        let file = try session.context.programs.execTokenFile()
        if file == nil { try missesFile(environment, session) }
        let keeper: TokenFileRefresher
        if let client {
            keeper = TokenFileRefresher(
                session, TokenQuery(arguments, configuration: session.configuration), from: client.source,
                file: file ?? NoFile(), format: format, endsLine: environment.endsLine)
        } else if let target {
            keeper = try self.keeper(session, target, file ?? NoFile())
        } else {
            throw CredentialError(.internalFault, "no account is chosen")
        }
        let ending: Result<TerminationStatus, CredentialError>
        do throws(CredentialError) {
            let query = TokenQuery(arguments, configuration: session.configuration)
            let token = try keeper.start(
                isForEnvironment: true, for: MemoizedCall(words: query.words(in: session.options.group)))
            // The terminal is the program's now, also while its token is renewed.
            session.notices.waiting.retire()
            ending = .success(
                try session.context.programs.accompany(
                    words, variables: environment.variables(token: token, file: file?.path),
                    meanwhile: { if file != nil { _ = keeper.keep() } },
                    unattended: { session.notices.warning(Self.unattended($0)) }))
        } catch {
            ending = .failure(error)
        }
        Self.finish(keeper, session.context, session.notices)
        try session.context.programs.end(like: try ending.get())
    }

    /// For how many seconds a refresh is waited for that would end with the container: its worker has ended by
    /// then.
    private static let patience = 2 * WorkerLife.limit

    /// Removes the token's file. If a refresh is under way when the command has ended, and its worker would end
    /// with this process, it waits for it. The command's exit status is passed on even if this fails.
    private static func finish(_ keeper: TokenFileRefresher, _ context: CommandContext, _ notices: Notices) {
        do throws(CredentialError) { try keeper.end() } catch { notices.warning(left(error)) }
        guard context.programs.endsWithThisProcess, keeper.isRefreshing else { return }
        notices.warning(
            "the command has ended; credmgr waits for a running refresh before this container stops"
        )
        for _ in 0..<patience where keeper.isRefreshing { context.programs.pause(seconds: 1) }
        if keeper.isRefreshing {
            notices.warning(
                "the refresh did not finish within \(patience) s; credmgr exits, and its tokens may be lost")
        }
    }

    private static func left(_ error: CredentialError) -> LocalizedMessage {
        "cannot remove the token file: \(error)"
    }

    /// Warns that the command runs without the token's file.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable`` if the command requires the file.
    private func missesFile(_ environment: TokenEnvironment, _ session: CommandSession) throws(CredentialError) {
        guard environment.furtherFileVariable == nil else {
            throw CredentialError(
                .storeUnavailable, "no directory in memory for the token's file (XDG_RUNTIME_DIR, /dev/shm)",
                hint: "mount a tmpfs that belongs to you, and set XDG_RUNTIME_DIR to it")
        }
        session.notices.warning(
            "no directory in memory for the token's file: the command runs without \(TokenEnvironment.fileVariable)"
        )
    }

    /// Replaces the file on a machine that has no place for it.
    private struct NoFile: PrivateFile {
        let path = ""
        func write(_ bytes: [UInt8]) {}
        func remove() {}
    }

    private func keeper(
        _ session: CommandSession, _ target: Target, _ file: any PrivateFile
    ) throws(CredentialError) -> TokenFileRefresher {
        TokenFileRefresher(
            session, TokenQuery(arguments, configuration: session.configuration), target, file: file,
            format: format, endsLine: try tokenEnvironment().endsLine)
    }

    /// The program to run, and its arguments.
    var words: [String] { [arguments[Self.command]] + arguments[Self.argument] }

    /// The form of the token in the variable and in the file.
    var format: TokenFormat { arguments[TokenCommand.format] ?? .token }

    /// How the program gets the token.
    ///
    /// - Throws: ``ErrorCode/usage`` for the name of no variable.
    func tokenEnvironment() throws(CredentialError) -> TokenEnvironment {
        var environment = TokenEnvironment()
        if let variable = try name(Self.environmentVariable) { environment.variable = variable }
        environment.furtherFileVariable = try name(Self.fileVariable)
        return environment
    }

    private func name(_ option: Option<String?>) throws(CredentialError) -> String? {
        guard let name = arguments[option] else { return nil }
        guard ShellQuoting.isVariable(name) else {
            throw CredentialError(
                .usage, "\(option.spec.written) must be the name of a variable: letters, digits and '_'")
        }
        return name
    }
}

// MARK: What the small program has begun

extension ExecCommand {
    /// Carries on an `exec` that the small program has begun, as this process, till its command has ended.
    ///
    /// The command has a right to its signals and its exit status, also if the account has changed meanwhile: a
    /// token that cannot be refreshed is a warning.
    ///
    /// - Parameter words: the words behind the program's name: ``ExecHandover/commandLine``.
    /// - Throws: ``ErrorCode/usage`` for other words, and for a process that is no child of this one.
    package static func carryOn(_ words: [String], in context: CommandContext) throws(CredentialError) -> Never {
        guard let process = ExecHandover.process(in: words), context.programs.isChild(process) else { throw misuse }
        let notices = Notices(
            console: context.console, environment: context.environment, isQuiet: false, isVerbose: false)
        var taken: (file: any PrivateFile, begun: ExecHandover)?
        do throws(CredentialError) {
            guard let begun = ExecHandover(words) else { throw misuse }
            taken = (try context.programs.execTokenFile(takenOver: begun.directory, lock: begun.lock), begun)
        } catch { notices.warning(unattended(error)) }
        // To know the account may take a while, and the command's signals do not wait for that.
        let state = Mutex<(keeper: TokenFileRefresher?, hasEnded: Bool)>((nil, false))
        let ending = try context.programs.accompany(process) { [taken] in
            guard let taken, let keeper = patientKeeper(of: taken.begun, taken.file, context, notices) else {
                return
            }
            let isWanted = state.withLock { state in
                state.keeper = keeper
                return !state.hasEnded
            }
            if isWanted { _ = keeper.keep() }
        } unattended: {
            notices.warning(Self.unattended($0))
        }
        let keeper = state.withLock { state in
            state.hasEnded = true
            return state.keeper
        }
        if let keeper {
            finish(keeper, context, notices)
        } else {
            do throws(CredentialError) { try taken?.file.remove() } catch { notices.warning(left(error)) }
        }
        try context.programs.end(like: ending)
    }

    /// The keeper of a token, as soon as its account can be looked up; `nil` if that never will be.
    private static func patientKeeper(
        of begun: ExecHandover, _ file: any PrivateFile, _ context: CommandContext, _ notices: Notices
    ) -> TokenFileRefresher? {
        var told: String?
        var pause: Int64 = 1
        while true {
            do throws(CredentialError) { return try keeper(of: begun, file, context) } catch {
                if error.message != told { notices.warning(unattended(error)) }
                told = error.message
                guard TokenFileRefresher.passing.contains(error.code.exitStatus) else { return nil }
            }
            context.programs.pause(seconds: Int(pause))
            pause = min(2 * pause, Freshness.longestPause)
        }
    }

    private static func unattended(_ error: CredentialError) -> LocalizedMessage {
        "cannot refresh the token: \(error)"
    }

    private static var misuse: CredentialError {
        CredentialError(.usage, "'\(ExecHandover.command)' is reserved for credmgr", hint: "credmgr exec --help")
    }

    private static func keeper(
        of begun: ExecHandover, _ file: any PrivateFile, _ context: CommandContext
    ) throws(CredentialError) -> TokenFileRefresher {
        guard case .command(let arguments) = try ArgumentParser(.standard).parse(begun.words),
            arguments.command.path == spec.path
        else { throw misuse }
        var options = try GlobalOptions(arguments, environment: context.environment)
        options.group = try KeychainGroup(begun.group)
        let session = CommandSession(
            context: context, options: options,
            notices: Notices(
                console: context.console, environment: context.environment, isQuiet: options.isQuiet,
                isVerbose: options.isVerbose))
        session.notices.waiting.retire()
        if let fault = session.configurationFault { throw fault }
        let target = try TargetResolver(session).target(TargetOptions(type: begun.type, account: begun.account))
        return try ExecCommand(arguments: arguments).keeper(session, target, file)
    }
}
