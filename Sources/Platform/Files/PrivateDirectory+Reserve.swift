package import CredentialCore
import Glibc

/// Room on the disk that is taken before it is needed.
extension PrivateDirectory {
    /// Makes a file of at least `size` bytes that the disk has room for, in place of an older one.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; then the file is unchanged.
    package borrowing func reserve(_ size: Int, in name: String) throws(CredentialError) {
        let temporary = try reserveTemporary(size, for: name, beginning: [])
        if unsafe renameat(descriptor.number, temporary, descriptor.number, name) != 0 {
            let failure = errno
            _ = unsafe unlinkat(descriptor.number, temporary, 0)
            throw .system("cannot write", path(of: name), number: failure)
        }
    }

    /// As ``reserve(_:in:)``, for a file whose beginning says whose it is. It gets its name when all that is in it:
    /// of all who do that at once one succeeds.
    ///
    /// - Parameters:
    ///   - size: how many bytes it has at least.
    ///   - name: the file's name.
    ///   - beginning: its first bytes; the others are zero.
    ///   - isFree: is given the beginning of the file that is there, `nil` if there is no file.
    /// - Returns: `false` if `isFree` returned `false`.
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/lockTimeout``; then the file is unchanged.
    package borrowing func reserve(
        _ size: Int, in name: String, beginning: [UInt8], where isFree: ([UInt8]?) -> Bool
    ) throws(CredentialError) -> Bool {
        let temporary = try reserveTemporary(size, for: name, beginning: beginning)
        let outcome: ReplaceResult
        do throws(CredentialError) {
            outcome = try exchange(
                temporary, for: name, limit: Self.beginningSize, milliseconds: Self.reservePatience,
                isDurable: false
            ) { (bytes) throws(CredentialError) in isFree(bytes) }
        } catch {
            _ = unsafe unlinkat(descriptor.number, temporary, 0)
            throw error
        }
        guard case .refused = outcome else { return true }
        _ = unsafe unlinkat(descriptor.number, temporary, 0)
        return false
    }

    /// Grows a reserved file to at least `size` bytes, if its beginning is as expected; the beginning stays.
    ///
    /// - Returns: `false` if there is no such file.
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func extendReserve(
        _ size: Int, in name: String, where isOwn: ([UInt8]) -> Bool
    ) throws(CredentialError) -> Bool {
        guard let file = try openExisting(name, forWriting: true), isOwn(file.read(Self.beginningSize, at: 0))
        else {
            return false
        }
        let failure = posix_fallocate(file.number, 0, off_t(size))
        if failure != 0 { throw .system("cannot write", path(of: name), number: failure) }
        return true
    }

    /// Removes a reserved file, if its beginning is as expected; removing a missing file is no error.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/lockTimeout``; then the file is unchanged.
    package borrowing func removeReserve(
        _ name: String, where isOver: ([UInt8]) -> Bool
    ) throws(CredentialError) {
        _ = try exchange(
            nil, for: name, limit: Self.beginningSize, milliseconds: Self.reservePatience, isDurable: false
        ) { (bytes) throws(CredentialError) in bytes.map(isOver) ?? false }
    }

    /// How much of a file is read to tell whose it is, in bytes.
    private static let beginningSize = 256
    /// How long to wait for others that replace or remove such a file, in milliseconds; each takes less than one.
    private static let reservePatience: Int64 = 1_000

    private borrowing func reserveTemporary(
        _ size: Int, for name: String, beginning: [UInt8]
    ) throws(CredentialError) -> String {
        let temporary = try writeTemporary(beginning, for: name, isDurable: false)
        let number = unsafe openat(descriptor.number, temporary, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        var failure = number < 0 ? errno : 0
        if number >= 0 {
            // Takes the blocks now. It writes to each of them if the file system has no better way.
            failure = posix_fallocate(number, 0, off_t(max(size, beginning.count)))
            close(number)
        }
        if failure != 0 {
            _ = unsafe unlinkat(descriptor.number, temporary, 0)
            throw .system("cannot write", path(of: name), number: failure)
        }
        return temporary
    }

    /// Replaces a file by writing into a reserved one; durable when this returns.
    ///
    /// - Returns: `false` when no reserve, or too small a reserve, was there; then the file is unchanged.
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
