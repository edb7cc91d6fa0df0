package import Broker
import CredentialCore
import Platform
import Synchronization

/// Prompts on the terminal of the server, one prompt after the other.
package final class TerminalConsentPrompt: ConsentPrompt {
    private let path: String
    private let current = Mutex<OneShot<Bool, Never>?>(nil)

    /// Makes a prompt.
    ///
    /// - Parameter path: the terminal.
    package init(path: String = "/dev/tty") { self.path = path }

    package func ask(_ text: ConsentText, milliseconds: Int32) -> ConsentChoice? {
        let deadline = Deadline(milliseconds: milliseconds)
        let own = OneShot<Bool, Never>()
        while true {
            let other = current.withLock { current -> OneShot<Bool, Never>? in
                if let current { return current }
                current = own
                return nil
            }
            guard let other else { break }
            guard other.take(until: deadline) != nil, !deadline.hasPassed else { return .timeout }
        }
        defer {
            current.withLock { $0 = nil }
            own.put(.success(true))
        }
        let words = text.choices.map { "\($0.choice.rawValue) (\($0.label))" }.joined(separator: ", ")
        let lines = ["", text.title] + text.lines.map { "  " + $0 } + [words + ": "]
        let outcome = TerminalChoice.ask(lines, on: path, until: deadline) { choice($0, text) != nil }
        switch outcome {
        case .line(let answer): return choice(answer, text)
        case .timedOut: return .timeout
        case .unavailable: return nil
        }
    }

    /// The choice of a whole word: one letter could be a slip, or meant for another program.
    private func choice(_ answer: String, _ text: ConsentText) -> ConsentChoice? {
        let word = answer.drop { $0 == " " }.prefix { $0 != " " }
        return text.choices.first { $0.choice.rawValue == word }?.choice
    }
}
