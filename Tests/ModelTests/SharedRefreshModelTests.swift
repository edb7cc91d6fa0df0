import Foundation
import TestSupport
import Testing

/// The protocol of groups that hosts share, `docs/contributing/models/shared-refresh.pml`, checked by SPIN. The
/// protocol as built passes in every schedule.
@Suite(.serialized)
struct SharedRefreshModelTests {
    /// Three hosts; the hosts' second refresh is looked at with two, for the number of states.
    @Test(arguments: [
        ["HOSTS=3", "REFRESHES=1", "LOSSES=0"], ["HOSTS=2", "REFRESHES=2"], ["HOSTS=2", "TAKEOVER"],
        ["HOSTS=2", "TAKEOVER", "GENTLE"], ["HOSTS=2", "TAKEOVER", "ANSWERS", "REFRESHES=1"],
        ["HOSTS=2", "REFRESHES=1", "RESTORED"], ["HOSTS=2", "EXPELLED", "LOSSES=0"],
    ])
    func `no schedule sends a refresh token twice or loses a sign-in`(_ settings: [String]) throws {
        let report = try ModelChecker.run(settings)
        #expect(report.errors == 0, "\(report.text)")
        #expect(report.states > 100_000, "the check looked at hardly anything: \(report.text)")
    }
}

/// The same check of variants of the protocol: each leaves out a rule, and the check finds the fault. The two
/// suites use a core each.
@Suite(.serialized)
struct SharedRefreshVariantTests {
    @Test(arguments: ["LEASE", "FENCED"])
    func `a lock that is a lease is wrong, without any crash`(_ variant: String) throws {
        let report = try ModelChecker.run([variant, "HOSTS=2", "CRASHES=0", "LOSSES=0"])
        #expect(report.errors == 1, "\(report.text)")
    }

    @Test(arguments: [
        "REVISION", "TRUSTING", "BYKEY", "EAGER", "OLDKEY", "UNREAD", "DROPPING", "STICKY", "FORGETFUL",
        "BLINDLY", "LEAVING", "HASTY", "RESENDING",
    ])
    func `leaving out one rule is wrong`(_ variant: String) throws {
        let report = try ModelChecker.run([variant, "HOSTS=2"])
        #expect(report.errors == 1, "\(report.text)")
    }
}

/// Runs SPIN's verifier on the model.
private enum ModelChecker {
    struct Report {
        let errors: Int
        let states: Int
        let text: String
    }

    static func run(_ settings: [String]) throws -> Report {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("credmgr-model-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let project = String(#filePath.split(separator: "/Tests/")[0])
        let model = folder.appendingPathComponent("model.pml")
        try FileManager.default.copyItem(
            at: URL(fileURLWithPath: project + "/docs/contributing/models/shared-refresh.pml"), to: model)
        _ = try output(["spin"] + settings.map { "-D\($0)" } + ["-a", "model.pml"], in: folder)
        _ = try output(["gcc", "-O2", "-w", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"], in: folder)
        let text = try output([folder.appendingPathComponent("pan").path, "-m1000000"], in: folder)
        return Report(
            errors: try #require(number(before: nil, after: "errors: ", in: text), "\(text)"),
            states: try #require(number(before: " states, stored", after: nil, in: text), "\(text)"), text: text)
    }

    private static func output(_ words: [String], in folder: URL) throws -> String {
        let outcome = try ChildProcess(
            "env", words, environment: ["PATH": "/usr/bin:/bin"], directory: folder.path
        ).run(seconds: 600)
        let text = outcome.standardOutput + outcome.standardError
        try #require(outcome.exitStatus == 0, "\(words[0]): \(text)")
        return text
    }

    private static func number(before end: String?, after start: String?, in text: String) -> Int? {
        for line in text.split(separator: "\n") {
            var line = line
            if let end {
                guard let place = line.range(of: end) else { continue }
                line = line[..<place.lowerBound]
            }
            if let start {
                guard let place = line.range(of: start) else { continue }
                line = line[place.upperBound...]
            }
            if let number = Int(line.filter { $0 != " " }) { return number }
        }
        return nil
    }
}
