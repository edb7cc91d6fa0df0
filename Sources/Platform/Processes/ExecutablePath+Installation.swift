import CredentialCore
import Glibc

extension ExecutablePath {
    /// This program itself, even when its file has been replaced meanwhile.
    package static let itself = "/proc/self/exe"
    /// The path of the full program below the prefix of an installation; `bin/credmgr` is the small program there.
    private static let installed = "/libexec/credmgr/credmgr"

    /// The path by which users and other programs start this program: its real path, or the path of the small
    /// program if this is the full one of an installation.
    package static var command: String? {
        guard let path = UserOutputFile.linkTarget(itself), path.hasSuffix(installed) else {
            return UserOutputFile.linkTarget(itself)
        }
        return path.dropLast(installed.utf8.count) + "/bin/credmgr"
    }

    /// The folder with the message catalogues of the installation that this is the full program of; `nil` for
    /// another.
    package static var catalogues: String? {
        guard let path = UserOutputFile.linkTarget(itself), path.hasSuffix(installed) else { return nil }
        return path.dropLast(installed.utf8.count) + "/share/locale"
    }

    /// The path of the first program of that name in `PATH` that is not this one, through any link.
    package static func findOther(_ word: String, environment: [String: String]) -> String? {
        let files = SystemFileStates()
        // Both programs of an installation are this one.
        let own = [itself, command].compactMap { $0 }.compactMap(files.state)
        guard !own.isEmpty else { return nil }
        return candidates(word, environment).first { path in
            guard isExecutable(path), let other = files.state(of: path) else { return false }
            return own.allSatisfy { other.device != $0.device || other.inode != $0.inode }
        }
    }
}

/// The `credmgr` that is installed on this machine, for programs that are not it.
package enum InstalledProgram {
    private static let folders = ["/usr/local/bin", "/usr/bin"]

    /// Its path: the first that root owns and no other user can write. Never one that `PATH` leads to.
    package static func find() -> String? {
        folders.lazy.map { $0 + "/credmgr" }.first { path in
            var status = stat()
            return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == 0
                && status.st_mode & 0o022 == 0 && access(path, X_OK) == 0
        }
    }
}
