import CLinux
import Glibc

/// How a short-lived process uses its memory.
package enum ProcessMemory {
    /// Makes all threads allocate from one arena. A thread that gets an arena of its own pays for a new mapping and
    /// then for each few kilobytes that it grows by. That is more than our few threads lose by waiting for each
    /// other.
    package static func shareOneArena() { linux_limit_arenas_to_one() }

    /// Has glibc overwrite memory that is freed, so that a secret in it does not stay until the process ends.
    package static func overwriteFreed() { linux_overwrite_freed_memory() }

    /// Overwrites the small pieces that glibc keeps for this thread's next use without touching them (its "tcache":
    /// seven of each size up to 1,032 bytes).
    package static func overwriteKept() {
        for size in stride(from: 24, through: 1_032, by: 16) {
            unsafe withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer?.self, capacity: 7) { pieces in
                for index in 0..<7 {
                    unsafe pieces.initializeElement(at: index, to: malloc(size))
                    if let piece = unsafe pieces[index] { unsafe explicit_bzero(piece, size) }
                }
                for index in 0..<7 { unsafe free(pieces[index]) }
            }
        }
    }
}
