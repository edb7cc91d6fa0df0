package import CredentialCore

/// Help rendered from a ``CommandTable`` in a person's language, wrapped to a width. The text ends with a newline.
package struct HelpText: Sendable {
    private let table: CommandTable
    private let width: Int
    private let translations: any Translations

    /// Makes a renderer.
    ///
    /// - Parameters:
    ///   - width: the columns of the terminal; less than 40 counts as 40, more than 100 as 100.
    ///   - translations: the reader's language.
    package init(_ table: CommandTable, width: Int = 80, in translations: any Translations = NoTranslations()) {
        self.table = table
        self.width = min(max(width, 40), 100)
        self.translations = translations
    }

    /// Help about a command, a namespace, or, for no words, the program on one screen.
    ///
    /// - Parameter topics: further words that there is help about, for slips.
    /// - Throws: ``ErrorCode/usage`` when the words do not name anything.
    package func about(_ words: [String], topics: [String] = []) throws(CredentialError) -> String {
        if words.isEmpty { return overview }
        guard let command = table.command(words) else {
            let known = table.commands.filter { $0.role != .hidden }.map(\.name) + topics
            let name = words.joined(separator: " ")
            let nearest = SpellingSuggestion.to(name, among: known)
            throw CredentialError(
                .usage, "no help about '\(UntrustedText.shown(name, limit: 40))'",
                hint: nearest.map { "did you mean 'credmgr help \($0)'?" } ?? "credmgr --help")
        }
        return page(of: command)
    }

    // MARK: Pages

    /// The commands that most users need, on a screen of 24 lines of 80 columns.
    private var overview: String {
        var text = beginning
        if !table.beginning.isEmpty {
            text += "\n\(said("Get started:")) credmgr \(table.beginning.joined(separator: " "))\n"
        }
        let commands = table.usual.compactMap(table.command)
        text += "\n" + list(commands.map { ($0.name, $0.summary) })
        text += "\n" + wrapped(said("All commands and options: credmgr help --all"))
        return text + wrapped(said("Help about one command: credmgr COMMAND --help"))
    }

    /// Commands as they are typed, each with its summary.
    package func list(of paths: [[String]]) -> String {
        list(paths.compactMap(table.command).map { ("credmgr \($0.name)", $0.summary) })
    }

    private var beginning: String {
        wrapped(said("Manages many OAuth accounts and provides tokens to tools."))
            + "\n\(said("Usage:")) credmgr COMMAND [OPTION…]\n"
    }

    /// Every command, the options of all of them, the environment and the exit statuses.
    package var everything: String {
        var text = beginning
        let labels = table.children(of: []).map(label)
        for section in table.sections {
            let entries = section.commands.filter { $0.role != .hidden && $0.path.count == 1 }
                .map { (label(of: $0), $0.summary) }
            // All commands of a section may be listed beside a command of another one.
            guard !entries.isEmpty else { continue }
            text += heading(section.title) + list(entries, alignedWith: labels)
        }
        text += heading("Options of every command") + list(table.globalOptions.map(entry))
        text += heading("Environment") + list(table.environment.filter(\.isUsual).map { ($0.name, $0.meaning) })
        text += heading("Exit status") + list(table.exitStatuses.map { (String($0.status), $0.meaning) })
        text += "\n" + wrapped(said("Help about one command: credmgr COMMAND --help"))
        return text
    }

    private func page(of command: CommandSpec) -> String {
        let usage = said("Usage:") + " "
        var text = wrapped(usage + Self.usage(of: command), hanging: TextLayout.columns(usage))
        let details = said(command.details)
        let told = details.isEmpty ? said(command.summary).capitalizedSentence : details
        for paragraph in told.split(separator: "\n") { text += "\n" + wrapped(String(paragraph)) }
        let children = table.children(of: command.path)
        if !children.isEmpty { text += heading("Commands") + list(children.map { ($0.name, $0.summary) }) }
        if !command.parameters.isEmpty {
            text += heading("Arguments") + list(command.parameters.map { ($0.value.placeholder, $0.summary) })
        }
        if !command.options.isEmpty { text += heading("Options") + list(command.options.map(entry)) }
        if !command.exitStatuses.isEmpty {
            let told = table.exitStatuses.filter { command.exitStatuses.contains($0.status) }
            text += heading("Exit status") + list(told.map { (String($0.status), $0.meaning) })
        }
        if !command.examples.isEmpty { text += heading("Examples") }
        for example in command.examples { text += "  # \(said(example.purpose))\n  \(example.line)\n" }
        return text + "\n" + wrapped(said("Options of every command: credmgr help --all"))
    }

    /// The usage line of a command: `credmgr types show TYPE [OPTION…]`, `credmgr exec [OPTION…] -- COMMAND`.
    static func usage(of command: CommandSpec) -> String {
        let own = command.role == .namespace ? ["COMMAND"] : command.parameters.map(\.usage)
        let rest = command.runsProgram ? ["[OPTION…]", "--"] + own : own + ["[OPTION…]"]
        return (["credmgr", command.name] + rest).joined(separator: " ")
    }

    /// A command of the overview with the commands below it: `types [show|add]`, `store status`.
    private func label(of command: CommandSpec) -> String {
        let children = table.children(of: command.path).compactMap(\.path.last)
        if children.isEmpty { return command.name }
        let words = children.joined(separator: "|")
        return command.name + (command.role == .namespace ? " \(words)" : " [\(words)]")
    }

    /// An option and its effect, with the values it allows.
    static func summary(of option: OptionSpec) -> LocalizedMessage {
        var text = option.summary
        if let allowed = option.value?.allowed, !allowed.isEmpty {
            text = "\(text): \(allowed.joined(separator: ", "))"
        }
        if option.isRepeatable, option.value != nil { text = "\(text) (repeatable)" }
        return text
    }

    // MARK: Layout

    private func entry(_ option: OptionSpec) -> (String, LocalizedMessage) {
        (option.label, Self.summary(of: option))
    }

    /// A message in the reader's language.
    private func said(_ message: LocalizedMessage) -> String { message.text(in: translations) }

    private func heading(_ title: LocalizedMessage) -> String {
        let title = said(title)
        return "\n\(title)\(TextLayout.endsWide(title) ? "：" : ":")\n"
    }

    /// Labels in a column and their texts wrapped beside them; a label too long for the column has its own line.
    ///
    /// - Parameter labels: the labels that the column is made for, if they are more than these.
    private func list(_ entries: [(label: String, text: LocalizedMessage)], alignedWith labels: [String]? = nil)
        -> String
    {
        let longest = width < 70 ? 16 : 32
        let labelWidth =
            (labels ?? entries.map(\.label)).map(TextLayout.columns).filter { $0 <= longest }.max() ?? 4
        let indent = labelWidth + 4
        var output = ""
        for (label, text) in entries {
            let lines = TextLayout.wrapped(said(text), width: width - indent)
            let fits = TextLayout.columns(label) <= labelWidth
            output += "  " + (fits ? TextLayout.padded(label, to: labelWidth) + "  " : label + "\n")
            for (index, line) in lines.enumerated() {
                output += (index == 0 && fits ? "" : String(repeating: " ", count: indent)) + line + "\n"
            }
        }
        return output
    }

    private func wrapped(_ text: String, hanging: Int = 0) -> String {
        TextLayout.wrapped(text, width: width - hanging)
            .joined(separator: "\n" + String(repeating: " ", count: hanging)) + "\n"
    }
}

extension String {
    /// A summary as a sentence: a capital first and a full stop, as wide as the characters before it.
    package var capitalizedSentence: String {
        prefix(1).uppercased() + dropFirst() + (TextLayout.endsWide(self) ? "。" : ".")
    }
}
