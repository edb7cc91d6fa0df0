import CLinux
import CredentialCore
import Glibc

/// The directory and the name at which a file of the user's is written, with every symbolic link of the path
/// followed here and not by the kernel.
///
/// A link is followed only if the user or root owns it and every directory on the way, the target's too, and no
/// other user can write there. A sticky directory of root's, as `/tmp`, may be writable. Otherwise another user
/// could choose the file: `fs.protected_symlinks` covers sticky directories only, and may be off.
struct OutputPlace: ~Copyable {
    /// The directory, opened with `O_PATH`.
    let directory: FileDescriptor
    /// The name in it; no link, except when the directory is of `/proc`.
    let name: String
    /// Whether the directory is of `/proc`, as for `/dev/stdout` and `>(…)`: its links lead to open files.
    private let isOfProcesses: Bool

    /// How many links a path may have, as in the kernel (path_resolution(7)).
    private static let maximumLinks = 40

    /// Walks along a path.
    ///
    /// - Parameter makesDirectories: whether missing directories are made, mode 0700.
    /// - Throws: ``ErrorCode/denied`` for a link that is not followed, naming it and its owner;
    ///   ``ErrorCode/inputOutput``.
    init(of path: String, makesDirectories: Bool) throws(CredentialError) {
        var rest = Self.components(of: path)
        var links = 0
        var followed: String?
        var exposed: Exposure?
        var place = ""
        var directory = try Self.start(path, isAbsolute: path.hasPrefix("/"), of: path)
        if path.hasPrefix("/") { place = "/" }
        func look(at directory: borrowing FileDescriptor, _ place: String) throws(CredentialError) {
            exposed = exposed ?? Exposure(of: directory, place)
            guard let followed, let exposed else { return }
            throw exposed.refusal(of: path, link: followed)
        }
        try look(at: directory, place.isEmpty ? "." : place)
        while true {
            guard let next = rest.popLast() else { throw .system("cannot write", path, number: EISDIR) }
            let isLast = rest.isEmpty
            let isOfProcesses = linux_is_of_processes(directory.number) != 0
            var status = stat()
            let found = unsafe fstatat(directory.number, next, &status, AT_SYMLINK_NOFOLLOW) == 0
            let fault = errno
            let whole = place.isEmpty || place.hasSuffix("/") ? place + next : "\(place)/\(next)"
            if found, status.st_mode & S_IFMT == S_IFLNK, !(isLast && isOfProcesses) {
                links += 1
                guard links <= Self.maximumLinks else { throw .system("cannot write", path, number: ELOOP) }
                guard status.st_uid == geteuid() || status.st_uid == 0 else {
                    throw Self.refused(
                        path,
                        "\(CredentialError.shownPath(whole)) is a symbolic link of another user (uid \(status.st_uid))"
                    )
                }
                guard let target = Self.target(of: next, in: directory) else {
                    throw .system("cannot write", path, number: EINVAL)
                }
                followed = followed ?? whole
                if target.hasPrefix("/") {
                    directory = try Self.start(target, isAbsolute: true, of: path)
                    place = "/"
                }
                try look(at: directory, place.isEmpty ? "." : place)
                rest += Self.components(of: target)
                continue
            }
            if isLast, next != "..", next != "." {
                self.directory = directory
                self.name = next
                self.isOfProcesses = isOfProcesses
                return
            }
            guard found || fault == ENOENT && makesDirectories else {
                throw .system("cannot write", path, number: fault)
            }
            if !found {
                let made = unsafe mkdirat(directory.number, next, 0o700)
                if made != 0, errno != EEXIST { throw .system("cannot create", whole, number: errno) }
            }
            let number = unsafe openat(
                directory.number, next, linux_open_path | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard number >= 0 else { throw .system("cannot write", path, number: errno) }
            directory = FileDescriptor(owning: number)
            place = whole
            try look(at: directory, place)
        }
    }

    /// The status of the file at the place; `nil` if there is no file.
    borrowing func status() -> stat? {
        var status = stat()
        let found = unsafe fstatat(directory.number, name, &status, isOfProcesses ? 0 : AT_SYMLINK_NOFOLLOW)
        return found == 0 ? status : nil
    }

    /// Whether the file is mounted by itself, as containers are given single files: it can be written, and neither
    /// replaced nor removed.
    borrowing func isMounted() -> Bool { unsafe linux_is_mounted(directory.number, name) != 0 }

    /// Opens or makes the file.
    ///
    /// - Returns: the descriptor, or -1 with `errno` set.
    borrowing func open(_ flags: Int32, mode: mode_t) -> Int32 {
        unsafe openat(directory.number, name, flags | (isOfProcesses ? 0 : O_NOFOLLOW), mode)
    }

    /// Refuses a regular file that another user made in a sticky directory for all: its maker could read the
    /// written data. The kernel's `fs.protected_regular` does the same if it is on.
    ///
    /// - Throws: ``ErrorCode/denied``.
    borrowing func checkMaker(of file: borrowing FileDescriptor, _ path: String) throws(CredentialError) {
        guard !isOfProcesses, let above = directory.status(), let status = file.status(),
            status.st_mode & S_IFMT == S_IFREG, above.st_mode & S_ISVTX != 0, above.st_mode & 0o002 != 0,
            status.st_uid != geteuid(), status.st_uid != above.st_uid
        else { return }
        throw CredentialError(
            .denied,
            "cannot write \(CredentialError.shownPath(path)): it belongs to another user (uid \(status.st_uid))",
            hint: "name a file in a directory of your own")
    }

    /// A directory in which a user other than the user and root can exchange the target of a link.
    private struct Exposure {
        let place: String
        let owner: uid_t

        /// Gives `nil` for a directory that only the user and root can change.
        init?(of directory: borrowing FileDescriptor, _ place: String) {
            guard let status = directory.status() else { return nil }
            // The group may write if it is the user's private group.
            let writers: mode_t = status.st_gid == status.st_uid ? 0o002 : 0o022
            let isOurs = status.st_uid == geteuid() || status.st_uid == 0
            let isSticky = status.st_uid == 0 && status.st_mode & S_ISVTX != 0
            guard !isOurs || status.st_mode & writers != 0 && !isSticky else { return nil }
            (self.place, owner) = (place, status.st_uid)
        }

        func refusal(of path: String, link: String) -> CredentialError {
            OutputPlace.refused(
                path,
                "credmgr does not follow the symbolic link \(CredentialError.shownPath(link)), since other users "
                    + "can write in \(CredentialError.shownPath(place)) (uid \(owner))"
            )
        }
    }

    private static func refused(_ path: String, _ reason: LocalizedMessage) -> CredentialError {
        CredentialError(
            .denied, "cannot write \(CredentialError.shownPath(path)): \(reason)",
            hint: "name the file itself, without symbolic links")
    }

    /// The components of a path, the last one first.
    private static func components(of path: String) -> [String] {
        var components = path.split(separator: "/").filter { $0 != "." }.map(String.init)
        // A path with a slash at its end names a directory.
        if path.hasSuffix("/") { components.append(".") }
        return components.reversed()
    }

    private static func start(
        _ place: String, isAbsolute: Bool, of path: String
    ) throws(CredentialError) -> FileDescriptor {
        if place.isEmpty { throw .system("cannot write", path, number: ENOENT) }
        let number = unsafe Glibc.open(isAbsolute ? "/" : ".", linux_open_path | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw .system("cannot write", path, number: errno) }
        return FileDescriptor(owning: number)
    }

    private static func target(of name: String, in directory: borrowing FileDescriptor) -> String? {
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, initialized in
            unsafe buffer.withMemoryRebound(to: CChar.self) { buffer in
                guard let base = buffer.baseAddress else { return }
                initialized = unsafe max(0, readlinkat(directory.number, name, base, buffer.count))
            }
        }
        return bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
    }
}
