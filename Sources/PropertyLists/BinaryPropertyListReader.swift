internal import CredentialCore

/// A reader of binary property lists (`bplist00`).
///
/// The form lets objects share parts and even contain themselves; depth, the number of values visited and the bytes
/// copied out are bounded, so that a small file cannot ask for much.
struct BinaryPropertyListReader {
    /// The first bytes of a binary property list.
    static let signature = Array("bplist00".utf8)

    private let bytes: [UInt8]
    private var offsets: [Int] = []
    private var referenceSize = 1
    private var nodes = 0
    private var copied = 0

    private static let trailerSize = 32
    private static var damaged: PropertyListFault { PropertyListFault("damaged binary property list") }

    /// Takes a file.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads the whole file.
    mutating func document() throws(PropertyListFault) -> PropertyListValue {
        let trailer = bytes.count - Self.trailerSize
        guard trailer >= Self.signature.count else { throw Self.damaged }
        let offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let count = number(at: trailer + 8, size: 8), count > 0, count <= PropertyList.maximumNodes,
            let top = number(at: trailer + 16, size: 8), top < count,
            let table = number(at: trailer + 24, size: 8), table >= Self.signature.count,
            table <= trailer, count * offsetSize <= trailer - table
        else { throw Self.damaged }
        for index in 0..<count {
            guard let offset = number(at: table + index * offsetSize, size: offsetSize),
                offset >= Self.signature.count, offset < table
            else { throw Self.damaged }
            offsets.append(offset)
        }
        return try object(top, depth: 0)
    }

    /// The big-endian number of `size` bytes at `place`; `nil` beyond the file or beyond 63 bits.
    private func number(at place: Int, size: Int) -> Int? {
        guard let field = field(at: place, count: size) else { return nil }
        return Int(exactly: field.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// `count` bytes at `place`; `nil` beyond the file.
    private func field(at place: Int, count: Int) -> ArraySlice<UInt8>? {
        guard place >= 0, count >= 0, place <= bytes.count, count <= bytes.count - place else { return nil }
        return bytes[place..<place + count]
    }

    private mutating func object(_ index: Int, depth: Int) throws(PropertyListFault) -> PropertyListValue {
        nodes += 1
        guard nodes <= PropertyList.maximumNodes else {
            throw PropertyListFault("more than \(PropertyList.maximumNodes) values")
        }
        guard offsets.indices.contains(index) else { throw Self.damaged }
        let place = offsets[index]
        let marker = bytes[place]
        switch marker >> 4 {
        case 0x0 where marker == 0x08: return .boolean(false)
        case 0x0 where marker == 0x09: return .boolean(true)
        case 0x1: return .integer(try integer(at: place + 1, power: marker & 0x0F))
        case 0x2: return .real(String(try real(at: place + 1, power: marker & 0x0F)))
        case 0x3 where marker == 0x33: return .date(try date(at: place + 1))
        case 0x4: return .data(Array(try content(at: place, unit: 1)))
        case 0x5:
            let text = try content(at: place, unit: 1)
            guard text.allSatisfy({ $0 < 0x80 }) else { throw Self.damaged }
            return .string(String(decoding: text, as: UTF8.self))
        case 0x6: return .string(try utf16(try content(at: place, unit: 2)))
        case 0xA: return try array(at: place, depth: depth + 1)
        case 0xD: return try dictionary(at: place, depth: depth + 1)
        default: throw PropertyListFault("a binary property list with a value of an unknown kind")
        }
    }

    // MARK: Numbers

    private func integer(at place: Int, power: UInt8) throws(PropertyListFault) -> Int64 {
        guard power <= 3, let field = field(at: place, count: 1 << Int(power)) else { throw Self.damaged }
        // Only eight bytes carry a sign; shorter integers are unsigned.
        return Int64(bitPattern: field.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    private func real(at place: Int, power: UInt8) throws(PropertyListFault) -> Double {
        guard power == 2 || power == 3, let field = field(at: place, count: 1 << Int(power)) else {
            throw Self.damaged
        }
        let bits = field.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return power == 3 ? Double(bitPattern: bits) : Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
    }

    private func date(at place: Int) throws(PropertyListFault) -> String {
        // Seconds since 2001-01-01T00:00:00Z.
        guard let seconds = Int64(exactly: try real(at: place, power: 3).rounded(.down)) else { throw Self.damaged }
        return Timestamp(epochSeconds: 978_307_200).adding(seconds).rfc3339
    }

    // MARK: Texts and collections

    /// The count of an object, which is in its marker or in an integer after it, and the position at which its
    /// content begins.
    private func header(at place: Int) throws(PropertyListFault) -> (count: Int, content: Int) {
        let short = Int(bytes[place] & 0x0F)
        if short < 0x0F { return (short, place + 1) }
        guard let marker = field(at: place + 1, count: 1)?.first, marker >> 4 == 0x1, marker & 0x0F <= 3 else {
            throw Self.damaged
        }
        let size = 1 << Int(marker & 0x0F)
        guard let count = number(at: place + 2, size: size), count <= bytes.count else { throw Self.damaged }
        return (count, place + 2 + size)
    }

    private mutating func content(at place: Int, unit: Int) throws(PropertyListFault) -> ArraySlice<UInt8> {
        let (count, start) = try header(at: place)
        guard let field = field(at: start, count: count * unit) else { throw Self.damaged }
        copied += field.count
        guard copied <= PropertyList.maximumBytes else {
            throw PropertyListFault("it holds more than \(PropertyList.maximumBytes) bytes")
        }
        return field
    }

    private func utf16(_ bytes: ArraySlice<UInt8>) throws(PropertyListFault) -> String {
        let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map {
            UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
        }
        guard let text = String(validating: units, as: UTF16.self) else { throw Self.damaged }
        return text
    }

    /// `count` references to objects at `place`.
    private func references(at place: Int, count: Int) throws(PropertyListFault) -> [Int] {
        guard count <= PropertyList.maximumNodes else { throw Self.damaged }
        var references: [Int] = []
        for index in 0..<count {
            guard let reference = number(at: place + index * referenceSize, size: referenceSize) else {
                throw Self.damaged
            }
            references.append(reference)
        }
        return references
    }

    private mutating func array(at place: Int, depth: Int) throws(PropertyListFault) -> PropertyListValue {
        try check(depth)
        let (count, start) = try header(at: place)
        var elements: [PropertyListValue] = []
        for reference in try references(at: start, count: count) {
            elements.append(try object(reference, depth: depth))
        }
        return .array(elements)
    }

    private mutating func dictionary(at place: Int, depth: Int) throws(PropertyListFault) -> PropertyListValue {
        try check(depth)
        let (count, start) = try header(at: place)
        let keys = try references(at: start, count: count)
        let values = try references(at: start + count * referenceSize, count: count)
        var dictionary = PropertyListDictionary()
        for (key, value) in zip(keys, values) {
            guard case .string(let name) = try object(key, depth: depth) else { throw Self.damaged }
            let value = try object(value, depth: depth)
            guard dictionary.insert(.init(key: name, value: value, line: nil)) else {
                throw PropertyListFault("key '\(UntrustedText.shown(name, limit: 60))' is duplicated")
            }
        }
        return .dictionary(dictionary)
    }

    private func check(_ depth: Int) throws(PropertyListFault) {
        if depth > PropertyList.maximumDepth {
            throw PropertyListFault("nested deeper than \(PropertyList.maximumDepth) levels")
        }
    }
}
