import CommandLine
package import CredentialCore
import StrictJSON

/// An entry in the list of commands: a command, or a word that only holds other commands.
protocol CommandDescriptor: Sendable {
    /// Its name, arguments and help texts.
    static var spec: CommandSpec { get }
}

/// One command: its name, its arguments, and its action, all in one file. ``CommandList`` names it.
protocol Command: CommandDescriptor {
    /// Takes the arguments that ``CommandDescriptor/spec`` describes.
    init(arguments: Arguments)

    /// The behavior if `config.json` cannot be read.
    static var configurationUse: ConfigurationUse { get }

    /// Does it.
    func run(_ session: CommandSession) throws(CredentialError)
}

extension Command {
    static var configurationUse: ConfigurationUse { .needed }
}

/// The use that a command makes of `config.json`: one bad file does not stop a command that works without it.
enum ConfigurationUse {
    /// It decides the command's result: a file that cannot be read is an error.
    case needed
    /// The command does as well without it, and says that it does.
    case advisory
    /// The command ignores it, or reports it in its own way.
    case unused
}

extension CommandSession {
    /// Prints the result.
    package func print(_ text: String) throws(CredentialError) { try context.console.writeResult(Array(text.utf8)) }

    /// Prints a result as JSON.
    func print(_ json: JSONValue) throws(CredentialError) {
        try context.console.writeResult(json.bytes(.indented) + [0x0A])
    }

    /// A message as standard output shows it: in the person's language on a terminal, in English for programs.
    package func shown(_ message: LocalizedMessage) -> String {
        context.console.resultIsTerminal ? message.text(in: context.console.translations) : message.description
    }

    /// Prints a table, cut to the width of the terminal if there is one.
    func print(_ table: Table) throws(CredentialError) {
        let console = context.console
        try print(
            console.resultIsTerminal
                ? table.text(width: console.width, in: console.translations)
                : table.text(width: nil, in: NoTranslations())
        )
    }

    /// A secret from a file that only its owner can read, or from standard input for `-`.
    ///
    /// - Parameters:
    ///   - what: the name of the secret in messages: "password", "client secret".
    ///   - option: the option that named the file.
    ///   - isText: whether it may have several lines; else the first counts.
    /// - Throws: ``ErrorCode/configuration`` for a file that others can read; ``ErrorCode/usage`` if there is no
    ///   file.
    func secret(
        from path: String, what: LocalizedMessage, option: String, isText: Bool = false
    ) throws(CredentialError) -> Secret {
        try SecretReader(
            environment: context.environment, files: context.typeFiles, programs: context.programs,
            console: context.console
        ).read(
            path == "-" ? .standardInput : .file(path),
            for: SecretRequest("the \(what) (--\(option))", isText: isText, absence: .usage))
    }

    /// Ends a command that went on after failures. Those that weigh as much as the worst are its error, a line each
    /// and a hint each, and lesser ones are warnings; each is reported once.
    ///
    /// - Throws: the worst of `failures`, the last of equals; no error if the list is empty.
    func fail(with failures: [CredentialError]) throws(CredentialError) {
        guard let severity = failures.map(\.severity).max() else { return }
        let worst = failures.filter { $0.severity == severity }
        var told = Set(worst.map(\.message))
        for failure in failures where told.insert(failure.message).inserted {
            notices.warning(failure)
        }
        if let last = worst.last { throw last.together(with: worst.dropLast()) }
    }

    /// Does the same with each of several things, even after a failure.
    ///
    /// - Throws: the first failure; the others are warnings.
    func each<Item>(
        of items: [Item], _ body: (Item) throws(CredentialError) -> Void
    ) throws(CredentialError) {
        var failures: [CredentialError] = []
        for item in items {
            do throws(CredentialError) { try body(item) } catch { failures.append(error) }
        }
        for failure in failures.dropFirst() { notices.warning(failure) }
        if let first = failures.first { throw first }
    }

    /// A passphrase that the user makes up, asked for twice.
    ///
    /// - Throws: ``ErrorCode/usage`` if no user can be asked or the two differ; ``ErrorCode/cancelled``.
    func newPassphrase() throws(CredentialError) -> Secret {
        guard mayAsk else {
            throw CredentialError(
                .usage, "cannot prompt for the new passphrase here", hint: "use --passphrase-file FILE")
        }
        let passphrase = try context.console.ask("New passphrase: ", isSecret: true)
        guard !passphrase.isEmpty else { throw CredentialError(.cancelled, "no passphrase was entered") }
        guard try context.console.ask("Repeat the passphrase: ", isSecret: true) == passphrase else {
            throw CredentialError(.usage, "the two passphrases differ; credmgr made no changes")
        }
        return passphrase
    }
}

extension CredentialError {
    /// The hints for this error and for the errors that it reports, each once: those of the other errors first.
    var hints: [LocalizedMessage] {
        var hints: [LocalizedMessage] = []
        for hint in additionalHints + [advice].compactMap(\.self) where !hints.contains(hint) { hints.append(hint) }
        return hints
    }

    /// This error and others that weigh the same, a line each, with a hint for each.
    func together(with others: some Collection<CredentialError>) -> CredentialError {
        var messages: [LocalizedMessage] = []
        for error in others + [self] where !messages.contains(error.text) { messages.append(error.text) }
        var error = CredentialError(code, .lines(messages), hint: advice, details: details)
        error.additionalHints = others.flatMap(\.hints) + additionalHints
        return error
    }

    /// A transient failure counts least, then one that needs the user, then an unexpected one.
    var severity: Int {
        switch code.exitStatus {
        case 6: 0
        case 5: 1
        case 4: 2
        default: 3
        }
    }
}
