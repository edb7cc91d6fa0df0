import CommandLine
import Foundation
import TestSupport
import Testing

@testable import Commands
@testable import CredentialCore

/// `docs/reference` describes the program: no entry is missing there, and no entry is out of date.
@Suite struct ReferenceTests {
    private static let project = URL(fileURLWithPath: String(#filePath.split(separator: "/Tests/")[0]))

    private func page(_ name: String) throws -> String {
        try String(contentsOf: Self.project.appendingPathComponent("docs/reference/\(name).md"), encoding: .utf8)
    }

    @Test func `the pages are those that are made from the program's own words`() throws {
        let script = Self.project.appendingPathComponent("scripts/reference").path
        let outcome = try ChildProcess("python3", [script, "--check"], environment: ["PATH": "/usr/bin:/bin"]).run()
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
    }

    /// The keys of a table below a heading, in order.
    private func keys(below heading: String) throws -> [String] {
        let text = try page("configuration")
        let section = try #require(text.split(separator: "\n## ").first { $0.hasPrefix(heading) })
        return section.split(separator: "\n").filter { $0.hasPrefix("| `") }.compactMap { row in
            row.dropFirst(3).split(separator: "`").first.map(String.init)
        }
    }

    @Test func `every key of config.json, of its rules and of account types is told, and no other`() throws {
        #expect(try keys(below: "`config.json`") == Configuration.keys)
        #expect(try keys(below: "A rule of `config.json`") == SelectionRule.keys)
        #expect(try keys(below: "An account type").sorted() == AccountType.keys.sorted())
    }

    /// Each way in which a variable is read by its name.
    private static let reads =
        ##"(?:[eE]nvironment\[|variable\(|getenv\(|GlobalOptions\.set\()"([A-Z][A-Z0-9_]+)""##

    @Test func `every variable that the program reads is told`() throws {
        let told = Set(EnvironmentText.all.flatMap { $0.name.components(separatedBy: ", ") })
        let expression = try NSRegularExpression(pattern: Self.reads)
        var read: Set<String> = []
        for folder in ["Sources", "Plugins"] {
            let root = Self.project.appendingPathComponent(folder)
            let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
            for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
                let text = try String(contentsOf: file, encoding: .utf8)
                for match in expression.matches(in: text, range: NSRange(text.startIndex..., in: text)) {
                    if let range = Range(match.range(at: 1), in: text) { read.insert(String(text[range])) }
                }
            }
        }
        #expect(read.count > 30)
        #expect(read.subtracting(told).sorted() == [])
    }

    @Test func `every exit status has its meaning`() {
        let told = Set(ExitStatusText.all.map(\.status))
        #expect(Set(ErrorCode.allCases.map(\.exitStatus)).union([0]) == told)
    }

    @Test func `every file that the documentation leads to is there`() throws {
        let docs = Self.project.appendingPathComponent("docs")
        let link = try NSRegularExpression(pattern: #"\]\(([^)#:\s]+)(?:#[^)]*)?\)"#)
        var count = 0
        let files = FileManager.default.enumerator(at: docs, includingPropertiesForKeys: nil)
        for case let file as URL in files ?? .init() where file.pathExtension == "md" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in link.matches(in: text, range: NSRange(text.startIndex..., in: text)) {
                guard let range = Range(match.range(at: 1), in: text) else { continue }
                let place = URL(fileURLWithPath: String(text[range]), relativeTo: file)
                count += 1
                #expect(
                    FileManager.default.fileExists(atPath: place.path), "\(file.lastPathComponent): \(text[range])")
            }
        }
        #expect(count > 50)
    }
}
