extension JSONValue {
    /// Which texts are accepted.
    public enum Dialect: Sendable {
        /// RFC 8259 to the letter; duplicate member names are refused.
        case strict
        /// As ``strict``, with `//` and `/* */` comments and trailing commas, for files that people write. The text
        /// of a comment is not checked. A byte order mark in front is passed over.
        case commented
    }

    /// Reads a whole text.
    ///
    /// If RFC 8259 leaves a choice, the parser refuses the text: a byte order mark, a member name twice, an escaped
    /// lone surrogate, a number of more than 128 characters.
    ///
    /// - Throws: ``JSONError`` when the text is not JSON (RFC 8259), not UTF-8, or beyond `limits`.
    public static func parse(
        _ text: [UInt8], dialect: Dialect = .strict, limits: JSONLimits = .reply
    ) throws(JSONError) -> JSONValue {
        var parser = JSONParser(text: text, dialect: dialect, limits: limits)
        return try parser.document()
    }

    /// Reads a whole text given as a string.
    ///
    /// - Throws: ``JSONError``, as ``parse(_:dialect:limits:)``.
    public static func parse(
        _ text: String, dialect: Dialect = .strict, limits: JSONLimits = .reply
    ) throws(JSONError) -> JSONValue {
        try parse(Array(text.utf8), dialect: dialect, limits: limits)
    }
}

/// A recursive-descent reader; its recursion is bounded by ``JSONLimits/depth``.
private struct JSONParser {
    let text: [UInt8]
    let dialect: JSONValue.Dialect
    let limits: JSONLimits
    var position = 0
    var nodes = 0

    init(text: [UInt8], dialect: JSONValue.Dialect, limits: JSONLimits) {
        self.text = text
        self.dialect = dialect
        self.limits = limits
    }

    mutating func document() throws(JSONError) -> JSONValue {
        if text.count > limits.bytes { throw fault(.tooLarge(bytes: limits.bytes)) }
        if dialect == .commented, text.starts(with: ByteOrderMark.bytes) { position = ByteOrderMark.bytes.count }
        try skipSpace()
        let value = try value(depth: 0)
        try skipSpace()
        if position < text.count { throw fault(.textAfterValue) }
        return value
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        nodes += 1
        if nodes > limits.nodes { throw fault(.tooMany(values: limits.nodes)) }
        guard let byte = peek else { throw fault(.unexpectedEnd) }
        switch byte {
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: throw fault(.unexpectedCharacter)
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        if depth > limits.depth { throw fault(.tooDeep(levels: limits.depth)) }
        position += 1
        var object = JSONObject()
        try skipSpace()
        if take(UInt8(ascii: "}")) { return .object(object) }
        while true {
            if peek != UInt8(ascii: "\"") { throw fault(.noMemberName) }
            let start = position
            let name = try string()
            try skipSpace()
            if !take(UInt8(ascii: ":")) { throw fault(.noColon) }
            try skipSpace()
            let member = try value(depth: depth)
            if !object.insert(member, for: name) { throw fault(.repeatedMemberName, at: start) }
            try skipSpace()
            if take(UInt8(ascii: "}")) { return .object(object) }
            if !take(UInt8(ascii: ",")) { throw fault(.noCommaOrBrace) }
            try skipSpace()
            if dialect == .commented, take(UInt8(ascii: "}")) { return .object(object) }
        }
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
        if depth > limits.depth { throw fault(.tooDeep(levels: limits.depth)) }
        position += 1
        var elements: [JSONValue] = []
        try skipSpace()
        if take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            elements.append(try value(depth: depth))
            try skipSpace()
            if take(UInt8(ascii: "]")) { return .array(elements) }
            if !take(UInt8(ascii: ",")) { throw fault(.noCommaOrBracket) }
            try skipSpace()
            if dialect == .commented, take(UInt8(ascii: "]")) { return .array(elements) }
        }
    }

    private mutating func literal(_ word: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
        guard text[position...].starts(with: word.utf8) else { throw fault(.unexpectedCharacter) }
        position += word.utf8.count
        return value
    }

    private mutating func number() throws(JSONError) -> JSONValue {
        let start = position
        _ = take(UInt8(ascii: "-"))
        let integerStart = position
        try digits()
        if text[integerStart] == UInt8(ascii: "0"), position > integerStart + 1 {
            throw fault(.leadingZero, at: integerStart)
        }
        var isInteger = true
        if take(UInt8(ascii: ".")) {
            isInteger = false
            try digits()
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            isInteger = false
            position += 1
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        if position - start > 128 { throw fault(.longNumber, at: start) }
        let written = String(decoding: text[start..<position], as: UTF8.self)
        if isInteger, let integer = Int64(written) { return .integer(integer) }
        return .decimal(written)
    }

    private mutating func digits() throws(JSONError) {
        let start = position
        while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
        if position == start { throw fault(.noDigit) }
    }

    // MARK: Strings

    private mutating func string() throws(JSONError) -> String {
        position += 1
        let start = position
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                let decoded = try utf8(text[start..<position], at: start)
                position += 1
                return decoded
            case UInt8(ascii: "\\"):
                return try escapedString(from: start)
            case 0..<0x20:
                throw fault(.controlCharacter)
            default:
                position += 1
            }
        }
        throw fault(.openString, at: start)
    }

    /// Goes on with a string that has an escape at `position`.
    private mutating func escapedString(from start: Int) throws(JSONError) -> String {
        var bytes = Array(text[start..<position])
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                return try utf8(bytes[...], at: start)
            case UInt8(ascii: "\\"):
                try escape(into: &bytes)
            case 0..<0x20:
                throw fault(.controlCharacter, at: position - 1)
            default:
                bytes.append(byte)
            }
        }
        throw fault(.openString, at: start)
    }

    private mutating func escape(into bytes: inout [UInt8]) throws(JSONError) {
        guard let letter = peek else { throw fault(.openString) }
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(letter)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"): bytes.append(contentsOf: try unicodeEscape().utf8)
        default: throw fault(.unknownEscape, at: position - 1)
        }
    }

    private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let start = position
        var code = UInt32(try hexadecimal())
        if (0xD800...0xDBFF).contains(code), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) {
            let low = UInt32(try hexadecimal())
            guard (0xDC00...0xDFFF).contains(low) else { throw fault(.loneSurrogate, at: start) }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { throw fault(.loneSurrogate, at: start) }
        return scalar
    }

    private mutating func hexadecimal() throws(JSONError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek else { throw fault(.noHexadecimalDigits) }
            let digit =
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
                case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
                case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
                default: throw fault(.noHexadecimalDigits)
                }
            value = value << 4 | UInt16(digit)
            position += 1
        }
        return value
    }

    private func utf8(_ bytes: ArraySlice<UInt8>, at start: Int) throws(JSONError) -> String {
        // Nearly all strings are ASCII, and for those this is the faster way.
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw fault(.notUTF8, at: start)
        }
        return decoded
    }

    // MARK: Characters

    private var peek: UInt8? { position < text.count ? text[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        if peek != byte { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() throws(JSONError) {
        while let byte = peek {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case UInt8(ascii: "/") where dialect == .commented: try skipComment()
            default: return
            }
        }
    }

    private mutating func skipComment() throws(JSONError) {
        let start = position
        position += 1
        if take(UInt8(ascii: "/")) {
            while let byte = peek, byte != 0x0A { position += 1 }
        } else if take(UInt8(ascii: "*")) {
            while let byte = peek {
                position += 1
                if byte == UInt8(ascii: "*"), take(UInt8(ascii: "/")) { return }
            }
            throw fault(.openComment, at: start)
        } else {
            throw fault(.unexpectedCharacter, at: start)
        }
    }

    private func fault(_ reason: JSONError.Reason, at place: Int? = nil) -> JSONError {
        let offset = min(place ?? position, text.count)
        let line = text[..<offset].reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        return JSONError(reason: reason, line: line, offset: offset)
    }
}

/// Why a text is not acceptable JSON, and at which position.
///
/// It never quotes the text, which may be a secret.
public struct JSONError: Error, Sendable, Equatable {
    /// The kind of an error.
    public enum Reason: Sendable, Equatable {
        /// Larger than ``JSONLimits/bytes``, which were these.
        case tooLarge(bytes: Int)
        /// Nested deeper than ``JSONLimits/depth``, which was this.
        case tooDeep(levels: Int)
        /// More than ``JSONLimits/nodes``, which were these.
        case tooMany(values: Int)
        case unexpectedEnd, unexpectedCharacter, textAfterValue
        case noMemberName, repeatedMemberName, noColon, noCommaOrBrace, noCommaOrBracket
        case noDigit, leadingZero
        /// A number of more than 128 characters.
        case longNumber
        case openString, notUTF8, controlCharacter, unknownEscape, noHexadecimalDigits, loneSurrogate
        case openComment
    }

    /// The kind of the error.
    public let reason: Reason
    /// The line of the fault, counted from 1.
    public let line: Int
    /// The byte of the fault, counted from 0.
    public let offset: Int
}

/// The limits of a text, so that a hostile one costs little.
public struct JSONLimits: Sendable {
    /// The size of the text in bytes.
    public var bytes: Int
    /// How deep arrays and objects may nest.
    public var depth: Int
    /// How many members and elements there may be in all.
    public var nodes: Int

    /// Makes limits; the defaults suit a reply of a server: 1 MiB, 32 levels, 65,536 nodes.
    public init(bytes: Int = 1 << 20, depth: Int = 32, nodes: Int = 1 << 16) {
        self.bytes = bytes
        self.depth = depth
        self.nodes = nodes
    }

    /// For a reply of a server.
    public static let reply = JSONLimits()
    /// For a file of our own: 256 MiB and four million nodes.
    public static let ownFile = JSONLimits(bytes: 256 << 20, depth: 32, nodes: 4 << 20)
}
