import CredentialCore
import Synchronization
import Testing

@testable import SharedGroups
@testable import Simulation

/// What a host does about its own intents, about hosts that have gone, and about what it knows better than the cluster, on the
/// simulated ports and without faults.
struct SharedRefreshTests {
    /// Three hosts that share a group in which one person has signed in.
    private struct Scene {
        let run: Run
        let account: String
        let process: SimulatedProcess
        let link: GroupLink

        init() throws {
            run = Run(.shared, seed: 1, faults: .none)
            process = run.hosts[0].process()
            let sharing = try #require(process.ports.sharing as? ClusterSharing)
            link = try sharing.sharedLink(World.group)
            account = try #require(try sharing.parts.local.index(of: World.group, .ids).ids.first)
        }

        var world: World { process.world }
        var intents: [Intent] { world.cluster.intents }

        /// The protocol of the first host over a cluster of its own.
        func refresh(
            over cluster: any Cluster, answering answer: @escaping @Sendable () -> SharedRefresh.Answer
        ) throws {
            let random = SimulatedRandom(world: world)
            let shared = SharedRefresh(
                cluster: cluster, notes: NotesInFiles(files: process, group: World.group), seal: link.seal,
                clock: process, bootClock: process, random: random, cryptography: ToyCryptography(random: random),
                host: "one")
            _ = try shared.refresh(
                SharedRefresh.Job(
                    keys: link.keys(account), policy: "", takeOver: .never, isFresh: { _ in false },
                    send: { _ in answer() }))
        }

        func endLeases() { for lease in world.cluster.content.leases.keys { world.cluster.end(lease) } }
    }

    private static let unsent = SharedRefresh.Answer.unsent(CredentialError(.temporary, "not sent"))

    @Test func `an intent that is recorded late, after its host has gone on, is taken away by its host`() throws {
        let scene = try Scene(), cluster = LosingCluster(scene.process)
        cluster.loses = true
        #expect(throws: CredentialError.self) { try scene.refresh(over: cluster) { Self.unsent } }
        cluster.loses = false
        // Another run of the host comes and goes before that transaction is applied.
        #expect(throws: CredentialError.self) { try scene.refresh(over: cluster) { Self.unsent } }
        #expect(scene.intents.isEmpty)
        try cluster.applyLate()
        #expect(scene.intents.count == 1)
        scene.endLeases()
        #expect(throws: CredentialError.self) { try scene.run.token(scene.run.hosts[1].process(), force: true) }
        scene.run.hosts[0].process().services.takeUpAnswers(in: World.group)
        #expect(scene.intents.isEmpty)
        #expect(try scene.run.token(scene.run.hosts[1].process(), force: true).refreshed)
    }

    @Test func `where the intent's transaction is not answered the lease goes, and so does the intent`() throws {
        let scene = try Scene(), cluster = LosingCluster(scene.process)
        cluster.loses = true
        cluster.revokes = true
        #expect(throws: CredentialError.self) { try scene.refresh(over: cluster) { Self.unsent } }
        #expect(throws: CredentialError.self) { try cluster.applyLate() }
        #expect(scene.intents.isEmpty)
        #expect(try scene.run.token(scene.run.hosts[1].process(), force: true).refreshed)
    }

    @Test func `nobody waits for the intent of a host that was expelled`() throws {
        let scene = try Scene()
        let lost = SharedRefresh.Answer.unknown(CredentialError(.temporary, "no answer"))
        #expect(throws: CredentialError.self) { try scene.refresh(over: scene.process) { lost } }
        let two = scene.run.hosts[1]
        let waiting = #expect(throws: CredentialError.self) { try scene.run.token(two.process(), force: true) }
        #expect(waiting?.code == .temporary)
        _ = try two.process().ports.sharing.membership.expel("one", from: World.group)
        #expect(scene.intents.map(\.host) == ["one"])
        let early = #expect(throws: CredentialError.self) { try scene.run.token(two.process(), force: true) }
        #expect(early?.code == .temporary)
        scene.world.milliseconds += 31_000
        #expect(try scene.run.token(two.process(), force: true).refreshed)
        #expect(scene.intents.isEmpty)
    }

    @Test func `who is expelled between recording and sending does not send`() throws {
        let scene = try Scene(), cluster = LosingCluster(scene.process)
        let two = scene.run.hosts[1]
        cluster.onRecorded = { _ = try? two.process().ports.sharing.membership.expel("one", from: World.group) }
        let isSent = Mutex(false)
        #expect(throws: CredentialError.self) {
            try scene.refresh(over: cluster) {
                isSent.withLock { $0 = true }
                return Self.unsent
            }
        }
        #expect(!isSent.withLock { $0 })
        // It cannot take its intent away, which is sealed anew; nobody waits for it for long.
        scene.world.milliseconds += 31_000
        #expect(try scene.run.token(two.process(), force: true).refreshed)
    }

    @Test func `a refresh goes on while the group is sealed anew`() throws {
        let scene = try Scene(), two = scene.run.hosts[1]
        var issued: TokenSet?
        let set = try #require(scene.world.cluster.tokenSet(scene.link.keys(scene.account).set))
        issued = set
        issued?.grants[""]?.refreshToken = Secret("r-0-2")
        let answer = try #require(issued)
        try scene.refresh(over: scene.process) {
            _ = try? two.process().ports.sharing.membership.expel("spare", from: World.group)
            return .issued(answer)
        }
        let now = try #require(scene.world.cluster.tokenSet(scene.link.keys(scene.account).set))
        #expect(now.grants[""]?.refreshToken == Secret("r-0-2"))
        #expect(scene.intents.isEmpty)
    }

    @Test func `a token from a clock that is ahead is told, not refreshed again and again`() throws {
        let scene = try Scene()
        scene.run.hosts[0].skew = 1_200
        #expect(try scene.run.token(scene.run.hosts[0].process(), force: true).refreshed)
        let refreshes = scene.world.provider.refreshes
        let two = scene.run.hosts[1]
        for _ in 0..<3 {
            let error = #expect(throws: CredentialError.self) { try scene.run.token(two.process(), force: false) }
            #expect(error?.code == .temporary && error?.message.contains("20 minutes in the future") == true)
        }
        #expect(scene.world.provider.refreshes == refreshes)
        // Who knows better says so.
        #expect(try scene.run.token(two.process(), force: true).refreshed)
        #expect(try !scene.run.token(two.process(), force: false).refreshed)
    }
}

/// What a host may put back over what a cluster has.
struct GrantLineTests {
    private let random = SimulatedRandom(world: World(Schedule(seed: 1), faults: .none))

    private func set(_ token: String, _ line: GrantLine?, generation: Int64) -> TokenSet {
        let account = Account(
            id: "a", type: "t", adapter: "x",
            registration: Registration(provider: "https://p.example", clientID: "c"), subject: "s", store: .etcd,
            now: Instant(epochSeconds: 1))
        var set = TokenSet(account: account, journalKey: [UInt8](repeating: 1, count: 32))
        var grant = Grant(flow: .code, obtainedAt: Instant(epochSeconds: 1))
        grant.refreshToken = Secret(token)
        set.grants[""] = grant
        set.lines[""] = line
        set.generation = generation
        return set
    }

    @Test func `a later step of the same line takes the place of an earlier one, and nothing else does`() {
        let line = GrantLine(random)
        let known = set("3", line.next(by: "a").next(by: "b"), generation: 7)
        var older = set("1", line, generation: 5)
        let tookNewer = older.takeNewer(of: known)
        #expect(tookNewer)
        #expect(older.grants[""]?.refreshToken == Secret("3") && older.generation == 8)
        #expect(older.lines[""] == line.next(by: "a").next(by: "b"))
        for standing in [
            set("4", line.next(by: "a").next(by: "b").next(by: "c"), generation: 6),
            set("3", line.next(by: "a").next(by: "b"), generation: 7),
            set("new", GrantLine(random), generation: 6), set("old", nil, generation: 1),
        ] {
            var now = standing
            let took = now.takeNewer(of: known)
            #expect(!took && now == standing)
        }
    }

    @Test func `a sign-in begins a line, and a sign-out of a policy ends it`() {
        let line = GrantLine(random), before = set("1", line, generation: 1)
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
        let set = set("1", GrantLine(random).next(by: "one"), generation: 3)
        #expect(try TokenSet(decoding: set.encoded()).lines == set.lines)
    }
}

/// The cluster of a process, of which a transaction may go unanswered and be applied later.
private final class LosingCluster: Cluster, @unchecked Sendable {
    private let base: SimulatedProcess
    private var late: ClusterTransaction?
    var loses = false
    var revokes = false
    /// Called once an intent is recorded.
    var onRecorded: (() -> Void)?

    init(_ base: SimulatedProcess) { self.base = base }

    private static let silence = CredentialError(.temporary, "the cluster does not answer")

    func applyLate() throws(CredentialError) {
        if let late, try base.world.cluster.allows(late) { base.world.cluster.apply(late) }
    }

    func commit(_ transaction: ClusterTransaction) throws(CredentialError) -> Bool {
        guard loses else {
            let wasApplied = try base.commit(transaction)
            let called = onRecorded
            onRecorded = nil
            called?()
            return wasApplied
        }
        late = transaction
        throw Self.silence
    }

    func revoke(_ lease: ClusterLease) throws(CredentialError) {
        if loses, !revokes { throw Self.silence }
        try base.revoke(lease)
    }

    func read(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?] { try base.read(keys) }
    func list(_ prefix: String) throws(CredentialError) -> [ClusterRecord] { try base.list(prefix) }
    func grantLease(seconds: Int64) throws(CredentialError) -> ClusterLease {
        try base.grantLease(seconds: seconds)
    }
    func hold(_ lease: ClusterLease) -> any HeldLease { base.hold(lease) }
}
