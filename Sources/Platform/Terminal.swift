import CLinux
package import CredentialCore
import Glibc

/// The person at the terminal, and the line on standard input of a script.
package enum Terminal {
    /// The longest line taken, in bytes.
    static let longestLine = 1 << 17

    /// Whether a descriptor is a terminal.
    package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The width of the terminal at a descriptor in columns, if it is a terminal and reports a width.
    package static func width(_ descriptor: Int32 = STDOUT_FILENO) -> Int? {
        var size = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Asks for a line on the terminal of the session, independent of standard input.
    ///
    /// The line may be longer than the 4,095 bytes that a terminal passes on by itself, as a redirect URL may be.
    /// While a secret is typed it is not echoed; the signals that end or stop the program restore the terminal
    /// before they act.
    ///
    /// - Parameters:
    ///   - prompt: shown before the cursor, as it is.
    ///   - isSecret: whether the typed text stays hidden.
    /// - Throws: ``ErrorCode/inputOutput`` without a terminal, and for a line of more than 131,072 bytes;
    ///   ``ErrorCode/cancelled`` at its end of file; ``ErrorCode/interrupted`` when a signal came that the program
    ///   handles.
    package static func ask(_ prompt: String, isSecret: Bool) throws(CredentialError) -> Secret {
        let number = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        if number < 0 {
            throw CredentialError(.inputOutput, "there is no terminal for the prompt")
        }
        return try TerminalPrompt(FileDescriptor(owning: number), prompt: prompt, isSecret: isSecret).ask()
    }

    /// Does short work between two questions: text that is typed early is not shown. The signals that end or stop
    /// the program wait for its end.
    package static func unseen(_ work: () throws(CredentialError) -> Void) throws(CredentialError) {
        let number = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        if number < 0 { return try work() }
        try RawTerminal(FileDescriptor(owning: number)).whileUnseen(work)
    }

    /// Reads one line of standard input; the text after it stays there.
    ///
    /// - Returns: the line without its end, or `nil` at the end of the input.
    /// - Parameter limit: the most bytes that the line may have.
    /// - Throws: ``ErrorCode/inputOutput``, also for a longer line or one that is not UTF-8.
    package static func readLine(limit: Int = longestLine) throws(CredentialError) -> Secret? {
        var line: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            let got = unsafe read(STDIN_FILENO, &byte, 1)
            if got < 0 {
                if errno == EINTR { continue }
                // A user that starts a program without standard input has no answer to give there.
                if errno == EBADF, line.isEmpty { return nil }
                throw .system("cannot read", "standard input", number: errno)
            }
            if got == 0 && line.isEmpty { return nil }
            if got == 0 || byte == UInt8(ascii: "\n") { return try text(line) }
            line.append(byte)
            if line.count > limit {
                throw CredentialError(
                    .inputOutput, "the line on standard input is longer than \(limit) bytes")
            }
        }
    }

    /// A line without a carriage return at its end.
    static func text(_ line: [UInt8]) throws(CredentialError) -> Secret {
        let bytes = line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...]
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CredentialError(.inputOutput, "the line is not UTF-8")
        }
        return Secret(text)
    }
}
