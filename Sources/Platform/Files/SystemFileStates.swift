package import CredentialCore
import Glibc

/// The states of files of this machine.
package struct SystemFileStates: FileStates {
    /// Makes a view; costs nothing.
    package init() {}

    package func state(of path: String) -> FileState? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return FileState(
            device: Int64(bitPattern: UInt64(status.st_dev)), inode: Int64(bitPattern: UInt64(status.st_ino)),
            size: Int64(status.st_size), modified: Self.nanoseconds(status.st_mtim),
            changed: Self.nanoseconds(status.st_ctim))
    }

    package var time: Int64 {
        var time = timespec()
        // The clock that the kernel stamps files with.
        _ = unsafe clock_gettime(CLOCK_REALTIME_COARSE, &time)
        return Self.nanoseconds(time)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
