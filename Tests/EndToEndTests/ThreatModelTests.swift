import Foundation
import Testing

@Suite struct ThreatModelTests {
    @Test func `Each promise of the threat model names a test that exists`() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let document = tests.deletingLastPathComponent()
            .appendingPathComponent("docs/contributing/threat-model-tests.md")
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)?.allObjects ?? []
        let sources = try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined()
        let rows = try String(contentsOf: document, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("| ") }
        var promises = 0
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 2, cells[1] != "Test" else { continue }
            promises += 1
            let names = cells[1].split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }.map { String($0.element) }
            #expect(!names.isEmpty, "no test: \(cells[0])")
            for name in names { #expect(sources.contains("func `\(name)`"), "no such test: \(name)") }
        }
        #expect(promises >= 20)
    }

    @Test func `Each of the thirteen attackers has promises, limits and tests`() throws {
        let docs = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs")
        func sections(_ page: String) throws -> [String] {
            try Array(
                String(contentsOf: docs.appendingPathComponent(page), encoding: .utf8)
                    .components(separatedBy: "\n## ").dropFirst())
        }
        let model = try sections("explanation/threat-model.md")
        let tests = try sections("contributing/threat-model-tests.md")
        for number in 1...13 {
            let promises = model.filter { $0.hasPrefix("\(number). ") }
            #expect(promises.count == 1)
            #expect(promises.allSatisfy { $0.contains("\nPromised:") && $0.contains("\nNot promised:") })
            let rows = tests.filter { $0.hasPrefix("\(number). ") }
            #expect(rows.count == 1)
            #expect(rows.allSatisfy { $0.contains("\n| Promise | Test |") })
        }
    }
}
