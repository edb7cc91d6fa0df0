import CredentialCore
import Glibc

/// One question on an open terminal.
struct TerminalPrompt: ~Copyable {
    private let terminal: RawTerminal
    private let prompt: String
    private let isSecret: Bool

    /// Prepares a question.
    init(_ terminal: consuming FileDescriptor, prompt: String, isSecret: Bool) {
        self.terminal = RawTerminal(terminal)
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
            case .end: throw CredentialError(.cancelled, "the input is empty")
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

    private func attempt() throws(CredentialError) -> Answer {
        try terminal.whileRaw(dropsEarlier: true) { (signals, keys) throws(CredentialError) in
            try show(Array(prompt.utf8))
            return try read(signals, LineEditor(keys: keys, echoes: !isSecret))
        }
    }

    private func read(
        _ signals: borrowing FileDescriptor, _ editor: consuming LineEditor
    ) throws(CredentialError) -> Answer {
        while true {
            let step: LineEditor.Step
            switch terminal.next(signals) {
            case .signal(let number): return .signal(number)
            case .silence: continue
            case .byte(let byte): step = editor.take(byte)
            case .end(errno: 0): step = editor.end()
            case .end(let number): throw .system("cannot read", "/dev/tty", number: number)
            }
            try show(step.echo)
            switch step.outcome {
            case .goesOn: try RawTerminal.checkLength(of: editor)
            case .line: return .line(editor.line)
            case .end: return .end
            }
        }
    }

    private func show(_ bytes: [UInt8]) throws(CredentialError) {
        let failure = terminal.show(bytes)
        if failure != 0 { throw .system("cannot write", "/dev/tty", number: failure) }
    }
}
