import Glibc

/// What a file looks like from outside.
package enum FileStatus {
    /// Device, inode, size, and the times of the last change of content and of status in nanoseconds; `nil` where
    /// there is no such file. Equal numbers mean an unchanged file.
    package static func numbers(of path: String) -> [Int64]? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return [
            Int64(bitPattern: UInt64(status.st_dev)), Int64(bitPattern: UInt64(status.st_ino)),
            Int64(status.st_size),
            nanoseconds(status.st_mtim), nanoseconds(status.st_ctim),
        ]
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
