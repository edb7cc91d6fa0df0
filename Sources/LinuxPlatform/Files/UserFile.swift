package import CredentialCore
import Glibc

/// A file that the user asked to have written, such as a download.
package final class UserFile {
    private let path: String
    private var file: FileDescriptor?

    /// Creates the file, mode 0600 by our umask, or empties it.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package init(_ path: String) throws(CredentialError) {
        let number = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0o666)
        guard number >= 0 else { throw .system("cannot write", path, number: errno) }
        self.path = path
        file = FileDescriptor(owning: number)
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
