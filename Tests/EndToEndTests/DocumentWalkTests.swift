import Foundation
import TestSupport
import Testing

/// The short form of `scripts/walk-docs`: README.md and the pages of signing in, followed to the letter.
@Suite struct `The pages` {
    @Test func `Every command on a page has the result that the page describes`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let outcome = try ChildProcess(
            root.appendingPathComponent("scripts/walk-docs").path, ["--short", Home.program],
            environment: ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        ).run(seconds: 600)
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        #expect(outcome.standardOutput.contains("; 0 failures"))
    }
}
