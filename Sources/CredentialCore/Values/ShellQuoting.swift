/// Words quoted for a POSIX shell.
package enum ShellQuoting {
    /// `text` in single quotes, so that a shell takes every byte of it literally.
    package static func quoted(_ text: String) -> String {
        var quoted = "'"
        for scalar in text.unicodeScalars {
            if scalar == "'" { quoted += "'\\''" } else { quoted.unicodeScalars.append(scalar) }
        }
        return quoted + "'"
    }

    /// Whether `text` is the name of a variable: letters, digits and underscores, not beginning with a digit.
    package static func isVariable(_ text: String) -> Bool {
        func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
        guard let first = text.utf8.first, !isDigit(first) else { return false }
        return text.utf8.allSatisfy { byte in
            byte == UInt8(ascii: "_") || isDigit(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
    }

    /// A command line of these words, as a shell reads it: for commands in hints.
    package static func line(_ words: [String]) -> String { words.map(word).joined(separator: " ") }

    /// `text` as it is when no character of it means anything to a shell, else quoted: for commands in hints.
    package static func word(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "@%+=:,./_-".utf8.contains(byte)
            }
        }
        return isPlain && !text.isEmpty ? text : quoted(text)
    }
}
