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

/// A prefix with the small program and, as the full one, the one that was built with the tests, or a substitute.
struct Installation {
    private struct Failure: Error { let text: String }

    /// The folder of the program.
    let folder: TemporaryFolder
    /// The small program.
    var small: String { folder.path + "/bin/credmgr" }
    /// The full one.
    var full: String { folder.path + "/libexec/credmgr/credmgr" }

    /// Says in place of the full program how it was started.
    static let recorder = """
        #!/bin/bash
        printf 'full'; printf ' [%s]' "$@"; printf '\\n'
        """

    /// Installs both.
    ///
    /// - Parameter standIn: a script in place of the full one.
    init(standIn: String? = nil) throws {
        folder = try TemporaryFolder()
        for name in ["bin", "libexec/credmgr"] {
            try FileManager.default.createDirectory(
                atPath: folder.path + "/" + name, withIntermediateDirectories: true)
        }
        try Self.copy(SmallProgram.compiled.get(), to: small)
        if let standIn {
            try installProgram(standIn, at: full)
        } else {
            try Self.copy(Home.program, to: full)
        }
    }

    /// By a process of its own, as ``installProgram(_:at:mode:)`` says.
    private static func copy(_ program: String, to path: String) throws {
        let copied = try ChildProcess("install", ["-m", "755", program, path]).run()
        guard copied.exitStatus == 0 else { throw Failure(text: copied.standardError) }
    }
}
