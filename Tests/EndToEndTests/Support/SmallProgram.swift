import Foundation
import TestSupport

/// The small program of an installation.
enum SmallProgram {
    /// Its path; compiled once for all tests.
    static let compiled: Result<String, any Error> = Result {
        let sources = #filePath.split(separator: "/Tests/")[0]
        let output = NSTemporaryDirectory() + "/credmgr-fast-\(getpid())"
        let own = ProcessInfo.processInfo.environment
        let made = try ChildProcess(
            "\(sources)/scripts/build-fast", [output],
            environment: ["PATH": own["PATH"] ?? "/usr/bin:/bin", "HOME": own["HOME"] ?? "/", "TMPDIR": "/tmp"]
        ).run(seconds: 600)
        guard made.exitStatus == 0 else { throw Failure(text: made.standardError) }
        return output
    }

    private struct Failure: Error { let text: String }
}
