import CLinux

/// How a short-lived process uses its memory.
package enum ProcessMemory {
    /// Makes all threads allocate from one arena. A thread that gets an arena of its own pays for a new mapping and then
    /// for each few kilobytes that it grows by, which is more than our few threads lose by waiting for each other.
    package static func shareOneArena() { linux_limit_arenas_to_one() }
}
