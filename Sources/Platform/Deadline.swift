import Glibc

/// A point on the monotonic clock by which something must have ended; changes of the wall clock do not move it.
package struct Deadline: Sendable {
    private let nanoseconds: Int64

    /// The point `milliseconds` from now.
    package init(milliseconds: Int32) {
        nanoseconds = Self.now() + Int64(max(0, milliseconds)) * 1_000_000
    }

    private init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The point `milliseconds` before this one.
    package func earlier(milliseconds: Int32) -> Deadline {
        Deadline(nanoseconds: nanoseconds - Int64(milliseconds) * 1_000_000)
    }

    /// Milliseconds left, rounded up; 0 when it has passed.
    package var remainingMilliseconds: Int32 {
        let left = nanoseconds - Self.now()
        return left <= 0 ? 0 : Int32(clamping: (left + 999_999) / 1_000_000)
    }

    /// Whether it has passed.
    package var hasPassed: Bool { Self.now() >= nanoseconds }

    /// The same point as `CLOCK_MONOTONIC` counts it.
    var timespec: Glibc.timespec {
        Glibc.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    private static func now() -> Int64 {
        var time = Glibc.timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
