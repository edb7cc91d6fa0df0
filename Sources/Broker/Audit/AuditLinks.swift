/// The members of a line that join it to the lines around it, read without parsing the rest.
///
/// The chain covers each byte of the rest, so a verification reads only these.
public struct AuditLinks: Sendable, Equatable {
    /// The time, as ``AuditTime`` writes it.
    public let time: String
    /// The number of the line.
    public let number: Int64
    /// Whether the line is of a start of the broker.
    public let isStart: Bool
    /// The digest of the line before.
    public let previous: String

    private static let beginning = Array("{\"t\":\"".utf8)
    private static let second = Array("\",\"n\":".utf8)
    private static let third = Array(",\"broker\":\"".utf8)
    private static let what = Array("\",\"what\":\"".utf8)
    private static let start = Array("start\"".utf8)
    private static let last = Array(",\"p\":\"".utf8)
    private static let ending = Array("\"}".utf8)

    /// Reads a line without its newline; `nil` for a line that the log did not write whole.
    public init?(_ line: [UInt8]) {
        let tail = Self.last.count + AuditLine.previousLength + Self.ending.count
        var place = Self.beginning.count + AuditTime.length
        guard line.count < AuditLine.limit, line.count > place + tail, line.starts(with: Self.beginning),
            line[place...].starts(with: Self.second)
        else { return nil }
        time = String(decoding: line[Self.beginning.count..<place], as: UTF8.self)
        place += Self.second.count
        let digits = line[place...].prefix(19, while: { (0x30...0x39).contains($0) })
        guard let number = Int64(String(decoding: digits, as: UTF8.self)), number > 0 else { return nil }
        self.number = number
        place += digits.count
        guard line[place...].starts(with: Self.third) else { return nil }
        place += Self.third.count
        // The name of a broker has no character that JSON escapes.
        guard let quote = line[place...].firstIndex(of: UInt8(ascii: "\"")),
            line[quote...].starts(with: Self.what)
        else { return nil }
        isStart = line[(quote + Self.what.count)...].starts(with: Self.start)
        let end = line.count - tail
        guard line[end...].starts(with: Self.last), line[(line.count - Self.ending.count)...].elementsEqual(Self.ending)
        else { return nil }
        let digest = line[(end + Self.last.count)..<(line.count - Self.ending.count)]
        guard digest.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }) else { return nil }
        previous = String(decoding: digest, as: UTF8.self)
    }
}

extension ArraySlice<UInt8> {
    fileprivate func prefix(_ count: Int, while accepts: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        prefix(count).prefix(while: accepts)
    }
}
