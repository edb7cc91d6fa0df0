package import CredentialCore

/// Manual pages in roff with the `man` macros, from a ``CommandTable``: an overview, and a page for each command.
package struct ManualPage: Sendable {
    private let table: CommandTable
    private let version: String
    private let date: String

    /// Makes a renderer.
    ///
    /// - Parameters:
    ///   - version: the version of the program, for the footer.
    ///   - date: when it was released, as YYYY-MM-DD.
    package init(_ table: CommandTable, version: String, date: String) {
        self.table = table
        self.version = version
        self.date = date
    }

    /// The names of all pages, each with the words of its command; the overview has none.
    package var names: [(name: String, words: [String])] {
        [("credmgr", [])] + table.commands.filter { $0.role == .command }.map { (Self.name(of: $0), $0.path) }
    }

    /// The page about a command, or, for no words, the overview.
    ///
    /// - Throws: ``ErrorCode/usage`` when the words name no command.
    package func source(about words: [String]) throws(CredentialError) -> String {
        if words.isEmpty { return overview }
        guard let command = table.command(words), command.role == .command else {
            throw CredentialError(
                .usage, "no manual page about '\(ForeignText.shown(words.joined(separator: " "), limit: 40))'",
                hint: "credmgr --help")
        }
        return page(of: command)
    }

    private static func name(of command: CommandSpec) -> String {
        (["credmgr"] + command.path).joined(separator: "-")
    }

    private func head(_ name: String) -> String {
        ".TH \(Self.text(name.uppercased())) 1 \(date) \"credmgr \(Self.text(version))\" \"User Commands\"\n"
    }

    private var overview: String {
        var page = head("credmgr")
        page += ".SH NAME\ncredmgr \\- manage the OAuth sign\\-ins of many accounts\n"
        page += ".SH SYNOPSIS\n.B credmgr\n.I COMMAND\n.RI [ OPTION ...]\n"
        page += ".SH DESCRIPTION\n"
        page += Self.paragraph("Manages the OAuth sign-ins of many accounts and gives tools their tokens.")
        page += Self.paragraph("Each command has a page of its own.")
        page += ".SH OPTIONS\nThese stand before or after every command.\n"
        page += table.globalOptions.map(Self.entry).joined()
        page += ".SH COMMANDS\n"
        for section in table.sections {
            let commands = section.commands.filter { $0.role == .command }
            if commands.isEmpty { continue }
            page += ".SS " + Self.text(section.title) + "\n"
            for command in commands { page += Self.tagged(".BR " + Self.reference(command), command.summary) }
        }
        return page + ending(table.exitStatuses, table.environment, others: [])
    }

    private func page(of command: CommandSpec) -> String {
        var page = head(Self.name(of: command))
        page += ".SH NAME\n" + Self.verbatim("\(Self.name(of: command)) - \(command.summary)")
        page += ".SH SYNOPSIS\n" + Self.paragraph(HelpText.usage(of: command))
        let details = command.details.isEmpty ? command.summary.capitalizedSentence : command.details
        page += ".SH DESCRIPTION\n"
        page += details.split(separator: "\n").map { Self.paragraph(String($0)) }.joined(separator: ".PP\n")
        if !command.parameters.isEmpty || !command.options.isEmpty { page += ".SH OPTIONS\n" }
        for parameter in command.parameters {
            page += Self.tagged(".I " + Self.text(parameter.value.placeholder), parameter.summary)
        }
        page += command.options.map(Self.entry).joined()
        if !command.examples.isEmpty { page += ".SH EXAMPLES\n" }
        for (index, example) in command.examples.enumerated() {
            if index > 0 { page += ".PP\n" }
            page += Self.paragraph(example.purpose.capitalizedSentence.dropLast() + ":")
            page += ".PP\n.RS\n.nf\n" + Self.verbatim(example.line) + ".fi\n.RE\n"
        }
        let usual = table.exitStatuses.filter { $0.status <= 2 || command.exitStatuses.contains($0.status) }
        let below = table.children(of: command.path)
        let beside = table.children(of: Array(command.path.dropLast())).filter {
            $0.path != command.path && command.path.count > 1
        }
        return page
            + ending(
                usual, table.environment.filter(\.isUsual),
                others: (below + beside).filter { $0.role == .command })
    }

    /// What every page has at its end.
    private func ending(
        _ statuses: [ExitStatusText], _ variables: [EnvironmentText], others: [CommandSpec]
    ) -> String {
        var page = ".SH ENVIRONMENT\n"
        page += variables.map { Self.tagged(".B " + Self.text($0.name), $0.meaning) }.joined()
        page += ".SH FILES\n"
        page += table.files.map { Self.tagged(".I " + Self.text($0.name), $0.meaning) }.joined()
        page += ".SH EXIT STATUS\n"
        page += statuses.map { Self.tagged(".B \($0.status)", $0.meaning) }.joined()
        page += ".SH SEE ALSO\n"
        let references = others.map { ".BR " + Self.reference($0) }
        return page
            + (references.isEmpty ? [".BR credmgr\\-help (1)"] : [".BR credmgr (1)"] + references)
            .joined(separator: " ,\n") + "\n"
    }

    /// `credmgr\-token (1)`, for `.BR`.
    private static func reference(_ command: CommandSpec) -> String { text(name(of: command)) + " (1)" }

    private static func entry(_ option: OptionSpec) -> String {
        let names = (option.short.map { ["-\($0)"] } ?? []) + [option.written]
        let bold = names.map { "\\fB\(text($0))\\fR" }.joined(separator: ", ")
        let value = option.value.map { " \\fI\(text($0.placeholder))\\fR" } ?? ""
        return tagged(bold + value, HelpText.summary(of: option))
    }

    private static func tagged(_ tag: String, _ meaning: String) -> String {
        ".TP\n\(tag)\n" + paragraph(meaning.capitalizedSentence)
    }

    /// Text in lines that are not too long for the formatters' taste.
    private static func paragraph(_ text: some StringProtocol) -> String { lines(text, joinedBy: "\n") }

    /// A line that stays one: the source is broken, what is shown is not.
    private static func verbatim(_ line: String) -> String { lines(line, joinedBy: " \\\n") }

    private static func lines(_ text: some StringProtocol, joinedBy separator: String) -> String {
        TextLayout.wrapped(self.text(String(text)), width: 76).map { line in
            // One that begins like a request is guarded.
            (line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" : "") + line
        }.joined(separator: separator) + "\n"
    }

    /// Text with the characters that roff reads otherwise escaped.
    private static func text(_ text: String) -> String {
        text.map { character in
            switch character {
            case "\\": "\\e"
            case "-": "\\-"
            case "…": "..."
            case "~": "\\(ti"
            case "^": "\\(ha"
            case "'": "\\(aq"
            default: String(character)
            }
        }.joined()
    }
}
