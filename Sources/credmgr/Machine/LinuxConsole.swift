import Commands
import CredentialCore
import Platform

/// The standard streams and the terminal of this process.
struct LinuxConsole: Console {
    /// The line that says what is waited for; `nil` where standard error is no terminal.
    private let line: WaitingLine?

    /// Looks at the streams.
    init(environment: [String: String] = [:]) {
        line =
            Terminal.isTerminal(StandardStream.error.rawValue)
            ? WaitingLine(
                repaints: TerminalManners.repaints(environment),
                width: { Terminal.width(StandardStream.error.rawValue) ?? 80 },
                write: { text in try? StandardStream.error.write(text) }) : nil
    }

    var waiting: any WaitingDisplay { line ?? NoWaitingDisplay() }

    func writeResult(_ bytes: [UInt8]) throws(CredentialError) { try StandardStream.output.write(bytes) }

    func writeNotice(_ text: String) {
        // There is nobody left to tell when standard error is gone.
        guard let line else { return (try? StandardStream.error.write(text)) ?? () }
        line.interrupt { try? StandardStream.error.write(text) }
    }

    var resultIsTerminal: Bool { Terminal.isTerminal(StandardStream.output.rawValue) }
    var noticeIsTerminal: Bool { Terminal.isTerminal(StandardStream.error.rawValue) }
    var width: Int { Terminal.width() ?? 80 }

    /// A person who can see the question and type the answer.
    var hasPerson: Bool { noticeIsTerminal && Terminal.isTerminal(0) }

    func ask(_ prompt: String, isSecret: Bool) throws(CredentialError) -> Secret {
        try Terminal.ask(prompt, isSecret: isSecret)
    }

    func unseen(_ work: () throws(CredentialError) -> Void) throws(CredentialError) {
        try Terminal.unseen(work)
    }

    func readLine(
        status: @escaping (Int64) -> String?, accepts: @escaping (String) -> Bool,
        while work: @escaping @Sendable () -> Void
    ) throws(CredentialError) -> Secret? {
        let call = try BackgroundCall<Void, Never> { work() }
        guard let vigil = TerminalVigil(until: call, status: status, accepts: accepts) else {
            // Work ends by a time limit of its own.
            while call.result(until: Deadline(milliseconds: .max)) == nil {}
            return nil
        }
        return try vigil.read()
    }

    func readInputLine(limit: Int) throws(CredentialError) -> String? {
        try Terminal.readLine(limit: limit)?.reveal()
    }

    func readInput(limit: Int) throws(CredentialError) -> [UInt8] { try StandardInput.readAll(limit: limit) }
}
