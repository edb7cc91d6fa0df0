package import CredentialCore
import Glibc

/// The clock of the system.
package struct SystemClock: WallClock {
    /// Makes a clock.
    package init() {}

    /// The time now.
    package var now: Timestamp {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(epochSeconds: Int64(time.tv_sec))
    }
}

/// The clock that also counts while the machine sleeps, and waiting by it.
package enum SystemTime {
    /// Milliseconds since the machine was started.
    package static var sinceBoot: Int64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Waits for so many milliseconds.
    package static func pause(milliseconds: Int64) {
        var wanted = timespec(tv_sec: Int(milliseconds / 1_000), tv_nsec: Int(milliseconds % 1_000) * 1_000_000)
        var left = timespec()
        while unsafe nanosleep(&wanted, &left) != 0, errno == EINTR { wanted = left }
    }
}

/// The host name of this machine.
package enum SystemName {
    /// Its host name; empty if it has no name.
    package static var host: String {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Elapsed time, independent of changes to the wall clock.
package struct Stopwatch: Sendable {
    private let start: Int64

    /// Starts now.
    package init() { start = Self.milliseconds() }

    /// Milliseconds since the start.
    package var elapsed: Int64 { Self.milliseconds() - start }

    private static func milliseconds() -> Int64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

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
