package import CredentialCore
import Glibc

/// A private folder that goes with everything in it when it is closed.
package final class TemporaryDirectory {
    /// Its path.
    package let path: String

    /// Makes a directory of mode 0700 in `parent`, with a name that cannot be guessed.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package init(in parent: String, name: String) throws(CredentialError) {
        path = "\(parent)/\(name)-\(SystemRandom().accountID())"
        guard unsafe mkdir(path, 0o700) == 0 else {
            throw .system("cannot create the directory", path, number: errno)
        }
    }

    deinit { Self.remove(path) }

    /// Removes a directory and its content, following no link. Files that cannot be removed stay.
    private static func remove(_ path: String) {
        for name in (try? FileNames.inFolder(path)) ?? [] {
            let entry = "\(path)/\(name)"
            if unsafe unlink(entry) != 0 { remove(entry) }
        }
        _ = unsafe rmdir(path)
    }
}
