package import CredentialCore

/// The action that a command line requests.
package enum Invocation: Sendable {
    /// No command is named, at most options of every command.
    case nothing
    /// Help about the words: a command, a namespace, or the program for no words.
    case help([String])
    /// The version.
    case version
    /// A command with its arguments.
    case command(Arguments)
}

/// A word that a command has no place for.
package struct StrayArgument: Sendable {
    /// The command.
    package let command: CommandSpec
    /// The word.
    package let word: String
}

/// Reads a command line by a ``CommandTable``.
///
/// Options may be anywhere before `--`; `--name value` and `--name=value` are the same; letters cluster (`-vq`,
/// `-ofile`). A value of its own word may be `-` or a negative number. Any other value that begins with a dash has
/// to be written `--name=-value`, so that a forgotten value does not swallow the next option. `-h` takes precedence
/// over every fault but an unknown command.
package struct ArgumentParser: Sendable {
    private let table: CommandTable

    /// Makes a parser.
    package init(_ table: CommandTable) { self.table = table }

    /// Reads the words behind the program's name. A namespace alone asks for help.
    ///
    /// - Throws: ``ErrorCode/usage`` with the remedy as its hint.
    package func parse(_ words: [String]) throws(CredentialError) -> Invocation {
        var scan = ArgumentScanner(table: table)
        scan.read(words)
        return try scan.invocation()
    }

    /// The word that the command has no place for, if that is the fault of a command line.
    package func stray(_ words: [String]) -> StrayArgument? {
        var scan = ArgumentScanner(table: table)
        scan.read(words)
        _ = try? scan.invocation()
        return scan.stray
    }

    /// Whether the command line, which may be faulty, asks for JSON.
    package func wantsJSON(_ words: [String]) -> Bool {
        var scan = ArgumentScanner(table: table)
        scan.read(words)
        return scan.asksForJSON
    }
}
