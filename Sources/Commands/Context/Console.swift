package import CredentialCore

/// The terminal and the standard streams, as commands use them.
package protocol Console: SecretPrompt {
    /// Writes the result to standard output, whole.
    ///
    /// - Throws: ``ErrorCode/inputOutput`` when it cannot be written; then the command has failed.
    func writeResult(_ bytes: [UInt8]) throws(CredentialError)

    /// Writes text to standard error, as far as it takes it: there is nowhere to complain to.
    func writeNotice(_ text: String)

    /// Whether standard output, and whether standard error is a terminal.
    var resultIsTerminal: Bool { get }
    var noticeIsTerminal: Bool { get }

    /// Shows on the terminal the reason of a wait; no output if standard error is not a terminal.
    var waiting: any ProgressDisplay { get }

    /// The language of the reader of standard error, and of standard output if that is a terminal.
    var translations: any Translations { get }

    /// The terminal's width in columns.
    var width: Int { get }

    /// Whether a person can be asked: there is a terminal.
    var hasPerson: Bool { get }

    /// Does short work before a question, and hides the text that is typed meanwhile.
    ///
    /// - Throws: the errors of `work`.
    func unseen(_ work: () throws(CredentialError) -> Void) throws(CredentialError)

    /// Reads lines of the terminal, unseen, while `work` goes on on another thread; whichever comes first ends the
    /// wait. Input that was typed and not read is dropped: the shell does not get it.
    ///
    /// - Parameters:
    ///   - status: a line to show after so many seconds; shown again when it changes, removed at the end.
    ///   - accepts: whether a line is the expected one; others are passed over.
    ///   - asides: lines to show above the status, asked for now and then; each is given once.
    /// - Returns: the line; `nil` when `work` was done first.
    /// - Throws: ``ErrorCode/interrupted``, ``ErrorCode/inputOutput``.
    func readLine(
        status: @escaping (Int64) -> String?, accepts: @escaping (String) -> Bool,
        asides: @escaping () -> [String], while work: @escaping @Sendable () -> Void
    ) throws(CredentialError) -> Secret?

    /// Reads one line of standard input, of at most `limit` bytes, without its newline; `nil` at its end.
    ///
    /// - Throws: ``ErrorCode/inputOutput``, also for a longer line.
    func readInputLine(limit: Int) throws(CredentialError) -> String?
}

extension Console {
    /// Reads one line of standard input that a person writes: of at most 128 KiB.
    ///
    /// - Throws: as ``readInputLine(limit:)``.
    package func readInputLine() throws(CredentialError) -> String? { try readInputLine(limit: 128 << 10) }
}
