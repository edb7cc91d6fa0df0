/// Writes the fields of an entry of the cache one after the other. The program that wrote an entry is the only one
/// that reads it, so an entry needs no names. Every cached token is read this way, and JSON would cost a tenth.
package struct CacheEntryEncoder {
    /// The bytes that were written.
    package private(set) var bytes: [UInt8] = []

    /// Begins an entry.
    package init() {}

    /// Adds a number: 8 bytes, the lowest first.
    package mutating func put(_ number: Int64) {
        var rest = UInt64(bitPattern: number)
        for _ in 0..<8 {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest >>= 8
        }
    }

    /// Adds a text, its length before it.
    package mutating func put(_ text: String) {
        put(Int64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    /// Adds a text that may be missing.
    package mutating func putOptional(_ text: String?) {
        put(text == nil ? 0 : 1)
        if let text { put(text) }
    }
}

/// Reads the output of a ``CacheEntryEncoder``; any other data is `nil`.
package struct CacheEntryDecoder {
    private let bytes: [UInt8]
    private var place = 0

    /// Begins at the first field.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether all was read.
    package var isAtEnd: Bool { place == bytes.count }

    /// The next number.
    package mutating func integer() -> Int64? {
        guard bytes.count - place >= 8 else { return nil }
        var number: UInt64 = 0
        for index in 0..<8 { number |= UInt64(bytes[place + index]) << UInt64(8 * index) }
        place += 8
        return Int64(bitPattern: number)
    }

    /// The next text.
    package mutating func string() -> String? {
        guard let count = integer(), count >= 0, count <= Int64(bytes.count - place) else { return nil }
        defer { place += Int(count) }
        return String(validating: bytes[place..<place + Int(count)], as: UTF8.self)
    }

    /// The next text that may be missing; the outer `nil` is for invalid bytes.
    package mutating func optional() -> String?? {
        switch integer() {
        case 0: .some(nil)
        case 1: string().map { .some($0) }
        default: nil
        }
    }
}
