package import CredentialCore
import Glibc

/// A file that the user asked to have written, such as a download.
package final class UserOutputFile {
    private let path: String
    private var file: FileDescriptor?

    /// Creates the file, mode 0600 by our umask, or empties it. Links are followed as ``OutputPlace`` allows.
    ///
    /// - Throws: ``ErrorCode/denied`` for a link that another user made, or could exchange, and for a file that
    ///   another user made in a directory for all; ``ErrorCode/inputOutput``.
    package init(_ path: String) throws(CredentialError) {
        let place = try OutputPlace(of: path, makesDirectories: false)
        let number = place.open(O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, mode: 0o666)
        guard number >= 0 else { throw .system("cannot write", path, number: errno) }
        let opened = FileDescriptor(owning: number)
        // Another user may have made it in between, so the check is of the file that is open.
        try place.checkMaker(of: opened, path)
        if opened.status().map({ $0.st_mode & S_IFMT == S_IFREG }) ?? false, ftruncate(number, 0) != 0 {
            throw .system("cannot write", path, number: errno)
        }
        self.path = path
        file = consume opened
    }

    /// Replaces a file as a whole: a reader sees the old one or the new one. Links are followed as ``OutputPlace``
    /// allows, and the mode of a file that was there is kept, but for a secret; a new one is of mode 0600, or 0700
    /// for a program.
    ///
    /// - Throws: ``ErrorCode/denied`` for a link that another user made or could exchange;
    ///   ``ErrorCode/inputOutput``.
    package static func replace(
        _ path: String, _ bytes: [UInt8], isProgram: Bool = false, isSecret: Bool = false
    ) throws(CredentialError) {
        let place = try OutputPlace(of: path, makesDirectories: true)
        let known = place.status()
        // A device or a pipe would be gone for everybody.
        if let known, known.st_mode & S_IFMT != S_IFREG {
            throw .system("cannot write", path, number: known.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
        }
        let fresh: mode_t = isProgram ? 0o700 : 0o600
        let mode = isSecret ? fresh : known.map { $0.st_mode & 0o7777 } ?? fresh
        let temporary = "\(place.name).credmgr-\(SystemRandom().accountID())"
        let number = unsafe openat(
            place.directory.number, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw Self.unreplaced(path, place, number: errno) }
        let file = FileDescriptor(owning: number)
        var failure = file.writeAll(bytes)
        if failure == 0, fchmod(number, mode) != 0 || fsync(number) != 0 { failure = errno }
        if failure == 0 {
            let renamed = unsafe renameat(place.directory.number, temporary, place.directory.number, place.name)
            if renamed != 0 { failure = errno }
        }
        if failure != 0 {
            _ = unsafe unlinkat(place.directory.number, temporary, 0)
            throw unreplaced(path, place, number: failure)
        }
    }

    /// Why a file was not replaced.
    private static func unreplaced(_ path: String, _ place: borrowing OutputPlace, number: Int32) -> CredentialError
    {
        guard [EBUSY, EROFS, EACCES, EPERM].contains(number), place.isMounted() else {
            return .system("cannot write", path, number: number)
        }
        return .system(
            "cannot replace the separately mounted file", path, number: number,
            hint: "mount the directory of the file instead of the file")
    }

    /// Removes a file that is no longer to be read, along links as ``OutputPlace`` allows; one that is mounted by
    /// itself is emptied. One that is not there is done.
    ///
    /// - Throws: ``ErrorCode/denied`` as ``replace(_:_:isProgram:isSecret:)``; ``ErrorCode/inputOutput``.
    package static func withdraw(_ path: String) throws(CredentialError) {
        let place = try OutputPlace(of: path, makesDirectories: false)
        guard let known = place.status(), known.st_mode & S_IFMT == S_IFREG else { return }
        if unsafe unlinkat(place.directory.number, place.name, 0) == 0 { return }
        let failure = errno
        guard failure != ENOENT else { return }
        let number = place.open(O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY, mode: 0)
        guard number >= 0 else { throw .system("cannot remove", path, number: failure) }
        _ = FileDescriptor(owning: number)
    }

    /// Removes a file, if it is there.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package static func remove(_ path: String) throws(CredentialError) {
        let removed = unsafe unlink(path)
        if removed != 0, errno != ENOENT { throw .system("cannot remove", path, number: errno) }
    }

    /// Removes a folder, if it is empty; any other stays.
    package static func removeFolder(_ path: String) { _ = unsafe rmdir(path) }

    /// The target of a symbolic link; `nil` for any other file.
    package static func linkTarget(_ path: String) -> String? {
        let bytes = unsafe [CChar](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, initialized in
            guard let base = buffer.baseAddress else { return }
            initialized = unsafe max(0, readlink(path, base, buffer.count))
        }
        return bytes.isEmpty ? nil : String(decoding: bytes.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Makes a link, and its missing directories, in place of a link that was there.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` if a file or directory has the name.
    package static func link(_ path: String, to target: String) throws(CredentialError) {
        if let slash = path.lastIndex(of: "/") { try makeFolders(String(path[..<slash])) }
        if linkTarget(path) != nil { try remove(path) }
        let made = unsafe symlink(target, path)
        if made != 0 { throw .system("cannot create the symbolic link", path, number: errno) }
    }

    private static func makeFolders(_ path: String) throws(CredentialError) {
        var status = stat()
        if path.isEmpty { return }
        let found = unsafe stat(path, &status)
        if found == 0 { return }
        if let slash = path.lastIndex(of: "/") { try makeFolders(String(path[..<slash])) }
        let made = unsafe mkdir(path, 0o700)
        if made != 0, errno != EEXIST { throw .system("cannot create", path, number: errno) }
    }

    /// Adds bytes at the end.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func write(_ bytes: [UInt8]) throws(CredentialError) {
        let failure = file?.writeAll(bytes) ?? EBADF
        if failure != 0 { throw .system("cannot write", path, number: failure) }
    }

    /// Ends the writing.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when the system reports a late error.
    package func close() throws(CredentialError) {
        guard let number = file.take()?.release() else { return }
        if Glibc.close(number) != 0 { throw .system("cannot write", path, number: errno) }
    }
}
