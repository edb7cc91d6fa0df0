import Foundation
import StrictJSON
import TestSupport
import Testing

/// The text that a program on a terminal of its own has shown and printed.
struct TerminalSession {
    /// The text on the terminal.
    let text: String
    /// Standard output, which is a pipe.
    let output: String
    /// The exit status; the number of a signal is negative.
    let status: Int64
    /// The input that was typed and not read: the shell would execute it.
    let left: String
}

extension Home {
    /// Runs the program on a terminal, and plays the person before it.
    ///
    /// - Parameters:
    ///   - steps: in their order: when the terminal has shown `text`, `answer` is typed.
    ///   - program: another program, such as a shell that runs this one.
    func onTerminal(
        _ words: [String], _ steps: [(text: String, answer: String)] = [], columns: Int = 100,
        environment: [String: String] = [:], program: String = Home.program
    ) throws -> TerminalSession {
        let player = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Servers/terminal").path
        let script = JSONValue.array(steps.map { [.string($0.text), .string($0.answer)] }).text()
        let outcome = try ChildProcess(
            player, [script, String(columns), program] + words,
            environment: self.environment.merging(["TERM": "xterm"]) { $1 }.merging(environment) { $1 }
        ).run(seconds: 90)
        let result = try #require(
            try JSONValue.parse(Array(outcome.standardOutput.utf8)).object, "\(outcome.standardError)")
        return TerminalSession(
            text: result["text"]?.string ?? "", output: result["output"]?.string ?? "",
            status: result["status"]?.integer ?? -1, left: result["left"]?.string ?? "")
    }
}
