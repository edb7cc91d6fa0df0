package import CredentialCore
import Glibc

/// The user's directory of short-lived files, in memory if the machine is set up as usual:
/// `$XDG_RUNTIME_DIR/credmgr`, else `/run/user/UID/credmgr`, else `/dev/shm/credmgr-UID`.
///
/// No file in it is ever synced. The owner of the folder is checked; the kind of its file system is not.
package struct RuntimeDirectory: ~Copyable, Sendable {
    /// The folder itself.
    package let folder: PrivateDirectory

    /// A file in it.
    package struct Entry: Sendable {
        /// Its name.
        package var name: String
        /// The memory it takes, in bytes: whole pages.
        package var size: Int
        /// When it is of no more use.
        package var end: Timestamp
    }

    private static let pageSize = 4096
    /// A size that holds nearly every file.
    private static let usualSize = 8192

    /// The directory, if it is there and no other user can write in it.
    ///
    /// - Parameter runtime: `$XDG_RUNTIME_DIR`.
    package static func open(runtime: String?) -> RuntimeDirectory? {
        for place in 0...2 {
            guard let (base, name) = location(place, runtime), isTrusted(base, isShared: place == 2) else {
                continue
            }
            if let folder = try? PrivateDirectory.open([name], below: base) {
                return RuntimeDirectory(folder: folder)
            }
            // If the next file would be created at this place, no file is cached yet: files in a later place were
            // left there when this place was missing.
            if unsafe access(base + "/" + name, F_OK) != 0, unsafe access(base, W_OK) == 0 { return nil }
        }
        return nil
    }

    /// The directory, made if it is missing; `nil` if the machine has no place for it.
    ///
    /// - Parameter runtime: `$XDG_RUNTIME_DIR`.
    package static func make(runtime: String?) -> RuntimeDirectory? {
        for place in 0...2 {
            guard let (base, name) = location(place, runtime), isTrusted(base, isShared: place == 2),
                let folder = try? PrivateDirectory.create([name], below: base)
            else { continue }
            return RuntimeDirectory(folder: folder)
        }
        return nil
    }

    /// The directory in which the folder is put; `nil` for a place that this user has not.
    ///
    /// - Parameter place: 0 to 2, in the order in which they are tried; the last one is shared by all users.
    static func base(_ place: Int, _ runtime: String?) -> String? { location(place, runtime)?.base }

    private static func location(_ place: Int, _ runtime: String?) -> (base: String, name: String)? {
        switch place {
        case 0: runtime.flatMap { $0.utf8.first == UInt8(ascii: "/") ? ($0, "credmgr") : nil }
        case 1: ("/run/user/\(getuid())", "credmgr")
        // Shared memory belongs to all users: the name says whose the folder is, and its owner is checked.
        default: ("/dev/shm", "credmgr-\(getuid())")
        }
    }

    /// Whether only the user and root can replace the entries of `base`.
    static func isTrusted(_ base: String, isShared: Bool) -> Bool {
        var status = stat()
        guard unsafe stat(base, &status) == 0 else { return false }
        return isShared
            ? status.st_uid == 0 && (status.st_mode & 0o022 == 0 || status.st_mode & S_ISVTX != 0)
            : status.st_uid == geteuid() && status.st_mode & 0o022 == 0
    }

    // MARK: Files, named by a path below the folder

    /// The content of a file; `nil` if there is no file or it is larger than `limit`.
    package borrowing func read(_ path: String, limit: Int) -> [UInt8]? {
        let number = unsafe openat(
            folder.descriptor.number, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        if number < 0 { return nil }
        let file = FileDescriptor(owning: number)
        let usual = min(limit + 1, Self.usualSize)
        let first = file.read(usual, at: 0)
        // A short read has reached the end of the file: no process writes into a file that has its final name.
        if first.count < usual { return first }
        guard let content = file.readAll(limit: limit, expected: 2 * usual) else { return nil }
        return content.count <= limit ? content : nil
    }

    /// Puts a file in its place, whole; a reader sees the old one or the new one.
    ///
    /// - Parameter end: when it is of no more use.
    /// - Returns: whether it is there; a full file system is the usual reason why not.
    package borrowing func put(_ content: [UInt8], at path: String, end: Timestamp) -> Bool {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return false }
        makeFolders(path)
        let temporary = path[...slash] + "." + SystemRandom().accountID()
        let number = unsafe openat(
            folder.descriptor.number, String(temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600
        )
        if number < 0 { return false }
        let file = FileDescriptor(owning: number)
        // The time of a file is its end: a process that sweeps need not open it.
        let times = [
            timespec(tv_sec: Int(clamping: end.epochSeconds), tv_nsec: 0),
            timespec(tv_sec: Int(clamping: end.epochSeconds), tv_nsec: 0),
        ]
        if file.writeAll(content) == 0, unsafe futimens(number, times) == 0,
            unsafe renameat(folder.descriptor.number, String(temporary), folder.descriptor.number, path) == 0
        {
            return true
        }
        _ = unsafe unlinkat(folder.descriptor.number, String(temporary), 0)
        return false
    }

    /// Removes a file; one that is not there is as good as removed.
    package borrowing func remove(_ path: String) { _ = unsafe unlinkat(folder.descriptor.number, path, 0) }

    /// The names in a directory; empty if there is no such directory.
    package borrowing func names(in path: String) -> [String] {
        let number = unsafe openat(
            folder.descriptor.number, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if number < 0 { return [] }
        return (try? FileNames.inFolder(FileDescriptor(owning: number), path: path)) ?? []
    }

    /// The files in a folder.
    package borrowing func entries(in path: String) -> [Entry] {
        var entries: [Entry] = []
        for name in names(in: path) {
            var status = stat()
            guard
                unsafe fstatat(folder.descriptor.number, path + "/" + name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG
            else { continue }
            let pages = (Int(status.st_size) + Self.pageSize - 1) / Self.pageSize
            entries.append(
                Entry(
                    name: name, size: max(1, pages) * Self.pageSize,
                    end: Timestamp(epochSeconds: Int64(status.st_mtim.tv_sec))))
        }
        return entries
    }

    /// Removes a folder with all that is in it.
    package borrowing func removeFolder(_ path: String) {
        for name in names(in: path) where unsafe unlinkat(folder.descriptor.number, path + "/" + name, 0) != 0 {
            removeFolder(path + "/" + name)
        }
        _ = unsafe unlinkat(folder.descriptor.number, path, AT_REMOVEDIR)
    }

    private borrowing func makeFolders(_ path: String) {
        for place in path.utf8.indices where path.utf8[place] == UInt8(ascii: "/") {
            _ = unsafe mkdirat(folder.descriptor.number, String(path[..<place]), 0o700)
        }
    }
}
