package import CredentialCore
import Glibc

extension CredentialError {
    /// An error for a system call that failed: "cannot write /home/u/x: No space left on device".
    ///
    /// - Parameters:
    ///   - action: what could not be done: "cannot write".
    ///   - path: the file or program.
    ///   - number: the value of `errno`.
    ///   - hint: what helps; without one, that a file system is full can be seen by it.
    package static func system(
        _ action: LocalizedMessage, _ path: String, number: Int32, hint: LocalizedMessage? = nil
    ) -> CredentialError {
        let reason = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
        return CredentialError(
            .inputOutput, "\(action) \(shownPath(path)): \(reason)", hint: hint ?? room(for: path, number))
    }

    /// The command that shows how much room there is for a file, where there is too little of it or of inodes.
    private static func room(for path: String, _ number: Int32) -> LocalizedMessage? {
        // A target without a folder, such as standard output, may be on any file system.
        guard number == ENOSPC, let end = path.lastIndex(of: "/") else { return nil }
        let folder = ShellQuoting.word(shownPath(end == path.startIndex ? "/" : String(path[..<end])))
        return "df -h \(folder); df -i \(folder)"
    }

    /// An error for something of our own that cannot be made: where nobody may write there, as in a home that is mounted
    /// read-only, the hint is how to have it elsewhere.
    ///
    /// - Parameters: as of ``system(_:_:number:hint:)``.
    static func unmade(_ action: LocalizedMessage, _ path: String, number: Int32) -> CredentialError {
        let isClosed = number == EROFS || number == EACCES
        return .system(
            action, path, number: number,
            hint: isClosed
                ? "set XDG_CONFIG_HOME, XDG_DATA_HOME and XDG_STATE_HOME to writable directories" : nil)
    }

    /// A path as it may stand in a message.
    static func shownPath(_ path: String) -> String { UntrustedText.shown(path, limit: 4096) }
}
