import Glibc

/// Times in the time zone of this machine.
package enum LocalTime {
    /// A time as `2026-11-21 04:05:06`.
    package static func text(epochSeconds: Int64) -> String {
        var time = time_t(epochSeconds)
        var parts = unsafe tm()
        unsafe localtime_r(&time, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return unsafe "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) "
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    }
}
