import StrictJSON

/// The members of a token response, read without the rules of JSON: only to find a refresh token that must not be
/// lost.
///
/// A provider that rotates refresh tokens accepts only the newest one, even if its response is faulty. Faults are
/// bytes that are no UTF-8, a tab in a string, a member twice, `NaN`, a comma too many, a warning before the
/// object, UTF-16, form coding, a missing end. Only ``RotatedToken`` uses the tokens that are read here;
/// ``RefusalReading`` uses the error.
struct LenientReply {
    /// The strings and numbers of the outermost objects, by member; each value once. A value that says nothing is
    /// left out: an empty string, object or array, and `null`. An object or array with content is ``nested``.
    private(set) var values: [String: [String]] = [:]
    /// Whether there is an object.
    private(set) var hasObject = false

    private let text: [UInt8]
    private var place = 0
    private var restarts = 0

    /// The members that are read. Of each at most a few values are kept: that there are several is all that matters
    /// then.
    private static let names: Set<String> = [
        "refresh_token", "access_token", "id_token", "error", "error_description", "message", "ok",
    ]
    private static let mostValues = 4
    /// How often the reading goes back to a brace: each time it may read all of the text again.
    private static let mostRestarts = 16

    /// The value of an object or array with content.
    private static let nested = "{"

    /// The values of `error` that are errors: `false` and 0 are none.
    var errors: [String] { (values["error"] ?? []).filter { !["false", "0"].contains($0) } }

    /// Whether there is a token.
    var hasTokens: Bool { ["access_token", "refresh_token", "id_token"].contains { values[$0] != nil } }

    /// The first text of a member.
    func first(_ name: String) -> String? { values[name]?.first { $0 != Self.nested } }

    /// Reads a body of at most a few megabytes.
    ///
    /// - Parameters:
    ///   - isForm: whether the response calls itself form coding.
    ///   - isCut: whether the end is missing: a value that touches the end is ignored then.
    init(_ body: [UInt8], isForm: Bool, isCut: Bool = false) {
        text = Self.plain(body)
        while let start = text[place...].firstIndex(of: UInt8(ascii: "{")) {
            place = start + 1
            hasObject = true
            readObject()
        }
        guard !hasObject || isForm else { return }
        var pairs = text.split(separator: UInt8(ascii: "&"))
        if isCut { _ = pairs.popLast() }
        for pair in pairs {
            // Some servers write a line break before or after the fields.
            let bytes = Self.trimmed(pair)
            for field in FormURLEncoding.decode(String(decoding: bytes, as: UTF8.self)) ?? [] {
                add(field.value, to: field.name)
            }
        }
    }

    /// The bytes without UTF-16 and its mark: of each pair of bytes the one that is not 0.
    private static func plain(_ body: [UInt8]) -> [UInt8] {
        let isWide =
            body.starts(with: [0xFF, 0xFE]) || body.starts(with: [0xFE, 0xFF]) || body.prefix(2).contains(0)
        return isWide ? body.filter { $0 != 0 } : body
    }

    /// Text without white space at its ends.
    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let first = text.firstIndex(where: { $0 > 0x20 }), let last = text.lastIndex(where: { $0 > 0x20 })
        else { return [] }
        return text[first...last]
    }

    private mutating func add(_ value: String, to name: String) {
        guard Self.names.contains(name), !value.isEmpty, value != "null" else { return }
        let known = values[name] ?? []
        if known.count < Self.mostValues, !known.contains(value) { values[name] = known + [value] }
    }

    // MARK: Objects

    /// Reads the members of an object behind its brace, as far as there are any.
    private mutating func readObject() {
        var name: String?
        while place < text.count {
            let byte = text[place]
            switch byte {
            case UInt8(ascii: "}"):
                place += 1
                return
            case UInt8(ascii: "\""):
                let start = place
                let string = readString()
                if let known = name {
                    guard let string else { return }
                    add(string, to: known)
                    name = nil
                } else if let string, nextIsColon() {
                    name = string
                } else if restarts < Self.mostRestarts,
                    let brace = text[start..<place].lastIndex(of: UInt8(ascii: "{"))
                {
                    // A quote of the text before the object has taken its brace.
                    restarts += 1
                    place = brace
                    return
                }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                let start = place
                skipNested()
                let isCut = place == text.count
                let hasContent = text[start..<place].dropFirst().dropLast().contains { $0 > 0x20 }
                if let known = name, hasContent || isCut { add(Self.nested, to: known) }
                name = nil
            case UInt8(ascii: ","):
                place += 1
                name = nil
            default:
                guard Self.isWord(byte) else {
                    place += 1
                    continue
                }
                let word = readWord()
                // A word at the end of the text may go on behind it.
                if let known = name, place < text.count { add(word, to: known) }
                name = nil
            }
        }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || "+-._".utf8.contains(byte)
    }

    /// A number, `true`, or another bare word.
    private mutating func readWord() -> String {
        let start = place
        while place < text.count, Self.isWord(text[place]) { place += 1 }
        return String(decoding: text[start..<place], as: UTF8.self)
    }

    private mutating func nextIsColon() -> Bool {
        while place < text.count, [0x20, 0x09, 0x0A, 0x0D].contains(text[place]) { place += 1 }
        guard place < text.count, text[place] == UInt8(ascii: ":") else { return false }
        place += 1
        return true
    }

    /// Goes behind the end of an object or array in an object. An end also ends what is open within.
    private mutating func skipNested() {
        var open: [UInt8] = []
        var counts: [UInt8: Int] = [:]
        while place < text.count {
            let byte = text[place]
            switch byte {
            case UInt8(ascii: "\""):
                guard readString() != nil else { return }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                open.append(byte)
                counts[byte, default: 0] += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                let opening = byte == UInt8(ascii: "}") ? UInt8(ascii: "{") : UInt8(ascii: "[")
                var isSearched = counts[opening, default: 0] > 0
                repeat {
                    guard let last = open.popLast() else { break }
                    counts[last, default: 0] -= 1
                    isSearched = isSearched && last != opening
                } while isSearched
            default: break
            }
            place += 1
            if open.isEmpty { return }
        }
    }

    /// The string at the place; `nil` if the text ends within it.
    private mutating func readString() -> String? {
        place += 1
        var bytes: [UInt8] = []
        while place < text.count {
            let byte = text[place]
            place += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard place < text.count else { return nil }
            bytes += readEscape()
        }
        return nil
    }

    /// The bytes of an escape. No token has a character outside of ASCII, so those are not told apart.
    private mutating func readEscape() -> [UInt8] {
        let byte = text[place]
        place += 1
        guard byte == UInt8(ascii: "u") else {
            let short: [UInt8: UInt8] = [
                UInt8(ascii: "b"): 8, UInt8(ascii: "f"): 12, UInt8(ascii: "n"): 10, UInt8(ascii: "r"): 13,
                UInt8(ascii: "t"): 9,
            ]
            return [short[byte] ?? byte]
        }
        let digits = text[place...].prefix(4)
        let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        place += digits.count
        guard digits.count == 4, let code, let scalar = Unicode.Scalar(code) else { return Array("\u{FFFD}".utf8) }
        return Array(String(scalar).utf8)
    }
}
