import CommandLine
import CryptoSupport
import Foundation
import TestCommands
import Testing

@testable import Commands
@testable import CredentialCore

/// `explain` and the topics of `help`.
@Suite struct ExplainTests {
    private let scene = CommandScene(cryptography: LibCryptography())

    // MARK: explain

    @Test(arguments: ErrorCode.allCases)
    func `explain prints meaning, causes and remedies of each code`(code: ErrorCode) {
        let outcome = scene.run("explain", code.rawValue)
        #expect(outcome.status == 0 && outcome.notices.isEmpty)
        #expect(
            outcome.output.hasPrefix("\(code.rawValue) (exit code \(code.exitStatus))\n\n"), "\(outcome.output)")
        #expect(outcome.output.contains("\nUsual causes:\n  - ") && outcome.output.contains("\nWhat helps:\n  - "))
        #expect(outcome.output.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test(arguments: ExitStatusText.all.map(\.status))
    func `explain prints every code of an exit code`(status: Int32) {
        let outcome = scene.run("explain", String(status))
        #expect(outcome.status == 0, "\(outcome.notices)")
        for code in ErrorCode.allCases {
            let isShown = outcome.output.contains("\n\(code.rawValue) (exit code ")
            #expect(isShown == (code.exitStatus == status), "\(code)")
        }
    }

    @Test func `explain of an unknown code exits with 2 and names the nearest, or all`() {
        let slip = scene.run("explain", "store_loked")
        #expect(slip.status == 2 && slip.notices.contains("did you mean 'store_locked'?"), "\(slip.notices)")
        for word in ["99", "-1", "nonsense-word", "4.0"] {
            let outcome = scene.run("explain", word)
            #expect(outcome.status == 2, "\(outcome.notices)")
            #expect(outcome.notices.contains("sign_in_required") && outcome.notices.contains(", 130"))
        }
        #expect(scene.run("explain").status == 2)
    }

    @Test func `no two codes have the same explanation`() {
        let meanings = ErrorCode.allCases.map(\.explanation.meaning.description)
        #expect(Set(meanings).count == meanings.count)
    }

    @Test func `each command of an explanation or topic is one of this program`() throws {
        let texts =
            ErrorCode.allCases.flatMap { $0.explanation.remedies.map(\.description) }
            + HelpTopic.allCases.map {
                scene.run("help", $0.rawValue).output.replacingOccurrences(of: "\n", with: " ")
            }
        let names = Set(CommandTable.standard.commands.map(\.path[0])).union(["COMMAND"])
        var count = 0
        for text in texts {
            for piece in text.components(separatedBy: "credmgr ").dropFirst() {
                let word = piece.prefix { $0.isLetter || $0 == "-" }
                // The program's name in a sentence, and in the name of a directory.
                if word.isEmpty { continue }
                if !text.contains(": credmgr \(word)"), !text.contains("'credmgr \(word)") { continue }
                count += 1
                #expect(names.contains(String(word)), "\(text)")
            }
        }
        #expect(count > 30)
    }

    // MARK: The page

    private static let page = URL(fileURLWithPath: String(#filePath.split(separator: "/Tests/")[0]))
        .appendingPathComponent("docs/troubleshooting.md")

    /// The section of the page, made from the explanations.
    private static var section: String {
        ErrorCode.allCases.map { code in
            let explanation = code.explanation
            func list(_ items: [LocalizedMessage]) -> String {
                items.map { "- " + $0.description.replacingOccurrences(of: "<", with: "&lt;") + "\n" }.joined()
            }
            return
                "### `\(code.rawValue)`\n\nExit code \(code.exitStatus). \(explanation.meaning)\n\nUsual causes:\n\n"
                + list(explanation.causes) + "\nWhat helps:\n\n" + list(explanation.remedies)
        }.joined(separator: "\n")
    }

    @Test func `the troubleshooting page has the same text`() throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let parts = text.components(separatedBy: "## Error codes\n\n")
        try #require(parts.count == 2)
        if ProcessInfo.processInfo.environment["UPDATE_SNAPSHOTS"] == "1" {
            let updated = parts[0] + "## Error codes\n\n" + Self.section
            try updated.write(to: Self.page, atomically: true, encoding: .utf8)
            return
        }
        #expect(parts[1] == Self.section, "run with UPDATE_SNAPSHOTS=1 and look at the difference")
    }

    // MARK: help TOPIC

    @Test(arguments: HelpTopic.allCases)
    func `help prints each topic within 80 columns`(topic: HelpTopic) {
        let outcome = scene.run("help", topic.rawValue)
        #expect(outcome.status == 0 && outcome.output.split(separator: "\n").count > 3, "\(outcome.notices)")
        #expect(outcome.output.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(outcome.output)")
    }

    @Test func `help names the command that a topic has its name from`() {
        #expect(scene.run("help", "groups").output.hasSuffix("\nThe command: credmgr groups --help\n"))
        #expect(scene.run("groups", "--help").output.hasPrefix("Usage: credmgr groups"))
    }

    @Test func `a slip in the name of a topic is answered with the nearest`() {
        let outcome = scene.run("help", "enviroment")
        #expect(outcome.status == 2 && outcome.notices.contains("did you mean 'credmgr help environment'?"))
    }

    @Test func `help config tells every key that the program reads`() {
        #expect(HelpTopic.keys.map(\.name).sorted() == Configuration.keys.sorted())
    }
}
