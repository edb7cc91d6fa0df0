import StrictJSON

/// The positions of the entries between two brackets of a JSON text that was parsed before.
struct JSONEntries {
    /// The text.
    let text: String
    /// The place behind the opening bracket.
    let start: String.Index
    /// Each entry, a member's name with it, without the text around it.
    private(set) var ranges: [Range<String.Index>] = []
    private let isArray: Bool
    private var commas: [String.Index] = []

    /// Those of the file's object.
    init?(ofFile text: String) {
        // A byte order mark stays in front of all.
        let start =
            text.unicodeScalars.first == "\u{FEFF}" ? text.unicodeScalars.dropFirst().startIndex : text.startIndex
        self.init(text, from: start, to: text.endIndex)
    }

    /// Those of a member's value, if it is an object or array; the member is one of ``ranges``.
    init?(ofMember range: Range<String.Index>, in text: String) {
        guard let colon = Self.pieces(text[range]).first(where: { text.utf8[$0.lowerBound] == UInt8(ascii: ":") })
        else { return nil }
        self.init(text, from: colon.upperBound, to: range.upperBound)
    }

    private init?(_ text: String, from begin: String.Index, to end: String.Index) {
        var depth = 0, first: String.Index?, last = begin
        var start: String.Index?, isArray = false
        for piece in Self.pieces(text[begin..<end]) {
            let byte = text.utf8[piece.lowerBound]
            let isOpening = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
            let isClosing = byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
            guard start != nil else {
                guard isOpening else { return nil }
                (start, isArray) = (piece.upperBound, byte == UInt8(ascii: "["))
                continue
            }
            if depth == 0, isClosing || byte == UInt8(ascii: ",") {
                if let begun = first { ranges.append(begun..<last) }
                if isClosing { break }
                commas.append(piece.lowerBound)
                first = nil
                continue
            }
            depth += isOpening ? 1 : isClosing ? -1 : 0
            first = first ?? piece.lowerBound
            last = piece.upperBound
        }
        guard let start else { return nil }
        (self.text, self.start, self.isArray) = (text, start, isArray)
    }

    /// The value of an entry, as an object or array of it alone.
    func value(of range: Range<String.Index>) -> JSONValue? {
        Self.value(of: String(text[range]), isElement: isArray)
    }

    /// The value of an entry that is not in a file yet.
    static func value(of entry: String, isElement: Bool) -> JSONValue? {
        try? JSONValue.parse(Array((isElement ? "[\(entry)]" : "{\(entry)}").utf8), dialect: .commented)
    }

    /// The text without an entry, the blanks before it, and its comma.
    func without(_ entry: Int) -> String {
        let short = without(entry, blanks: true)
        // The newline at the end of a line comment is one of the blanks.
        let bracket = text.utf8.distance(from: text.startIndex, to: start) - 1
        let rest = JSONEntries(
            short, from: short.utf8.index(short.startIndex, offsetBy: bracket), to: short.endIndex)
        let isWhole = (try? JSONValue.parse(Array(short.utf8), dialect: .commented)) != nil
        return isWhole && rest?.ranges.count == ranges.count - 1 ? short : without(entry, blanks: false)
    }

    private func without(_ entry: Int, blanks: Bool) -> String {
        var place = ranges[entry]
        while blanks, place.lowerBound > text.startIndex {
            let before = text.utf8.index(before: place.lowerBound)
            guard " \t\r\n".utf8.contains(text.utf8[before]) else { break }
            place = before..<place.upperBound
        }
        let own = commas.indices.contains(entry) ? commas[entry] : entry > 0 ? commas[entry - 1] : nil
        guard let own else { return text[..<place.lowerBound] + String(text[place.upperBound...]) }
        let comma = own..<text.utf8.index(after: own)
        let (one, two) = comma.lowerBound < place.lowerBound ? (comma, place) : (place, comma)
        return text[..<one.lowerBound] + String(text[one.upperBound..<two.lowerBound]) + text[two.upperBound...]
    }

    /// Strings as a whole, and every other byte that is neither a blank nor in a comment.
    private static func pieces(_ text: Substring) -> [Range<String.Index>] {
        let bytes = text.utf8
        var pieces: [Range<String.Index>] = [], place = bytes.startIndex
        while place < bytes.endIndex {
            var next = bytes.index(after: place)
            switch bytes[place] {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): break
            case UInt8(ascii: "/"):
                if next < bytes.endIndex, bytes[next] == UInt8(ascii: "/") {
                    next = bytes[next...].firstIndex(of: 0x0A) ?? bytes.endIndex
                } else {
                    next = text[next...].range(ofBytes: "*/")?.upperBound ?? bytes.endIndex
                }
            case UInt8(ascii: "\""):
                while next < bytes.endIndex, bytes[next] != UInt8(ascii: "\"") {
                    if bytes[next] == UInt8(ascii: "\\") { next = bytes.index(after: next) }
                    if next < bytes.endIndex { next = bytes.index(after: next) }
                }
                if next < bytes.endIndex { next = bytes.index(after: next) }
                pieces.append(place..<next)
            default: pieces.append(place..<next)
            }
            place = next
        }
        return pieces
    }
}

extension StringProtocol {
    /// The first place of another text, by bytes.
    func range(ofBytes text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].utf8.starts(with: text.utf8) {
                return start..<utf8.index(start, offsetBy: text.utf8.count)
            }
            start = utf8.index(after: start)
        }
        return nil
    }
}
