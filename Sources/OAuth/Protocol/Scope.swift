/// Scopes (RFC 6749 §3.3): case-sensitive words of printable ASCII without `"` and `\`.
public enum Scope {
    /// The words of a `scope` value.
    public static func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }

    /// The words as one `scope` value, without blanks and repetitions, in order.
    public static func text(_ words: [String]) -> String { distinct(words).joined(separator: " ") }

    /// `words` without blank ones and without repetitions, in order.
    public static func distinct(_ words: [String]) -> [String] {
        var seen: Set<String> = []
        return words.flatMap(Self.words).filter { seen.insert($0).inserted }
    }

    /// Whether every character of a word is allowed.
    public static func isValid(_ word: String) -> Bool {
        !word.isEmpty
            && word.utf8.allSatisfy {
                $0 == 0x21 || (0x23...0x5B).contains($0) || (0x5D...0x7E).contains($0)
            }
    }
}
