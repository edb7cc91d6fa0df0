import CommandLine
import Commands
import CredentialCore
import Foundation
import TestSupport
import Testing

@Suite struct ArgumentsHelpTests {
    /// The commands that have a page, as one string each; the empty one means the overview.
    static let topics = [""] + CommandTable.standard.commands.filter { $0.role != .hidden }.map(\.name)

    private func page(_ topic: String, width: Int = 80) throws -> String {
        try HelpText(.standard, width: width).about(topic.split(separator: " ").map(String.init))
    }

    private let manual = ManualPage(.standard, version: "1.0.0", date: "2026-11-22")

    @Test(arguments: topics)
    func `help is as its snapshot says`(_ topic: String) throws {
        let name = (["help"] + topic.split(separator: " ")).joined(separator: "-")
        try Snapshot.expect(try page(topic), named: name)
    }

    @Test func `help of every command is as its snapshot says`() throws {
        try Snapshot.expect(HelpText(.standard).everything, named: "help-all")
        #expect(HelpText(.standard).everything.contains("\nExit status:\n"))
    }

    @Test func `the one screen of help has ten commands that exist`() throws {
        let names = CommandTable.standard.usual
        #expect(names.count == 10)
        #expect(names.allSatisfy { CommandTable.standard.command($0) != nil })
        #expect(CommandTable.standard.command(CommandTable.standard.beginning) != nil)
    }

    @Test func `the manual page is as its snapshot says`() throws {
        try Snapshot.expect(try manual.source(about: []), named: "manual-page")
        try Snapshot.expect(try manual.source(about: ["accounts", "show"]), named: "manual-page-accounts-show")
    }

    @Test(arguments: Shell.allCases)
    func `the completion script is as its snapshot says`(_ shell: Shell) throws {
        try Snapshot.expect(shell.completionScript, named: "completion-\(shell.rawValue)")
    }

    @Test(arguments: topics, [40, 60, 80])
    func `help keeps to the width`(_ topic: String, _ width: Int) throws {
        let lines = try page(topic, width: width).split(separator: "\n")
        // Labels of two columns' indent, options and examples are not broken; sentences are.
        for line in lines where line.count > width {
            #expect(line.hasPrefix("  ") && !line.hasPrefix("   ") || line.hasPrefix("      --"), "\(line)")
        }
    }

    @Test func `each heading of the overview has something below it`() throws {
        let lines = HelpText(.standard).everything.split(separator: "\n", omittingEmptySubsequences: false)
        for (heading, next) in zip(lines, lines.dropFirst()) where heading.hasSuffix(":") && !heading.hasPrefix(" ")
        {
            #expect(next.hasPrefix("  "), "\(heading)")
        }
    }

    @Test func `help about an unknown command suggests an existing one`() {
        let error = #expect(throws: CredentialError.self) { try page("types shwo") }
        #expect(error?.code == .usage)
        #expect(error?.hint == "did you mean 'credmgr help types show'?")
    }

    @Test func `no snapshot is of a page that is gone`() throws {
        let pages = Self.topics.map { (["help"] + $0.split(separator: " ")).joined(separator: "-") }
        let scripts = Shell.allCases.map { "completion-\($0.rawValue)" }
        let expected = (pages + scripts + ["help-all", "manual-page", "manual-page-accounts-show"]).map {
            $0 + ".txt"
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: Snapshot.folder.path).sorted() == expected.sorted())
    }

    @Test func `hidden commands are not shown`() throws {
        #expect(!HelpText(.standard).everything.contains("__complete"))
        #expect(try !manual.source(about: []).contains("__complete"))
        #expect(throws: CredentialError.self) { try manual.source(about: ["__complete"]) }
    }

    @Test func `every page is without fault to groff and to mandoc`() throws {
        for (name, words) in manual.names {
            let source = try manual.source(about: words)
            let groff = try ChildProcess(
                "groff", ["-man", "-Tascii", "-ww", "-z"], environment: ["PATH": "/usr/bin"]
            ).run(input: source)
            #expect(groff.exitStatus == 0 && groff.standardError.isEmpty, "\(name): \(groff.standardError)")
            let mandoc = try ChildProcess("mandoc", ["-T", "lint"], environment: ["PATH": "/usr/bin"])
                .run(input: source)
            #expect(mandoc.exitStatus == 0 && mandoc.standardOutput.isEmpty, "\(name): \(mandoc.standardOutput)")
        }
    }
}

/// Texts kept in `Snapshots/`; with `UPDATE_SNAPSHOTS=1` in the environment they are written instead of compared.
enum Snapshot {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Snapshots")

    static func expect(_ text: String, named name: String) throws {
        let file = folder.appendingPathComponent(name + ".txt")
        if ProcessInfo.processInfo.environment["UPDATE_SNAPSHOTS"] == "1" {
            try text.write(to: file, atomically: true, encoding: .utf8)
            return
        }
        let expected = try String(contentsOf: file, encoding: .utf8)
        #expect(text == expected, "\(name) differs; run with UPDATE_SNAPSHOTS=1 and look at the difference")
    }
}
