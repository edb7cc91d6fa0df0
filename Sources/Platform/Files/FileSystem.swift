package import CredentialCore
import Glibc

/// The properties that a file system reports.
package enum FileSystem {
    /// The room, in bytes, below which it counts as full: a small store and its journal need that much.
    private static let least: UInt64 = 64 << 10

    /// The room, in bytes and in files, below which it soon will be full.
    private static let scarce: (bytes: UInt64, files: UInt64) = (16 << 20, 1_000)

    /// The little space that is left at `path`, as a text for the user; `nil` if there is plenty.
    package static func scarceRoom(at path: String) -> LocalizedMessage? {
        var facts = statvfs()
        guard unsafe statvfs(path, &facts) == 0, facts.f_blocks > 0 else { return nil }
        let (room, overflow) = UInt64(facts.f_bavail).multipliedReportingOverflow(by: UInt64(facts.f_frsize))
        if !overflow, room < scarce.bytes { return "\(room >> 10) KiB are left" }
        // A file system that makes files as they are needed reports a count of 0.
        if facts.f_files > 0, facts.f_favail < scarce.files { return "room for \(facts.f_favail) files is left" }
        return nil
    }

    /// Why it is impossible to write at `path`; `nil` if it is possible.
    package static func refusal(at path: String) -> LocalizedMessage? {
        var facts = statvfs()
        guard unsafe statvfs(path, &facts) == 0 else { return nil }
        if facts.f_flag & UInt(ST_RDONLY) != 0 { return "the file system is read-only" }
        // One that does not know its size is not full.
        guard facts.f_blocks > 0 else { return nil }
        let (room, overflow) = UInt64(facts.f_bavail).multipliedReportingOverflow(by: UInt64(facts.f_frsize))
        return overflow || room >= least ? nil : "the file system is full"
    }
}
