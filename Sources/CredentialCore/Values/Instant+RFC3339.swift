extension Instant {
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
