import CredentialCore
import CredmgrCommands
import LinuxPlatform

/// The standard streams and the terminal of this process.
struct LinuxConsole: Console {
    func writeResult(_ bytes: [UInt8]) throws(CredentialError) { try StandardStream.output.write(bytes) }

    func writeNotice(_ text: String) {
        // There is nobody left to tell when standard error is gone.
        try? StandardStream.error.write(text)
    }

    var resultIsTerminal: Bool { Terminal.isTerminal(StandardStream.output.rawValue) }
    var noticeIsTerminal: Bool { Terminal.isTerminal(StandardStream.error.rawValue) }
    var width: Int { Terminal.width() ?? 80 }

    /// A person who can see the question and type the answer.
    var hasPerson: Bool { noticeIsTerminal && Terminal.isTerminal(0) }

    func ask(_ prompt: String, isSecret: Bool) throws(CredentialError) -> Secret {
        try Terminal.ask(prompt, isSecret: isSecret)
    }

    func readInputLine() throws(CredentialError) -> String? { try Terminal.readLine()?.reveal() }

    func readInput(limit: Int) throws(CredentialError) -> [UInt8] { try StandardInput.readAll(limit: limit) }
}
