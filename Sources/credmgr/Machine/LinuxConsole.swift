import Commands
import CredentialCore
import Platform

/// The standard streams and the terminal of this process.
struct LinuxConsole: Console {
    /// The line that names the event waited for; `nil` if standard error is no terminal.
    private let line: ProgressLine?
    let translations: any Translations

    /// Looks at the streams.
    ///
    /// - Parameter translations: the person's language.
    init(environment: [String: String] = [:], translations: any Translations) {
        self.translations = translations
        line =
            Terminal.isTerminal(StandardStream.error.rawValue)
            ? ProgressLine(
                repaints: TerminalCapabilities.repaints(environment),
                width: { Terminal.width(StandardStream.error.rawValue) ?? 80 }, translations: translations,
                write: { text in try? StandardStream.error.write(text) }) : nil
    }

    var waiting: any ProgressDisplay { line ?? NoWaitingDisplay() }

    func writeResult(_ bytes: [UInt8]) throws(CredentialError) { try StandardStream.output.write(bytes) }

    func writeNotice(_ text: String) {
        // No reader is left for a report when standard error is gone.
        guard let line else { return (try? StandardStream.error.write(text)) ?? () }
        line.interrupt { try? StandardStream.error.write(text) }
    }

    var resultIsTerminal: Bool { Terminal.isTerminal(StandardStream.output.rawValue) }
    var noticeIsTerminal: Bool { Terminal.isTerminal(StandardStream.error.rawValue) }
    var width: Int { Terminal.width() ?? 80 }

    /// A person who can see the question and type the answer.
    var hasPerson: Bool { noticeIsTerminal && Terminal.isTerminal(0) }

    func ask(_ prompt: LocalizedMessage, isSecret: Bool) throws(CredentialError) -> Secret {
        try Terminal.ask(prompt.text(in: translations), isSecret: isSecret)
    }

    func unseen(_ work: () throws(CredentialError) -> Void) throws(CredentialError) {
        try Terminal.unseen(work)
    }

    func readLine(
        status: @escaping (Int64) -> String?, accepts: @escaping (String) -> Bool,
        asides: @escaping () -> [String], while work: @escaping @Sendable () -> Void
    ) throws(CredentialError) -> Secret? {
        let call = try ThreadTask<Void, Never> { work() }
        guard let vigil = TerminalLineReader(until: call, status: status, accepts: accepts, asides: asides) else {
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
