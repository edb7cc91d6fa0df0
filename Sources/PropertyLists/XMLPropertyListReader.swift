internal import CredentialCore

/// A recursive-descent reader of XML property lists; its recursion is bounded by ``PropertyList/maximumDepth``.
struct XMLPropertyListReader {
    /// The placeholders found, in order, one per string.
    private(set) var placeholders: [PropertyList.Placeholder] = []
    private var scanner: XMLScanner
    private var key: String?
    private var nodes = 0

    private static let elements: Set<String> = [
        "plist", "dict", "key", "array", "string", "integer", "real", "true", "false", "date", "data",
    ]

    /// Takes a document, checked by ``XMLText/utf8(_:)``.
    init(_ text: [UInt8]) { scanner = XMLScanner(text) }

    /// Reads the whole document. The `<plist>` around it may be missing, or only its start, as in printed excerpts.
    mutating func document() throws(PropertyListFault) -> PropertyListValue {
        try scanner.skipDeclaration()
        try scanner.skipMisc(allowingDoctype: true)
        var tag = try scanner.tag()
        let isWrapped = tag.name == "plist"
        if isWrapped {
            guard tag.kind == .start else { throw scanner.fault("empty property list") }
            try scanner.skipMisc()
            tag = try scanner.tag()
        }
        let value = try element(tag, depth: 0)
        try scanner.skipMisc()
        if isWrapped || !scanner.isAtEnd {
            let end = try scanner.tag()
            guard end.name == "plist", end.kind == .end else { throw scanner.fault("expected </plist>") }
        }
        try scanner.skipMisc()
        if !scanner.isAtEnd { throw scanner.fault("text after the end") }
        return value
    }

    private mutating func element(_ tag: XMLScanner.Tag, depth: Int) throws(PropertyListFault) -> PropertyListValue
    {
        nodes += 1
        if nodes > PropertyList.maximumNodes {
            throw scanner.fault("more than \(PropertyList.maximumNodes) values")
        }
        guard tag.kind != .end else { throw scanner.fault("an end tag where a value is expected") }
        guard !tag.hasAttributes else { throw scanner.fault("an element with attributes") }
        switch tag.name {
        case "dict": return try dictionary(tag, depth: depth + 1)
        case "array": return try array(tag, depth: depth + 1)
        case "true", "false":
            if tag.kind == .start, !(try text(of: tag).isEmpty) { throw scanner.fault("a boolean with content") }
            return .boolean(tag.name == "true")
        case "string": return .string(try text(of: tag))
        case "integer":
            guard let value = Self.integer(try text(of: tag)) else { throw scanner.fault("not an integer") }
            return .integer(value)
        case "real":
            let text = Self.trimmed(try text(of: tag))
            guard Self.isReal(text) else { throw scanner.fault("not a real number") }
            return .real(text)
        case "date":
            let text = Self.trimmed(try text(of: tag))
            guard Self.isDate(text) else { throw scanner.fault("not a date") }
            return .date(text)
        case "data":
            let text = try text(of: tag).filter { !$0.isWhitespace }
            guard let bytes = Base64URL.decodeOrdinary(text) else { throw scanner.fault("data that is not base64") }
            return .data(bytes)
        default: throw scanner.fault("an element that property lists do not have")
        }
    }

    private mutating func dictionary(
        _ tag: XMLScanner.Tag, depth: Int
    ) throws(PropertyListFault) -> PropertyListValue {
        try check(depth: depth)
        var dictionary = PropertyListDictionary()
        if tag.kind == .empty { return .dictionary(dictionary) }
        let outerKey = key
        defer { key = outerKey }
        while true {
            try scanner.skipMisc()
            let line = scanner.line()
            let tag = try scanner.tag()
            if tag.name == "dict", tag.kind == .end { return .dictionary(dictionary) }
            guard tag.name == "key", tag.kind != .end, !tag.hasAttributes else {
                throw scanner.fault("expected <key> or </dict>")
            }
            let key = try text(of: tag)
            self.key = key
            try scanner.skipMisc()
            let value = try element(try scanner.tag(), depth: depth)
            guard dictionary.insert(.init(key: key, value: value, line: line)) else {
                throw PropertyListFault(
                    "key '\(UntrustedText.shown(key, limit: 60))' is duplicated", line: line)
            }
        }
    }

    private mutating func array(_ tag: XMLScanner.Tag, depth: Int) throws(PropertyListFault) -> PropertyListValue {
        try check(depth: depth)
        var elements: [PropertyListValue] = []
        if tag.kind == .empty { return .array(elements) }
        while true {
            try scanner.skipMisc()
            let tag = try scanner.tag()
            if tag.name == "array", tag.kind == .end { return .array(elements) }
            elements.append(try element(tag, depth: depth))
        }
    }

    private mutating func check(depth: Int) throws(PropertyListFault) {
        if depth > PropertyList.maximumDepth {
            throw scanner.fault("nested deeper than \(PropertyList.maximumDepth) levels")
        }
    }

    // MARK: Text

    /// The text up to the end tag that belongs to `tag`, references resolved, line ends made `\n`.
    private mutating func text(of tag: XMLScanner.Tag) throws(PropertyListFault) -> String {
        if tag.kind == .empty { return "" }
        var bytes: [UInt8] = []
        let firstLine = scanner.line()
        var placeholderLine: Int?
        while let byte = scanner.peek {
            switch byte {
            case UInt8(ascii: "&"):
                bytes.append(contentsOf: String(Character(try scanner.reference())).utf8)
            case UInt8(ascii: "<"):
                if scanner.isNext("</") {
                    let end = try scanner.tag()
                    guard end.name == tag.name else { throw scanner.fault("expected </\(tag.name)>") }
                    let text = String(decoding: bytes, as: UTF8.self)
                    if tag.name == "string", placeholderLine != nil || PropertyList.hasPlaceholder(text) {
                        placeholders.append(.init(key: key, line: placeholderLine ?? firstLine))
                    }
                    return text
                } else if scanner.isNext("<!--") {
                    try scanner.skipComment()
                } else if scanner.isNext("<![CDATA[") {
                    bytes.append(contentsOf: try scanner.characterData())
                } else {
                    let line = scanner.line()
                    guard tag.name == "string", let words = scanner.placeholder(notAmong: Self.elements) else {
                        throw scanner.fault("<\(tag.name)> without its end tag")
                    }
                    placeholderLine = placeholderLine ?? line
                    bytes.append(contentsOf: words)
                }
            case 0x0D:
                scanner.advance()
                if scanner.peek != 0x0A { bytes.append(0x0A) }
            default:
                bytes.append(byte)
                scanner.advance()
            }
        }
        throw scanner.fault("<\(tag.name)> without its end tag")
    }

    private static func trimmed(_ text: String) -> String {
        let isSpace: (Character) -> Bool = { $0.isWhitespace }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }

    private static func integer(_ text: String) -> Int64? {
        let text = trimmed(text)
        let digits = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
        if digits.hasPrefix("0x") || digits.hasPrefix("0X") {
            let digits = digits.dropFirst(2)
            guard digits.allSatisfy(\.isHexDigit) else { return nil }
            return Int64((text.hasPrefix("-") ? "-" : "") + digits, radix: 16)
        }
        return Int64(text)
    }

    private static func isReal(_ text: String) -> Bool {
        let marks = Set("+-.eE0123456789")
        return ["nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"].contains(text.lowercased())
            || (text.contains(where: \.isNumber) && text.utf8.count <= 64 && text.allSatisfy(marks.contains))
    }

    private static func isDate(_ text: String) -> Bool {
        let form = Array("0000-00-00T00:00:00Z".utf8)
        let bytes = Array(text.utf8)
        return bytes.count == form.count
            && zip(bytes, form).allSatisfy {
                $1 == UInt8(ascii: "0") ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) : $0 == $1
            }
    }
}
