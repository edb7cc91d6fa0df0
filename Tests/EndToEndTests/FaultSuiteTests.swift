import Foundation
import TestSupport
import Testing

@Suite(.needs(.tracing)) struct FaultSuiteTests {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("scripts/faults").path

    /// The short form; without --short it takes a quarter of an hour.
    @Test func `Whatever fails, the old state or the new one is left`() throws {
        var environment = ProcessInfo.processInfo.environment
        environment["PATH"] = environment["PATH"] ?? "/usr/bin:/bin"
        let outcome = try ChildProcess(
            "/usr/bin/env", ["python3", Self.script, "--short", "--program", Home.program], environment: environment
        ).run()
        #expect(outcome.exitStatus == 0, "\(outcome.standardOutput)\n\(outcome.standardError)")
        #expect(outcome.standardOutput.contains("all "))
    }
}
