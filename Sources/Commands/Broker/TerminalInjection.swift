import CredentialCore

/// Input that a program writes to its own terminal as if the user typed it (TIOCSTI in ioctl_tty(2)).
enum TerminalInjection {
    /// The setting of the kernel, since Linux 6.2.
    static let setting = "/proc/sys/dev/tty/legacy_tiocsti"

    /// Whether a program may do so here: a kernel without the setting always allows it.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` for a setting that cannot be read.
    static func isPossible(_ programs: any ProcessPort) throws(CredentialError) -> Bool {
        guard let bytes = try programs.readFile(setting) else { return true }
        return String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace } != "0"
    }
}
