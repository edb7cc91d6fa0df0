import CommandLine
import CredentialCore

/// Facts with labels, one below the other.
struct FactList {
    private struct Fact {
        let label: LocalizedMessage
        let value: LocalizedMessage
        let colour: Int?
        let isWhole: Bool
    }

    private var facts: [Fact] = []

    /// Adds a fact; ignores `nil`.
    ///
    /// - Parameters:
    ///   - label: the label.
    ///   - value: the fact.
    ///   - colour: its colour, as a number of SGR; its meaning has to be in words, too.
    ///   - isWhole: whether it is never broken into lines, as a command to copy.
    mutating func add(
        _ label: LocalizedMessage, _ value: LocalizedMessage?, colour: Int? = nil, isWhole: Bool = false
    ) {
        guard let value else { return }
        facts.append(Fact(label: label, value: value, colour: colour, isWhole: isWhole))
    }

    /// Adds data; ignores `nil`.
    mutating func add(_ label: LocalizedMessage, _ data: String?) {
        add(label, data.map(LocalizedMessage.init(verbatim:)))
    }

    /// The facts as lines, those that are too long broken at blanks, and a word that is too long cut.
    ///
    /// - Parameters:
    ///   - width: the columns of the terminal; `nil` if there is no terminal, and no line is broken.
    ///   - translations: the reader's language.
    ///   - hasColour: whether facts are shown in their colours.
    func text(width: Int?, in translations: any Translations, hasColour: Bool) -> String {
        let labels = facts.map { $0.label.text(in: translations) }
        let indent = (labels.map(TextLayout.columns).max() ?? 0) + 2
        return zip(labels, facts).map { label, fact in
            let value = UntrustedText.shown(fact.value.text(in: translations), limit: 1_000)
            let room = width.map { max(20, $0 - indent) }
            let lines =
                room.flatMap { room in
                    fact.isWhole
                        ? nil : TextLayout.wrapped(value, width: room).map { TextLayout.truncated($0, to: room) }
                } ?? [value]
            let painted = lines.map { line in
                hasColour ? fact.colour.map { "\u{1B}[\($0)m\(line)\u{1B}[0m" } ?? line : line
            }
            return TextLayout.padded(label, to: indent)
                + painted.joined(separator: "\n" + String(repeating: " ", count: indent)) + "\n"
        }.joined()
    }
}

extension CommandSession {
    /// Facts as standard output shows them: on a terminal by its width and in the user's language.
    func shown(_ facts: FactList) -> String {
        let console = context.console
        return console.resultIsTerminal
            ? facts.text(width: console.width, in: console.translations, hasColour: coloursResult)
            : facts.text(width: nil, in: NoTranslations(), hasColour: false)
    }
}
