/// Reads fields of a fixed width, numbers big-endian, from bytes; never beyond their end.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    /// Starts at the first byte.
    init(_ bytes: [UInt8]) { rest = bytes[...] }

    /// The next `count` bytes; `nil` when there are fewer.
    mutating func bytes(_ count: Int) -> [UInt8]? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// The next number; `nil` when its bytes are not all there.
    mutating func number<Number: FixedWidthInteger & UnsignedInteger>(_ type: Number.Type) -> Number? {
        bytes(type.bitWidth / 8)?.reduce(0) { ($0 << 7) << 1 | Number($1) }
    }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// The bytes of the number, big-endian.
    var bigEndianBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> Self($0)) }
    }
}
