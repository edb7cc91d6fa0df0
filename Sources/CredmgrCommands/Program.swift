import CredentialCore
import StrictJSON

/// The program: words in, exit status out.
package struct Program: Sendable {
    /// The version of the product.
    package static let version = "0.1.0"

    private let context: CommandContext
    private let demo: any Demonstration

    /// Makes the program; `demo` runs `credmgr demo`.
    package init(context: CommandContext, demo: any Demonstration) {
        self.context = context
        self.demo = demo
    }

    /// The words of a command line: those behind the program's name, or, where it was called by the name that git
    /// and docker look for, the command that answers them.
    ///
    /// - Parameter arguments: all words, the program's name first.
    package static func words(of arguments: [String]) -> [String] {
        // Not `split`, which costs a cached token 2 % of its instructions.
        let path = arguments.first ?? ""
        let name =
            path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[path.utf8.index(after: $0)...] } ?? path[...]
        var words = arguments
        if !words.isEmpty { words.removeFirst() }
        return switch name {
        case "git-credential-credmgr": ["git-credential"] + words
        case "docker-credential-credmgr": ["docker-credential"] + words
        default: words
        }
    }

    /// Runs one command line.
    ///
    /// - Parameter words: the words behind the program's name.
    /// - Returns: the exit status of contract §3.
    package func run(_ words: [String]) -> Int32 {
        let parser = ArgumentParser(.standard)
        var isVerbose = words.contains("-v") || words.contains("--verbose")
        var wantsJSON: Bool?
        do throws(CredentialError) {
            switch try parser.parse(words) {
            case .help(let path):
                try write(try HelpText(.standard, width: context.console.width).about(path))
            case .version:
                try write("credmgr \(Self.version)\n")
            case .command(let arguments):
                wantsJSON = arguments.wantsJSON
                isVerbose = arguments.flag("verbose")
                try run(arguments)
            }
            return 0
        } catch {
            let notices = Notices(
                console: context.console, environment: context.environment, isQuiet: false, isVerbose: isVerbose)
            notices.error(error)
            // What was found is the result, and has been printed.
            if error.code == .problemsFound { return error.code.exitStatus }
            if wantsJSON ?? parser.wantsJSON(words) {
                // The failure itself is what counts; if standard output is gone, it has been told already.
                try? write(ErrorRenderer.json(error).text(.indented) + "\n")
            }
            return error.code.exitStatus
        }
    }

    private func run(_ arguments: ParsedArguments) throws(CredentialError) {
        let options = try GlobalOptions(arguments, environment: context.environment)
        let session = try Session(
            context: context, options: options,
            notices: Notices(
                console: context.console, environment: context.environment, isQuiet: options.isQuiet,
                isVerbose: options.isVerbose))
        if arguments.command.path == ["demo"] { return try demo.run(arguments, session) }
        guard let command = Self.commands[arguments.command.path] else {
            throw CredentialError(.internalFault, "the command '\(arguments.command.name)' is not assembled")
        }
        try command.init(arguments: arguments).run(session)
    }

    private func write(_ text: String) throws(CredentialError) { try context.console.writeResult(Array(text.utf8)) }

    /// The commands by their words. ``CommandTable/standard`` says how each is called; a test holds both together.
    static var commands: [[String]: any Command.Type] {
        [
            ["login"]: LoginCommand.self,
            ["logout"]: LogoutCommand.self,
            ["token"]: TokenCommand.self,
            ["claims"]: ClaimsCommand.self,
            ["request"]: RequestCommand.self,
            ["accounts"]: AccountsCommand.self,
            ["accounts", "export"]: AccountsExportCommand.self,
            ["accounts", "import"]: AccountsImportCommand.self,
            ["use"]: UseCommand.self,
            ["label"]: LabelCommand.self,
            ["which"]: WhichCommand.self,
            ["groups"]: GroupsCommand.self,
            ["watch"]: WatchCommand.self,
            ["refresh"]: RefreshCommand.self,
            ["exec"]: ExecCommand.self,
            ["git-credential"]: GitCredentialCommand.self,
            ["docker-credential"]: DockerCredentialCommand.self,
            ["kubernetes"]: KubernetesCommand.self,
            ["az", "account", "get-access-token"]: AzureTokenCommand.self,
            ["oidc-token"]: OIDCTokenCommand.self,
            ["types"]: TypesCommand.self,
            ["types", "show"]: TypesShowCommand.self,
            ["types", "add"]: TypesAddCommand.self,
            ["types", "import"]: TypesImportCommand.self,
            ["types", "remove"]: TypesRemoveCommand.self,
            ["presets"]: PresetsCommand.self,
            ["providers"]: ProvidersCommand.self,
            ["providers", "test"]: ProvidersTestCommand.self,
            ["store", "status"]: StoreStatusCommand.self,
            ["store", "migrate"]: StoreMigrateCommand.self,
            ["store", "unlock"]: StoreUnlockCommand.self,
            ["store", "lock"]: StoreLockCommand.self,
            ["store", "rekey"]: StoreRekeyCommand.self,
            ["doctor"]: DoctorCommand.self,
            ["completion"]: CompletionCommand.self,
            ["help"]: HelpCommand.self,
            ["__complete"]: CompleteCommand.self,
        ]
    }
}
