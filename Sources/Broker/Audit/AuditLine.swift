import CredentialCore
import StrictJSON

/// The text of one event in the audit log: a JSON object without a newline, with its members in a fixed order.
public struct AuditLine: Sendable {
    /// The greatest length in bytes, with the newline.
    public static let limit = 4_096
    /// The value of `p` in the first line of a log.
    public static let firstPrevious = String(repeating: "0", count: previousLength)
    /// The digits of `p`.
    static let previousLength = 32
    /// The greatest length of a string in a line that would be too long, in bytes of JSON.
    private static let stringLimit = 384

    /// The event.
    public var event: AuditEvent
    /// The name of the broker.
    public var broker: String
    /// The number of the line, from 1.
    public var number: Int64
    /// The time in milliseconds since 1970-01-01T00:00:00Z.
    public var time: Int64
    /// The tag of the token, in hexadecimal digits.
    public var tag: String?
    /// The digest of the line before: see ``previous(of:_:)``.
    public var previous: String

    /// Makes a line.
    public init(
        _ event: AuditEvent, broker: String, number: Int64, time: Int64, tag: String? = nil, previous: String
    ) {
        self.event = event
        self.broker = broker
        self.number = number
        self.time = time
        self.tag = tag
        self.previous = previous
    }

    /// The bytes without a newline. If they would be too long, long strings are cut and end with "…".
    public var bytes: [UInt8] {
        let whole = JSONValue.object(json { $0 }).bytes()
        if whole.count < Self.limit { return whole }
        return JSONValue.object(json(Self.cut)).bytes()
    }

    private func json(_ shown: (String) -> String) -> JSONObject {
        func text(_ value: String?) -> JSONValue { value.map { .string(shown($0)) } ?? .null }
        var json = JSONObject()
        json["t"] = .string(AuditTime.text(milliseconds: time))
        json["n"] = .integer(number)
        json["broker"] = text(broker)
        json["what"] = .string(event.what.rawValue)
        json["entry"] = text(event.entry)
        json["account"] = text(event.account)
        json["origin"] = text(event.origin)
        json["caller"] = event.caller.map { .object(Self.json($0, text)) } ?? .null
        json["why"] = text(event.why)
        json["reason"] = text(event.reason)
        json["token"] = JSONValue(tag)
        json["p"] = .string(previous)
        return json
    }

    private static func json(_ caller: Caller, _ text: (String?) -> JSONValue) -> JSONObject {
        var json = JSONObject()
        json["uid"] = .integer(Int64(caller.uid))
        json["pid"] = .integer(Int64(caller.pid))
        json["start"] = JSONValue(caller.start.map { Int64(clamping: $0) })
        json["exe"] = text(caller.executable)
        json["cgroup"] = text(caller.cgroup)
        json["ssh"] = text(caller.ssh)
        json["key"] = .string(caller.key.kind.rawValue)
        return json
    }

    /// The beginning of a text whose JSON form fits.
    private static func cut(_ text: String) -> String {
        if JSONValue.string(text).bytes().count <= stringLimit { return text }
        var result = "", length = 8
        for scalar in text.unicodeScalars {
            // The quotation marks are in the length of the escaped scalar, so this counts too much, never too
            // little.
            length += JSONValue.string(String(scalar)).bytes().count - 2
            if length > stringLimit { break }
            result.unicodeScalars.append(scalar)
        }
        return result + "…"
    }

    /// The value of `p` for the line after `line`: the first 32 hexadecimal digits of its SHA-256.
    ///
    /// - Parameter sha256: the digest function.
    public static func previous(of line: [UInt8], _ sha256: ([UInt8]) -> [UInt8]) -> String {
        hexadecimal(sha256(line).prefix(previousLength / 2))
    }

    /// Bytes as lower-case hexadecimal digits.
    public static func hexadecimal(_ bytes: some Collection<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

/// Times in the audit log: RFC 3339 in UTC with milliseconds, `2026-11-26T10:42:07.123Z`.
public enum AuditTime {
    /// The length of a time in characters.
    static let length = 24

    /// The text of a time in milliseconds since 1970-01-01T00:00:00Z.
    public static func text(milliseconds: Int64) -> String {
        let rest = (milliseconds % 1_000 + 1_000) % 1_000
        let seconds = (milliseconds - rest) / 1_000
        let digits = String(rest)
        return String(Timestamp(epochSeconds: seconds).rfc3339.dropLast()) + "."
            + String(repeating: "0", count: 3 - digits.utf8.count) + digits + "Z"
    }

    /// The month of a time, `2026-11`: the name of the file of its line.
    public static func month(milliseconds: Int64) -> String { String(text(milliseconds: milliseconds).prefix(7)) }
}
