import CredentialCore

/// A fault in the head of a request; the connection is closed after it.
enum HTTPHeadFault: Error, Hashable {
    /// The head breaks RFC 9112, or has a form that this server does not accept.
    case malformed
    /// The head has more than ``HTTPRequestHead/limit`` bytes.
    case tooLarge
}

/// The head of an HTTP/1 request (RFC 9112), without anything that two parsers could read in different ways.
///
/// Not accepted: a bare LF or CR, folded fields, spaces before a colon, control characters, `Transfer-Encoding`, a
/// body, and a second `Content-Length` or `Host`.
struct HTTPRequestHead: Sendable, Equatable {
    /// The most that a head has, in bytes.
    static let limit = 16 << 10

    /// The method, such as `GET`.
    let method: String
    /// The path without its percent-encoding.
    let path: String
    /// The parameters of the query, in order, without their percent-encoding.
    let query: [Parameter]
    /// Whether the client keeps the connection open.
    let isPersistent: Bool
    private let fields: [Parameter]

    /// A name and its value.
    struct Parameter: Sendable, Hashable {
        let name: String
        let value: String
    }

    /// Returns the length of the head at the start of `bytes`, with its empty line; `nil` if the end is not there
    /// yet.
    ///
    /// - Parameter start: the bytes that were looked at before.
    /// - Throws: ``HTTPHeadFault`` as soon as the bytes cannot become a head.
    static func length(in bytes: [UInt8], from start: Int = 0) throws(HTTPHeadFault) -> Int? {
        var index = max(0, start - 3)
        while index < bytes.count {
            if index >= limit { throw .tooLarge }
            let byte = bytes[index]
            if byte == 0 { throw .malformed }
            if byte == 0x0A, index == 0 || bytes[index - 1] != 0x0D { throw .malformed }
            if byte != 0x0A, index > 0, bytes[index - 1] == 0x0D { throw .malformed }
            if byte == 0x0A, index >= 3, bytes[index - 2] == 0x0A { return index + 1 }
            index += 1
        }
        return nil
    }

    /// Reads a head that ``length(in:from:)`` found.
    ///
    /// - Throws: ``HTTPHeadFault/malformed``.
    init(_ bytes: some Collection<UInt8>) throws(HTTPHeadFault) {
        guard let text = String(validating: Array(bytes), as: UTF8.self) else { throw .malformed }
        // A Swift character may be CR and LF together, so the lines are those of the bytes.
        var lines: [String] = []
        for line in text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false) {
            lines.append(String(Substring(line.last == 0x0D ? line.dropLast() : line)))
        }
        guard let request = lines.first else { throw .malformed }
        let words = request.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 3, Self.isToken(words[0]), words[1].hasPrefix("/"),
            words[1].utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0"
        else { throw .malformed }
        method = words[0]
        let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = Self.decoded(target[0], plusIsSpace: false) else { throw .malformed }
        self.path = path
        query = target.count > 1 ? try Self.parameters(target[1]) : []

        var fields: [Parameter] = []
        for line in lines.dropFirst() where !line.isEmpty {
            guard let colon = line.utf8.firstIndex(of: 0x3A) else { throw .malformed }
            let name = String(line[..<colon])
            let value = Self.trimmed(line[line.utf8.index(after: colon)...])
            guard Self.isToken(name), value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw .malformed
            }
            fields.append(Parameter(name: name.lowercased(), value: value))
        }
        func values(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
        let lengths = values("content-length")
        guard lengths.count <= 1, lengths.allSatisfy({ $0 == "0" }), values("host").count <= 1,
            values("transfer-encoding").isEmpty
        else { throw .malformed }
        self.fields = fields
        let options = values("connection").flatMap { $0.split(separator: ",") }
            .map { Self.trimmed($0).lowercased() }
        isPersistent =
            words[2] == "HTTP/1.1" ? !options.contains("close") : options.contains("keep-alive")
    }

    /// The value of a field that occurs once; `nil` if the field is missing or occurs more than once.
    ///
    /// - Parameter name: in lower case.
    func field(_ name: String) -> String? {
        let found = fields.filter { $0.name == name }
        return found.count == 1 ? found[0].value : nil
    }

    /// Whether the head has a field.
    ///
    /// - Parameter name: in lower case.
    func has(_ name: String) -> Bool { fields.contains { $0.name == name } }

    /// The value of a parameter that occurs once; `nil` if the parameter is missing, is empty or occurs more than
    /// once.
    func parameter(_ name: String) -> String? {
        let found = query.filter { $0.name == name }
        return found.count == 1 && !found[0].value.isEmpty ? found[0].value : nil
    }

    /// Whether a parameter occurs more than once.
    func repeats(_ name: String) -> Bool { query.count { $0.name == name } > 1 }

    private static func parameters(_ text: Substring) throws(HTTPHeadFault) -> [Parameter] {
        var found: [Parameter] = []
        // `&` may come first: the URL for Actions ends with `?`, and its client adds `&audience=`.
        for piece in text.split(separator: "&") {
            let sides = piece.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decoded(sides[0], plusIsSpace: true),
                let value = decoded(sides.count > 1 ? sides[1] : "", plusIsSpace: true)
            else { throw .malformed }
            found.append(Parameter(name: name, value: value))
        }
        return found
    }

    /// A token (RFC 9110 §5.6.2).
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"(),/:;<=>?@[\\]{}".utf8.contains($0) }
    }

    private static func trimmed(_ text: Substring) -> String {
        var bytes = text.utf8
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes = bytes.dropFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes = bytes.dropLast() }
        return String(Substring(bytes))
    }

    /// Decodes percent-encoding; `nil` for an incomplete one, for control characters and for bytes that are not
    /// UTF-8.
    private static func decoded(_ text: Substring, plusIsSpace: Bool) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
