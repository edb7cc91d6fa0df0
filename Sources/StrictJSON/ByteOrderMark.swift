extension Array<UInt8> {
    /// The text without a byte order mark of UTF-8 in front of it. Editors of other systems add one, and it is no
    /// part of the user's text (RFC 8259 §8.1 lets a reader pass over it).
    package var withoutByteOrderMark: [UInt8] {
        starts(with: ByteOrderMark.bytes) ? Array(dropFirst(ByteOrderMark.bytes.count)) : self
    }
}

/// The byte order mark, U+FEFF, in UTF-8.
package enum ByteOrderMark {
    /// Its three bytes.
    package static let bytes: [UInt8] = [0xEF, 0xBB, 0xBF]
}
