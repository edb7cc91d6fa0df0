import CLinux
package import CredentialCore
import Glibc

/// The metadata that `lstat(2)` returns for a file, for code that manages files and does not read them.
package struct FileStatus: Sendable {
    /// The kind of the file.
    package let kind: Kind
    /// Whether it belongs to the user.
    package let isOwn: Bool
    /// Whether others may read a file of it, or write in a folder of it.
    package let isOpenToOthers: Bool
    /// When its content changed last, in seconds since 1970.
    package let modified: Int64
    /// How many bytes it has.
    package let size: Int64
    /// Whether no user can change it, or only at its end, until an administrator allows it (chattr(1)).
    package let isImmutable: Bool

    /// The kind of a file.
    package enum Kind: Sendable {
        /// A plain file.
        case file
        /// A folder.
        case folder
        /// A link, a socket, a device.
        case other
    }

    /// The status of the entry at `path` itself, following no link; `nil` if there is no such file.
    package static func of(_ path: String) -> FileStatus? {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .folder
            default: .other
            }
        // The same rules as when they are opened: see `PrivateDirectory`.
        let forbidden: mode_t = kind == .folder ? 0o022 : 0o077
        return FileStatus(
            kind: kind, isOwn: status.st_uid == geteuid(), isOpenToOthers: status.st_mode & forbidden != 0,
            modified: Int64(status.st_mtim.tv_sec), size: Int64(status.st_size),
            isImmutable: unsafe linux_is_immutable(path) != 0)
    }

    /// Takes every right on a file or folder from everybody but its owner.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, also when it is a link.
    package static func close(_ path: String) throws(CredentialError) {
        let number = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { throw .system("cannot open", path, number: errno) }
        let file = FileDescriptor(owning: number)
        guard let status = file.status(), fchmod(number, status.st_mode & 0o700) == 0 else {
            throw .system("cannot change the mode of", path, number: errno)
        }
    }

    /// Removes a file.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package static func remove(_ path: String) throws(CredentialError) {
        if unsafe unlink(path) != 0, errno != ENOENT { throw .system("cannot remove", path, number: errno) }
    }
}

/// The states of files of this machine.
package struct SystemFileStates: FileStamps {
    /// Makes a view; this costs no time.
    package init() {}

    package func state(of path: String) -> FileStamp? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return FileStamp(
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
