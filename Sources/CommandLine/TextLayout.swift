/// Text measured in the columns of a terminal.
package enum TextLayout {
    /// The number of columns of `text`: 0 for combining marks, two for wide East Asian characters and emoji, one
    /// for the rest. An approximation of the behaviour of terminals.
    package static func columns(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.unicodeScalars.reduce(0) { $0 + columns($1) }
    }

    /// `text` with spaces behind it up to `width` columns.
    package static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - columns(text)))
    }

    /// `text`, or as much of it as fits `width` columns together with `…`.
    package static func truncated(_ text: String, to width: Int) -> String {
        if columns(text) <= width { return text }
        var result = ""
        var used = 0
        for character in text {
            let next = columns(String(character))
            if used + next > width - 1 { break }
            result.append(character)
            used += next
        }
        return width > 0 ? result + "…" : ""
    }

    /// The words of `text` in lines of at most `width` columns; a longer word has a line of its own. Text in wide
    /// characters has no spaces: it is broken between two of them, and no line begins with a mark that closes a
    /// phrase.
    package static func wrapped(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            for (index, piece) in pieces(of: word).enumerated() {
                let joint = index == 0 ? " " : ""
                if let last = lines.last, columns(last) + joint.utf8.count + columns(piece) <= width {
                    lines[lines.count - 1] = last + joint + piece
                } else {
                    lines.append(piece)
                }
            }
        }
        return lines
    }

    /// Whether a text ends in wide characters, so that a mark behind it is wide, too.
    static func endsWide(_ text: String) -> Bool { text.last.map(isWide) ?? false }

    private static func isWide(_ character: Character) -> Bool { columns(String(character)) == 2 }

    /// A word, split at each possible end of a line.
    static func pieces(of word: Substring) -> [String] {
        if word.utf8.allSatisfy({ $0 < 0x80 }) { return [String(word)] }
        var pieces: [String] = []
        var last: Character?
        for character in word {
            if let last, mayBreak(last, character) { pieces.append("") }
            if pieces.isEmpty { pieces.append("") }
            pieces[pieces.count - 1].append(character)
            last = character
        }
        return pieces
    }

    /// Whether a line may end between two characters: if one is wide, and neither is a mark that belongs to the
    /// other.
    private static func mayBreak(_ left: Character, _ right: Character) -> Bool {
        guard isWide(left) || isWide(right) else { return false }
        let areWords = [left, right].allSatisfy { isWide($0) || $0.isLetter || $0.isNumber }
        return areWords && !"（「『《〈【".contains(left) && !"，。、；：？！）」』》〉】".contains(right)
    }

    private static func columns(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        // The blocks whose East_Asian_Width is W or F (UAX #11), and the emoji that are shown wide.
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F,
            0x1F680...0x1F6FF, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}
