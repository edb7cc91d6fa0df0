/// One command as parser, help, manual page and completion see it.
package struct CommandSpec: Sendable {
    /// The words that name it: `["types", "show"]`.
    package let path: [String]
    /// Another spelling of the same command: `["types", "list"]` for `["types"]`.
    package let alias: [String]?
    /// Whether it runs, and whether help shows it.
    package let role: Role
    /// What it does, on one line, in lower case and without a full stop.
    package let summary: String
    /// What it does, in whole sentences; paragraphs are parted by an empty line.
    package let details: String
    /// Its positional parameters, in order.
    package let parameters: [ParameterSpec]
    /// Its options, without those of every command.
    package let options: [OptionSpec]
    /// Command lines that show its use.
    package let examples: [Example]
    /// The exit statuses, besides 0, 1 and 2, that its callers should expect.
    package let exitStatuses: [Int32]
    /// Whether its parameters are the command line of another program, behind '--'.
    package let runsProgram: Bool

    /// Whether a command runs, and whether help shows it.
    package enum Role: Sendable {
        /// Runs and is shown.
        case command
        /// Only holds other commands: `store`.
        case namespace
        /// Runs and is not shown; for scripts of our own.
        case hidden
    }

    /// A command line and what it does.
    package struct Example: Sendable {
        /// What it does, in lower case and without a full stop.
        package let purpose: String
        /// The line as typed, without a prompt.
        package let line: String

        /// Makes an example.
        package init(_ purpose: String, _ line: String) {
            self.purpose = purpose
            self.line = line
        }
    }

    /// Describes a command.
    package init(
        _ path: [String], alias: [String]? = nil, role: Role = .command, _ summary: String, details: String = "",
        parameters: [ParameterSpec] = [], options: [OptionSpec] = [], examples: [Example] = [],
        exitStatuses: [Int32] = [], runsProgram: Bool = false
    ) {
        self.path = path
        self.alias = alias
        self.role = role
        self.summary = summary
        self.details = details
        self.parameters = parameters
        self.options = options
        self.examples = examples
        self.exitStatuses = exitStatuses
        self.runsProgram = runsProgram
    }

    /// The words as typed: `types show`.
    package var name: String { path.joined(separator: " ") }

    /// Whether `words` name it, by its path or its alias.
    func answers(to words: [String]) -> Bool { path == words || alias == words }

    /// Whether `words` begin its path or its alias.
    func begins(with words: [String]) -> Bool {
        path.starts(with: words) || alias?.starts(with: words) == true
    }
}
