package import CredentialCore
import Glibc

/// A file that people write, such as a configuration: it may be a link, but it must be in trusted hands.
package struct UserInputFile: Sendable {
    /// The content.
    package let content: [UInt8]
    /// The permission bits: `0o600`.
    package let mode: UInt32
    /// The owner of the file: the user, or root.
    package let owner: UInt32

    /// Whether only its owner can read and write it.
    package var isPrivate: Bool { mode & 0o077 == 0 }

    /// Reads a file.
    ///
    /// Symbolic links are followed. A file that a user other than the user and root could have written is refused.
    /// Its group may write if the group has the number of the owner: the user's private group.
    ///
    /// `/dev/fd/N` is the file behind a descriptor of this process, also a pipe of the caller's.
    ///
    /// - Parameter limit: the largest size accepted, in bytes.
    /// - Returns: `nil` if there is no such file.
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/configuration`` for a folder or anything else that is no
    ///   file.
    package static func read(_ path: String, limit: Int) throws(CredentialError) -> UserInputFile? {
        if path.hasPrefix("/dev/fd/"), let number = Int32(path.dropFirst("/dev/fd/".count)) {
            return try read(descriptor: number, path, limit: limit)
        }
        let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        if number < 0 {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw .system("cannot read", path, number: errno)
        }
        let file = FileDescriptor(owning: number)
        guard let status = file.status() else { throw .system("cannot read", path, number: errno) }
        try check(status, path)
        return try read(file, status, path, limit: limit)
    }

    /// A pipe that the caller opened for us is in the caller's hands; a file behind a descriptor is one as any.
    private static func read(descriptor: Int32, _ path: String, limit: Int) throws(CredentialError) -> UserInputFile
    {
        let number = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
        guard number >= 0 else { throw .system("cannot read", path, number: errno) }
        let file = FileDescriptor(owning: number)
        guard let status = file.status() else { throw .system("cannot read", path, number: errno) }
        if status.st_mode & S_IFMT != S_IFIFO { try check(status, path) }
        return try read(file, status, path, limit: limit)
    }

    private static func read(
        _ file: borrowing FileDescriptor, _ status: stat, _ path: String, limit: Int
    ) throws(CredentialError) -> UserInputFile {
        guard let content = file.readAll(limit: limit, expected: Int(status.st_size)) else {
            throw .system("cannot read", path, number: errno)
        }
        if content.count > limit {
            throw CredentialError(
                .inputOutput, "\(CredentialError.shownPath(path)) is larger than \(limit) bytes")
        }
        return UserInputFile(content: content, mode: status.st_mode & 0o7777, owner: status.st_uid)
    }

    private static func check(_ status: stat, _ path: String) throws(CredentialError) {
        let shown = CredentialError.shownPath(path)
        if status.st_mode & S_IFMT != S_IFREG {
            throw CredentialError(.configuration, "\(shown) is not a regular file")
        }
        try OwnershipCheck.check(status, path, otherwise: "make a copy of your own")
    }
}
