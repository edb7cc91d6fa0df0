/// `application/x-www-form-urlencoded` as OAuth uses it (RFC 6749 appendix B, the WHATWG URL standard §5).
package enum FormURLEncoding {
    /// One name with its value, decoded.
    package typealias Field = (name: String, value: String)

    /// Encodes one name or value: everything but letters, digits and `*-._` is escaped, a space becomes `+`.
    package static func encode(_ text: String) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"):
                output.append(byte)
            case UInt8(ascii: " "):
                output.append(UInt8(ascii: "+"))
            default:
                output.append(UInt8(ascii: "%"))
                output.append(hexadecimal[Int(byte >> 4)])
                output.append(hexadecimal[Int(byte & 15)])
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Encodes fields in their order.
    package static func encode(_ fields: [Field]) -> String {
        fields.map { encode($0.name) + "=" + encode($0.value) }.joined(separator: "&")
    }

    /// Decodes fields: split at `&`, each at its first `=`, `+` read as a space.
    ///
    /// - Returns: `nil` when an escape is broken or the result is not UTF-8.
    package static func decode(_ text: some StringProtocol) -> [Field]? {
        var fields: [Field] = []
        for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decodeOne(halves[0]),
                let value = decodeOne(halves.count > 1 ? halves[1] : halves[0][..<halves[0].startIndex])
            else { return nil }
            fields.append((name, value))
        }
        return fields
    }

    /// Decodes fields as ``decode(_:)`` does, each by itself: the unreadable parts of a value are kept as they
    /// came, or as U+FFFD.
    ///
    /// - Parameter strict: the names of fields whose value is `nil` when it cannot be read.
    static func decodeLeniently(
        _ text: some StringProtocol, strict: Set<String>
    ) -> [(name: String, value: String?)] {
        text.utf8.split(separator: UInt8(ascii: "&")).compactMap { pair in
            let halves = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decodeOne(halves[0]) else { return nil }
            let value = halves.count > 1 ? halves[1] : halves[0][..<halves[0].startIndex]
            if let decoded = decodeOne(value) { return (name, decoded) }
            return (name, strict.contains(name) ? nil : repaired(value))
        }
    }

    private static func repaired(_ bytes: some Collection<UInt8>) -> String {
        let bytes = Array(bytes)
        var output: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = digit(bytes[index + 1]),
                let low = digit(bytes[index + 2])
            {
                output.append(high << 4 | low)
                index += 3
            } else {
                output.append(bytes[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : bytes[index])
                index += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func decodeOne(_ bytes: some Collection<UInt8>) -> String? {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var iterator = bytes.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "+"):
                output.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = iterator.next().flatMap(digit), let low = iterator.next().flatMap(digit) else {
                    return nil
                }
                output.append(high << 4 | low)
            default:
                output.append(byte)
            }
        }
        return String(validating: output, as: UTF8.self)
    }

    private static let hexadecimal = Array("0123456789ABCDEF".utf8)

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init)
    }
}

extension [FormURLEncoding.Field] {
    /// These and, in the order of their names, the parameters of a type whose names are not among these.
    func completed(by extra: [String: String]) -> [FormURLEncoding.Field] {
        let names = Set(map(\.name))
        return self + extra.filter { !names.contains($0.key) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
