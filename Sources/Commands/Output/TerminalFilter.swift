/// Makes bytes of a server safe for a terminal. It writes out characters that move the cursor, change colours,
/// answer in the user's place or turn the direction of the text, in the notation of `less`: `^[`, `<9B>`,
/// `<U+202E>`.
///
/// Lines and tabs stay. Bytes may come in pieces of any size; a character that a piece cuts off waits for the next
/// one.
package struct TerminalFilter {
    private var pending: [UInt8] = []

    /// Makes a filter before its first input.
    package init() {}

    /// The visible form of a piece.
    package mutating func shown(_ piece: [UInt8]) -> [UInt8] {
        let bytes = pending + piece
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard let size = Self.size(at: index, in: bytes) else { break }
            Self.append(bytes[index..<index + size], before: bytes.dropFirst(index + size).first, to: &result)
            index += size
        }
        pending = Array(bytes[index...])
        return result
    }

    /// The visible form of the waiting bytes, at the end.
    package mutating func finish() -> [UInt8] {
        defer { pending = [] }
        var result: [UInt8] = []
        for byte in pending { Self.append([byte], before: nil, to: &result) }
        return result
    }

    /// How many bytes the character at `index` has; 1 for a byte that does not begin a character; `nil` if the
    /// piece cuts it off.
    private static func size(at index: Int, in bytes: [UInt8]) -> Int? {
        let first = bytes[index]
        // Of a line's end, the second half may come later.
        if first == UInt8(ascii: "\r") { return index + 1 < bytes.count ? 1 : nil }
        let size = first < 0xC2 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 1
        let rest = bytes[(index + 1)...].prefix(size - 1)
        guard rest.allSatisfy({ $0 & 0xC0 == 0x80 }) else { return 1 }
        return rest.count == size - 1 ? size : nil
    }

    private static func append(_ character: ArraySlice<UInt8>, before next: UInt8?, to result: inout [UInt8]) {
        guard let scalar = String(validating: character, as: UTF8.self)?.unicodeScalars.first else {
            for byte in character { result += Array("<\(hexadecimal(UInt32(byte), digits: 2))>".utf8) }
            return
        }
        switch scalar.value {
        case 0x0A, 0x09: result += character
        // A return alone would write over the line.
        case 0x0D where next == UInt8(ascii: "\n"): result += character
        case ..<0x20, 0x7F: result += [UInt8(ascii: "^"), UInt8(scalar.value) ^ 0x40]
        case 0x80..<0xA0, 0x202A...0x202E, 0x2066...0x2069:
            result += Array("<U+\(hexadecimal(scalar.value, digits: 4))>".utf8)
        default: result += character
        }
    }

    private static func hexadecimal(_ value: UInt32, digits: Int) -> String {
        let text = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
