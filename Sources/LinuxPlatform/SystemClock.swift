package import CredentialCore
import Glibc

/// The clock of the system.
package struct SystemClock: WallClock {
    /// Makes a clock.
    package init() {}

    /// The time now.
    package var now: Instant {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Instant(epochSeconds: Int64(time.tv_sec))
    }
}
