package import CredentialCore
import Glibc

/// Room on the disk that is taken before it is needed.
extension PrivateDirectory {
    /// Makes a file of at least `size` bytes that the disk has room for, in place of an older one.
    ///
    /// - Parameters:
    ///   - beginning: its first bytes; the others are zero.
    ///   - isNew: whether it is made only where there is none.
    /// - Returns: `false` where somebody else has made it first.
    /// - Throws: ``ErrorCode/inputOutput``; then there is no such file.
    @discardableResult
    package borrowing func reserve(
        _ size: Int, in name: String, beginning: [UInt8] = [], isNew: Bool = false
    ) throws(CredentialError) -> Bool {
        if isNew {
            let number = unsafe openat(
                descriptor.number, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            if number < 0, errno == EEXIST { return false }
            if number < 0 { throw .unmade("cannot write", path(of: name), number: errno) }
            close(number)
        } else {
            try remove(name)
        }
        let file = try openShared(name, appending: false)
        // Takes the blocks now. It writes to each of them where the file system has no better way.
        var failure = posix_fallocate(file.number, 0, off_t(max(size, beginning.count)))
        if failure == 0 { failure = file.writeAll(beginning) }
        if failure != 0 {
            try remove(name)
            throw .system("cannot write", path(of: name), number: failure)
        }
        return true
    }

    /// Replaces a file by writing into a reserved one; durable when this returns.
    ///
    /// - Returns: `false` when nothing or too little was reserved; then nothing has changed.
    /// - Throws: ``ErrorCode/inputOutput``; then the old file is as it was.
    package borrowing func writeReserved(
        _ content: [UInt8], from reserved: String, to name: String
    ) throws(CredentialError) -> Bool {
        guard let number = Self.openForWriting(reserved, in: descriptor.number) else { return false }
        let file = FileDescriptor(owning: number)
        guard file.size >= content.count else { return false }
        var failure = file.writeAll(content)
        if failure == 0, ftruncate(number, off_t(content.count)) != 0 { failure = errno }
        if failure == 0, fsync(number) != 0 { failure = errno }
        if failure != 0 { throw .system("cannot write", path(of: name), number: failure) }
        try rename(reserved, to: name)
        // EINVAL: a file system whose folders cannot be synced.
        if fsync(descriptor.number) != 0, errno != EINVAL {
            throw .system("cannot write", path(of: name), number: errno)
        }
        return true
    }

    private static func openForWriting(_ name: String, in folder: Int32) -> Int32? {
        let number = unsafe openat(folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
        return number >= 0 ? number : nil
    }
}
