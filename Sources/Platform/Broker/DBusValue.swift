/// A value of D-Bus ("Type System" of the specification); only the types that notifications need.
package indirect enum DBusValue: Sendable, Equatable {
    case byte(UInt8)
    case boolean(Bool)
    case int32(Int32)
    case uint32(UInt32)
    case uint64(UInt64)
    case string(String)
    case path(String)
    case signature(String)
    case variant(DBusValue)
    /// The signature of the elements, and the elements.
    case array(String, [DBusValue])
    case structure([DBusValue])
    case entry(DBusValue, DBusValue)

    /// The type code.
    var type: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int32: "i"
        case .uint32: "u"
        case .uint64: "t"
        case .string: "s"
        case .path: "o"
        case .signature: "g"
        case .variant: "v"
        case .array(let element, _): "a" + element
        case .structure(let members): "(" + members.map(\.type).joined() + ")"
        case .entry(let key, let value): "{" + key.type + value.type + "}"
        }
    }

    /// The string, if this is one.
    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number, if this is an unsigned one of 32 bits.
    package var uint32: UInt32? {
        if case .uint32(let number) = self { number } else { nil }
    }
}

/// Builds the bytes of values in little-endian order.
struct DBusWriter {
    private(set) var bytes: [UInt8] = []

    mutating func align(_ size: Int) { while bytes.count % size != 0 { bytes.append(0) } }

    mutating func write(_ value: DBusValue) {
        switch value {
        case .byte(let byte): bytes.append(byte)
        case .boolean(let truth): number(UInt32(truth ? 1 : 0))
        case .int32(let value): number(UInt32(bitPattern: value))
        case .uint32(let value): number(value)
        case .uint64(let value): number(value)
        case .string(let text), .path(let text):
            number(UInt32(text.utf8.count))
            bytes += Array(text.utf8) + [0]
        case .signature(let text): bytes += [UInt8(truncatingIfNeeded: text.utf8.count)] + Array(text.utf8) + [0]
        case .variant(let inner):
            write(.signature(inner.type))
            write(inner)
        case .array(let element, let elements):
            number(UInt32(0))
            let place = bytes.count - 4
            align(Self.alignment(element.utf8.first ?? 0))
            let start = bytes.count
            for element in elements { write(element) }
            patch(UInt32(bytes.count - start), at: place)
        case .structure(let members):
            align(8)
            for member in members { write(member) }
        case .entry(let key, let value):
            align(8)
            write(key)
            write(value)
        }
    }

    mutating func patch(_ value: UInt32, at place: Int) {
        for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: value >> (8 * UInt32(index))) }
    }

    private mutating func number<Number: FixedWidthInteger>(_ value: Number) {
        align(MemoryLayout<Number>.size)
        for index in 0..<MemoryLayout<Number>.size { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
    }

    static func alignment(_ type: UInt8) -> Int {
        switch type {
        case UInt8(ascii: "y"), UInt8(ascii: "g"), UInt8(ascii: "v"): 1
        case UInt8(ascii: "n"), UInt8(ascii: "q"): 2
        case UInt8(ascii: "x"), UInt8(ascii: "t"), UInt8(ascii: "d"), UInt8(ascii: "("), UInt8(ascii: "{"): 8
        default: 4
        }
    }
}

/// Reads values; a value that does not match its signature gives `nil`.
struct DBusReader {
    /// How deep containers may nest.
    private static let depthLimit = 16

    private let bytes: [UInt8]
    private(set) var position: Int

    init(_ bytes: [UInt8], from position: Int = 0) {
        self.bytes = bytes
        self.position = position
    }

    mutating func values(_ signature: String) -> [DBusValue]? {
        var types = Array(signature.utf8)[...], values: [DBusValue] = []
        while !types.isEmpty {
            guard let type = Self.next(&types, 0), let value = value(type, 0) else { return nil }
            values.append(value)
        }
        return values
    }

    /// Takes one complete type from the beginning.
    private static func next(_ types: inout ArraySlice<UInt8>, _ depth: Int) -> [UInt8]? {
        guard depth < depthLimit, let first = types.popFirst() else { return nil }
        switch first {
        case UInt8(ascii: "a"): return next(&types, depth + 1).map { [first] + $0 }
        case UInt8(ascii: "("), UInt8(ascii: "{"):
            let close = first == UInt8(ascii: "(") ? UInt8(ascii: ")") : UInt8(ascii: "}")
            var whole = [first]
            while let following = types.first {
                if following == close {
                    types.removeFirst()
                    return whole + [close]
                }
                guard let member = next(&types, depth + 1) else { return nil }
                whole += member
            }
            return nil
        default: return [first]
        }
    }

    private mutating func value(_ type: [UInt8], _ depth: Int) -> DBusValue? {
        guard depth < Self.depthLimit, let first = type.first, align(DBusWriter.alignment(first)) else {
            return nil
        }
        switch first {
        case UInt8(ascii: "y"): return number(UInt8.self).map(DBusValue.byte)
        case UInt8(ascii: "b"): return number(UInt32.self).map { .boolean($0 != 0) }
        case UInt8(ascii: "i"): return number(UInt32.self).map { .int32(Int32(bitPattern: $0)) }
        case UInt8(ascii: "u"): return number(UInt32.self).map(DBusValue.uint32)
        case UInt8(ascii: "t"), UInt8(ascii: "x"), UInt8(ascii: "d"):
            return number(UInt64.self).map(DBusValue.uint64)
        case UInt8(ascii: "n"), UInt8(ascii: "q"): return number(UInt16.self).map { .uint32(UInt32($0)) }
        case UInt8(ascii: "s"): return number(UInt32.self).flatMap { text(Int($0)) }.map(DBusValue.string)
        case UInt8(ascii: "o"): return number(UInt32.self).flatMap { text(Int($0)) }.map(DBusValue.path)
        case UInt8(ascii: "g"): return number(UInt8.self).flatMap { text(Int($0)) }.map(DBusValue.signature)
        case UInt8(ascii: "v"): return variant(depth)
        case UInt8(ascii: "a"): return array(Array(type.dropFirst()), depth)
        case UInt8(ascii: "("), UInt8(ascii: "{"):
            var inner = type[1..<(type.count - 1)], members: [DBusValue] = []
            while !inner.isEmpty {
                guard let next = Self.next(&inner, depth), let member = value(next, depth + 1) else { return nil }
                members.append(member)
            }
            if first == UInt8(ascii: "(") { return .structure(members) }
            return members.count == 2 ? .entry(members[0], members[1]) : nil
        default: return nil
        }
    }

    private mutating func variant(_ depth: Int) -> DBusValue? {
        guard let length = number(UInt8.self), let signature = text(Int(length)) else { return nil }
        var types = Array(signature.utf8)[...]
        guard let type = Self.next(&types, depth), types.isEmpty, let inner = value(type, depth + 1) else {
            return nil
        }
        return .variant(inner)
    }

    private mutating func array(_ element: [UInt8], _ depth: Int) -> DBusValue? {
        guard let length = number(UInt32.self), let first = element.first, align(DBusWriter.alignment(first)) else {
            return nil
        }
        let end = position + Int(length)
        guard end <= bytes.count else { return nil }
        var elements: [DBusValue] = []
        while position < end {
            guard let next = value(element, depth + 1) else { return nil }
            elements.append(next)
        }
        return position == end ? .array(String(decoding: element, as: UTF8.self), elements) : nil
    }

    private mutating func align(_ size: Int) -> Bool {
        position = (position + size - 1) / size * size
        return position <= bytes.count
    }

    private mutating func number<Number: FixedWidthInteger & UnsignedInteger>(_ type: Number.Type) -> Number? {
        let size = MemoryLayout<Number>.size
        guard align(size), position + size <= bytes.count else { return nil }
        var value: Number = 0
        for index in 0..<size { value |= Number(bytes[position + index]) << (8 * index) }
        position += size
        return value
    }

    private mutating func text(_ length: Int) -> String? {
        guard position + length < bytes.count, bytes[position + length] == 0,
            let text = String(validating: bytes[position..<(position + length)], as: UTF8.self)
        else { return nil }
        position += length + 1
        return text
    }
}
