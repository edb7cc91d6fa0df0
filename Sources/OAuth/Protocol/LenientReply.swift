import StrictJSON

/// The members of a token response, read without the rules of JSON: only to find a refresh token that must not be
/// lost.
///
/// A provider that rotates refresh tokens accepts only the newest one, even if its response is faulty. Faults are
/// bytes that are no UTF-8, a tab in a string, a member twice, `NaN`, a comma too many, a warning before the
/// object, UTF-16, form coding, a missing end. Only ``RotatedToken`` uses the values that are read here.
struct LenientReply {
    /// The strings and numbers of the outermost objects, by member; each value once. That of an object or array is
    /// empty.
    private(set) var values: [String: [String]] = [:]
    /// Whether there is an object.
    private(set) var hasObject = false

    private let text: [UInt8]
    private var place = 0

    /// The members that are read. Of each at most a few values are kept: that there are several is all that matters
    /// then.
    private static let names: Set<String> = [
        "refresh_token", "access_token", "id_token", "error", "error_description", "message", "ok",
    ]
    private static let mostValues = 4

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
            for field in FormURLEncoding.decode(String(decoding: pair, as: UTF8.self)) ?? [] {
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

    private mutating func add(_ value: String, to name: String) {
        guard Self.names.contains(name) else { return }
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
                guard let string = readString() else { return }
                if let known = name {
                    add(string, to: known)
                    name = nil
                } else if nextIsColon() {
                    name = string
                }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if let known = name { add("", to: known) }
                skipNested()
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

    /// Goes behind the end of an object or array in an object.
    private mutating func skipNested() {
        var depth = 0
        while place < text.count {
            switch text[place] {
            case UInt8(ascii: "\""):
                guard readString() != nil else { return }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            place += 1
            if depth == 0 { return }
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
