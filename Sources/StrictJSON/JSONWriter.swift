extension JSONValue {
    /// How a value is laid out.
    public enum Layout: Sendable {
        /// One line, no spaces.
        case compact
        /// Indented by two spaces, a line per member, for people and diffs.
        case indented
    }

    /// The value as JSON text, without a newline at its end.
    ///
    /// Control characters, DEL, the C1 controls and the line separators are escaped, so that the text is safe to
    /// show on a terminal.
    public func text(_ layout: Layout = .compact) -> String { String(decoding: bytes(layout), as: UTF8.self) }

    /// The value as UTF-8 JSON text.
    public func bytes(_ layout: Layout = .compact) -> [UInt8] {
        var writer = JSONWriter(layout: layout)
        writer.write(self)
        return writer.output
    }
}

/// Builds the bytes of a text.
private struct JSONWriter {
    let layout: JSONValue.Layout
    var output: [UInt8] = []
    private var depth = 0

    init(layout: JSONValue.Layout) { self.layout = layout }

    mutating func write(_ value: JSONValue) {
        switch value {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .integer(let value): append(String(value))
        case .decimal(let text): append(text)
        case .string(let value): write(value)
        case .array(let elements):
            open("[")
            for (index, element) in elements.enumerated() {
                startElement(index)
                write(element)
            }
            close("]", isEmpty: elements.isEmpty)
        case .object(let object):
            open("{")
            for (index, member) in object.members.enumerated() {
                startElement(index)
                write(member.name)
                append(layout == .indented ? ": " : ":")
                write(member.value)
            }
            close("}", isEmpty: object.isEmpty)
        }
    }

    private mutating func open(_ sign: Unicode.Scalar) {
        output.append(UInt8(ascii: sign))
        depth += 1
    }

    private mutating func startElement(_ index: Int) {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        startLine()
    }

    private mutating func close(_ sign: Unicode.Scalar, isEmpty: Bool) {
        depth -= 1
        if !isEmpty { startLine() }
        output.append(UInt8(ascii: sign))
    }

    private mutating func startLine() {
        guard layout == .indented else { return }
        output.append(UInt8(ascii: "\n"))
        for _ in 0..<2 * depth { output.append(UInt8(ascii: " ")) }
    }

    private mutating func write(_ string: String) {
        output.append(UInt8(ascii: "\""))
        if Self.isPlain(string.utf8.span) {
            append(string)
        } else {
            for scalar in string.unicodeScalars { write(scalar) }
        }
        output.append(UInt8(ascii: "\""))
    }

    private mutating func write(_ scalar: Unicode.Scalar) {
        switch scalar.value {
        case 0x22: append("\\\"")
        case 0x5C: append("\\\\")
        case 0x0A: append("\\n")
        case 0x0D: append("\\r")
        case 0x09: append("\\t")
        case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029:
            let digits = String(scalar.value, radix: 16)
            append("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
        default: output.append(contentsOf: scalar.utf8)
        }
    }

    /// Whether each byte of a string is written as itself: visible ASCII but the quote and the backslash.
    private static func isPlain(_ bytes: borrowing Span<UInt8>) -> Bool {
        for index in bytes.indices {
            let byte = bytes[index]
            guard byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else {
                return false
            }
        }
        return true
    }

    private mutating func append(_ text: String) { output.append(contentsOf: text.utf8) }
}
