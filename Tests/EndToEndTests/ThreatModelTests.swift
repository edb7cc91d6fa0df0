import Foundation
import Testing

@Suite struct ThreatModelTests {
    @Test func `Each promise of the threat model names a test that exists`() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let document = tests.deletingLastPathComponent().appendingPathComponent("docs/threat-model.md")
        let files = FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)?.allObjects ?? []
        let sources = try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined()
        let rows = try String(contentsOf: document, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("| ") }
        var promises = 0
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, cells[2] != "Test" else { continue }
            promises += 1
            let names = cells[2].split(separator: "`", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }.map { String($0.element) }
            #expect(!names.isEmpty, "no test: \(cells[1])")
            for name in names { #expect(sources.contains("func `\(name)`"), "no such test: \(name)") }
        }
        #expect(promises >= 20)
    }
}
