import CredentialCore
import Glibc

/// Finds programs as a shell does.
package enum ExecutablePath {
    /// This program itself, even when its file has been replaced meanwhile.
    package static let itself = "/proc/self/exe"
    /// Where the full program lies below the prefix of an installation; `bin/credmgr` is the small one there.
    private static let installed = "/libexec/credmgr/credmgr"

    /// What people and other programs start this program by: the path that it really has, or, where it is the full one of
    /// an installation, that of the small one.
    package static var command: String? {
        guard let path = UserFile.linkTarget(itself), path.hasSuffix(installed) else {
            return UserFile.linkTarget(itself)
        }
        return path.dropLast(installed.utf8.count) + "/bin/credmgr"
    }

    /// The folder with the message catalogues of the installation that this is the full program of; `nil` for another.
    package static var catalogues: String? {
        guard let path = UserFile.linkTarget(itself), path.hasSuffix(installed) else { return nil }
        return path.dropLast(installed.utf8.count) + "/share/locale"
    }

    /// The path of a program: of a word without a slash the first executable of that name in `PATH`.
    package static func find(_ word: String, environment: [String: String]) -> String? {
        if word.utf8.contains(UInt8(ascii: "/")) { return isExecutable(word) ? word : nil }
        let folders = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        return folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(word)" }.first(where: isExecutable)
    }

    /// The path of the first program of that name in `PATH` that is not this one, by whatever link it is reached.
    package static func findOther(_ word: String, environment: [String: String]) -> String? {
        let files = SystemFileStates()
        // Both programs of an installation are this one.
        let own = [itself, command].compactMap { $0 }.compactMap(files.state)
        guard !own.isEmpty else { return nil }
        let folders = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        return folders.lazy.filter { $0.hasPrefix("/") }.map { "\($0)/\(word)" }
            .first { path in
                guard isExecutable(path), let other = files.state(of: path) else { return false }
                return own.allSatisfy { other.device != $0.device || other.inode != $0.inode }
            }
    }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return unsafe access(path, X_OK) == 0
    }
}

/// The `credmgr` that is installed on this machine, for programs that are not it.
package enum InstalledProgram {
    private static let folders = ["/usr/local/bin", "/usr/bin"]

    /// Its path: the first that root owns and nobody else can write. Never one that `PATH` leads to.
    package static func find() -> String? {
        folders.lazy.map { $0 + "/credmgr" }.first { path in
            var status = stat()
            return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == 0
                && status.st_mode & 0o022 == 0 && access(path, X_OK) == 0
        }
    }
}
