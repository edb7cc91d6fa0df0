package import CredentialCore
import Glibc

/// The result of replacing a file.
package enum ReplaceResult: Sendable {
    /// It is replaced, or removed, for good.
    case done
    /// The content is not the expected one; the file is unchanged.
    case refused
    /// It is replaced, or removed; whether for good is not known.
    case unknown(CredentialError)
}

/// Files that are replaced only while they have the content that the writer has read.
extension PrivateDirectory {
    /// Replaces a file with mode 0600, makes it or removes it, only while it is as expected. Of all who do that at
    /// once with the same expectation one succeeds.
    ///
    /// No other file is looked at or removed: the cost is the same in a directory of any size.
    ///
    /// - Parameters:
    ///   - content: the new content; `nil` to remove the file.
    ///   - limit: the largest content that is read, in bytes.
    ///   - patience: how long to wait for other processes that hold the lock, in seconds.
    ///   - isExpected: is given the content now, `nil` if there is no such file.
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/lockTimeout``; then the file is unchanged.
    package borrowing func exchange(
        _ content: [UInt8]?, for name: String, limit: Int, patience: Int64,
        _ isExpected: ([UInt8]?) throws(CredentialError) -> Bool
    ) throws(CredentialError) -> ReplaceResult {
        var temporary: String?
        if let content { temporary = try writeTemporary(content, for: name) }
        let outcome: ReplaceResult
        var wasThere = false
        do throws(CredentialError) {
            outcome = try exchange(
                temporary, for: name, limit: limit, milliseconds: patience * 1_000
            ) { (content) throws(CredentialError) in
                wasThere = content != nil
                return try isExpected(content)
            }
        } catch {
            // This file is all that is left if a fault has removed the file that was to be replaced, too.
            if let temporary, contains(name) || !wasThere { _ = unsafe unlinkat(descriptor.number, temporary, 0) }
            throw error
        }
        if case .refused = outcome, let temporary { _ = unsafe unlinkat(descriptor.number, temporary, 0) }
        return outcome
    }

    /// As ``exchange(_:for:limit:patience:_:)``, with a file that is there.
    ///
    /// - Parameters:
    ///   - temporary: a file with the new content, which gets the name; `nil` to remove the one that has it.
    ///   - name: the name.
    ///   - limit: how much of the content is read, in bytes.
    ///   - milliseconds: how long to wait for other processes that hold the lock.
    ///   - isDurable: whether it is to outlive a crash of the machine from when this returns.
    ///   - isExpected: is given the content now, `nil` if there is no such file.
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/lockTimeout``; then the name is as it was.
    borrowing func exchange(
        _ temporary: String?, for name: String, limit: Int, milliseconds: Int64, isDurable: Bool = true,
        _ isExpected: ([UInt8]?) throws(CredentialError) -> Bool
    ) throws(CredentialError) -> ReplaceResult {
        while true {
            guard let file = try openExisting(name, forWriting: true) else {
                guard try isExpected(nil) else { return .refused }
                guard let temporary else { return .done }
                // A link is refused if another process has made the file meanwhile.
                if unsafe linkat(descriptor.number, temporary, descriptor.number, name, 0) != 0 {
                    if errno == EEXIST { continue }
                    guard errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS else {
                        throw .system("cannot write", path(of: name), number: errno)
                    }
                    // A file system without links.
                    try rename(temporary, to: name)
                    return isDurable ? synced(name) : .done
                }
                _ = unsafe unlinkat(descriptor.number, temporary, 0)
                return isDurable ? synced(name) : .done
            }
            // The lock is that of this very file: a process that replaces it leaves the next one with a file that
            // is gone.
            switch FileLock.wait(file, milliseconds: milliseconds) {
            case 0: break
            case EWOULDBLOCK:
                throw CredentialError(
                    .lockTimeout,
                    "another process has held \(CredentialError.shownPath(path(of: name))) for too long",
                    hint: "credmgr doctor")
            case let failure: throw FileLock.unusable(.system("cannot lock", path(of: name), number: failure))
            }
            guard isCurrent(file, name) else { continue }
            guard let now = file.readAll(limit: limit, expected: Int(file.size)) else {
                throw .system("cannot read", path(of: name), number: errno)
            }
            guard try isExpected(now) else { return .refused }
            if let temporary {
                if unsafe renameat(descriptor.number, temporary, descriptor.number, name) != 0 {
                    let failure = errno
                    // NFS and FUSE give an open file another name first. If only that was done, the place is free.
                    guard !contains(name),
                        unsafe renameat(descriptor.number, temporary, descriptor.number, name) == 0
                    else { throw .system("cannot write", path(of: name), number: failure) }
                }
            } else {
                try remove(name)
            }
            return isDurable ? synced(name) : .done
        }
    }

    private borrowing func synced(_ name: String) -> ReplaceResult {
        // EINVAL: a file system whose folders cannot be synced.
        if fsync(descriptor.number) == 0 || errno == EINVAL { return .done }
        return .unknown(.system("cannot write", path(of: name), number: errno))
    }
}
