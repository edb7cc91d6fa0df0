package import CredentialCore
import Glibc

/// A directory of installed programs and data, open: only the user and root can change its content.
///
/// No symbolic link leads there from its base but one to the data directory, and no link is followed in it.
package struct TrustedDirectory: ~Copyable, Sendable {
    /// The path, for messages and for starting programs.
    package let path: String
    private let descriptor: FileDescriptor

    /// Opens a directory below `base`, which may be a link. The first component below it may be a link, too, if it
    /// is of the user's own or of root's, since the data directory may be on another disk.
    ///
    /// - Parameter components: the names on the way.
    /// - Returns: `nil` if there is no such directory.
    /// - Throws: ``ErrorCode/inputOutput`` for a component that is a link or no directory, or that a user other
    ///   than the user and root owns or can write.
    package static func open(
        _ components: [String], below base: String
    ) throws(CredentialError) -> TrustedDirectory? {
        var path = base
        let number = unsafe Glibc.open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if number < 0 {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw .system("cannot open the directory", base, number: errno)
        }
        var folder = FileDescriptor(owning: number)
        for (place, name) in components.enumerated() {
            path += "/" + name
            guard FileNames.isComponent(name) else {
                throw CredentialError(.inputOutput, "\(CredentialError.shownPath(path)) is not a directory name")
            }
            let next =
                place == 0
                ? PrivateDirectory.enter(name, from: folder)
                : unsafe openat(folder.number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            if next < 0 {
                if errno == ENOENT { return nil }
                // O_DIRECTORY with O_NOFOLLOW says ENOTDIR for a link, too.
                if errno == ELOOP || errno == ENOTDIR {
                    throw CredentialError(
                        .inputOutput,
                        "\(CredentialError.shownPath(path)) is not a directory, or is a symbolic link",
                        hint: "put a directory at this path")
                }
                throw .system("cannot open the directory", path, number: errno)
            }
            folder = FileDescriptor(owning: next)
            guard let status = folder.status() else { throw .system("cannot open", path, number: errno) }
            try checkHands(status, path)
        }
        return TrustedDirectory(path: path, descriptor: folder)
    }

    private init(path: String, descriptor: consuming FileDescriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    /// The names in it, sorted by their bytes.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func names() throws(CredentialError) -> [String] {
        let number = unsafe openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if number < 0 { throw .system("cannot read the directory", path, number: errno) }
        return try FileNames.inFolder(FileDescriptor(owning: number), path: path)
    }

    /// Reads a regular file in it that only the user and root can write.
    ///
    /// - Parameter limit: the largest size accepted, in bytes.
    /// - Throws: ``ErrorCode/inputOutput``, also if there is no such file.
    package borrowing func read(_ name: String, limit: Int) throws(CredentialError) -> [UInt8] {
        let place = path + "/" + name
        let file = try openFile(name, O_RDONLY | O_NONBLOCK)
        guard let status = file.status() else { throw .system("cannot read", place, number: errno) }
        try Self.checkFile(status, place)
        guard let content = file.readAll(limit: limit, expected: Int(clamping: status.st_size)) else {
            throw .system("cannot read", place, number: errno)
        }
        guard content.count <= limit else {
            throw CredentialError(
                .inputOutput, "\(CredentialError.shownPath(place)) is larger than \(limit) bytes")
        }
        return content
    }

    /// Checks that a name in it is a regular file that may be run, and that only the user and root can write.
    ///
    /// - Returns: its path.
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func program(_ name: String) throws(CredentialError) -> String {
        let place = path + "/" + name
        try Self.checkName(name)
        var status = stat()
        guard unsafe fstatat(descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw .system("cannot access", place, number: errno)
        }
        try Self.checkFile(status, place)
        guard status.st_mode & 0o111 != 0, unsafe faccessat(descriptor.number, name, X_OK, 0) == 0 else {
            let shown = CredentialError.shownPath(place)
            throw CredentialError(.inputOutput, "\(shown) is not executable", hint: "chmod u+x '\(shown)'")
        }
        return place
    }

    // MARK: Checks

    private borrowing func openFile(_ name: String, _ flags: Int32) throws(CredentialError) -> FileDescriptor {
        let place = path + "/" + name
        try Self.checkName(name)
        let number = unsafe openat(descriptor.number, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY)
        if number < 0 {
            if errno == ELOOP { throw Self.link(place) }
            throw .system("cannot open", place, number: errno)
        }
        return FileDescriptor(owning: number)
    }

    private static func checkName(_ name: String) throws(CredentialError) {
        if FileNames.isComponent(name) { return }
        throw CredentialError(.inputOutput, "'\(UntrustedText.shown(name, limit: 60))' is not a file name")
    }

    private static func checkFile(_ status: stat, _ path: String) throws(CredentialError) {
        if status.st_mode & S_IFMT == S_IFLNK { throw link(path) }
        if status.st_mode & S_IFMT != S_IFREG {
            throw CredentialError(.inputOutput, "\(CredentialError.shownPath(path)) is not a regular file")
        }
        try checkHands(status, path)
    }

    private static func checkHands(_ status: stat, _ path: String) throws(CredentialError) {
        try OwnershipCheck.check(status, path, otherwise: "install it again as yourself or as root")
    }

    private static func link(_ path: String) -> CredentialError {
        CredentialError(
            .inputOutput, "\(CredentialError.shownPath(path)) is a symbolic link",
            hint: "replace the symbolic link with the file"
        )
    }
}

/// The users that may have made or changed a trusted file or folder: the user and root.
package enum OwnershipCheck {
    /// Whether root alone can change a file or a directory, and the target of a symbolic link there.
    package static func areRoots(_ path: String) -> Bool {
        var link = stat(), place = stat()
        guard unsafe lstat(path, &link) == 0, unsafe stat(path, &place) == 0 else { return false }
        return link.st_uid == 0 && place.st_uid == 0 && place.st_mode & (place.st_gid == 0 ? 0o002 : 0o022) == 0
    }

    /// Checks the owner and the mode. The group may write if it has the number of the owner: the user's private
    /// group.
    ///
    /// - Parameter hint: how to fix a wrong owner.
    /// - Throws: ``ErrorCode/inputOutput``.
    static func check(_ status: stat, _ path: String, otherwise hint: LocalizedMessage) throws(CredentialError) {
        let shown = CredentialError.shownPath(path)
        if status.st_uid != geteuid() && status.st_uid != 0 {
            throw CredentialError(
                .inputOutput, "\(shown) belongs to another user (uid \(status.st_uid))", hint: hint)
        }
        let writers: mode_t = status.st_gid == status.st_uid ? 0o002 : 0o022
        if status.st_mode & writers != 0 {
            throw CredentialError(.inputOutput, "other users can write \(shown)", hint: "chmod go-w '\(shown)'")
        }
    }
}
