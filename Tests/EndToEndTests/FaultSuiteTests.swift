import Foundation
import TestSupport
import Testing

@Suite(.enabled(if: FaultSuiteTests.isPossible)) struct FaultSuiteTests {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("scripts/faults").path

    /// Whether a process may trace another here, which some containers forbid.
    static let isPossible: Bool =
        (try? ChildProcess("/usr/bin/strace", ["-o", "/dev/null", "/bin/true"], environment: [:]).run())?
        .exitStatus == 0

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
