import Commands
import CredentialCore
import Synchronization
import TestPorts

/// Streams and a terminal in memory. Input that a test has not given cannot be read.
package final class MemoryConsole: Console {
    private struct State {
        var result: [UInt8] = []
        var notices = ""
        var input: [UInt8]?
        var answers: [String]
    }

    private let state: Mutex<State>
    /// Whether the terminal ends after the answers.
    private let endsAfterAnswers: Bool
    /// Whether it has a user.
    package let hasPerson: Bool

    /// Makes a console.
    ///
    /// - Parameters:
    ///   - input: the text on standard input; `nil` if it may not be read.
    ///   - answers: the user's input, in order; `nil` without a user.
    ///   - endsAfterAnswers: whether the terminal ends then; else a further question is unexpected.
    ///   - width: the columns of the terminal.
    ///   - translations: the language.
    package init(
        input: String? = nil, answers: [String]? = nil, endsAfterAnswers: Bool = false, width: Int = 120,
        translations: any Translations = NoTranslations()
    ) {
        self.endsAfterAnswers = endsAfterAnswers
        self.width = width
        self.translations = translations
        state = Mutex(State(input: input.map { Array($0.utf8) }, answers: answers ?? []))
        hasPerson = answers != nil
    }

    /// Standard output so far.
    package var result: String { String(decoding: resultBytes, as: UTF8.self) }
    /// The same as bytes.
    package var resultBytes: [UInt8] { state.withLock(\.result) }
    /// Standard error so far.
    package var notices: String { state.withLock(\.notices) }
    /// How many answers were not asked for.
    package var answersLeft: Int { state.withLock { $0.answers.count } }

    package var resultIsTerminal: Bool { hasPerson }
    package var noticeIsTerminal: Bool { hasPerson }
    package let width: Int
    /// The waits that were shown.
    package let waits = RecordedWaiting()
    package let translations: any Translations
    package var waiting: any ProgressDisplay { waits }

    package func writeResult(_ bytes: [UInt8]) throws(CredentialError) { state.withLock { $0.result += bytes } }

    package func writeNotice(_ text: String) { state.withLock { $0.notices += text } }

    private func answer() -> String? {
        state.withLock { $0.answers.isEmpty ? nil : $0.answers.removeFirst() }
    }

    package func ask(_ prompt: LocalizedMessage, isSecret: Bool) throws(CredentialError) -> Secret {
        if endsAfterAnswers, answersLeft == 0 { throw CredentialError(.cancelled, "the input is empty") }
        guard let answer = answer() else { throw unexpected("the question '\(prompt)'") }
        return Secret(answer)
    }

    package func unseen(_ work: () throws(CredentialError) -> Void) throws(CredentialError) { try work() }

    /// The typed input comes before the work is done.
    package func readLine(
        status: @escaping (Int64) -> String?, accepts: @escaping (String) -> Bool,
        asides: @escaping () -> [String], while work: @escaping @Sendable () -> Void
    ) throws(CredentialError) -> Secret? {
        while let answer = answer() {
            if accepts(answer) { return Secret(answer) }
        }
        work()
        for line in asides() { writeNotice(line + "\n") }
        return nil
    }

    package func readInputLine(limit: Int) throws(CredentialError) -> String? {
        let line: [UInt8]? = try read { input in
            if input.isEmpty { return nil }
            let line = Array(input.prefix { $0 != UInt8(ascii: "\n") })
            input.removeFirst(min(line.count + 1, input.count))
            return line
        }
        return line.map { String(decoding: $0, as: UTF8.self) }
    }

    package func readInput(limit: Int) throws(CredentialError) -> [UInt8] {
        try read { input in
            defer { input = [] }
            return input
        }
    }

    private func read<Result: Sendable>(_ body: (inout [UInt8]) -> Result) throws(CredentialError) -> Result {
        let result: Result? = state.withLock { state in
            guard var input = state.input else { return nil }
            defer { state.input = input }
            return body(&input)
        }
        guard let result else { throw unexpected("standard input") }
        return result
    }
}
