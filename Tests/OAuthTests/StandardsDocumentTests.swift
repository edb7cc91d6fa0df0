import Foundation
import Testing

@Suite struct StandardsDocumentTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The names of all tests, as the sources have them.
    private static func testNames() throws -> Set<String> {
        let tests = root.appendingPathComponent("Tests")
        var names: Set<String> = []
        for case let file as URL in FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)
            ?? .init()
        where file.pathExtension == "swift" {
            for part in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "func `").dropFirst()
            {
                names.insert(String(part.prefix { $0 != "`" }))
            }
        }
        return names
    }

    @Test func `each standard that is implemented names a test that exists`() throws {
        let text = try String(
            contentsOf: Self.root.appendingPathComponent("docs/reference/standards.md"), encoding: .utf8)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst()
        #expect(rows.count > 30)
        let names = try Self.testNames()
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let test = try #require(cells.last)
            if test == "–" {
                #expect(cells[1].hasPrefix("not "), "\(row)")
            } else {
                let cited = test.components(separatedBy: "`, `").map { $0.trimmingCharacters(in: ["`"]) }
                for name in cited { #expect(names.contains(name), "\(name)") }
            }
        }
    }
}
