package import CredentialCore

/// The completions at the cursor of a command line, from the same table as everything else.
package struct Completer: Sendable {
    private let table: CommandTable
    private let lookUp: @Sendable (ValueSpec.Completion) -> [Suggestion]
    private let translations: any Translations

    /// A name of the user's that may be completed.
    package struct Suggestion: Sendable, ExpressibleByStringLiteral {
        /// The name.
        package let word: String
        /// The text that a shell shows beside it.
        package let text: String?

        /// Makes a name.
        package init(_ word: String, _ text: String? = nil) { (self.word, self.text) = (word, text) }

        /// Takes a name without a text.
        package init(stringLiteral word: String) { self.init(word) }
    }

    /// Makes a completer.
    ///
    /// - Parameters:
    ///   - translations: the language of the descriptions.
    ///   - lookUp: the names of the user's types, accounts, policies or groups.
    package init(
        _ table: CommandTable, in translations: any Translations = NoTranslations(),
        lookUp: @escaping @Sendable (ValueSpec.Completion) -> [Suggestion]
    ) {
        self.table = table
        self.translations = translations
        self.lookUp = lookUp
    }

    /// The answer for the scripts of ``Shell``: a candidate per line, with a tab and its description if it has one;
    /// `:files` as the last line when the shell should add files. Candidates are whole words.
    ///
    /// - Parameter words: the words behind the program's name, the last being the one under the cursor.
    package func answer(_ words: [String]) -> String {
        let current = words.last ?? ""
        var state = Position()
        for word in words.dropLast() { advance(&state, by: word) }
        let offers = proposals(at: state, current)
        var lines = offers.candidates.filter { $0.word.hasPrefix(current) && Self.isOneLine($0.word) }
            .map { word, text in text.map { "\(word)\t\($0.text(in: translations))" } ?? word }
        if offers.files { lines.append(":files") }
        return lines.map { $0 + "\n" }.joined()
    }

    /// The position of the cursor in a command line.
    private struct Position {
        var path: [String] = []
        var positionals = 0
        var option: OptionSpec?
        var optionsEnded = false
    }

    private struct Completions {
        var candidates: [(word: String, text: LocalizedMessage?)] = []
        var files = false
    }

    private func advance(_ state: inout Position, by word: String) {
        if state.option != nil {
            state.option = nil
        } else if !state.optionsEnded, word == "--" {
            state.optionsEnded = true
        } else if !state.optionsEnded, word.hasPrefix("-"), word != "-" {
            state.option = table.options(of: table.command(state.path)).first {
                $0.value != nil && (word == $0.written || $0.short.map { "-\($0)" } == word)
            }
        } else if state.positionals == 0, table.contains(state.path + [word]) {
            state.path.append(word)
        } else {
            state.positionals += 1
        }
    }

    private func proposals(at state: Position, _ current: String) -> Completions {
        let command = table.command(state.path)
        if let option = state.option, let value = option.value { return candidates(of: value, prefix: "") }
        if !state.optionsEnded, current.hasPrefix("--"), let equals = current.firstIndex(of: "=") {
            let option = table.options(of: command).first { $0.written == current[..<equals] }
            return option?.value.map { candidates(of: $0, prefix: String(current[...equals])) } ?? Completions()
        }
        if !state.optionsEnded, current.hasPrefix("-") {
            return Completions(candidates: table.options(of: command).map { ($0.written, $0.summary) })
        }
        if command?.path == ["help"] { return Completions(candidates: commands(after: [])) }
        var offers = Completions()
        if state.positionals == 0 { offers.candidates = commands(after: state.path) }
        if let parameters = command?.parameters, let last = parameters.last {
            let isBeyond = state.positionals >= parameters.count
            if isBeyond, last.arity != .variadic { return offers }
            let value = candidates(of: (isBeyond ? last : parameters[state.positionals]).value, prefix: "")
            offers.candidates += value.candidates
            offers.files = value.files
        }
        return offers
    }

    private func commands(after path: [String]) -> [(word: String, text: LocalizedMessage?)] {
        table.children(of: path).compactMap { child in child.path.last.map { ($0, child.summary) } }
    }

    private func candidates(of value: ValueSpec, prefix: String) -> Completions {
        switch value.completion {
        case .none: Completions()
        case .file: Completions(files: true)
        case .words(let words): Completions(candidates: words.map { (prefix + $0, nil) })
        case .accountType, .account, .policy, .group:
            Completions(
                candidates: lookUp(value.completion).map {
                    (prefix + $0.word, $0.text.map(LocalizedMessage.init(verbatim:)))
                })
        }
    }

    /// Names come from files; one with a tab or a line break would be taken for several.
    private static func isOneLine(_ word: String) -> Bool { word.unicodeScalars.allSatisfy { $0.value >= 0x20 } }
}
