import CredentialCore
import Synchronization
import TestPorts
import Testing

@testable import SharedGroups
@testable import Simulation

/// The grants that a host may restore over those of a cluster.
struct TokenFamilyTests {
    private let random = SimulatedRandom(world: World(Schedule(seed: 1), faults: Faults.none))

    private func set(_ token: String, _ line: TokenFamily?, generation: Int64) -> TokenSet {
        let account = Account(
            id: "a", type: "t", adapter: "x",
            registration: ClientIdentity(provider: "https://p.example", clientID: "c"), subject: "s", store: .etcd,
            now: Timestamp(epochSeconds: 1))
        var set = TokenSet(account: account, journalKey: [UInt8](repeating: 1, count: 32))
        var grant = Grant(flow: .code, obtainedAt: Timestamp(epochSeconds: 1))
        grant.refreshToken = Secret(token)
        set.grants[""] = grant
        set.lines[""] = line
        set.generation = generation
        return set
    }

    @Test func `a later step of the same line takes the place of an earlier one, and nothing else does`() {
        let line = TokenFamily(random)
        let known = set("3", line.next(by: "a").next(by: "b"), generation: 7)
        var older = set("1", line, generation: 5)
        let tookNewer = older.takeNewer(of: known)
        #expect(tookNewer)
        #expect(older.grants[""]?.refreshToken == Secret("3") && older.generation == 8)
        #expect(older.lines[""] == line.next(by: "a").next(by: "b"))
        for standing in [
            set("4", line.next(by: "a").next(by: "b").next(by: "c"), generation: 6),
            set("3", line.next(by: "a").next(by: "b"), generation: 7),
            set("new", TokenFamily(random), generation: 6), set("old", nil, generation: 1),
        ] {
            var now = standing
            let took = now.takeNewer(of: known)
            #expect(!took && now == standing)
        }
    }

    @Test func `a sign-in begins a line, and a sign-out of a policy ends it`() {
        let line = TokenFamily(random), before = set("1", line, generation: 1)
        var labelled = before
        labelled.account.label = "x"
        labelled.beginLines(after: before, random)
        #expect(labelled.lines[""] == line)
        var signedIn = set("2", line, generation: 2)
        signedIn.beginLines(after: before, random)
        #expect(signedIn.lines[""] != line && signedIn.lines[""]?.step == 0)
        var signedOut = before
        signedOut.grants = [:]
        signedOut.beginLines(after: before, random)
        #expect(signedOut.lines.isEmpty)
    }

    @Test func `a line is kept with its record`() throws {
        let set = set("1", TokenFamily(random).next(by: "one"), generation: 3)
        #expect(try TokenSet(decoding: set.encoded()).lines == set.lines)
    }

    // MARK: Copies of a machine

    @Test func `a machine that was cloned between the note and the request does not take the intent away`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        let cluster = LosingCluster(scene.process), clone = Mutex<SimulatedHost?>(nil)
        cluster.onRecorded = { clone.withLock { $0 = one.clone(withNotes: true) } }
        // The original sends, and no host knows how that ends.
        #expect(throws: CredentialError.self) {
            try scene.refresh(over: cluster) { _ in .unknown(CredentialError(.temporary, "no answer")) }
        }
        scene.endLeases()
        let copy = try #require(clone.withLock { $0 })
        #expect(copy.files.keys.contains { $0.hasPrefix(FileIntentLog.intentPrefix) })
        let refused = #expect(throws: CredentialError.self) { try scene.run.token(copy.process(), force: true) }
        #expect(refused?.code == .temporary && scene.intents.count == 1)
        #expect(scene.world.provider.sent.isEmpty)
    }

    @Test func `an older answer of its line does not take the place of a newer one that was refused`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        let cluster = LosingCluster(scene.process)
        cluster.onRecorded = { cluster.isLast = true }
        // It is in the set, and its host does not know.
        try scene.refresh(over: cluster) { SharedScene.issued("r-0-2", over: $0) }
        try scene.refresh(over: scene.run.hosts[1].process(), at: 1) { SharedScene.issued("r-0-3", over: $0) }
        #expect(throws: CredentialError.self) {
            try scene.refresh(over: scene.run.hosts[2].process(), at: 2) { _ in
                .refused(CredentialError(.signInRequired, "invalid_grant"))
            }
        }
        one.process().services.takeUpAnswers(in: World.group)
        #expect(!one.hasJournal && scene.standing == "r-0-3")
    }

    @Test func `an answer to an earlier sign-in does not take the place of a later one that was refused`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], two = scene.run.hosts[1].process()
        let cluster = LosingCluster(scene.process)
        cluster.onRecorded = { cluster.isLast = true }
        try scene.refresh(over: cluster) { SharedScene.issued("r-0-2", over: $0) }
        #expect(one.hasJournal)
        // Another host uses up the refresh token of that answer, and the user signs in again.
        try scene.refresh(over: two, at: 1) { SharedScene.issued("r-0-3", over: $0) }
        scene.world.milliseconds += 60_000
        let account = try #require(try two.ports.records.account(scene.account, in: World.group))
        _ = try two.keep(scene.world.provider.begin(), of: scene.world.type, account.registration)
        let standing = try #require(scene.standing)
        #expect(throws: CredentialError.self) {
            try scene.refresh(over: scene.run.hosts[2].process(), at: 2) { _ in
                .refused(CredentialError(.signInRequired, "invalid_grant"))
            }
        }
        one.process().services.takeUpAnswers(in: World.group)
        #expect(!one.hasJournal && scene.standing == standing && standing.hasPrefix("r-1-"))
    }

    @Test func `a host that is expelled in the middle of a sign-out signs no account out`() throws {
        let scene = try SharedScene(), three = scene.run.hosts[2].process(), first = scene.run.hosts[0]
        let account = try #require(try three.ports.records.account(scene.account, in: World.group))
        let calls = three.trace.calls.count
        // At its last look, before the transaction.
        for number in calls + 1...calls + 60 {
            three.trace.act(at: number, .before) {
                guard three.trace.calls.last == "cluster.commit" else { return }
                _ = try? first.process().ports.sharing.membership.expel("three", from: World.group)
            }
        }
        let error = #expect(throws: CredentialError.self) {
            try three.services.signOut.forget(account, policy: nil, in: World.group) {
                (_) throws(CredentialError) in
            }
        }
        #expect(error?.code == .storeLocked && scene.standing == "r-0-1")
    }

    @Test(arguments: PortTrace.Moment.allCases)
    func `a sign-in that another host's refresh overtakes is kept`(moment: PortTrace.Moment) throws {
        for number in 1...80 {
            let scene = try SharedScene(), two = scene.run.hosts[1].process()
            let account = try #require(try two.ports.records.account(scene.account, in: World.group))
            let signIn = scene.run.hosts[0].process(), token = scene.world.provider.begin()
            signIn.trace.act(at: number, moment) {
                #expect(throws: Never.self) { try scene.run.token(two, force: true) }
            }
            let kept = try signIn.keep(token, of: scene.world.type, account.registration)
            #expect(kept.account.id == account.id && kept.warnings.isEmpty, "\(moment) call \(number)")
            #expect(scene.standing?.hasPrefix("r-1-") == true, "\(moment) call \(number): \(scene.standing ?? "")")
            guard signIn.trace.calls.count >= number else {
                #expect(number > 10)
                return
            }
        }
        Issue.record("it has no end")
    }

    @Test func `a sign-in that had to wait is taken up once, whatever the clocks say`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], process = scene.process
        let account = try #require(try process.ports.records.account(scene.account, in: World.group))
        let lock = try process.services.machine.locks.lock(scene.account, in: World.group, seconds: 1)
        let waiting = one.process()
        let refresh = scene.world.provider.begin()
        let kept = try waiting.keep(refresh, of: scene.world.type, account.registration)
        #expect(kept.warnings.count == 1)
        let names = one.machine.journaled().filter { $0.hasPrefix("login-\(scene.account)") }
        #expect(names.count == 2)
        let entries = try names.map { ($0, try #require(try process.ports.journal.read($0, in: World.group))) }
        lock.release()
        #expect(try scene.run.token(one.process(), force: true).refreshed)
        #expect(scene.standing == "r-1-2")
        // Another host's clock is behind, and the entry is there again, as in a copy of the machine.
        scene.run.hosts[1].skew = -7_200
        #expect(try scene.run.token(scene.run.hosts[1].process(), force: true).refreshed)
        for (name, entry) in entries { try process.ports.journal.write(entry, for: name, in: World.group) }
        #expect(try scene.run.token(one.process(), force: true).refreshed)
        #expect(scene.standing == "r-1-4")
        #expect(one.machine.journaled().isEmpty)
    }
}
