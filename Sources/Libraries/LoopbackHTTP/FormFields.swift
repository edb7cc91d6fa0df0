/// The fields of a form or a query, `application/x-www-form-urlencoded` (WHATWG URL §5), in order.
package struct FormFields: Sendable, Equatable {
    /// One field.
    package struct Field: Sendable, Equatable {
        /// Its name, decoded.
        package var name: String
        /// Its value, decoded.
        package var value: String
    }

    /// The fields.
    package private(set) var fields: [Field]

    /// Makes a form.
    package init(_ fields: [(name: String, value: String)] = []) {
        self.fields = fields.map { Field(name: $0.name, value: $0.value) }
    }

    /// Decodes; a field is split at its first `=`, so that values may hold more of them. A `%` without two hex
    /// digits is kept as it is.
    package init(decoding text: some Sequence<UInt8>) {
        fields = Array(text).split(separator: UInt8(ascii: "&")).map { pair in
            let parts = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return Field(
                name: Self.decode(parts.first ?? []), value: parts.count > 1 ? Self.decode(parts[1]) : "")
        }
    }

    /// Decodes a query.
    package init(query: String?) { self.init(decoding: (query ?? "").utf8) }

    /// The first value of a field.
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }

    /// Every value of a field.
    package func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    /// Adds a field at the end.
    package mutating func add(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }

    /// How the hex digits of an escape are written.
    package enum HexCase: Sendable {
        /// `%2F`, as browsers do.
        case upper
        /// `%2f`, as .NET does.
        case lower
    }

    /// The fields as text; a space becomes `+`, everything but letters, digits and `*-._` is escaped.
    package func encoded(_ hexCase: HexCase = .upper) -> String {
        fields.map { Self.encode($0.name, hexCase) + "=" + Self.encode($0.value, hexCase) }.joined(separator: "&")
    }

    private static func decode(_ text: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            if byte == UInt8(ascii: "%"), text.endIndex - index > 2, let high = digit(text[index + 1]),
                let low = digit(text[index + 2])
            {
                bytes.append(high << 4 | low)
                index += 3
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func encode(_ text: String, _ hexCase: HexCase) -> String {
        let digits = Array((hexCase == .upper ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
        var output: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"):
                output.append(byte)
            case UInt8(ascii: " "): output.append(UInt8(ascii: "+"))
            default: output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
