/// Bytes taken eight at a time, for files that are too large to be looked at byte by byte in a millisecond.
enum SWARScan {
    /// How many bytes a word has.
    static let size = 8

    /// The word that begins at `offset`, the first byte lowest.
    static func load(_ bytes: borrowing Span<UInt8>, at offset: Int) -> UInt64 {
        // The span checks the bounds; the load assumes no alignment.
        unsafe UInt64(littleEndian: bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// The word of the last bytes, fewer than eight; the rest of it is zero.
    static func loadEnd(_ bytes: borrowing Span<UInt8>, at offset: Int, count: Int) -> UInt64 {
        var word: UInt64 = 0
        for index in 0..<count { word |= UInt64(bytes[offset + index]) << UInt64(8 * index) }
        return word
    }

    /// The word that begins at `offset`; the bytes from `end` on are zero.
    static func load(_ bytes: borrowing Span<UInt8>, at offset: Int, before end: Int) -> UInt64 {
        let count = end &- offset
        return count >= size ? load(bytes, at: offset) : loadEnd(bytes, at: offset, count: count)
    }

    /// Gives each word of a part, and its offset; of the last one the bytes behind the part are zero.
    static func each(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>, _ body: (UInt64, Int) -> Void) {
        var offset = range.lowerBound
        unsafe withWords(of: bytes, range) { words in
            while range.upperBound &- offset >= size {
                body(unsafe load(words, offset), offset)
                offset &+= size
            }
        }
        if offset < range.upperBound { body(load(bytes, at: offset, before: range.upperBound), offset) }
    }

    /// Gives each place of a part with three bytes: one, another behind it, and a third one this far from it.
    static func eachPlace(
        of one: UInt8, _ other: UInt8, _ third: UInt8, after distance: Int, in bytes: borrowing Span<UInt8>,
        _ range: Range<Int>, _ body: (Int) -> Void
    ) {
        let (ones, others, thirds) = (Block(repeating: one), Block(repeating: other), Block(repeating: third))
        var offset = range.lowerBound
        let beyond = max(1, distance)
        unsafe withWords(of: bytes, range) { words in
            while range.upperBound &- offset >= Block.scalarCount &+ beyond {
                let places =
                    (unsafe loadBlock(words, offset) .== ones) .& (unsafe loadBlock(words, offset &+ 1) .== others)
                    .& (unsafe loadBlock(words, offset &+ distance) .== thirds)
                if any(places) {
                    for index in 0..<Block.scalarCount where places[index] { body(offset &+ index) }
                }
                offset &+= Block.scalarCount
            }
        }
        while offset + beyond < range.upperBound {
            if bytes[offset] == one, bytes[offset + 1] == other, bytes[offset + distance] == third { body(offset) }
            offset += 1
        }
    }

    /// The bytes whose bounds are checked once for all words of a part.
    private static func withWords(
        of bytes: borrowing Span<UInt8>, _ range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "a part of the bytes")
        unsafe bytes.bytes.withUnsafeBytes(body)
    }

    private static func load(_ words: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        unsafe UInt64(littleEndian: words.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Sixteen bytes, which every processor compares at once.
    typealias Block = SIMD16<UInt8>

    private static func loadBlock(_ words: UnsafeRawBufferPointer, _ offset: Int) -> Block {
        unsafe words.loadUnaligned(fromByteOffset: offset, as: Block.self)
    }

    /// The block that begins at `offset`.
    static func loadBlock(_ bytes: borrowing Span<UInt8>, at offset: Int) -> Block {
        // As in ``load(_:at:)``.
        unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Block.self)
    }

    /// A word of eight times the same byte.
    static func repeating(_ byte: UInt8) -> UInt64 { UInt64(byte) &* 0x0101_0101_0101_0101 }

    /// Marks the bytes of a pattern in a word: the highest bit of each such byte is set, and no other.
    static func places(of pattern: UInt64, in word: UInt64) -> UInt64 {
        let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
        let other = word ^ pattern
        return ~(((other & low) &+ low) | other | low)
    }

    /// Marks the ASCII characters from `first` to `last` in a word, as ``places(of:in:)`` does.
    static func places(from first: UInt8, to last: UInt8, in word: UInt64) -> UInt64 {
        let high = repeating(0x80)
        let low = word & ~high
        // No sum reaches into the next byte.
        return (low &+ repeating(0x80 - first)) & ~(low &+ repeating(0x7F - last)) & ~word & high
    }

    /// The first of these places, counted in bytes.
    static func first(_ places: UInt64) -> Int { places.trailingZeroBitCount / 8 }
}

/// A checksum against accidents. It finds every change within one word of the added data, and all but one of 2⁶⁴
/// other changes.
struct Checksum: Equatable {
    private var state: UInt64

    /// Begins with the other values that must be the same, such as the number of bytes.
    init(seed: UInt64) { state = seed ^ 0xcbf2_9ce4_8422_2325 }

    /// The checksum of a part of some bytes.
    init(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) {
        self.init(seed: UInt64(range.count))
        add(bytes, range)
    }

    /// Adds bytes, of which the last word may be short; then no more may follow.
    mutating func add(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) {
        var offset = range.lowerBound
        while range.upperBound - offset >= SWARScan.size {
            add(SWARScan.load(bytes, at: offset))
            offset += SWARScan.size
        }
        if offset < range.upperBound {
            add(SWARScan.loadEnd(bytes, at: offset, count: range.upperBound - offset))
        }
    }

    /// Adds a word. Each step can be undone, so that two states that differ once never meet again.
    mutating func add(_ word: UInt64) {
        state = (state ^ word) &* 0x9E37_79B9_7F4A_7C15
        state ^= state >> 32
    }

    /// The state, as a number.
    var number: UInt64 { state }

    /// Sixteen digits.
    var text: [UInt8] { (0..<Self.digits).map(digit) }

    /// Whether these digits are at `start`.
    func isText(_ bytes: borrowing Span<UInt8>, at start: Int) -> Bool {
        for number in 0..<Self.digits where bytes[start + number] != digit(number) { return false }
        return true
    }

    private func digit(_ number: Int) -> UInt8 {
        let digit = UInt8(state >> UInt64(60 - 4 * number) & 15)
        return digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }

    /// How many digits ``text`` has.
    static let digits = 16
}

/// Which names there are, in any order: as many, and with the same checksums.
public struct UnorderedChecksum: Sendable, Equatable {
    private var count = 0
    private var sum: UInt64 = 0

    /// No names.
    public init() {}

    /// Adds a name.
    public mutating func add(_ name: borrowing Span<UInt8>) { add(name, 0..<name.count) }

    mutating func add(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) {
        count += 1
        sum &+= Checksum(bytes, range).number
    }
}
