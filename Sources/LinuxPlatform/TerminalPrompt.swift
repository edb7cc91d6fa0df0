import CLinux
import CredentialCore
import Glibc

/// One question on an open terminal.
struct TerminalPrompt: ~Copyable {
    /// The signals that would leave the terminal without echo.
    private static let watched = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]

    private let terminal: FileDescriptor
    private let prompt: String
    private let isSecret: Bool

    /// Prepares a question.
    init(_ terminal: consuming FileDescriptor, prompt: String, isSecret: Bool) {
        self.terminal = terminal
        self.prompt = prompt
        self.isSecret = isSecret
    }

    /// Asks, and asks again after the program was stopped and went on.
    ///
    /// - Throws: as ``Terminal/ask(_:isSecret:)``.
    func ask() throws(CredentialError) -> Secret {
        while true {
            switch try attempt() {
            case .line(let line): return try Terminal.text(line)
            case .end: throw CredentialError(.cancelled, "nothing was entered")
            case .signal(SIGTSTP): continue
            case .signal: throw CredentialError(.interrupted, "interrupted")
            }
        }
    }

    private enum Answer {
        case line([UInt8])
        case end
        case signal(Int32)
    }

    /// Asks once, with the signals held back: one that comes is noticed, the terminal is set right, and only then
    /// the signal acts.
    private func attempt() throws(CredentialError) -> Answer {
        var held = sigset_t()
        var before = sigset_t()
        unsafe sigemptyset(&held)
        for number in Self.watched { unsafe sigaddset(&held, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &held, &before)
        // Last of all: what is pending is delivered here.
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        let number = unsafe linux_signalfd(&held)
        if number < 0 { throw .system("cannot watch", "signals", number: errno) }
        let signals = FileDescriptor(owning: number)

        // A terminal that edits lines itself passes on 4,095 bytes of one and drops the rest without a word. What
        // was typed before the question may have been cut that way, and is dropped whole.
        var original = termios()
        let isTerminal = unsafe tcgetattr(terminal.number, &original) == 0
        if isTerminal {
            var raw = original
            raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ECHONL)
            unsafe tcsetattr(terminal.number, TCSAFLUSH, &raw)
        }
        defer { if isTerminal { unsafe tcsetattr(terminal.number, TCSAFLUSH, &original) } }
        try show(Array(prompt.utf8))
        return try read(signals, LineEditor(keys: isTerminal ? LineEditor.Keys(original) : nil, echoes: !isSecret))
    }

    private func read(
        _ signals: borrowing FileDescriptor, _ editor: consuming LineEditor
    ) throws(CredentialError) -> Answer {
        while true {
            var polled = [
                pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0),
                pollfd(fd: terminal.number, events: Int16(POLLIN), revents: 0),
            ]
            guard unsafe poll(&polled, 2, -1) > 0 else { continue }
            if polled[0].revents != 0 { return .signal(Self.pending()) }
            var byte: UInt8 = 0
            let got = unsafe Glibc.read(terminal.number, &byte, 1)
            if got < 0 && errno == EINTR { continue }
            if got < 0 { throw .system("cannot read", "/dev/tty", number: errno) }
            let step = got == 0 ? editor.end() : editor.take(byte)
            try show(step.echo)
            switch step.outcome {
            case .goesOn: break
            case .line: return .line(editor.line)
            case .end: return .end
            }
            guard editor.line.count <= Terminal.longestLine else {
                throw CredentialError(
                    .inputOutput, "the line is longer than \(Terminal.longestLine) bytes",
                    hint: "pass it on standard input from a file or a pipe")
            }
        }
    }

    private func show(_ bytes: [UInt8]) throws(CredentialError) {
        if bytes.isEmpty { return }
        let failure = terminal.writeAll(bytes)
        if failure != 0 { throw .system("cannot write", "/dev/tty", number: failure) }
    }

    /// The watched signal that waits to act.
    private static func pending() -> Int32 {
        var set = sigset_t()
        unsafe sigpending(&set)
        return watched.first { unsafe sigismember(&set, $0) == 1 } ?? SIGINT
    }
}
