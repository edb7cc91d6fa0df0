import LinuxPlatform

/// The time of this machine.
enum SystemTime {
    /// Seconds since the epoch.
    static var now: Int64 { SystemClock().now.epochSeconds }
}
