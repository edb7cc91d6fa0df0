/// Times as people write them, the same in options and in `config.json`.
package enum DurationText {
    /// The longest one: a year, in seconds.
    package static let longest: Int64 = 31_536_000

    /// The seconds of `90`, `90s`, `30m`, `8h` or `2d`; `nil` for another text, and beyond ``longest``.
    package static func seconds(_ text: String) -> Int64? {
        let factor: Int64? =
            switch text.utf8.last {
            case UInt8(ascii: "s"): 1
            case UInt8(ascii: "m"): 60
            case UInt8(ascii: "h"): 3_600
            case UInt8(ascii: "d"): 86_400
            default: nil
            }
        let digits = factor == nil ? text[...] : text.dropLast()
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits),
            case let (seconds, overflow) = number.multipliedReportingOverflow(by: factor ?? 1), !overflow,
            seconds <= longest
        else { return nil }
        return seconds
    }

    /// A time of some minutes or more, rounded down to one unit: `59 min`, `3 h`, `2 days`.
    package static func approximate(_ seconds: Int64) -> LocalizedMessage {
        switch seconds {
        case ..<7_200: return "\(seconds / 60) min"
        case ..<172_800: return "\(seconds / 3_600) h"
        default:
            let days = seconds / 86_400
            return "\(Int(days), one: "\(days) day", other: "\(days) days")"
        }
    }

    /// `8 h`, `90 min`, `45 s`.
    package static func shown(_ seconds: Int64) -> String {
        if seconds % 3_600 == 0 { return "\(seconds / 3_600) h" }
        return seconds % 60 == 0 ? "\(seconds / 60) min" : "\(seconds) s"
    }
}
