import CredentialCore
internal import StrictJSON

/// The characters of an XML document (XML 1.0 §2.2, §4.1, §4.3.3).
enum XMLText {
    /// The document as UTF-8 without byte order mark: UTF-8 as it is, UTF-16 when it has such a mark.
    ///
    /// - Throws: for bytes that are neither, and for characters that XML does not allow.
    static func utf8(_ bytes: [UInt8]) throws(PropertyListFault) -> [UInt8] {
        let text: [UInt8]
        if bytes.starts(with: [0xFE, 0xFF]) {
            text = try utf16(bytes.dropFirst(2), isBigEndian: true)
        } else if bytes.starts(with: [0xFF, 0xFE]) {
            text = try utf16(bytes.dropFirst(2), isBigEndian: false)
        } else {
            text = bytes.withoutByteOrderMark
            if String(validating: text, as: UTF8.self) == nil { throw PropertyListFault("it is not UTF-8") }
        }
        if text.contains(where: { $0 < 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }) {
            throw PropertyListFault("it has control characters")
        }
        return text
    }

    private static func utf16(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) throws(PropertyListFault) -> [UInt8] {
        var units: [UInt16] = []
        units.reserveCapacity(bytes.count / 2)
        var pending: UInt16?
        for byte in bytes {
            guard let first = pending else {
                pending = UInt16(byte)
                continue
            }
            units.append(isBigEndian ? first << 8 | UInt16(byte) : UInt16(byte) << 8 | first)
            pending = nil
        }
        guard pending == nil, let text = String(validating: units, as: UTF16.self) else {
            throw PropertyListFault("it is not UTF-16")
        }
        return Array(text.utf8)
    }

    /// The character for a reference (`&…;`, without its marks); `nil` for a reference that is not predefined.
    static func character(of reference: String) -> Unicode.Scalar? {
        switch reference {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default: break
        }
        guard reference.hasPrefix("#") else { return nil }
        let isHexadecimal = reference.hasPrefix("#x")
        let digits = reference.dropFirst(isHexadecimal ? 2 : 1)
        guard digits.allSatisfy({ isHexadecimal ? $0.isHexDigit : $0.isNumber }), digits.utf8.count <= 8,
            let code = UInt32(digits, radix: isHexadecimal ? 16 : 10), let scalar = Unicode.Scalar(code)
        else { return nil }
        let isAllowed =
            code == 0x09 || code == 0x0A || code == 0x0D || (code >= 0x20 && code != 0xFFFE && code != 0xFFFF)
        return isAllowed ? scalar : nil
    }

    /// Whether `byte` is white space (XML 1.0 §2.3).
    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
