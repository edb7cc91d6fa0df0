package import CredentialCore

/// One command as parser, help, manual page and completion see it.
package struct CommandSpec: Sendable {
    /// The words that name it: `["types", "show"]`.
    package let path: [String]
    /// Other spellings of the same command: `["types", "list"]` for `["types"]`.
    package let aliases: [[String]]
    /// Whether it runs, and whether help shows it.
    package let role: Role
    /// The summary, on one line, in lower case and without a full stop.
    package var summary: LocalizedMessage { list.summary() }
    /// The description, in whole sentences; an empty line separates paragraphs.
    package var details: LocalizedMessage { list.details() }
    /// Its positional parameters, in order.
    package var parameters: [ParameterSpec] { list.parameters().map(\.spec) }
    /// Its options, without those of every command.
    package var options: [OptionSpec] { list.options().map(\.spec) }
    /// Command lines that show its use.
    package var examples: [Example] { list.examples() }
    /// The exit statuses, other than 0, 1 and 2, that its callers should expect.
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

    /// A fault of a command line that the command knows a better remedy for than its help.
    package enum Slip: Sendable {
        /// An option that the command does not have.
        case unknownOption(name: String, value: String?)
        /// A parameter that is missing, behind those that were given.
        case missing(given: [String])
    }

    /// The remedy for a slip, with all words of the command line; `nil` for the usual one.
    package let remedy: @Sendable (Slip, _ words: [String]) -> LocalizedMessage?

    /// A command line and its effect.
    package struct Example: Sendable {
        /// The purpose, in lower case and without a full stop.
        package let purpose: LocalizedMessage
        /// The line as typed, without a prompt.
        package let line: String

        /// Makes an example.
        package init(_ purpose: LocalizedMessage, _ line: String) {
            self.purpose = purpose
            self.line = line
        }
    }

    /// The texts that only the named command and help read: `token` does not pay for the descriptions of all other
    /// commands.
    private struct Description: Sendable {
        let summary: @Sendable () -> LocalizedMessage
        let details: @Sendable () -> LocalizedMessage
        let parameters: @Sendable () -> [any DeclaredParameter]
        let options: @Sendable () -> [any DeclaredOption]
        let examples: @Sendable () -> [Example]
    }

    private let list: Description

    /// Describes a command.
    package init(
        _ path: [String], aliases: [[String]] = [], role: Role = .command,
        _ summary: @autoclosure @escaping @Sendable () -> LocalizedMessage,
        details: @autoclosure @escaping @Sendable () -> LocalizedMessage = "",
        parameters: @autoclosure @escaping @Sendable () -> [any DeclaredParameter] = [],
        options: @autoclosure @escaping @Sendable () -> [any DeclaredOption] = [],
        examples: @autoclosure @escaping @Sendable () -> [Example] = [],
        exitStatuses: [Int32] = [], runsProgram: Bool = false,
        remedy: @escaping @Sendable (Slip, _ words: [String]) -> LocalizedMessage? = { _, _ in nil }
    ) {
        self.remedy = remedy
        self.path = path
        self.aliases = aliases
        self.role = role
        self.exitStatuses = exitStatuses
        self.runsProgram = runsProgram
        list = Description(
            summary: summary, details: details, parameters: parameters, options: options, examples: examples)
    }

    /// The words as typed: `types show`.
    package var name: String { path.joined(separator: " ") }

    /// Whether it has a flag `--json`: then it can print its result and its failures as JSON.
    var hasJSONFlag: Bool { options.contains { $0.name == "json" && $0.value == nil } }

    /// Whether `words` name it, by its path or an alias.
    func answers(to words: [String]) -> Bool { path == words || aliases.contains(words) }

    /// Whether `words` begin its path or an alias.
    func begins(with words: [String]) -> Bool {
        path.starts(with: words) || aliases.contains { $0.starts(with: words) }
    }
}
