/// The lines of other programs' configuration, as far as `setup` has to know them.
enum SetupLines {
    /// The lines of a text; the last one is empty if it ends with a newline.
    static func split(_ text: String) -> [Substring] {
        text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { Substring($0) }
    }

    /// A line without the carriage return at its end.
    static func plain(_ line: Substring) -> Substring { line.hasSuffix("\r") ? line.dropLast() : line }

    /// A line without blanks.
    static func squeezed(_ line: Substring) -> String { line.filter { $0 != " " && $0 != "\t" && $0 != "\r" } }

    /// Whether a line is the head of a section.
    static func isHead(_ line: Substring) -> Bool { line.first { $0 != " " && $0 != "\t" } == "[" }

    /// Whether a line is the head of this section. That of a table may have a comment behind it; a key of YAML may
    /// have its value there.
    static func isHead(_ line: Substring, of section: String) -> Bool {
        guard section.hasPrefix("[") else { return plain(line) == section }
        guard isHead(line), let end = line.firstIndex(of: "]") else { return false }
        return squeezed(line[...end]) == squeezed(section[...])
    }

    /// The head of a section, with a line behind it.
    static func head(_ section: String, in lines: [Substring]) -> Int? {
        lines.dropLast().firstIndex { isHead($0, of: section) }
    }

    /// The lines of a section behind its head.
    static func section(_ section: String, in lines: [Substring]) -> Range<Int>? {
        guard let head = head(section, in: lines) else { return nil }
        return (head + 1)..<(lines[(head + 1)...].firstIndex(where: isHead) ?? lines.endIndex)
    }

    /// Whether lines begin with one that belongs to the section before them.
    static func isBody(_ lines: some Collection<Substring>) -> Bool {
        let first = lines.lazy.map(squeezed).first { !$0.isEmpty && !$0.hasPrefix("#") && !$0.hasPrefix(";") }
        return first.map { !$0.hasPrefix("[") } ?? false
    }

    /// Whether a line begins with a key.
    static func begins(_ line: Substring, _ key: String) -> Bool {
        let line = line.drop { $0 == " " || $0 == "\t" }
        guard line.hasPrefix(key) else { return false }
        let isOpen = key.last.map(isOfName) ?? false
        return !isOpen || !(line.dropFirst(key.count).first.map(isOfName) ?? false)
    }

    /// Whether a text holds another one that does not go on there.
    static func holds(_ text: String, _ part: String) -> Bool {
        guard let place = text.range(ofBytes: part) else { return false }
        return !(text[place.upperBound...].first.map(isOfName) ?? false)
    }

    /// The text from a line to the end of its brackets.
    static func value(from start: Int, in lines: [Substring]) -> String {
        var depth = 0
        for end in start..<lines.endIndex {
            for character in lines[end] {
                if "[{(".contains(character) { depth += 1 }
                if "]})".contains(character) { depth -= 1 }
            }
            if depth <= 0 { return lines[start...end].joined() }
        }
        return String(lines[start])
    }

    private static func isOfName(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "-" || character == "_"
    }
}

/// The existing content of a file at the place that `setup` would write to.
struct ConflictingEntry: Equatable {
    /// The number of the line.
    let line: Int
    /// The text of the line.
    let text: String
    /// Whether the text there is the wanted one.
    let isSame: Bool
}
