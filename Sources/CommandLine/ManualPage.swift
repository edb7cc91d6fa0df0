package import CredentialCore

/// Manual pages in roff with the `man` macros, in a language, from a ``CommandTable``: an overview, and a page for
/// each command.
package struct ManualPage: Sendable {
    private let table: CommandTable
    private let version: String
    private let date: String
    private let translations: any Translations

    /// Makes a renderer.
    ///
    /// - Parameters:
    ///   - version: the version of the program, for the footer.
    ///   - date: when it was released, as YYYY-MM-DD.
    ///   - translations: the reader's language.
    package init(
        _ table: CommandTable, version: String, date: String, in translations: any Translations = NoTranslations()
    ) {
        self.table = table
        self.version = version
        self.date = date
        self.translations = translations
    }

    /// The names of all pages, each with the words of its command; the overview has no words.
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
                .usage, "no manual page about '\(UntrustedText.shown(words.joined(separator: " "), limit: 40))'",
                hint: "credmgr --help")
        }
        return page(of: command)
    }

    private static func name(of command: CommandSpec) -> String {
        (["credmgr"] + command.path).joined(separator: "-")
    }

    private func head(_ name: String) -> String {
        let manual = Self.text(said("User Commands"))
        // Lines without spaces cannot be stretched to the margin.
        let manner = TextLayout.endsWide(manual) ? ".ad l\n" : ""
        return ".TH \(Self.text(name.uppercased())) 1 \(date) \"credmgr \(Self.text(version))\" \"\(manual)\"\n"
            + manner
    }

    private var overview: String {
        var page = head("credmgr")
        page += heading("NAME") + Self.verbatim("credmgr - " + said("manage many OAuth accounts"))
        page += heading("SYNOPSIS") + ".B credmgr\n.I COMMAND\n.RI [ OPTION ...]\n"
        page += heading("DESCRIPTION")
        page += Self.paragraph(
            said("Manages many OAuth accounts and provides tokens to tools."))
        page += Self.paragraph(said("Each command has its own page."))
        page += heading("OPTIONS") + Self.paragraph(said("Put these options before or after every command."))
        page += table.globalOptions.map(entry).joined()
        page += heading("COMMANDS")
        for section in table.sections {
            let commands = section.commands.filter { $0.role == .command }
            if commands.isEmpty { continue }
            page += ".SS " + Self.text(said(section.title)) + "\n"
            for command in commands { page += tagged(".BR " + Self.reference(command), command.summary) }
        }
        return page + ending(table.exitStatuses, table.environment, others: [])
    }

    private func page(of command: CommandSpec) -> String {
        var page = head(Self.name(of: command))
        page += heading("NAME") + Self.verbatim("\(Self.name(of: command)) - \(said(command.summary))")
        page += heading("SYNOPSIS") + Self.paragraph(HelpText.usage(of: command))
        let details = said(command.details)
        let told = details.isEmpty ? said(command.summary).capitalizedSentence : details
        page += heading("DESCRIPTION")
        page += told.split(separator: "\n").map { Self.paragraph(String($0)) }.joined(separator: ".PP\n")
        if !command.parameters.isEmpty || !command.options.isEmpty { page += heading("OPTIONS") }
        for parameter in command.parameters {
            page += tagged(".I " + Self.text(parameter.value.placeholder), parameter.summary)
        }
        page += command.options.map(entry).joined()
        if !command.examples.isEmpty { page += heading("EXAMPLES") }
        for (index, example) in command.examples.enumerated() {
            if index > 0 { page += ".PP\n" }
            page += Self.paragraph(said(example.purpose).capitalizedSentence.dropLast() + ":")
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

    /// Returns the end of every page.
    private func ending(
        _ statuses: [ExitStatusText], _ variables: [EnvironmentText], others: [CommandSpec]
    ) -> String {
        var page = heading("ENVIRONMENT")
        page += variables.map { tagged(".B " + Self.text($0.name), $0.meaning) }.joined()
        page += heading("FILES")
        page += table.files.map { tagged(".I " + Self.text($0.name), $0.meaning) }.joined()
        page += heading("EXIT STATUS")
        page += statuses.map { tagged(".B \($0.status)", $0.meaning) }.joined()
        page += heading("SEE ALSO")
        let references = others.map { ".BR " + Self.reference($0) }
        return page
            + (references.isEmpty ? [".BR credmgr\\-help (1)"] : [".BR credmgr (1)"] + references)
            .joined(separator: " ,\n") + "\n"
    }

    /// `credmgr\-token (1)`, for `.BR`.
    private static func reference(_ command: CommandSpec) -> String { text(name(of: command)) + " (1)" }

    private func entry(_ option: OptionSpec) -> String {
        let names = (option.short.map { ["-\($0)"] } ?? []) + [option.written]
        let bold = names.map { "\\fB\(Self.text($0))\\fR" }.joined(separator: ", ")
        let value = option.value.map { " \\fI\(Self.text($0.placeholder))\\fR" } ?? ""
        return tagged(bold + value, HelpText.summary(of: option))
    }

    private func tagged(_ tag: String, _ meaning: LocalizedMessage) -> String {
        ".TP\n\(tag)\n" + Self.paragraph(said(meaning).capitalizedSentence)
    }

    private func heading(_ title: LocalizedMessage) -> String { ".SH \(Self.text(said(title)))\n" }

    /// A message in the reader's language.
    private func said(_ message: LocalizedMessage) -> String { message.text(in: translations) }

    /// Text in lines that are not too long for the formatters' taste.
    private static func paragraph(_ text: some StringProtocol) -> String { lines(text, joinedBy: "\n") }

    /// A line that stays one: the source is broken, the shown line is not.
    private static func verbatim(_ line: String) -> String { lines(line, joinedBy: " \\\n") }

    private static func lines(_ text: some StringProtocol, joinedBy separator: String) -> String {
        // The formatter puts a space at each end of a source line, so no line ends between wide characters: marks
        // show the places for breaks.
        let words = text.split(separator: " ").map { word in
            TextLayout.pieces(of: Substring(word)).map(Self.text).joined(separator: "\\:")
        }
        return TextLayout.wrapped(words.joined(separator: " "), width: 76).map { line in
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
