/// Base64 with the URL alphabet and without padding (RFC 4648 §5), and the ordinary alphabet for protocols that use
/// it.
public enum Base64URL {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let ordinary = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Encodes without padding.
    public static func encode(_ bytes: [UInt8]) -> String { encode(bytes, alphabet) }

    /// Encodes with the ordinary alphabet and padding (RFC 4648 §4), as HTTP Basic wants it.
    public static func encodeOrdinary(_ bytes: [UInt8]) -> String {
        let text = encode(bytes, ordinary)
        return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }

    /// Decodes the URL alphabet without padding; `nil` for anything else, non-zero trailing bits included.
    public static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) { value(of: $0, 0x2D, 0x5F) } }

    /// Decodes the ordinary alphabet with correct padding; `nil` for anything else.
    public static func decodeOrdinary(_ text: String) -> [UInt8]? {
        let length = text.utf8.count
        guard length % 4 == 0 else { return nil }
        let padding = text.utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return nil }
        return decode(text.utf8.dropLast(padding)) { value(of: $0, 0x2B, 0x2F) }
    }

    private static func encode(_ bytes: [UInt8], _ alphabet: [UInt8]) -> String {
        var output: [UInt8] = []
        output.reserveCapacity((bytes.count * 4 + 2) / 3)
        var index = 0
        while index < bytes.count {
            let left = bytes.count - index
            let first = UInt32(bytes[index]) << 16
            let second = left > 1 ? UInt32(bytes[index + 1]) << 8 : 0
            let third = left > 2 ? UInt32(bytes[index + 2]) : 0
            let group = first | second | third
            output.append(alphabet[Int(group >> 18 & 63)])
            output.append(alphabet[Int(group >> 12 & 63)])
            if left > 1 { output.append(alphabet[Int(group >> 6 & 63)]) }
            if left > 2 { output.append(alphabet[Int(group & 63)]) }
            index += 3
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func decode(
        _ text: some Collection<UInt8>, _ value: (UInt8) -> UInt32?
    ) -> [UInt8]? {
        var output: [UInt8] = []
        output.reserveCapacity(text.count * 3 / 4)
        var buffer: UInt32 = 0
        var bits = 0
        for byte in text {
            guard let digit = value(byte) else { return nil }
            buffer = buffer << 6 | digit
            bits += 6
            if bits >= 8 {
                bits -= 8
                output.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
                buffer &= (1 << UInt32(bits)) - 1
            }
        }
        return bits < 6 && buffer == 0 ? output : nil
    }

    private static func value(of byte: UInt8, _ letter62: UInt8, _ letter63: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte) + 4
        case letter62: 62
        case letter63: 63
        default: nil
        }
    }
}
