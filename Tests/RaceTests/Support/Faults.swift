import Foundation
import TestSupport

/// The library of faults, compiled once for a run of the tests.
final class Faults: Sendable {
    /// The library; `nil` without a C compiler.
    static let shared = try? Faults()

    private let folder: TemporaryFolder

    private init() throws {
        folder = try TemporaryFolder()
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("faults.c")
            .path
        let outcome = try ChildProcess(
            "cc", ["-shared", "-fPIC", "-o", folder.path + "/faults.so", source],
            environment: ["PATH": "/usr/bin:/bin"]
        ).run()
        guard outcome.exitStatus == 0 else { throw CocoaError(.executableNotLoadable) }
    }

    /// The variables that provoke a fault.
    static func environment(_ name: String, _ value: String) -> [String: String?] {
        ["LD_PRELOAD": shared.map { $0.folder.path + "/faults.so" }, "FAULT_\(name)": value]
    }
}
