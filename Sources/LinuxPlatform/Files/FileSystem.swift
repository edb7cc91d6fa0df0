import Glibc

/// What a file system says of itself.
package enum FileSystem {
    /// The room, in bytes, below which it counts as full: a small store and its journal need that much.
    private static let least: UInt64 = 64 << 10

    /// Why nothing can be written at `path`; `nil` where nothing speaks against it.
    package static func refusal(at path: String) -> String? {
        var facts = statvfs()
        guard unsafe statvfs(path, &facts) == 0 else { return nil }
        if facts.f_flag & UInt(ST_RDONLY) != 0 { return "the file system is read-only" }
        // One that does not know its size is not full.
        guard facts.f_blocks > 0 else { return nil }
        let (room, overflow) = UInt64(facts.f_bavail).multipliedReportingOverflow(by: UInt64(facts.f_frsize))
        return overflow || room >= least ? nil : "the file system is full"
    }
}
