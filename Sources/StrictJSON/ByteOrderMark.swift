extension Array<UInt8> {
    /// The text without a byte order mark of UTF-8 in front of it. Editors of other systems add one, and it is no
    /// part of the user's text (RFC 8259 §8.1 lets a reader pass over it).
    package var withoutByteOrderMark: [UInt8] {
        starts(with: ByteOrderMark.bytes) ? Array(dropFirst(ByteOrderMark.bytes.count)) : self
    }

    /// The text in UTF-8 without a byte order mark. A text with the mark of UTF-16 is decoded: redirection in older
    /// PowerShell writes one. Anything else is unchanged.
    package var asUTF8: [UInt8] {
        let isLittle = starts(with: [0xFF, 0xFE])
        guard count % 2 == 0, isLittle || starts(with: [0xFE, 0xFF]) else { return withoutByteOrderMark }
        let units = stride(from: 2, to: count, by: 2).map { place in
            let low = UInt16(self[isLittle ? place : place + 1]), high = UInt16(self[isLittle ? place + 1 : place])
            return high << 8 | low
        }
        return String(validating: units, as: UTF16.self).map { Array($0.utf8) } ?? self
    }
}

/// The byte order mark, U+FEFF, in UTF-8.
package enum ByteOrderMark {
    /// Its three bytes.
    package static let bytes: [UInt8] = [0xEF, 0xBB, 0xBF]
}
