package import CredentialCore
import Glibc

/// A file that a relay makes for its command, and removes.
///
/// A file that the relay has not written stays as it is.
package final class RelayFile {
    private let path: String
    /// The file as it was written last.
    private var last: stat?

    /// Makes the file, mode 0600, and its missing directories.
    ///
    /// - Throws: ``ErrorCode/usage`` if the file exists; ``ErrorCode/denied`` for a link that is not followed, as
    ///   ``UserOutputFile/replace(_:_:isProgram:isSecret:)``; ``ErrorCode/inputOutput``.
    package init(_ path: String, _ bytes: [UInt8]) throws(CredentialError) {
        self.path = path
        try make(bytes)
    }

    /// Replaces the content: a reader sees the old one or the new one.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, also if another program has put a file in its place.
    package func replace(_ bytes: [UInt8]) throws(CredentialError) {
        let place = try OutputPlace(of: path, makesDirectories: true)
        guard let known = place.status() else { return try make(bytes) }
        guard isLast(known) else {
            throw CredentialError(
                .inputOutput, "another program has replaced the file \(CredentialError.shownPath(path))")
        }
        try UserOutputFile.replace(path, bytes, isSecret: true)
        last = place.status()
    }

    /// Removes the file, unless another program has put a file in its place.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func remove() throws(CredentialError) {
        let place = try OutputPlace(of: path, makesDirectories: false)
        guard let known = place.status(), isLast(known) else { return }
        try UserOutputFile.withdraw(path)
    }

    private func make(_ bytes: [UInt8]) throws(CredentialError) {
        let place = try OutputPlace(of: path, makesDirectories: true)
        let number = place.open(O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode: 0o600)
        guard number >= 0 else {
            guard errno == EEXIST else { throw .system("cannot write", path, number: errno) }
            throw CredentialError(
                .usage, "the file \(CredentialError.shownPath(path)) already exists",
                hint: "remove the file first, or name another")
        }
        let file = FileDescriptor(owning: number)
        last = file.status()
        let failure = file.writeAll(bytes)
        guard failure == 0 else {
            _ = unsafe unlinkat(place.directory.number, place.name, 0)
            throw .system("cannot write", path, number: failure)
        }
    }

    private func isLast(_ known: stat) -> Bool {
        last.map { $0.st_ino == known.st_ino && $0.st_dev == known.st_dev } ?? false
    }
}
