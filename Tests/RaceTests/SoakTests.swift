import Foundation
import TestSupport
import Testing

@Suite struct SoakTests {
    /// All commands beside each other, with kills, stops and faults; on both stores, if the machine has a keyring.
    @Test(.needs(.program("python3")))
    func `a short soak of all commands loses nothing`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        let stores = PrivateKeyring.isInstalled ? "file,secret-service" : "file"
        let soak = try ChildProcess(
            "python3", [root + "/scripts/soak", "--short", "--stores", stores, "--binary", Track.program],
            environment: ["PATH": "/usr/bin:/bin"]
        ).run(seconds: 600)
        #expect(soak.exitStatus == 0, "\(soak.standardOutput)\(soak.standardError)")
        #expect(soak.standardOutput.contains("nothing was lost"))
    }
}
