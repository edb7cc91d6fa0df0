import CredentialCore
import Glibc

/// Finds programs as a shell does.
package enum ExecutablePath {
    /// This program itself, even when its file has been replaced meanwhile.
    package static let itself = "/proc/self/exe"

    /// The path of a program: of a word without a slash the first executable of that name in `PATH`.
    package static func find(_ word: String, environment: [String: String]) -> String? {
        if word.utf8.contains(UInt8(ascii: "/")) { return isExecutable(word) ? word : nil }
        let folders = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        return folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(word)" }.first(where: isExecutable)
    }

    /// The path of the first program of that name in `PATH` that is not this one, by whatever link it is reached.
    package static func findOther(_ word: String, environment: [String: String]) -> String? {
        let files = SystemFileStates()
        guard let own = files.state(of: itself) else { return nil }
        let folders = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        return folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(word)" }
            .first { path in
                guard isExecutable(path), let other = files.state(of: path) else { return false }
                return other.device != own.device || other.inode != own.inode
            }
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return unsafe access(path, X_OK) == 0
    }
}
