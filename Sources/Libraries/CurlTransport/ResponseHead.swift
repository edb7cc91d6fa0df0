import CredentialCore

/// The status line and the header fields of a reply, taken line by line (RFC 9112 §4, §5).
///
/// Interim replies (1xx) are passed over; trailer fields after the body are not part of the head.
struct ResponseHead {
    /// A line that is no HTTP, or a head that is too large.
    struct Malformed: Error {}

    /// How many bytes a head may have.
    private static let maximumSize = 256 << 10

    /// The status code; 0 before the first line.
    private(set) var status = 0
    /// The fields so far, names in lower case.
    private(set) var fields: [(name: String, value: String)] = []
    /// Whether the empty line after the final reply's fields has come.
    private(set) var isComplete = false
    private var size = 0

    /// Takes one line with its line end. Gives whether it completed the head.
    mutating func take(_ line: some Collection<UInt8>) throws(Malformed) -> Bool {
        guard !isComplete else { return false }
        size += line.count
        guard size <= Self.maximumSize else { throw Malformed() }
        let text = Self.withoutLineEnd(line)
        if text.isEmpty {
            guard status != 0 else { throw Malformed() }
            isComplete = status >= 200
            return isComplete
        }
        guard text.allSatisfy({ ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F }) else { throw Malformed() }
        if text.starts(with: "HTTP/".utf8) {
            try takeStatus(text)
        } else if text.first == 0x20 || text.first == 0x09 {
            try continueField(text)
        } else {
            try takeField(text)
        }
        return false
    }

    private mutating func takeStatus(_ text: some Collection<UInt8>) throws(Malformed) {
        let digits = text.drop { $0 != 0x20 }.dropFirst().prefix { $0 != 0x20 }
        guard digits.count == 3, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { throw Malformed() }
        status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        guard status >= 100 else { throw Malformed() }
        fields = []
    }

    private mutating func takeField(_ text: some Collection<UInt8>) throws(Malformed) {
        let name = text.prefix { $0 != 0x3A }
        // A space before the colon is a known way to smuggle fields (RFC 9112 §5.1).
        guard name.count < text.count, !name.isEmpty, !name.contains(0x20), !name.contains(0x09) else {
            throw Malformed()
        }
        let value = Self.trimmed(text.dropFirst(name.count + 1))
        fields.append((String(decoding: name, as: UTF8.self).lowercased(), value))
    }

    /// A line that continues the one before: one space replaces the line's end (RFC 9112 §5.2).
    private mutating func continueField(_ text: some Collection<UInt8>) throws(Malformed) {
        guard let last = fields.popLast() else { throw Malformed() }
        fields.append((last.name, last.value + " " + Self.trimmed(text)))
    }

    private static func withoutLineEnd(_ line: some Collection<UInt8>) -> [UInt8] {
        var text = Array(line)
        if text.last == 0x0A { text.removeLast() }
        if text.last == 0x0D { text.removeLast() }
        return text
    }

    private static func trimmed(_ bytes: some Collection<UInt8>) -> String {
        var value = Array(bytes.drop { $0 == 0x20 || $0 == 0x09 })
        while value.last == 0x20 || value.last == 0x09 { value.removeLast() }
        return String(decoding: value, as: UTF8.self)
    }
}
