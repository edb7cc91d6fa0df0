package import CredentialCore
import Glibc

extension CredentialError {
    /// An error for a system call that failed: "cannot write /home/u/x: No space left on device".
    ///
    /// - Parameters:
    ///   - action: the action that failed: "cannot write".
    ///   - path: the file or program.
    ///   - number: the value of `errno`.
    ///   - hint: the remedy; without one, the error for a full file system names the command that shows it.
    package static func system(
        _ action: LocalizedMessage, _ path: String, number: Int32, hint: LocalizedMessage? = nil
    ) -> CredentialError {
        let reason = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
        return CredentialError(
            .inputOutput, "\(action) \(shownPath(path)): \(reason)", hint: hint ?? room(for: path, number))
    }

    /// The command that shows how much room there is for a file, if it has too little space or too few inodes.
    private static func room(for path: String, _ number: Int32) -> LocalizedMessage? {
        // A target without a folder, such as standard output, may be on any file system.
        guard number == ENOSPC, let end = path.lastIndex(of: "/") else { return nil }
        let folder = ShellQuoting.word(shownPath(end == path.startIndex ? "/" : String(path[..<end])))
        return "df -h \(folder); df -i \(folder)"
    }

    /// An error for a file of our own that cannot be made. If the directory is not writable, as in a read-only
    /// home, the hint says how to use a different one.
    ///
    /// - Parameters: as of ``system(_:_:number:hint:)``.
    static func unmade(_ action: LocalizedMessage, _ path: String, number: Int32) -> CredentialError {
        let isClosed = number == EROFS || number == EACCES
        return .system(
            action, path, number: number,
            hint: isClosed
                ? "set XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_STATE_HOME to writable directories" : nil)
    }

    /// A path in a form that a message may show.
    static func shownPath(_ path: String) -> String { UntrustedText.shown(path, limit: 4096) }
}
