import Foundation
import StrictJSON
import TestSupport
import Testing

// The hints that `doctor` prints.
extension `A hint is a command that works` {
    @Test func `Each remedy of doctor solves its problem`() throws {
        let tenant = try tenant()
        let alice = try signIn()
        tenant.provider.revokeRefreshTokens()
        try home.run(["token", "--account", alice, "--force-refresh"], exits: 4)
        try home.write(#"{"rules":[{"directory":"/**","type":"Gone"}]}"#, to: "config/credmgr/config.json")
        try openFile()
        let browser = try Browser(in: home).environment
        // A file that cannot be read hides its contents, until it is fixed.
        for _ in 0..<2 { for remedy in try remedies(exits: 1) { try paste(remedy, environment: browser) } }
        let rest = try doctor(exits: 1).standardOutput.split(separator: "\n")
        let problems = rest.filter { $0.hasPrefix("PROBLEM") }
        #expect(problems.count == 1 && problems[0].contains("config.json:1: no account type 'Gone'"), "\(rest)")
        // Whenever the rule stops a command, the error names it, too.
        #expect(try home.run(["which"], exits: 2).standardError.contains("config.json:1: no account type 'Gone'"))
        try home.write("{}", to: "config/credmgr/config.json")
        try home.run(["token", "--account", alice, "--force-refresh"])
    }

    /// The findings are the result, at each exit status.
    func doctor(_ words: [String] = [], exits status: Int32) throws -> ChildProcess.Outcome {
        let outcome = try ChildProcess(Home.program, ["doctor"] + words, environment: home.environment).run()
        #expect(outcome.exitStatus == status, "\(outcome.standardOutput)")
        return outcome
    }

    /// Lets others read a file that only its owner may.
    func openFile() throws {
        let file = try #require(
            home.files.keys.sorted().first { $0.hasPrefix("data/credmgr/groups/") && !$0.hasSuffix(".lock") })
        #expect(chmod(home.path + "/" + file, 0o644) == 0)
    }

    /// The commands that `doctor` gives for problems.
    func remedies(exits status: Int32) throws -> [String] {
        let document = try JSONValue.parse(Array(doctor(["--json"], exits: status).standardOutput.utf8))
        let checks = document.object?["checks"]?.array ?? []
        return checks.compactMap { check in
            guard check.object?["state"]?.string == "problem", let text = check.object?["remedy"]?.string else {
                return nil
            }
            #expect(!text.contains("credmgr doctor"), "doctor sends to itself")
            return Self.programs.contains { text.hasPrefix($0) } ? text : nil
        }
    }

    @Test func `Doctor without a terminal repairs by its hint`() throws {
        let tenant = try tenant()
        defer { tenant.provider.stop() }
        try signIn()
        try openFile()
        let said = try doctor(exits: 1).standardError
        try paste(try command(in: said))
        try home.run(["doctor"])
    }

    @Test func `Checks that doctor skipped run with its remedy`() throws {
        let tenant = try tenant()
        defer { tenant.provider.stop() }
        let checks = try home.json(["doctor", "--json"]).object?["checks"]?.array
        let remedies = checks?.compactMap { $0.object?["remedy"]?.string } ?? []
        let line = try #require(remedies.first { $0.hasPrefix("credmgr doctor --online") }, "\(remedies)")
        #expect(try !paste(line).standardOutput.contains("the providers and their clocks were not checked"))
    }
}
