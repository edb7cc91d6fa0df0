/// A message of D-Bus ("Message Protocol" of the specification).
package struct DBusMessage: Sendable, Equatable {
    /// The kind of a message.
    package enum Kind: UInt8, Sendable {
        case call = 1
        case reply, error, signal
    }

    /// The greatest size of a message that is read, in bytes.
    static let limit = 1 << 20
    /// The size of the part of the header that tells the size of the rest.
    static let fixedSize = 16

    /// The kind.
    package var kind: Kind
    /// The number that the sender gave to the message.
    package var serial: UInt32 = 0
    /// The number of the call that this message answers.
    package var replySerial: UInt32?
    /// The object.
    package var path: String?
    /// The interface.
    package var interface: String?
    /// The method or signal.
    package var member: String?
    /// The name of an error.
    package var errorName: String?
    /// The receiver.
    package var destination: String?
    /// The sender, which the bus sets: a client cannot forge it.
    package var sender: String?
    /// The arguments.
    package var body: [DBusValue] = []

    /// Makes a message.
    package init(
        _ kind: Kind, path: String? = nil, interface: String? = nil, member: String? = nil,
        destination: String? = nil, body: [DBusValue] = []
    ) {
        self.kind = kind
        self.path = path
        self.interface = interface
        self.member = member
        self.destination = destination
        self.body = body
    }

    /// The bytes of the message.
    package var bytes: [UInt8] {
        var content = DBusWriter()
        for value in body { content.write(value) }
        var fields: [DBusValue] = []
        func field(_ code: UInt8, _ value: DBusValue?) {
            if let value { fields.append(.structure([.byte(code), .variant(value)])) }
        }
        field(1, path.map(DBusValue.path))
        field(2, interface.map(DBusValue.string))
        field(3, member.map(DBusValue.string))
        field(4, errorName.map(DBusValue.string))
        field(5, replySerial.map(DBusValue.uint32))
        field(6, destination.map(DBusValue.string))
        field(8, body.isEmpty ? nil : .signature(body.map(\.type).joined()))
        var header = DBusWriter()
        header.write(.byte(UInt8(ascii: "l")))
        header.write(.byte(kind.rawValue))
        header.write(.byte(0))
        header.write(.byte(1))
        header.write(.uint32(UInt32(content.bytes.count)))
        header.write(.uint32(serial))
        header.write(.array("(yv)", fields))
        header.align(8)
        return header.bytes + content.bytes
    }

    /// The size of a message that begins with ``fixedSize`` bytes; `nil` if they are not a little-endian header, or
    /// the message is larger than the limit.
    static func size(_ start: [UInt8]) -> Int? {
        guard start.count >= fixedSize, start[0] == UInt8(ascii: "l"), start[3] == 1 else { return nil }
        var reader = DBusReader(start, from: 4)
        guard let numbers = reader.values("uuu"), let body = numbers[0].uint32, let fields = numbers[2].uint32,
            body < limit, fields < limit
        else { return nil }
        let size = (fixedSize + Int(fields) + 7) / 8 * 8 + Int(body)
        return size <= limit ? size : nil
    }

    /// Reads a whole message; `nil` for another text.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.fixedSize, bytes[0] == UInt8(ascii: "l"), let kind = Kind(rawValue: bytes[1])
        else {
            return nil
        }
        self.init(kind)
        var reader = DBusReader(bytes, from: 4)
        guard let header = reader.values("uua(yv)"), let serial = header[1].uint32,
            case .array(_, let fields) = header[2]
        else { return nil }
        self.serial = serial
        var signature = ""
        for case .structure(let pair) in fields {
            guard pair.count == 2, case .byte(let code) = pair[0], case .variant(let value) = pair[1] else {
                return nil
            }
            switch (code, value) {
            case (1, .path(let text)): path = text
            case (2, .string(let text)): interface = text
            case (3, .string(let text)): member = text
            case (4, .string(let text)): errorName = text
            case (5, .uint32(let number)): replySerial = number
            case (6, .string(let text)): destination = text
            case (7, .string(let text)): sender = text
            case (8, .signature(let text)): signature = text
            default: continue
            }
        }
        var content = DBusReader(bytes, from: (reader.position + 7) / 8 * 8)
        guard let body = content.values(signature) else { return nil }
        self.body = body
    }
}
