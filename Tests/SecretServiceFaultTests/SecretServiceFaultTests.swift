import Foundation
import TestSupport
import Testing

/// The four commands that touch secrets on a Secret Service with one fault at a time: each ends in time, with the
/// right exit status, and never says that something was done that was not.
@Suite(.needs(.scriptedKeyring))
struct SecretServiceFaultTests {
    private static let queue = Queue(width: 8)

    /// The deadlines in seconds: a read may take 3 and a write 5, and a busy machine gets the same again. Signing
    /// in reads and removes the pending sign-in before it writes the new tokens.
    private static let tokenLimit = 20.0, loginLimit = 45.0, logoutLimit = 45.0

    @Test(arguments: Fault.all) func `each fault is reported as its own kind`(_ fault: Fault) async throws {
        let report = try await Self.queue.run { try Self.play(fault) }
        #expect(report.complaints.isEmpty, "\(report.complaints.joined(separator: "\n"))")
    }

    @Test(arguments: [("locked-prompt-unlocks", Int32(0)), ("locked-dismissed", 7), ("locked-stays-locked", 5)])
    func `unlocking uses the keyring's prompt, in view of the user`(
        _ name: String, _ status: Int32
    ) async throws {
        let fault = try #require(Fault.all.first { $0.name == name })
        let statuses = try await Self.queue.run {
            let original = try SignedInHome.shared.get()
            return try Self.scene(fault, original) { home, _ in
                [
                    try home.run(["store", "unlock"]).exitStatus,
                    try home.run(["store", "unlock", "--no-input"], display: true).exitStatus,
                    try home.run(["store", "unlock"], display: true).exitStatus,
                ]
            }
        }
        #expect(statuses == [5, 5, status])
    }

    @Test func `a secret that is removed while it is read is gone, and no trouble of the keyring`() async throws {
        let outcome = try await Self.queue.run {
            let original = try SignedInHome.shared.get()
            return try Self.scene(.removedWhileRead, original) { home, _ in
                try home.run(["token", "--type", SignedInHome.type])
            }
        }
        #expect(outcome.exitStatus == 4, "\(outcome.standardError)")
        #expect(outcome.standardError.contains("hint: credmgr login "), "\(outcome.standardError)")
    }

    @Test func `a known person can sign in over a damaged secret`() async throws {
        let healthy = try #require(Fault.all.first { $0.name == "healthy" })
        let statuses = try await Self.queue.run {
            let original = try SignedInHome.shared.get()
            return try Self.scene(healthy, original, damaging: true) { home, service in
                let before = try service.tokenSets()
                let statuses = [
                    try home.run(["token", "--type", SignedInHome.type]).exitStatus,
                    try home.run(["login", "--complete", original.redirects["damaged"] ?? ""]).exitStatus,
                    try home.run(["token", "--type", SignedInHome.type]).exitStatus,
                ]
                let isRefreshed = try service.tokenSets()[original.account] != before[original.account]
                return statuses + [isRefreshed ? 0 : 1, try home.accounts() == [original.account] ? 0 : 1]
            }
        }
        #expect(statuses == [5, 0, 0, 0, 0])
    }

    private struct Report: Sendable {
        var complaints: [String] = []

        mutating func check(_ isRight: Bool, _ complaint: @autoclosure () -> String) {
            if !isRight { complaints.append(complaint()) }
        }
    }

    private static func play(_ fault: Fault) throws -> Report {
        let original = try SignedInHome.shared.get()
        var report = Report()
        try token(fault, original, &report)
        try login(fault, original, &report)
        try logout(fault, original, &report)
        return report
    }

    /// A copy of the home with the service in the way.
    private static func scene<Result>(
        _ fault: Fault, _ original: SignedInHome, damaging: Bool = false,
        _ body: (ProgramHome, FaultyService) throws -> Result
    ) throws -> Result {
        let folder = try TemporaryFolder()
        try original.copy(to: folder)
        if damaging { try FaultyService.damageTokenSets(in: folder.path + "/state.json") }
        let service = try FaultyService(state: folder.path + "/state.json", fault: fault.name)
        defer { service.stop() }
        return try body(ProgramHome(folder.path + "/home", busAddress: service.busAddress), service)
    }

    private static func run(
        _ words: [String], _ fault: Fault, _ home: ProgramHome, exits status: Int32, within limit: Double,
        _ report: inout Report
    ) throws -> ChildProcess.Outcome {
        let start = ContinuousClock.now
        let outcome = try home.run(words + fault.options, display: fault.hasDisplay)
        let seconds = start.duration(to: .now) / .seconds(1)
        let command = "\(fault.name): \(words[0])"
        report.check(
            outcome.exitStatus == status,
            "\(command) ended with \(outcome.exitStatus) instead of \(status): \(outcome.standardError)")
        report.check(seconds < limit, "\(command) took \(seconds) s")
        report.check(
            outcome.standardError.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 && $0.value != 0x7F },
            "\(command) lets control characters through: \(outcome.standardError)")
        let lines = outcome.standardError.split(separator: "\n")
        report.check(
            lines.allSatisfy { line in
                ["credmgr: ", "  ", "Signed in as ", "Next: credmgr token "].contains { line.hasPrefix($0) }
            },
            "\(command) lets others speak: \(outcome.standardError)")
        if status != 0 {
            report.check(outcome.standardOutput.isEmpty, "\(command) failed with a result")
            report.check(lines.contains { $0.hasPrefix("credmgr: error: ") }, "\(command) does not say why")
            if status == 5 {
                report.check(
                    lines.contains { $0.hasPrefix("credmgr: hint: ") }, "\(command) gives no hint: \(lines)")
            }
        }
        return outcome
    }

    private static func token(_ fault: Fault, _ original: SignedInHome, _ report: inout Report) throws {
        try scene(fault, original) { home, service in
            let outcome = try run(
                ["token", "--type", SignedInHome.type], fault, home, exits: fault.token, within: tokenLimit, &report
            )
            if fault.token == 0 {
                report.check(outcome.standardOutput == original.token, "\(fault.name): token printed another token")
            }
            let accounts = try home.run(["accounts", "--json"])
            report.check(
                accounts.exitStatus == 0 && accounts.standardOutput.contains(original.account),
                "\(fault.name): accounts ended with \(accounts.exitStatus): \(accounts.standardError)")
            report.check(
                try service.tokenSets().keys.contains(original.account), "\(fault.name): token lost the item")
        }
    }

    private static func login(_ fault: Fault, _ original: SignedInHome, _ report: inout Report) throws {
        try scene(fault, original) { home, service in
            let before = try service.tokenSets()
            let outcome = try run(
                ["login", "--complete", original.redirects[fault.name] ?? ""], fault, home, exits: fault.login,
                within: loginLimit, &report)
            let accounts = try home.accounts()
            guard outcome.exitStatus == 0 else {
                report.check(accounts == [original.account], "\(fault.name): a failed login left an account")
                return try afterFailedLogin(fault, home, service, &report)
            }
            let account = String(outcome.standardOutput.prefix { $0 != "\t" })
            report.check(accounts.contains(account), "\(fault.name): login left no account")
            let isStored = try service.tokenSets()[account].map { $0 != before[account] } ?? false
            report.check(isStored || home.hasJournal(of: account), "\(fault.name): login kept nothing")
            guard !isStored else { return }
            // The next run on a keyring that works saves the journal's entries in it.
            service.stop()
            let healthy = try FaultyService(state: home.path + "/../state.json", fault: "healthy")
            defer { healthy.stop() }
            let later = try ProgramHome(home.path, busAddress: healthy.busAddress).run([
                "token", "--type", SignedInHome.type, "--account", account,
            ])
            report.check(
                later.exitStatus == 0 && later.standardOutput != original.token,
                "\(fault.name): the tokens in the journal are lost: \(later.standardError)")
            report.check(
                try healthy.tokenSets()[account] != before[account], "\(fault.name): the journal was not stored")
        }
    }

    /// The item that a failed sign-in has left in the keyring is an account after the next one.
    private static func afterFailedLogin(
        _ fault: Fault, _ home: ProgramHome, _ service: FaultyService, _ report: inout Report
    ) throws {
        guard try service.tokenSets().count > 1 else { return }
        service.stop()
        let healthy = try FaultyService(state: home.path + "/../state.json", fault: "healthy")
        defer { healthy.stop() }
        let home = try ProgramHome(home.path, busAddress: healthy.busAddress)
        let redirect = try SignedInHome.redirect(of: fault.person, at: home)
        report.check(
            try home.run(["login", "--complete", redirect]).exitStatus == 0, "\(fault.name): no login afterwards")
        report.check(
            try Set(home.accounts()) == Set(healthy.tokenSets().keys),
            "\(fault.name): a secret without an account stays in the keyring")
        report.check(try home.accounts().count == 2, "\(fault.name): two accounts of one person")
    }

    private static func logout(_ fault: Fault, _ original: SignedInHome, _ report: inout Report) throws {
        try scene(fault, original) { home, service in
            let outcome = try run(
                ["logout", "--account", original.account], fault, home, exits: fault.logout, within: logoutLimit,
                &report)
            let isListed = try home.accounts().contains(original.account)
            if outcome.exitStatus == 0 {
                report.check(!isListed, "\(fault.name): logout left the account")
                report.check(
                    try !service.tokenSets().keys.contains(original.account),
                    "\(fault.name): logout left the secret")
            } else {
                report.check(isListed, "\(fault.name): a failed logout removed the account")
            }
        }
    }
}
