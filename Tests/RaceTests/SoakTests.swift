import Foundation
import TestSupport
import Testing

@Suite struct SoakTests {
    @Test(.needs(.program("python3")))
    func `a short soak loses nothing`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        let soak = try ChildProcess(
            "python3", [root + "/scripts/soak", "--minutes", "0.3", "--binary", Track.program],
            environment: ["PATH": "/usr/bin:/bin"]
        ).run(seconds: 180)
        #expect(soak.exitStatus == 0, "\(soak.standardError)")
        #expect(soak.standardOutput.contains("nothing was lost"))
    }
}
