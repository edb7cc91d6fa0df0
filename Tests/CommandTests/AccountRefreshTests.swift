import CredentialCore
import CryptoSupport
import TestCommands
import TestPorts
import Testing

@testable import Commands

/// The tokens of an account that `refresh` renews.
@Suite struct AccountRefreshTests {
    private static func signedIn(_ members: String = #""scope": "read""#) -> CommandScene {
        let scene = CommandScene(cryptography: LibCryptography())
        scene.define("Tasks", members)
        #expect(scene.signIn("ada").status == 0)
        return scene
    }

    private func refresh(
        _ scene: CommandScene, within seconds: Int64?, trace: PortTrace = PortTrace()
    ) throws -> (failures: [CredentialError], notices: String) {
        let console = MemoryConsole(), session = try scene.session(console, trace: trace)
        let account = try #require(scene.machine.accounts().first)
        let demand = TokenDemand(freshness: Freshness(minimumValidity: seconds))
        var plan = try RefreshPlan(session, demand)
        let refresh = AccountRefresh(session, demand)
        let outcomes = plan.jobs([(.standard, account)]).compactMap { refresh.run($0, waits: true) }
        #expect(console.notices.isEmpty)
        return (outcomes.flatMap(\.failures), outcomes.flatMap(\.notes).map(\.description).joined(separator: "\n"))
    }

    private func sent(_ scene: CommandScene) -> [[String]] { scene.machine.provider.refreshes.map(\.key.scope) }

    @Test func `nothing that lives long enough is asked for`() throws {
        let scene = Self.signedIn()
        #expect(try refresh(scene, within: nil).failures.isEmpty)
        #expect(try refresh(scene, within: 3_600).failures.isEmpty)
        #expect(sent(scene).isEmpty)
    }

    @Test func `the type's own token and every other that still lives are renewed, each once`() throws {
        let scene = Self.signedIn()
        #expect(scene.run("token", "--type", "Tasks", "--scope", "write").status == 0)
        scene.machine.clock.pass(3_000)
        let (failures, notices) = try refresh(scene, within: 1_800)
        #expect(failures.isEmpty)
        #expect(sent(scene) == [["offline", "write"], ["offline", "read"], ["offline", "write"]])
        #expect(notices.contains("refreshed "))
        #expect(try refresh(scene, within: 1_800).failures.isEmpty)
        #expect(sent(scene).count == 3)
    }

    @Test func `a token that has ended, or that no type asks for any more, is left alone`() throws {
        let scene = Self.signedIn()
        #expect(scene.run("token", "--type", "Tasks", "--scope", "write").status == 0)
        scene.define("Tasks", #""scope": "read", "bearer": "id_token""#)
        scene.machine.clock.pass(3_000)
        _ = try refresh(scene, within: 1_800)
        #expect(sent(scene) == [["offline", "write"], ["offline", "read"]])
    }

    @Test func `the list shows the accounts that are due: no store is opened for the others`() throws {
        let scene = Self.signedIn()
        for person in ["bob", "eve"] { #expect(scene.signIn(person).status == 0) }
        let trace = PortTrace()
        #expect(scene.run("refresh", "--all", trace: trace).status == 0)
        #expect(trace.calls.contains("records.list"))
        #expect(
            !trace.calls.contains { $0.hasPrefix("file.") || $0.hasPrefix("secret-service.") }, "\(trace.calls)")
        #expect(!trace.calls.contains { $0.hasPrefix("locks.") || $0 == "records.read" }, "\(trace.calls)")
        // Times that the record does not have are looked up.
        let id = try #require(scene.machine.accounts().last?.id)
        scene.machine.change(id) { $0.tokenTimes = nil }
        let further = PortTrace()
        #expect(scene.run("refresh", "--all", trace: further).status == 0)
        #expect(further.calls.count { $0 == "locks.try" } == 1, "\(further.calls)")
        #expect(sent(scene).isEmpty)
    }

    @Test(arguments: ["--jobs=1", "--jobs=3", "--jobs=64", "-v"])
    func `many accounts are refreshed, each once, and told in the order of the list`(_ option: String) throws {
        let scene = CommandScene(cryptography: LibCryptography())
        scene.define()
        let people = (0..<12).map { "person\($0)" }
        for person in people { #expect(scene.signIn(person).status == 0) }
        scene.machine.clock.pass(3_000)
        scene.machine.provider.end("person5")
        let outcome = scene.run("refresh", "--all", "--min-valid", "3600", option)
        #expect(outcome.status == 4)
        #expect(outcome.output.isEmpty)
        let told = outcome.notices.split(separator: "\n").filter { $0.contains("refreshed ") }
        let expected = people.filter { $0 != "person5" }
        #expect(told.count == expected.count)
        for (line, person) in zip(told, expected) { #expect(line.contains("\(person)@example.com")) }
        #expect(outcome.notices.contains("person5@example.com"))
        #expect(scene.machine.provider.refreshes.count == people.count)
        #expect(scene.machine.provider.reuses == 0)
        #expect(!scene.machine.hasLocks)
    }

    @Test(arguments: [ErrorCode.malformedReply, .validationFailed], ["--jobs=1", "--jobs=8"])
    func `refresh sends no further request to a provider after an unusable response`(
        _ code: ErrorCode, _ option: String
    ) throws {
        let scene = CommandScene(cryptography: LibCryptography())
        scene.define()
        for person in (0..<12).map({ "person\($0)" }) { #expect(scene.signIn(person).status == 0) }
        scene.machine.clock.pass(3_600)
        // An account that needs no refresh is not reported, though it is left out.
        #expect(scene.signIn("zoe").status == 0)
        scene.machine.provider.fail(with: CredentialError(code, "no token in the reply"))
        let outcome = scene.run("refresh", "--all", option)
        #expect(outcome.status == code.exitStatus)
        // Two may be on their way before the first response is here.
        let sent = scene.machine.provider.refreshes.count
        #expect((1...2).contains(sent), "\(sent)")
        let leftOut = outcome.notices.components(separatedBy: "could not use an earlier response of its provider")
        #expect(leftOut.count - 1 == 12 - sent, "\(outcome.notices)")
        // The next run tries each again.
        scene.machine.provider.fail(with: nil)
        #expect(scene.run("refresh", "--all", option).status == 0)
        #expect(scene.machine.provider.refreshes.count == sent + 12)
    }

    @Test func `refresh sends no further token of an account after a response that it cannot use`() throws {
        let scene = Self.signedIn()
        #expect(scene.run("token", "--type", "Tasks", "--scope", "write").status == 0)
        scene.machine.clock.pass(3_000)
        let before = scene.machine.provider.refreshes.count
        scene.machine.provider.fail(with: CredentialError(.malformedReply, "no token in the reply"))
        #expect(scene.run("refresh", "--all", "--min-valid", "1800").status == 1)
        #expect(scene.machine.provider.refreshes.count == before + 1)
    }

    @Test(arguments: ["0", "65", "x"]) func `a number of accounts that makes no sense is exit 2`(_ jobs: String) {
        #expect(Self.signedIn().run("refresh", "--all", "--jobs", jobs).status == 2)
    }

    @Test func `a failed refresh names the account and its type, and does not stop the other refreshes`() throws {
        let scene = Self.signedIn()
        scene.machine.clock.pass(3_600)
        scene.machine.provider.fail(with: CredentialError(.temporary, "no reply came"))
        let failures = try refresh(scene, within: nil).failures
        #expect(failures.map(\.code) == [.temporary])
        let id = try #require(scene.machine.accounts().first?.id)
        #expect(failures.first?.message == "account type Tasks, ada@example.com (\(id)): no reply came")
    }

    @Test func `two equal failures are reported together, and a less severe one is a warning`() throws {
        let scene = Self.signedIn()
        #expect(scene.signIn("bob").status == 0)
        scene.machine.clock.pass(3_600)
        scene.machine.provider.fail(with: CredentialError(.temporary, "no reply came"))
        let alike = scene.run("refresh", "--all")
        #expect(alike.status == 6)
        let lines = alike.notices.split(separator: "\n")
        #expect(lines.count == 2, "\(lines)")
        #expect(lines.first?.hasPrefix("credmgr: error: account type Tasks, ") == true, "\(lines)")
        #expect(lines.last?.hasPrefix("  account type Tasks, ") == true, "\(lines)")
        #expect(lines.allSatisfy { $0.hasSuffix("): no reply came") }, "\(lines)")
        // A sign-in that has ended is known without a request.
        scene.machine.provider.fail(with: nil)
        scene.machine.provider.end("ada")
        #expect(scene.run("refresh", "--all").status == 4)
        scene.machine.clock.pass(3_600)
        scene.machine.provider.fail(with: CredentialError(.temporary, "no reply came"))
        let mixed = scene.run("refresh", "--all")
        #expect(mixed.status == 4)
        #expect(mixed.notices.contains("credmgr: warning: account type Tasks, bob"), "\(mixed.notices)")
        #expect(mixed.notices.contains("credmgr: hint: credmgr login --account "), "\(mixed.notices)")
        #expect(mixed.notices.contains("credmgr: error: account type Tasks, ada"), "\(mixed.notices)")
    }

    @Test func `a less severe failure keeps its hint`() throws {
        let scene = Self.signedIn()
        #expect(scene.signIn("bob").status == 0)
        let bob = try #require(scene.machine.accounts().first { $0.username?.hasPrefix("bob") == true }?.id)
        scene.machine.provider.end("bob")
        scene.machine.clock.pass(3_600)
        #expect(scene.run("refresh", "--all").status == 4)
        // An unexpected error weighs more than an action that the user has to take.
        scene.machine.clock.pass(3_600)
        scene.machine.provider.fail(with: CredentialError(.malformedReply, "no token in the reply"))
        let mixed = scene.run("refresh", "--all")
        #expect(mixed.status == 1)
        let lines = mixed.notices.split(separator: "\n").map(String.init)
        let warning = try #require(lines.firstIndex { $0.hasPrefix("credmgr: warning: account type Tasks, bob") })
        #expect(lines[warning + 1].hasPrefix("credmgr: hint: credmgr login --account \(bob)"), "\(lines)")
    }

    @Test func `an account that has to sign in again is not asked for`() throws {
        let scene = Self.signedIn()
        scene.machine.provider.end("ada")
        scene.machine.clock.pass(3_600)
        #expect(try refresh(scene, within: nil).failures.map(\.code) == [.signInRequired])
        #expect(try refresh(scene, within: nil).failures.map(\.code) == [.signInRequired])
        #expect(sent(scene).count == 1)
    }

    @Test func `one that is stopped anywhere loses no sign-in, and the next goes on`() throws {
        func before() -> CommandScene {
            let scene = Self.signedIn()
            scene.machine.clock.pass(3_600)
            return scene
        }
        try PortWalk.ending(before, { scene, trace in _ = try refresh(scene, within: nil, trace: trace) }) {
            scene, place in
            #expect(!scene.machine.hasLocks, "\(place)")
            let failures = try refresh(scene, within: nil).failures
            #expect(failures.isEmpty, "\(place)")
            #expect(scene.run("token", "--type", "Tasks").output == "access-ada-2\n", "\(place)")
            #expect(scene.machine.provider.refreshes.count == 1, "\(place)")
        }
    }

    @Test func `another that it meets anywhere renews nothing a second time`() throws {
        func before() -> CommandScene {
            let scene = Self.signedIn()
            scene.machine.clock.pass(3_600)
            return scene
        }
        try PortWalk.meeting(
            before,
            { scene, trace in
                let failures = try refresh(scene, within: nil, trace: trace).failures
                #expect(failures.isEmpty)
            },
            peer: { scene in try scene.takeToken() }
        ) { scene, place, failure in
            #expect(failure == nil, "\(place)")
            #expect(!scene.machine.hasLocks, "\(place)")
            #expect(scene.machine.provider.refreshes.count == 1, "\(place)")
            #expect(scene.run("token", "--type", "Tasks").output == "access-ada-2\n", "\(place)")
        }
    }
}

extension CommandScene {
    /// Runs `token` as the second process of a meeting.
    ///
    /// - Throws: ``ErrorCode/lockTimeout`` if it cannot have the lock now: it runs again when the first process is
    ///   done.
    func takeToken() throws {
        let outcome = run("token", "--type", "Tasks")
        if outcome.status == 6 {
            throw CredentialError(.lockTimeout, LocalizedMessage(verbatim: outcome.notices))
        }
        #expect(outcome.status == 0, "\(outcome.notices)")
    }
}
