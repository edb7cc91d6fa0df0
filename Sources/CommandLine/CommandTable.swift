package import CredentialCore

/// All commands and the options of every command: the one source of parser, help, manual page and completion.
package struct CommandTable: Sendable {
    /// The commands by subject, in the order help shows them.
    package let sections: [Section]
    /// The options that may precede or follow every command.
    package let globalOptions: [OptionSpec]
    /// The commands that most users need, for the one screen of `--help`.
    package var usual: [[String]] { texts.usual() }
    /// The command to begin with.
    package var beginning: [String] { texts.beginning() }
    /// Every status that a command can end with.
    package var exitStatuses: [ExitStatusText] { texts.exitStatuses() }
    /// The environment variables that are read.
    package var environment: [EnvironmentText] { texts.environment() }
    /// The files that are read and written.
    package var files: [FileText] { texts.files() }

    /// The texts that only help and manual pages read.
    private struct Texts: Sendable {
        let usual: @Sendable () -> [[String]]
        let beginning: @Sendable () -> [String]
        let exitStatuses: @Sendable () -> [ExitStatusText]
        let environment: @Sendable () -> [EnvironmentText]
        let files: @Sendable () -> [FileText]
    }

    private let texts: Texts

    /// `--version`, which every program has.
    static let version = Option.flag("version", "print the version and exit")
    /// `--help`, which every program has.
    static let help = Option.flag("help", short: "h", "print help and exit")

    /// Commands about one subject.
    package struct Section: Sendable {
        /// The subject, as a heading.
        package var title: LocalizedMessage { titled() }
        private let titled: @Sendable () -> LocalizedMessage
        private let list: @Sendable () -> [CommandSpec]

        /// Makes a section.
        ///
        /// - Parameter commands: the commands, in the order help shows them; asked for only when a search gets as
        ///   far as this section.
        package init(
            _ title: @autoclosure @escaping @Sendable () -> LocalizedMessage,
            _ commands: @escaping @Sendable () -> [CommandSpec]
        ) {
            titled = title
            list = commands
        }

        /// The commands, in the order help shows them.
        package var commands: [CommandSpec] { list() }
    }

    /// Makes a table.
    ///
    /// - Parameters:
    ///   - sections: the commands by subject.
    ///   - globalOptions: the options of every command, without `--version` and `--help`.
    ///   - usual: the commands that most users need, in the order help shows them.
    ///   - beginning: the command to begin with.
    ///   - exitStatuses: every status that a command can end with.
    ///   - environment: the environment variables that are read.
    ///   - files: the files that are read and written.
    package init(
        sections: [Section], globalOptions: [any DeclaredOption],
        usual: @autoclosure @escaping @Sendable () -> [[String]] = [],
        beginning: @autoclosure @escaping @Sendable () -> [String] = [],
        exitStatuses: @autoclosure @escaping @Sendable () -> [ExitStatusText] = [],
        environment: @autoclosure @escaping @Sendable () -> [EnvironmentText] = [],
        files: @autoclosure @escaping @Sendable () -> [FileText] = []
    ) {
        self.sections = sections
        self.globalOptions = globalOptions.map(\.spec) + [Self.version.spec, Self.help.spec]
        texts = Texts(
            usual: usual, beginning: beginning, exitStatuses: exitStatuses, environment: environment, files: files)
    }

    /// All commands.
    package var commands: [CommandSpec] { sections.flatMap(\.commands) }

    /// The command that `words` name, by path or alias.
    package func command(_ words: [String]) -> CommandSpec? {
        for section in sections {
            for command in section.commands where command.answers(to: words) { return command }
        }
        return nil
    }

    /// Whether a command is named by `words` or by words that begin with them.
    func contains(_ words: [String]) -> Bool {
        sections.contains { $0.commands.contains { $0.begins(with: words) } }
    }

    /// The shown commands directly below `words`, in order.
    func children(of words: [String]) -> [CommandSpec] {
        commands.filter { $0.role != .hidden && $0.path.count == words.count + 1 && $0.path.starts(with: words) }
    }

    /// The words that may follow `words`, aliases included.
    func nextWords(after words: [String]) -> [String] {
        var seen: Set<String> = []
        return commands.filter { $0.role != .hidden }.flatMap { [$0.path] + $0.aliases }
            .filter { $0.count > words.count && $0.starts(with: words) }
            .map { $0[words.count] }.filter { seen.insert($0).inserted }
    }

    /// The options that may be given with `command`: its own, then those of every command.
    func options(of command: CommandSpec?) -> [OptionSpec] { (command?.options ?? []) + globalOptions }
}
