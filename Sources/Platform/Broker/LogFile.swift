package import CredentialCore
import Glibc

/// A file that several processes append lines to: each line is one write under a lock of the directory.
extension FileDescriptor {
    /// The result of an append.
    package enum AppendResult: Sendable, Equatable {
        /// All bytes are in the file.
        case done
        /// No byte is in the file; the number of the error.
        case failed(Int32)
        /// A part of the bytes is in the file; the number of the error.
        case partial(Int32)
    }

    /// Appends bytes in one call. If the disk takes only a part, the part is removed again.
    ///
    /// The caller holds the lock of the file, and the file is open for appending.
    package func append(_ bytes: [UInt8]) -> AppendResult {
        let before = size
        while true {
            let written = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
            if written == bytes.count { return .done }
            if written < 0, errno == EINTR { continue }
            // A disk that takes a part of a line has no room for the rest.
            let failure = written < 0 ? errno : ENOSPC
            if size == before { return .failed(failure) }
            return ftruncate(number, off_t(before)) == 0 ? .failed(failure) : .partial(failure)
        }
    }

    /// Makes the content durable, but not the times of the file.
    ///
    /// - Returns: 0, or the error number.
    package func syncContent() -> Int32 { fdatasync(number) == 0 ? 0 : errno }

    /// Another descriptor of the same open file; `nil` if the process has too many.
    package func duplicate() -> FileDescriptor? {
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 0)
        return copy < 0 ? nil : FileDescriptor(owning: copy)
    }

    /// Releases a lock that ``FileLock/wait(_:milliseconds:operation:)`` took; the file stays open.
    package func unlock() { flock(number, LOCK_UN) }

    /// Whether an error number means that the disk or a quota is full.
    package static func isFull(_ number: Int32) -> Bool { [ENOSPC, EDQUOT, EFBIG].contains(number) }

    /// The error for a failed append.
    package static func appendFailure(_ path: String, _ number: Int32) -> CredentialError {
        let error = CredentialError.system("cannot write", path, number: number)
        guard isFull(number) else { return error }
        return CredentialError(.temporary, error.text, hint: error.advice, details: error.details)
    }
}

extension PrivateDirectory {
    /// Makes the names in the directory durable.
    package borrowing func syncNames() { _ = fsync(descriptor.number) }

    /// Removes the beginning of a file: after a crash the file has its old content or the new one.
    ///
    /// The file is replaced, so a writer that has it open must look for the new one: ``isCurrent(_:_:)``.
    ///
    /// - Parameters:
    ///   - name: the file.
    ///   - count: the number of bytes to remove.
    /// - Throws: ``ErrorCode/inputOutput``; then the file is as it was.
    package borrowing func removeBeginning(of name: String, count: Int64) throws(CredentialError) {
        guard let source = try openExisting(name) else { return }
        let temporary = try writeTemporary([], for: name)
        let number = unsafe openat(descriptor.number, temporary, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC)
        guard number >= 0 else { throw .system("cannot write", path(of: name), number: errno) }
        let target = FileDescriptor(owning: number)
        var offset = count, failure: Int32 = 0
        while failure == 0 {
            let chunk = source.read(1 << 18, at: offset)
            if chunk.isEmpty { break }
            failure = target.writeAll(chunk)
            offset += Int64(chunk.count)
        }
        if failure == 0, offset < source.size { failure = EIO }
        if failure == 0, fsync(number) != 0 { failure = errno }
        if failure == 0, unsafe renameat(descriptor.number, temporary, descriptor.number, name) != 0 { failure = errno }
        guard failure == 0 else {
            _ = unsafe unlinkat(descriptor.number, temporary, 0)
            throw .system("cannot write", path(of: name), number: failure)
        }
        syncNames()
    }
}

extension SystemTime {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    package static var sinceEpoch: Int64 {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
    }
}
