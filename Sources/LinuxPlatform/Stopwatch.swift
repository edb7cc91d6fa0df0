import Glibc

/// Time that passes, whatever happens to the clock on the wall.
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
