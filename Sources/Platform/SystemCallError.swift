package import CredentialCore
import Glibc

extension CredentialError {
    /// An error for a system call that failed: "cannot write /home/u/x: No space left on device".
    ///
    /// - Parameters:
    ///   - action: what could not be done: "cannot write".
    ///   - path: the file or program.
    ///   - number: the value of `errno`.
    package static func system(
        _ action: Message, _ path: String, number: Int32, hint: Message? = nil
    ) -> CredentialError {
        let reason = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
        return CredentialError(.inputOutput, "\(action) \(shownPath(path)): \(reason)", hint: hint)
    }

    /// A path as it may stand in a message.
    static func shownPath(_ path: String) -> String { ForeignText.shown(path, limit: 4096) }
}
