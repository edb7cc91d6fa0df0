import CredentialCore
import Foundation
import Testing

@Suite struct `Error codes` {
    /// The rows of the tables of the page, by their first cell.
    private func rows() throws -> [String: [String]] {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/reference/errors-and-exit-codes.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        var rows: [String: [String]] = [:]
        for line in lines where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            rows[cells.first ?? ""] = Array(cells.dropFirst())
        }
        return rows
    }

    @Test(arguments: ErrorCode.allCases)
    func `Each stands in the page with its exit status`(code: ErrorCode) throws {
        let row = try #require(try rows()["`\(code.rawValue)`"], "\(code.rawValue) is missing")
        #expect(row.first == String(code.exitStatus))
    }

    @Test func `The page has none besides them`() throws {
        let named = Set(try rows().keys.filter { $0.hasPrefix("`") })
        #expect(named == Set(ErrorCode.allCases.map { "`\($0.rawValue)`" }))
    }

    @Test func `Each exit status is explained`() throws {
        let statuses = try rows().keys.compactMap { Int32($0) }
        #expect(Set(statuses) == Set(ErrorCode.allCases.map(\.exitStatus) + [0]))
    }
}
