/// A point in time in whole seconds since 1970-01-01T00:00:00Z, as OAuth counts it.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Seconds since the epoch.
    public let epochSeconds: Int64

    /// Makes an instant.
    public init(epochSeconds: Int64) { self.epochSeconds = epochSeconds }

    /// Whether `left` comes first.
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.epochSeconds < right.epochSeconds }

    /// The instant `seconds` later; beyond the range of 64 bits it stays at the end of the range.
    public func adding(_ seconds: Int64) -> Timestamp {
        let (sum, overflow) = epochSeconds.addingReportingOverflow(seconds)
        return Timestamp(epochSeconds: overflow ? (seconds > 0 ? .max : .min) : sum)
    }

    /// The seconds from `earlier` to this instant; beyond the range of 64 bits it stays at the end of the range.
    public func seconds(since earlier: Timestamp) -> Int64 {
        let (difference, overflow) = epochSeconds.subtractingReportingOverflow(earlier.epochSeconds)
        return overflow ? (epochSeconds > earlier.epochSeconds ? .max : .min) : difference
    }

    /// As RFC 3339 in UTC with whole seconds: `2026-11-21T08:30:00Z`. Years outside 0…9999 are cut to that range.
    public var rfc3339: String {
        let seconds = min(max(epochSeconds, -62_167_219_200), 253_402_300_799)
        let time = (seconds % 86_400 + 86_400) % 86_400
        let day = (seconds - time) / 86_400
        // Howard Hinnant's civil-from-days: exact in the proleptic Gregorian calendar.
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        // Byte by byte: a list of accounts has some for each.
        var text: [UInt8] = []
        text.reserveCapacity(20)
        Self.append(year, 4, "-", to: &text)
        Self.append(month, 2, "-", to: &text)
        Self.append(dayOfMonth, 2, "T", to: &text)
        Self.append(time / 3_600, 2, ":", to: &text)
        Self.append(time / 60 % 60, 2, ":", to: &text)
        Self.append(time % 60, 2, "Z", to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// - Parameter number: from 0 on, of `width` digits at most.
    private static func append(_ number: Int64, _ width: Int, _ end: Unicode.Scalar, to text: inout [UInt8]) {
        var place: Int64 = 1
        for _ in 1..<width { place *= 10 }
        while place > 0 {
            text.append(UInt8(ascii: "0") + UInt8(number / place % 10))
            place /= 10
        }
        text.append(UInt8(ascii: end))
    }
}

extension Timestamp {
    /// Reads the form that ``rfc3339`` writes: UTC with whole seconds, `2026-11-21T08:30:00Z`.
    ///
    /// - Returns: `nil` for any other text, also for a day that the calendar does not have.
    public init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        let pattern = Array("0000-00-00T00:00:00Z".utf8)
        guard bytes.count == pattern.count else { return nil }
        var fields: [Int64] = [0]
        for (byte, expected) in zip(bytes, pattern) {
            if expected == UInt8(ascii: "0") {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                fields[fields.count - 1] = fields[fields.count - 1] * 10 + Int64(byte - UInt8(ascii: "0"))
            } else {
                guard byte == expected else { return nil }
                fields.append(0)
            }
        }
        let (year, month, day) = (fields[0], fields[1], fields[2])
        // Howard Hinnant's days-from-civil: exact in the proleptic Gregorian calendar.
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        self.init(epochSeconds: days * 86_400 + fields[3] * 3_600 + fields[4] * 60 + fields[5])
        // A field out of range, such as 31 February, comes back as another date.
        if rfc3339 != text { return nil }
    }
}
