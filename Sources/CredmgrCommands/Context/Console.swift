package import CredentialCore

/// The terminal and the standard streams, as commands use them.
package protocol Console: Sendable {
    /// Writes the result to standard output, whole.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be written; then the command has failed.
    func writeResult(_ bytes: [UInt8]) throws(CredentialError)

    /// Writes text to standard error, as far as it takes it: there is nowhere to complain to.
    func writeNotice(_ text: String)

    /// Whether standard output, and whether standard error is a terminal.
    var resultIsTerminal: Bool { get }
    var noticeIsTerminal: Bool { get }

    /// The terminal's width in columns.
    var width: Int { get }

    /// Whether a person can be asked: there is a terminal.
    var hasPerson: Bool { get }

    /// Asks for a line on the terminal; an empty answer is an empty secret.
    ///
    /// - Throws: ``ErrorCode/interrupted``, ``ErrorCode/inputOutput``.
    func ask(_ prompt: String, isSecret: Bool) throws(CredentialError) -> Secret

    /// Reads one line of standard input, of at most 128 KiB, without its newline; `nil` at its end.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/usage`` for a longer line.
    func readInputLine() throws(CredentialError) -> String?

    /// Reads standard input to its end, at most `limit` bytes.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, ``ErrorCode/usage`` when there is more.
    func readInput(limit: Int) throws(CredentialError) -> [UInt8]
}
