import CLinux
import CredentialCore
import Glibc

/// An open terminal that gives each byte as it is typed.
///
/// A terminal that edits lines itself passes on 4,095 bytes of one and drops the rest without a word. The signals
/// that would leave it in this state are held back: one that comes is noticed, the terminal is set right, and only
/// then the signal acts.
struct RawTerminal: ~Copyable {
    /// The signals that would leave the terminal without echo.
    private static let watched = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]

    private let terminal: FileDescriptor

    /// Takes an open terminal.
    init(_ terminal: consuming FileDescriptor) { self.terminal = terminal }

    /// The result of waiting.
    enum Event {
        /// A byte was typed.
        case byte(UInt8)
        /// There will be no more bytes; the number of the error, or 0 at the end of the file.
        case end(errno: Int32)
        /// A watched signal waits to act.
        case signal(Int32)
        /// The time is up.
        case silence
    }

    /// Does something while the terminal is raw.
    ///
    /// - Parameters:
    ///   - dropsEarlier: whether text that was typed before is dropped: it may have been cut.
    ///   - body: is given the source of signals, and the keys that edit; `nil` if it is no terminal.
    func whileRaw<Result>(
        dropsEarlier: Bool,
        _ body: (borrowing FileDescriptor, LineEditor.Keys?) throws(CredentialError) -> Result
    ) throws(CredentialError) -> Result {
        var held = sigset_t()
        var before = sigset_t()
        unsafe sigemptyset(&held)
        for number in Self.watched { unsafe sigaddset(&held, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &held, &before)
        // Last of all: pending signals are delivered here.
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        let number = unsafe linux_signalfd(&held)
        if number < 0 { throw .system("cannot watch", "signals", number: errno) }
        let signals = FileDescriptor(owning: number)

        var original = termios()
        let isTerminal = unsafe tcgetattr(terminal.number, &original) == 0
        if isTerminal {
            var raw = original
            raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ECHONL)
            unsafe tcsetattr(terminal.number, dropsEarlier ? TCSAFLUSH : TCSADRAIN, &raw)
        }
        defer { if isTerminal { unsafe tcsetattr(terminal.number, TCSAFLUSH, &original) } }
        return try body(signals, isTerminal ? LineEditor.Keys(original) : nil)
    }

    /// Does an action while typed text is not shown; the text stays for the next reader of the terminal.
    func whileUnseen(_ body: () throws(CredentialError) -> Void) throws(CredentialError) {
        var held = sigset_t()
        var before = sigset_t()
        unsafe sigemptyset(&held)
        for number in Self.watched { unsafe sigaddset(&held, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &held, &before)
        // Last of all: a signal that came acts on a terminal that echoes again.
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        var original = termios()
        guard unsafe tcgetattr(terminal.number, &original) == 0 else { return try body() }
        var silent = original
        silent.c_lflag &= ~tcflag_t(ECHO | ECHONL)
        unsafe tcsetattr(terminal.number, TCSANOW, &silent)
        defer { unsafe tcsetattr(terminal.number, TCSANOW, &original) }
        try body()
    }

    /// Waits for the next event.
    ///
    /// - Parameters:
    ///   - milliseconds: how long; -1 without end.
    ///   - reads: whether bytes are waited for, too.
    func next(_ signals: borrowing FileDescriptor, milliseconds: Int32 = -1, reads: Bool = true) -> Event {
        while true {
            var polled = [
                pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: reads ? terminal.number : -1, events: Int16(POLLIN), revents: 0),
            ]
            let count = unsafe poll(&polled, 2, milliseconds)
            if count == 0 { return .silence }
            guard count > 0 else { continue }
            if polled[0].revents != 0 { return .signal(Self.pending()) }
            var byte: UInt8 = 0
            let got = unsafe read(terminal.number, &byte, 1)
            if got > 0 { return .byte(byte) }
            if got < 0 && errno == EINTR { continue }
            return .end(errno: got < 0 ? errno : 0)
        }
    }

    /// Shows bytes.
    ///
    /// - Returns: the number of the error; 0 if there was no error.
    @discardableResult func show(_ bytes: [UInt8]) -> Int32 { bytes.isEmpty ? 0 : terminal.writeAll(bytes) }

    /// - Throws: ``ErrorCode/inputOutput`` for a line that is too long.
    static func checkLength(of editor: LineEditor) throws(CredentialError) {
        guard editor.line.count > Terminal.longestLine else { return }
        throw CredentialError(
            .inputOutput, "the line is longer than \(Terminal.longestLine) bytes",
            hint: "pass it on standard input from a file or a pipe")
    }

    /// The watched signal that waits to act.
    private static func pending() -> Int32 {
        var set = sigset_t()
        unsafe sigpending(&set)
        return watched.first { unsafe sigismember(&set, $0) == 1 } ?? SIGINT
    }
}
