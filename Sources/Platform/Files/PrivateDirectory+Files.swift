package import CredentialCore
import Glibc

extension PrivateDirectory {
    /// How old a temporary file must be, in seconds, to count as left behind by a killed process.
    private static let staleAge = 3600
    private static let temporarySuffix = ".tmp"

    /// The path of a file in it, for messages.
    package borrowing func path(of name: String) -> String { path + "/" + name }

    /// Reads a file that must be regular, the user's own and closed to everybody else.
    ///
    /// - Parameters:
    ///   - name: the file's name.
    ///   - limit: the largest size accepted, in bytes.
    /// - Returns: the content, or `nil` if there is no such file.
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func read(_ name: String, limit: Int) throws(CredentialError) -> [UInt8]? {
        // Without O_NONBLOCK the opening of a FIFO would wait for a writer.
        let number = try open(name, O_RDONLY | O_NONBLOCK)
        guard let number else { return nil }
        let file = FileDescriptor(owning: number)
        let status = try checked(file, name)
        guard let content = file.readAll(limit: limit, expected: Int(status.st_size)) else {
            throw .system("cannot read", path(of: name), number: errno)
        }
        if content.count > limit {
            throw CredentialError(
                .inputOutput, "\(CredentialError.shownPath(path(of: name))) is larger than \(limit) bytes")
        }
        return content
    }

    /// Replaces a file, or makes it, with mode 0600: after a crash it holds the old content or the new one.
    ///
    /// On failure the old file is as it was and no temporary file stays.
    ///
    /// - Parameters:
    ///   - tidying: whether to search the directory for files that killed processes have left.
    ///   - isDurable: whether it is to outlive a crash of the machine from when this returns. If not, the call does
    ///     not wait for the disk, and after a crash the file may be empty.
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func write(
        _ content: [UInt8], to name: String, tidying: Bool = true, isDurable: Bool = true
    ) throws(CredentialError) {
        var temporary = try writeTemporary(content, for: name, isDurable: isDurable)
        var result = unsafe renameat(descriptor.number, temporary, descriptor.number, name)
        if result != 0, errno == ENOENT {
            // The clock was set meanwhile, and another process took the file for one that was left behind.
            temporary = try writeTemporary(content, for: name, isDurable: isDurable)
            result = unsafe renameat(descriptor.number, temporary, descriptor.number, name)
        }
        if result != 0 {
            let failure = errno
            _ = unsafe unlinkat(descriptor.number, temporary, 0)
            throw .system("cannot write", path(of: name), number: failure)
        }
        // EINVAL: a file system whose folders cannot be synced.
        if isDurable, fsync(descriptor.number) != 0, errno != EINVAL {
            throw .system("cannot write", path(of: name), number: errno)
        }
        if tidying { removeStaleTemporaries() }
    }

    /// Writes a file that is to get another name, with mode 0600.
    ///
    /// - Parameter isDurable: whether its content outlives a crash of the machine from when this returns.
    /// - Returns: its name until then.
    /// - Throws: ``ErrorCode/inputOutput``; then there is no such file.
    borrowing func writeTemporary(
        _ content: [UInt8], for name: String, isDurable: Bool = true
    ) throws(CredentialError) -> String {
        try checkName(name)
        let temporary = ".\(name).\(SystemRandom().accountID())\(Self.temporarySuffix)"
        let number = unsafe openat(
            descriptor.number, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if number < 0 { throw .unmade("cannot write", path(of: name), number: errno) }
        let file = FileDescriptor(owning: number)
        var failure = file.writeAll(content)
        if failure == 0, isDurable, fsync(number) != 0 { failure = errno }
        guard failure == 0 else {
            _ = unsafe unlinkat(descriptor.number, temporary, 0)
            throw .system("cannot write", path(of: name), number: failure)
        }
        return temporary
    }

    /// Removes a file; removing a missing file is no error.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func remove(_ name: String) throws(CredentialError) {
        try checkName(name)
        if unsafe unlinkat(descriptor.number, name, 0) != 0, errno != ENOENT {
            throw .system("cannot remove", path(of: name), number: errno)
        }
    }

    /// Gives a file another name, replacing the file that has it.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func rename(_ name: String, to newName: String) throws(CredentialError) {
        try checkName(name)
        try checkName(newName)
        if unsafe renameat(descriptor.number, name, descriptor.number, newName) != 0 {
            throw .system("cannot rename", path(of: name), number: errno)
        }
    }

    /// Gives a file a second name, replacing the file that has it: when the first name is written later, the second
    /// keeps the old content. Durable with the next write in the folder.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func keep(_ name: String, as second: String) throws(CredentialError) {
        try checkName(name)
        try checkName(second)
        let temporary = ".\(second).\(SystemRandom().accountID())\(Self.temporarySuffix)"
        // A link and a rename: at no moment is the second name without a file.
        if unsafe linkat(descriptor.number, name, descriptor.number, temporary, 0) != 0 {
            throw .system("cannot write", path(of: second), number: errno)
        }
        if unsafe renameat(descriptor.number, temporary, descriptor.number, second) != 0 {
            let failure = errno
            _ = unsafe unlinkat(descriptor.number, temporary, 0)
            throw .system("cannot write", path(of: second), number: failure)
        }
    }

    /// Opens a file for appending or locking, and makes it with mode 0600 if it is missing.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func openShared(
        _ name: String, appending: Bool
    ) throws(CredentialError) -> FileDescriptor {
        guard let number = try open(name, O_RDWR | O_CREAT | O_NONBLOCK | (appending ? O_APPEND : 0)) else {
            throw .system("cannot open", path(of: name), number: ENOENT)
        }
        let file = FileDescriptor(owning: number)
        _ = try checked(file, name)
        return file
    }

    /// Opens a file if it exists, for reading or for both, checked as by ``read(_:limit:)``.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package borrowing func openExisting(
        _ name: String, forWriting: Bool = false
    ) throws(CredentialError) -> FileDescriptor? {
        guard let number = try open(name, (forWriting ? O_RDWR : O_RDONLY) | O_NONBLOCK) else { return nil }
        let file = FileDescriptor(owning: number)
        _ = try checked(file, name)
        return file
    }

    /// Whether `name` still leads to the open file.
    package borrowing func isCurrent(_ file: borrowing FileDescriptor, _ name: String) -> Bool {
        isCurrent(file.number, name)
    }

    /// Whether `name` still leads to the file that is open at a descriptor of the caller's.
    package borrowing func isCurrent(_ file: Int32, _ name: String) -> Bool {
        var open = stat(), named = stat()
        guard unsafe fstat(file, &open) == 0,
            unsafe fstatat(descriptor.number, name, &named, AT_SYMLINK_NOFOLLOW) == 0
        else { return false }
        return open.st_ino == named.st_ino && open.st_dev == named.st_dev
    }

    // MARK: Checks

    private borrowing func checkName(_ name: String) throws(CredentialError) {
        guard FileNames.isComponent(name) else {
            throw CredentialError(
                .inputOutput, "\(CredentialError.shownPath(path(of: name))) is not a file name")
        }
    }

    private borrowing func open(_ name: String, _ flags: Int32) throws(CredentialError) -> Int32? {
        try checkName(name)
        let number = unsafe openat(descriptor.number, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if number >= 0 { return number }
        if errno == ENOENT { return nil }
        if errno == ELOOP {
            throw CredentialError(
                .inputOutput, "\(CredentialError.shownPath(path(of: name))) is a symbolic link",
                hint: "replace the symbolic link with the file itself")
        }
        throw .system("cannot open", path(of: name), number: errno)
    }

    private borrowing func checked(
        _ file: borrowing FileDescriptor, _ name: String
    ) throws(CredentialError) -> stat {
        guard let status = file.status() else { throw .system("cannot open", path(of: name), number: errno) }
        if status.st_mode & S_IFMT == S_IFREG, status.st_uid == user, status.st_mode & 0o077 == 0 {
            return status
        }
        let shown = CredentialError.shownPath(path(of: name))
        if status.st_mode & S_IFMT != S_IFREG {
            throw CredentialError(.inputOutput, "\(shown) is not a regular file", hint: "move it away")
        }
        if status.st_uid != user {
            throw CredentialError(.inputOutput, "\(shown) belongs to another user (uid \(status.st_uid))")
        }
        throw CredentialError(.inputOutput, "other users can open \(shown)", hint: "chmod 600 '\(shown)'")
    }

    /// Removes the temporary files of killed processes; any failure here is of no consequence.
    package borrowing func removeStaleTemporaries() {
        // The time is that of the folder, whose clock gives the files theirs: this process's may be another. It is
        // read by the call that reads theirs: a tool that gives a process another clock (libfaketime) may know one
        // call and not the other.
        var folder = stat()
        guard unsafe fstatat(descriptor.number, ".", &folder, AT_SYMLINK_NOFOLLOW) == 0 else { return }
        var hidden: [String] = []
        try? eachName { if $0[0] == UInt8(ascii: ".") { hidden.append(FileNames.text($0)) } }
        for name in hidden where name.hasSuffix(Self.temporarySuffix) {
            var status = stat()
            if unsafe fstatat(descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
                folder.st_mtim.tv_sec - status.st_mtim.tv_sec > Self.staleAge
            {
                _ = unsafe unlinkat(descriptor.number, name, 0)
            }
        }
    }
}
