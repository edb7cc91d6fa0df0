import Foundation
import TestSupport
import Testing

@Suite(.needs(.tracing)) struct FaultSuiteTests {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("scripts/faults").path

    /// The short form; without --short it takes a quarter of an hour.
    @Test func `Whatever fails, the old state or the new one is left`() throws { try run("calls", "kills") }

    /// The short form: a minute in place of hours.
    @Test(.needs(.root), .needs(.program("etcd")))
    func `Whatever fails between hosts and the nodes of their cluster, a refresh token is sent once`() throws {
        try run("cluster")
    }

    /// Ten cuts; without --short they are 200. The small program of an installation starts the full one.
    @Test(.needs(.loopDevices), arguments: [false, true])
    func `Whenever the power is cut, an acknowledged refresh is there`(isInstalled: Bool) throws {
        let installation = try Installation()
        try withExtendedLifetime(installation) {
            try run("power", of: isInstalled ? installation.small : Home.program)
        }
    }

    private func run(_ parts: String..., of program: String = Home.program) throws {
        var environment = ProcessInfo.processInfo.environment
        environment["PATH"] = environment["PATH"] ?? "/usr/bin:/bin"
        let outcome = try ChildProcess(
            "/usr/bin/env", ["python3", Self.script, "--short", "--program", program] + parts,
            environment: environment
        ).run()
        #expect(outcome.exitStatus == 0, "\(outcome.standardOutput)\n\(outcome.standardError)")
        #expect(outcome.standardOutput.contains("all "))
    }
}
