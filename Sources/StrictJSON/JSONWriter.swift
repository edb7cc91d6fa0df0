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
    public func text(_ layout: Layout = .compact) -> String {
        var output = ""
        write(to: &output, layout: layout, depth: 0)
        return output
    }

    /// The value as UTF-8 JSON text.
    public func bytes(_ layout: Layout = .compact) -> [UInt8] { Array(text(layout).utf8) }

    private func write(to output: inout String, layout: Layout, depth: Int) {
        switch self {
        case .null: output += "null"
        case .bool(let value): output += value ? "true" : "false"
        case .integer(let value): output += String(value)
        case .decimal(let text): output += text
        case .string(let value): Self.write(value, to: &output)
        case .array(let elements):
            Self.writeList(elements, brackets: ("[", "]"), to: &output, layout: layout, depth: depth) {
                $0.write(to: &$1, layout: layout, depth: depth + 1)
            }
        case .object(let object):
            Self.writeList(object.members, brackets: ("{", "}"), to: &output, layout: layout, depth: depth) {
                Self.write($0.name, to: &$1)
                $1 += layout == .indented ? ": " : ":"
                $0.value.write(to: &$1, layout: layout, depth: depth + 1)
            }
        }
    }

    private static func writeList<Element>(
        _ elements: [Element], brackets: (String, String), to output: inout String, layout: Layout, depth: Int,
        writeElement: (Element, inout String) -> Void
    ) {
        func newLine(_ depth: Int) {
            if layout == .indented { output += "\n" + String(repeating: "  ", count: depth) }
        }
        output += brackets.0
        for (index, element) in elements.enumerated() {
            if index > 0 { output += "," }
            newLine(depth + 1)
            writeElement(element, &output)
        }
        if !elements.isEmpty { newLine(depth) }
        output += brackets.1
    }

    private static func write(_ string: String, to output: inout String) {
        output += "\""
        for scalar in string.unicodeScalars {
            switch scalar.value {
            case 0x22: output += "\\\""
            case 0x5C: output += "\\\\"
            case 0x0A: output += "\\n"
            case 0x0D: output += "\\r"
            case 0x09: output += "\\t"
            case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029:
                let digits = String(scalar.value, radix: 16)
                output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: output.unicodeScalars.append(scalar)
            }
        }
        output += "\""
    }
}
