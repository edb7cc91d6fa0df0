import CommandLine
import CredentialCore

/// A list to choose from by number, by name, or by a part of a line that only one of them has.
struct Picker: Sendable {
    /// One of the list.
    struct Item: Sendable {
        /// The name, which is the same in every language.
        let name: String
        /// The text beside the name.
        var text: LocalizedMessage = ""
    }

    /// The result of an answer.
    enum Step {
        /// The number of the item in the list, from 0.
        case chosen(Int)
        /// The answer is a part of several lines: those are left.
        case narrowed
        /// The answer fits no line.
        case unknown(LocalizedMessage)
    }

    private let items: [Item]
    private let translations: any Translations
    /// The items that are left, by their place in the list.
    private var left: [Int]

    /// Makes a list with all items.
    ///
    /// - Parameter translations: the reader's language, in which parts of a line are looked for.
    init(_ items: [Item], in translations: any Translations) {
        self.items = items
        self.translations = translations
        left = Array(items.indices)
    }

    /// Takes an answer. Numbers stay those of the whole list.
    mutating func take(_ answer: String) -> Step {
        let wanted = answer.split(whereSeparator: \.isWhitespace).joined(separator: " ").lowercased()
        if wanted.isEmpty {
            left = Array(items.indices)
            return .narrowed
        }
        if let number = Int(wanted), items.indices.contains(number - 1) { return .chosen(number - 1) }
        if let place = items.firstIndex(where: { $0.name.lowercased() == wanted }) { return .chosen(place) }
        let fitting = items.indices.filter { line(of: items[$0]).lowercased().contains(wanted) }
        if fitting.count == 1 { return .chosen(fitting[0]) }
        guard !fitting.isEmpty else {
            return .unknown("no entry matches '\(UntrustedText.shown(wanted, limit: 40))'")
        }
        left = fitting
        return .narrowed
    }

    /// The items that are left, in lines of at most `width` columns: names in a column if the terminal is wide
    /// enough.
    func lines(width: Int) -> [String] {
        let digits = 4 + String(items.count).count
        let names = left.map { TextLayout.columns(items[$0].name) }.max() ?? 0
        let isWide = digits + names + 30 <= width
        return left.flatMap { place in
            let item = items[place], number = TextLayout.padded("  \(place + 1)", to: digits)
            guard isWide else {
                return Self.hanging(number, TextLayout.wrapped(line(of: item), width: max(1, width - digits)))
            }
            let head = number + TextLayout.padded(item.name, to: names) + "  "
            let texts = TextLayout.wrapped(
                item.text.text(in: translations), width: width - TextLayout.columns(head))
            return Self.hanging(head, texts)
        }
    }

    /// Lines with a head before the first and blanks before the others.
    private static func hanging(_ head: String, _ lines: [String]) -> [String] {
        let blank = String(repeating: " ", count: TextLayout.columns(head))
        return (lines.isEmpty ? [""] : lines).enumerated().map { index, line in
            var text = (index == 0 ? head : blank) + line
            while text.hasSuffix(" ") { text.removeLast() }
            return text
        }
    }

    private func line(of item: Item) -> String {
        let text = item.text.text(in: translations)
        return text.isEmpty ? item.name : "\(item.name): \(text)"
    }
}

extension CommandSession {
    /// Has the user choose one of several on the terminal.
    ///
    /// - Returns: its place in the list.
    /// - Throws: ``ErrorCode/cancelled`` and ``ErrorCode/interrupted`` as ``Console/ask(_:isSecret:)``.
    func pick(_ question: LocalizedMessage, among items: [Picker.Item]) throws(CredentialError) -> Int {
        let console = context.console
        var picker = Picker(items, in: console.translations)
        notices.say(question)
        for line in picker.lines(width: console.width) { notices.say(LocalizedMessage(verbatim: line)) }
        while true {
            let answer = try console.ask("Number or name, or a part of the name: ", isSecret: false).reveal()
            switch picker.take(answer) {
            case .chosen(let place): return place
            case .narrowed:
                for line in picker.lines(width: console.width) { notices.say(LocalizedMessage(verbatim: line)) }
            case .unknown(let reason): notices.say(reason)
            }
        }
    }
}
