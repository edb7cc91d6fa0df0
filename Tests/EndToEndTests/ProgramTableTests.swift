import Foundation
import Testing

/// The table of docs/how-to/other-programs.md, whose versions `scripts/program-table` writes.
@Suite struct `The table of other programs` {
    @Test func `names each program of the run, and each row has its test and a version`() throws {
        let page = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appendingPathComponent("docs/how-to/other-programs.md"),
            encoding: .utf8)
        let rows = try #require(page.split(separator: "## What was run").last).split(separator: "\n")
            .filter { $0.hasPrefix("| ") }.dropFirst().map { row in
                row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            }
        #expect(rows.allSatisfy { $0.count == 4 && !$0[1].isEmpty && !$0[2].isEmpty && !$0[3].isEmpty })
        let named = Set(rows.flatMap { $0[0].lowercased().components(separatedBy: ", ") })
        for program in ProgramVersion.calls.keys {
            #expect(named.contains(program.lowercased()), "\(program) is run and not in the table")
        }
        // The row of a program that cannot be run here names no version.
        let unrun = rows.filter { !$0[3].contains(/\d/) }.map { $0[0] }
        #expect(unrun == ["oidc-agent's scripts", "Bazel"])
    }
}
