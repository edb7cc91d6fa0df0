package import CredentialCore
import Glibc

/// A directory of our own, open: no other user can write in it, and no other user's symbolic link leads there.
///
/// Everything in it is reached through the descriptor, so that no entry can be exchanged between a check and its
/// use. A link on the way is followed if it is the user's own or root's, as one that `stow` made; its target is
/// checked as any other directory.
package struct PrivateDirectory: ~Copyable, Sendable {
    /// The path, for messages and for watching.
    package let path: String
    let descriptor: FileDescriptor
    /// The user that owns the files.
    let user: uid_t

    private init(path: String, descriptor: consuming FileDescriptor) {
        self.path = path
        self.descriptor = descriptor
        user = geteuid()
    }

    /// Opens a directory and makes the missing ones on the way, with mode 0700.
    ///
    /// - Parameters:
    ///   - components: the names below `base`.
    ///   - base: an absolute path.
    /// - Throws: ``ErrorCode/inputOutput``, also for a folder that is a link, of another user or writable by
    ///   others.
    package static func create(
        _ components: [String], below base: String
    ) throws(CredentialError) -> PrivateDirectory {
        try checkGround(base)
        try makeFolders(base)
        guard let folder = try walk(components, below: base, creating: true) else {
            throw .system("cannot open the directory", base, number: ENOENT)
        }
        return folder
    }

    /// Opens a directory, or returns `nil` if it does not exist.
    ///
    /// - Throws: as ``create(_:below:)``.
    package static func open(
        _ components: [String], below base: String
    ) throws(CredentialError) -> PrivateDirectory? {
        try walk(components, below: base, creating: false)
    }

    /// Whether there is anything of this name in it.
    package borrowing func contains(_ name: String) -> Bool {
        var status = stat()
        return unsafe fstatat(descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// The names in it, sorted by their bytes.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func names() throws(CredentialError) -> [String] {
        let number = unsafe openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if number < 0 { throw .system("cannot read the directory", path, number: errno) }
        return try FileNames.inFolder(FileDescriptor(owning: number), path: path)
    }

    /// The names in it, in no order: for folders with many.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func namesInNoOrder() throws(CredentialError) -> [String] {
        var names: [String] = []
        try eachName { names.append(FileNames.text($0)) }
        return names
    }

    /// Gives the bytes of each name in it, in no order.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func eachName(_ body: (borrowing Span<UInt8>) -> Void) throws(CredentialError) {
        let number = unsafe openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if number < 0 { throw .system("cannot read the directory", path, number: errno) }
        try FileNames.eachInFolder(FileDescriptor(owning: number), path: path, body)
    }

    // MARK: The way there

    private static func walk(
        _ components: [String], below base: String, creating: Bool
    ) throws(CredentialError) -> PrivateDirectory? {
        let number = unsafe Glibc.open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if number < 0 {
            if errno == ENOENT && !creating { return nil }
            throw .system("cannot open the directory", base, number: errno)
        }
        var path = base
        var folder = FileDescriptor(owning: number)
        for name in components {
            path += "/" + name
            guard FileNames.isComponent(name) else {
                throw CredentialError(.inputOutput, "\(CredentialError.shownPath(path)) is not a directory name")
            }
            var next = enter(name, from: folder)
            if next < 0, errno == ENOENT {
                if !creating { return nil }
                if unsafe mkdirat(folder.number, name, 0o700) != 0, errno != EEXIST {
                    throw .unmade("cannot create the directory", path, number: errno)
                }
                // The contents of the folder are only as durable as the folder's own name.
                _ = fsync(folder.number)
                next = enter(name, from: folder)
            }
            if next < 0 { throw refusal(path, number: errno) }
            folder = FileDescriptor(owning: next)
            try check(folder, path)
        }
        return PrivateDirectory(path: path, descriptor: folder)
    }

    /// Opens a folder in another; a link of the user's own or of root's is followed, as `stow` makes them.
    ///
    /// - Returns: the descriptor; below 0, and `errno`, if there is no such directory.
    static func enter(_ name: String, from folder: borrowing FileDescriptor) -> Int32 {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        let number = unsafe openat(folder.number, name, flags | O_NOFOLLOW)
        // O_DIRECTORY with O_NOFOLLOW says ENOTDIR for a link, too.
        guard number < 0, errno == ELOOP || errno == ENOTDIR else { return number }
        let failure = errno
        var link = stat()
        guard unsafe fstatat(folder.number, name, &link, AT_SYMLINK_NOFOLLOW) == 0,
            link.st_mode & S_IFMT == S_IFLNK, link.st_uid == geteuid() || link.st_uid == 0
        else {
            errno = failure
            return -1
        }
        return unsafe openat(folder.number, name, flags)
    }

    /// Checks the owner of the nearest existing directory. A directory in another user's would be in that user's
    /// way, as after `sudo credmgr`, and one in a directory that all users can write in is not safe for long.
    private static func checkGround(_ base: String) throws(CredentialError) {
        var place = base
        var status = stat()
        while unsafe stat(place, &status) != 0 {
            guard errno == ENOENT, let slash = place.lastIndex(of: "/"), slash != place.startIndex else { return }
            place = String(place[..<slash])
        }
        let shown = CredentialError.shownPath(place)
        let user = geteuid()
        // Only root makes directories for others; root itself has no business in a user's.
        if status.st_uid != user, status.st_uid != 0 {
            throw CredentialError(
                .inputOutput, "the directory \(shown) belongs to another user (uid \(status.st_uid))",
                hint: "run credmgr as that user, not through sudo, or set XDG_DATA_HOME")
        }
        if status.st_mode & 0o002 != 0, status.st_mode & S_ISVTX == 0 {
            throw CredentialError(
                .inputOutput, "all users can write in the directory \(shown)", hint: "chmod o-w '\(shown)'")
        }
    }

    /// Checks that a folder that is not there could be made: that the nearest one above it can be written.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, naming the first folder that could not be made.
    package static func checkCanBeMade(_ path: String) throws(CredentialError) {
        var missing = path
        while let slash = missing.lastIndex(of: "/"), missing != "/" {
            let above = slash == missing.startIndex ? "/" : String(missing[..<slash])
            if unsafe access(above, F_OK) == 0 {
                guard unsafe access(above + "/.", W_OK | X_OK) == 0 else {
                    throw .unmade("cannot create the directory", missing, number: errno)
                }
                return
            }
            missing = above
        }
    }

    private static func refusal(_ path: String, number: Int32) -> CredentialError {
        if number == ELOOP || number == ENOTDIR {
            return CredentialError(
                .inputOutput,
                "\(CredentialError.shownPath(path)) is not a directory, or is another user's symbolic link",
                hint: "move it away, or set XDG_DATA_HOME to another directory")
        }
        return .system("cannot open the directory", path, number: number)
    }

    private static func check(_ folder: borrowing FileDescriptor, _ path: String) throws(CredentialError) {
        guard let status = folder.status() else { throw .system("cannot open the directory", path, number: errno) }
        let shown = CredentialError.shownPath(path)
        if status.st_uid != geteuid() {
            throw CredentialError(
                .inputOutput, "the directory \(shown) belongs to another user (uid \(status.st_uid))",
                hint: "run credmgr as that user, or set XDG_DATA_HOME")
        }
        if status.st_mode & 0o022 != 0 {
            throw CredentialError(
                .inputOutput, "other users can write in the directory \(shown)", hint: "chmod 700 '\(shown)'")
        }
    }

    /// Makes a directory and those above it; existing ones stay as they are.
    private static func makeFolders(_ path: String) throws(CredentialError) {
        if unsafe access(path, F_OK) == 0 { return }
        for place in path.utf8.indices.dropFirst() where path.utf8[place] == UInt8(ascii: "/") {
            try makeFolder(String(path[..<place]))
        }
        try makeFolder(path)
    }

    private static func makeFolder(_ path: String) throws(CredentialError) {
        if unsafe mkdir(path, 0o700) != 0, errno != EEXIST {
            // Above the home directory even making an existing directory can be forbidden.
            let failure = errno
            if unsafe access(path, F_OK) != 0 {
                throw .unmade("cannot create the directory", path, number: failure)
            }
        }
    }
}
