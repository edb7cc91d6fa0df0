import CredentialCore

/// Reads the property lists of OpenStep, which Apple's tools still write: `{ clientID = "…"; scopes = ( a, b ); }`.
///
/// All values are strings, data, arrays and dictionaries. Comments are those of C++. Text is UTF-8.
struct OpenStepPropertyListReader {
    private let bytes: [UInt8]
    private var place = 0
    private var line = 1
    private var nodes = 0
    /// The places at which a value was never filled in: `<…>` that is no data, or is inside a string.
    private(set) var placeholders: [PropertyList.Placeholder] = []

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether the file is one: a dictionary whose first key is followed by `=`, while JSON has a colon.
    static func isOne(_ bytes: [UInt8]) -> Bool {
        var reader = OpenStepPropertyListReader(bytes)
        do throws(PropertyListFault) {
            try reader.skip()
            guard reader.take(UInt8(ascii: "{")) else { return false }
            try reader.skip()
            _ = try reader.string()
            try reader.skip()
            return reader.peek == UInt8(ascii: "=")
        } catch {
            return false
        }
    }

    /// Reads the whole file.
    mutating func document() throws(PropertyListFault) -> PropertyListValue {
        let value = try value(key: nil, depth: 0)
        try skip()
        guard place == bytes.count else { throw fault("data follows its end") }
        return value
    }

    private mutating func value(key: String?, depth: Int) throws(PropertyListFault) -> PropertyListValue {
        nodes += 1
        guard nodes <= PropertyList.maximumNodes else { throw fault("it has too many values") }
        guard depth <= PropertyList.maximumDepth else { throw fault("it nests too deep") }
        try skip()
        switch peek {
        case UInt8(ascii: "{"): return .dictionary(try dictionary(depth))
        case UInt8(ascii: "("): return .array(try array(key, depth))
        case UInt8(ascii: "<"): return try data(key)
        default:
            let line = line
            let text = try string()
            if PropertyList.hasPlaceholder(text) { note(key, line) }
            return .string(text)
        }
    }

    private mutating func dictionary(_ depth: Int) throws(PropertyListFault) -> PropertyListDictionary {
        var dictionary = PropertyListDictionary()
        place += 1
        while true {
            try skip()
            if take(UInt8(ascii: "}")) { return dictionary }
            let line = line
            let key = try string()
            try skip()
            guard take(UInt8(ascii: "=")) else { throw fault("a key has no '=' after it") }
            let value = try value(key: key, depth: depth + 1)
            guard dictionary.insert(.init(key: key, value: value, line: line)) else {
                throw PropertyListFault("a key is duplicated", line: line)
            }
            try skip()
            if take(UInt8(ascii: ";")) { continue }
            guard peek == UInt8(ascii: "}") else { throw fault("a value has no ';' after it") }
        }
    }

    private mutating func array(_ key: String?, _ depth: Int) throws(PropertyListFault) -> [PropertyListValue] {
        var array: [PropertyListValue] = []
        place += 1
        while true {
            try skip()
            if take(UInt8(ascii: ")")) { return array }
            array.append(try value(key: key, depth: depth + 1))
            try skip()
            if take(UInt8(ascii: ",")) { continue }
            guard peek == UInt8(ascii: ")") else { throw fault("an element has no ',' after it") }
        }
    }

    /// `<0fa5 …>`; any other text in angle brackets was to be filled in.
    private mutating func data(_ key: String?) throws(PropertyListFault) -> PropertyListValue {
        let line = line
        place += 1
        guard let end = bytes[place...].firstIndex(of: UInt8(ascii: ">")) else { throw fault("'<' has no end") }
        let content = bytes[place..<end]
        self.line += content.count { $0 == 0x0A }
        place = end + 1
        var digits: [UInt8] = []
        for byte in content where !PropertyList.isSpace(byte) {
            guard let digit = Self.hexadecimal(byte) else {
                note(key, line)
                return .string("")
            }
            digits.append(digit)
        }
        guard digits.count.isMultiple(of: 2) else { throw PropertyListFault("data has half a byte", line: line) }
        return .data(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }

    // MARK: Strings

    private mutating func string() throws(PropertyListFault) -> String {
        guard let first = peek else { throw fault("it ends too early") }
        if first == UInt8(ascii: "\"") || first == UInt8(ascii: "'") { return try quoted(by: first) }
        let start = place
        while let byte = peek, Self.isBare(byte) { place += 1 }
        guard place > start else { throw fault("a character is not allowed there") }
        return String(decoding: bytes[start..<place], as: UTF8.self)
    }

    private mutating func quoted(by quote: UInt8) throws(PropertyListFault) -> String {
        place += 1
        var units: [UInt8] = []
        while let byte = peek {
            place += 1
            switch byte {
            case quote:
                guard let text = String(validating: units, as: UTF8.self) else { throw fault("text is not UTF-8") }
                return text
            case UInt8(ascii: "\\"): units += Array(String(try escaped()).utf8)
            default:
                if byte == 0x0A { line += 1 }
                units.append(byte)
            }
        }
        throw fault("a string has no end")
    }

    private mutating func escaped() throws(PropertyListFault) -> Character {
        guard let byte = peek else { throw fault("a string has no end") }
        place += 1
        switch byte {
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "U"), UInt8(ascii: "u"):
            let high = try unit()
            guard (0xD800..<0xDC00).contains(high) else { return try character(high) }
            guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "U")) || take(UInt8(ascii: "u")) else {
                throw fault("half a character is missing")
            }
            let low = try unit()
            guard (0xDC00..<0xE000).contains(low) else { throw fault("half a character is missing") }
            return try character(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: "/"), 0x0A:
            return Character(Unicode.Scalar(byte))
        default: throw fault("an escape is not known")
        }
    }

    /// Four hexadecimal digits.
    private mutating func unit() throws(PropertyListFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = peek.flatMap(Self.hexadecimal) else { throw fault("an escape is cut off") }
            value = value << 4 | UInt32(digit)
            place += 1
        }
        return value
    }

    private func character(_ value: UInt32) throws(PropertyListFault) -> Character {
        guard let scalar = Unicode.Scalar(value) else { throw fault("half a character is missing") }
        return Character(scalar)
    }

    // MARK: Bytes

    private var peek: UInt8? { place < bytes.count ? bytes[place] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        place += 1
        return true
    }

    /// Goes on behind white space and comments.
    private mutating func skip() throws(PropertyListFault) {
        while let byte = peek {
            if PropertyList.isSpace(byte) {
                if byte == 0x0A { line += 1 }
                place += 1
            } else if byte == UInt8(ascii: "/"), place + 1 < bytes.count, bytes[place + 1] == UInt8(ascii: "/") {
                place = bytes[place...].firstIndex(of: 0x0A) ?? bytes.count
            } else if byte == UInt8(ascii: "/"), place + 1 < bytes.count, bytes[place + 1] == UInt8(ascii: "*") {
                try skipComment()
            } else {
                return
            }
        }
    }

    private mutating func skipComment() throws(PropertyListFault) {
        place += 2
        while place + 1 < bytes.count {
            if bytes[place] == UInt8(ascii: "*"), bytes[place + 1] == UInt8(ascii: "/") {
                place += 2
                return
            }
            if bytes[place] == 0x0A { line += 1 }
            place += 1
        }
        throw fault("a comment has no end")
    }

    private mutating func note(_ key: String?, _ line: Int) {
        let placeholder = PropertyList.Placeholder(key: key, line: line)
        if placeholders.last != placeholder { placeholders.append(placeholder) }
    }

    private func fault(_ reason: LocalizedMessage) -> PropertyListFault { PropertyListFault(reason, line: line) }

    private static func isBare(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "_$/:.-".utf8.contains(byte)
        }
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
