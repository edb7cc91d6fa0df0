package import CredentialCore

/// The date of an HTTP reply (RFC 9110 §5.6.7), in the one form that servers may send today.
package enum HTTPDate {
    /// The instant of `Sun, 06 Nov 1994 08:49:37 GMT`; `nil` for anything else.
    package static func instant(_ text: String) -> Instant? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[5] == "GMT", parts[0].hasSuffix(","),
            let day = number(parts[1], 2), (1...31).contains(day),
            let month = months.firstIndex(of: String(parts[2])),
            let year = number(parts[3], 4)
        else { return nil }
        let clock = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = number(clock[0], 2), hour < 24, let minute = number(clock[1], 2),
            minute < 60, let second = number(clock[2], 2), second <= 60
        else { return nil }
        // Howard Hinnant's days-from-civil: exact in the proleptic Gregorian calendar.
        let shifted = year - (month < 2 ? 1 : 0)
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * ((month + 10) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = Int64(era * 146_097 + dayOfEra - 719_468)
        return Instant(epochSeconds: days * 86_400 + Int64(hour * 3_600 + minute * 60 + second))
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func number(_ text: Substring, _ digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }
}
