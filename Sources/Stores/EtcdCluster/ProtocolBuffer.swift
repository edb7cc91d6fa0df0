/// A message in the Protocol Buffers encoding, written field by field: varints and length-delimited fields are all
/// that etcd's messages need.
struct ProtobufWriter {
    /// The message so far.
    private(set) var bytes: [UInt8] = []

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest > 127 {
            bytes.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// A number; 0 has the meaning of a missing field, and is left out.
    mutating func number(_ field: UInt64, _ value: Int64) {
        if value == 0 { return }
        varint(field << 3)
        varint(UInt64(bitPattern: value))
    }

    /// A number that is present even when it is 0, as the chosen one of several.
    mutating func chosenNumber(_ field: UInt64, _ value: Int64) {
        varint(field << 3)
        varint(UInt64(bitPattern: value))
    }

    /// Bytes or text; an empty value is left out.
    mutating func data(_ field: UInt64, _ value: [UInt8]) {
        if value.isEmpty { return }
        chosenData(field, value)
    }

    /// A message within the message.
    mutating func message(_ field: UInt64, _ build: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        build(&inner)
        chosenData(field, inner.bytes)
    }

    mutating func chosenData(_ field: UInt64, _ value: [UInt8]) {
        varint(field << 3 | 2)
        varint(UInt64(value.count))
        bytes.append(contentsOf: value)
    }
}

/// The fields of a message. A malformed message has no fields from the malformed place on.
struct ProtobufReader: Sequence, IteratorProtocol {
    /// One field.
    enum Value {
        case number(Int64)
        case data([UInt8])
    }

    private var rest: ArraySlice<UInt8>
    /// Whether the message was cut or malformed.
    private(set) var isMalformed = false

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func next() -> (field: UInt64, value: Value)? {
        if rest.isEmpty { return nil }
        guard let tag = varint() else { return malformed() }
        switch tag & 7 {
        case 0:
            guard let value = varint() else { return malformed() }
            return (tag >> 3, .number(Int64(bitPattern: value)))
        case 2:
            guard let size = varint(), size <= UInt64(rest.count) else { return malformed() }
            let data = Array(rest.prefix(Int(size)))
            rest.removeFirst(Int(size))
            return (tag >> 3, .data(data))
        case 1, 5:
            let size = tag & 7 == 1 ? 8 : 4
            guard rest.count >= size else { return malformed() }
            rest.removeFirst(size)
            return (tag >> 3, .number(0))
        default: return malformed()
        }
    }

    private mutating func malformed() -> (field: UInt64, value: Value)? {
        isMalformed = true
        rest = []
        return nil
    }

    private mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            value |= UInt64(byte & 127) << shift
            if byte < 128 { return value }
        }
        return nil
    }
}

extension ProtobufReader.Value {
    var data: [UInt8] { if case .data(let data) = self { data } else { [] } }
    var number: Int64 { if case .number(let number) = self { number } else { 0 } }
}
