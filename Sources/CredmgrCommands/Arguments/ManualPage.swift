/// The manual page `credmgr(1)` in roff with the `man` macros, from a ``CommandTable``.
package struct ManualPage: Sendable {
    private let table: CommandTable

    /// Makes a renderer.
    package init(_ table: CommandTable) { self.table = table }

    /// The page's source.
    ///
    /// - Parameter version: the version of the program, for the footer.
    package func source(version: String) -> String {
        var page = ".TH CREDMGR 1 \"\" \"credmgr \(Self.text(version))\" \"User Commands\"\n"
        page += ".SH NAME\ncredmgr \\- manage the OAuth sign\\-ins of many accounts\n"
        page += ".SH SYNOPSIS\n.B credmgr\n.I COMMAND\n.RI [ OPTION ...]\n"
        page += ".SH DESCRIPTION\n"
        page += Self.paragraph("Manages the OAuth sign-ins of many accounts and gives tools their tokens.")
        page += ".SH OPTIONS\nThese stand before or after every command.\n"
        page += table.globalOptions.map(Self.entry).joined()
        page += ".SH COMMANDS\n"
        for command in table.commands where command.role == .command { page += Self.section(of: command) }
        page += ".SH ENVIRONMENT\n"
        page += EnvironmentText.all.map { Self.tagged(".B " + Self.text($0.name), $0.meaning) }.joined()
        page += ".SH EXIT STATUS\n"
        page += ExitStatusText.all.map { Self.tagged(".B \($0.status)", $0.meaning) }.joined()
        return page
    }

    private static func section(of command: CommandSpec) -> String {
        var section = ".SS " + text(HelpText.usage(of: command)) + "\n"
        let details = command.details.isEmpty ? command.summary.capitalizedSentence : command.details
        section += details.split(separator: "\n").map { paragraph(String($0)) }.joined(separator: ".PP\n")
        for parameter in command.parameters {
            section += tagged(".I " + text(parameter.value.placeholder), parameter.summary)
        }
        section += command.options.map(entry).joined()
        for example in command.examples {
            section += ".PP\n" + paragraph(example.purpose.capitalizedSentence.dropLast() + ":")
            section += ".PP\n.RS\n.nf\n" + paragraph(example.line) + ".fi\n.RE\n"
        }
        return section
    }

    private static func entry(_ option: OptionSpec) -> String {
        let names = (option.short.map { ["-\($0)"] } ?? []) + [option.written]
        let bold = names.map { "\\fB\(text($0))\\fR" }.joined(separator: ", ")
        let value = option.value.map { " \\fI\(text($0.placeholder))\\fR" } ?? ""
        return tagged(bold + value, HelpText.summary(of: option))
    }

    private static func tagged(_ tag: String, _ meaning: String) -> String {
        ".TP\n\(tag)\n" + paragraph(meaning.capitalizedSentence)
    }

    /// A line of text; one that begins like a request is guarded.
    private static func paragraph(_ line: some StringProtocol) -> String {
        let escaped = text(String(line))
        return (escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" : "") + escaped + "\n"
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
