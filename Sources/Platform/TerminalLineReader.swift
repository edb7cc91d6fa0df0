package import CredentialCore
import Glibc

/// Reads lines of the terminal, unseen, while a call on another thread goes on.
///
/// A line may be longer than the 4,095 bytes that a terminal passes on by itself, and no part of it is left for the
/// shell. The signals that end or stop the program set the terminal right before they act.
package struct TerminalLineReader: ~Copyable {
    private let terminal: RawTerminal
    private let call: any Awaitable
    private let status: (Int64) -> String?
    private let accepts: (String) -> Bool
    private let asides: () -> [String]

    /// How often it is looked whether the call has ended, in milliseconds.
    private static let step: Int32 = 100

    /// Takes the terminal of the session; `nil` if there is no terminal.
    ///
    /// - Parameters:
    ///   - call: the call that is waited for beside the terminal.
    ///   - status: a line to show after so many seconds; shown again when it changes, removed at the end.
    ///   - accepts: whether a line is the expected one; others are passed over.
    ///   - asides: lines to show above the status; each is given once.
    package init?<Value, Failure>(
        until call: ThreadTask<Value, Failure>, status: @escaping (Int64) -> String?,
        accepts: @escaping (String) -> Bool, asides: @escaping () -> [String] = { [] }
    ) {
        let number = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        if number < 0 { return nil }
        terminal = RawTerminal(FileDescriptor(owning: number))
        self.call = call
        self.status = status
        self.accepts = accepts
        self.asides = asides
    }

    /// Waits for whichever comes first.
    ///
    /// - Returns: the line that was accepted; `nil` when the call has ended first.
    /// - Throws: ``ErrorCode/interrupted`` when a signal came that the program handles; ``ErrorCode/inputOutput``.
    package func read() throws(CredentialError) -> Secret? {
        while true {
            switch try attempt() {
            case .line(let line): return line
            case .call: return nil
            case .signal(SIGTSTP): continue
            case .signal: throw CredentialError(.interrupted, "interrupted")
            }
        }
    }

    private enum Ending {
        case line(Secret)
        case call
        case signal(Int32)
    }

    private func attempt() throws(CredentialError) -> Ending {
        // Earlier input stays: the user may have pasted an address early.
        try terminal.whileRaw(dropsEarlier: false) { (signals, keys) throws(CredentialError) in
            try wait(signals, keys)
        }
    }

    private func wait(
        _ signals: borrowing FileDescriptor, _ keys: LineEditor.Keys?
    ) throws(CredentialError) -> Ending {
        var editor = LineEditor(keys: keys, echoes: false)
        var reads = true
        var shown: String?
        var steps: Int64 = 0
        defer { if shown != nil { clear() } }
        while true {
            if call.hasEnded { return .call }
            switch terminal.next(signals, milliseconds: Self.step, reads: reads) {
            case .silence:
                steps += 1
                for line in asides() {
                    clear()
                    terminal.show(Array((line + "\r\n").utf8))
                    shown = nil
                }
                let text = status(steps * Int64(Self.step) / 1000)
                if text != shown {
                    clear()
                    if let text { terminal.show(Array(text.utf8)) }
                    shown = text
                }
            case .signal(let number): return .signal(number)
            // Without a terminal any more only the call is waited for.
            case .end: reads = false
            case .byte(let byte):
                switch editor.take(byte).outcome {
                case .goesOn: try RawTerminal.checkLength(of: editor)
                case .end: reads = false
                case .line:
                    let line = try Terminal.text(editor.line)
                    editor = LineEditor(keys: keys, echoes: false)
                    if shown != nil { clear() }
                    shown = nil
                    if accepts(line.reveal()) { return .line(line) }
                }
            }
        }
    }

    /// Takes the line of the status away.
    private func clear() { terminal.show(Array("\r\u{1B}[K".utf8)) }
}

/// Something under way that ends by itself.
private protocol Awaitable: Sendable {
    var hasEnded: Bool { get }
}

extension ThreadTask: Awaitable {
    fileprivate var hasEnded: Bool { result(until: Deadline(milliseconds: 0)) != nil }
}
