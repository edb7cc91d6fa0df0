import Foundation
import TestSupport
import Testing

/// The requests that commands make to the nodes of a shared group: counted, for time says little on a busy machine.
@Suite(.needs(.tracing), .needs(.program("etcd"))) struct SharedGroupCostTests {
    @Test func `A command makes no more requests and opens no more connections than it may`() throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("scripts/benchmark-hosts").path
        var environment = ProcessInfo.processInfo.environment
        environment["PATH"] = environment["PATH"] ?? "/usr/bin:/bin"
        let outcome = try ChildProcess(
            "/usr/bin/env", ["python3", script, "--check", "--program", Home.program], environment: environment
        ).run()
        #expect(outcome.exitStatus == 0, "\(outcome.standardOutput)\n\(outcome.standardError)")
        #expect(outcome.standardOutput.contains("| token, cached | 3, one lost |  | 0 | none | 0 |"))
    }
}
