import CredentialCore
import Testing

@testable import SharedGroups
@testable import Simulation

/// Three hosts that share a group in which one person has signed in.
struct SharedScene {
    let run: Run
    let account: String
    let process: SimulatedProcess
    let link: GroupConnection

    init() throws {
        run = Run(.shared, seed: 1, faults: Faults.none)
        process = run.hosts[0].process()
        let sharing = try #require(process.ports.sharing as? ClusterGroupService)
        link = try sharing.sharedLink(World.group)
        account = try #require(try sharing.parts.local.index(of: World.group, .ids).ids.first)
    }

    var world: World { process.world }
    var intents: [Intent] { world.cluster.intents }

    /// The protocol of a host, the first one unless another is named, over a cluster of its own.
    func refresh(
        over cluster: any Cluster, at host: Int = 0, takeOver: SharedRefresh.TakeOver = .never,
        waits: Bool = false, triesDoubtful: Bool = false,
        answering answer: @escaping @Sendable (TokenSet) -> SharedRefresh.Answer
    ) throws {
        try refresh(over: cluster, at: host, takeOver: takeOver, waits: waits, triesDoubtful: triesDoubtful) {
            (set, _) in answer(set)
        }
    }

    /// The same, but the answer runs the check that comes before the sending.
    func refresh(
        over cluster: any Cluster, at host: Int = 0, takeOver: SharedRefresh.TakeOver = .never,
        waits: Bool = false, triesDoubtful: Bool = false,
        checking answer: @escaping @Sendable (TokenSet, SendCheck) -> SharedRefresh.Answer
    ) throws {
        let random = SimulatedRandom(world: world), process = run.hosts[host].process()
        let shared = SharedRefresh(
            cluster: cluster, notes: FileIntentLog(files: process, group: World.group), seal: link.seal,
            clock: process, bootClock: process, random: random, cryptography: ToyCryptography(random: random),
            host: process.host.name, publicKey: process.host.publicKey ?? [])
        var job = SharedRefresh.Job(
            keys: link.keys(account), policy: "", takeOver: takeOver, isFresh: { _ in false }, send: answer)
        job.waits = { waits }
        job.triesDoubtful = triesDoubtful
        _ = try shared.refresh(job)
    }

    /// The answer that a provider has issued to replace the tokens of a set.
    static func issued(_ token: String, over set: TokenSet) -> SharedRefresh.Answer {
        var set = set
        set.grants[""]?.refreshToken = Secret(token)
        return .issued(set)
    }

    /// The refresh token in the cluster.
    var standing: String? { world.cluster.tokenSet(link.keys(account).set)?.grants[""]?.refreshToken?.reveal() }

    /// The newest key of the group, as the cluster says.
    var newest: KeyEpoch {
        get throws { try KeyEpoch(try #require(world.cluster.content.records[World.path + "epoch"])) }
    }

    /// The holders of the newest key.
    var holders: [String] {
        get throws {
            let place = "\(World.path)keys/\(try newest.number)/"
            // A host is called by no name that begins so.
            return world.cluster.content.records.keys.filter { $0.hasPrefix(place) && !$0.hasPrefix(place + "-") }
                .map { String($0.dropFirst(place.count)) }.sorted()
        }
    }

    func endLeases() { for lease in world.cluster.content.leases.keys { world.cluster.end(lease) } }
}

/// The cluster of a process, of which a transaction may go unanswered and be applied later.
final class LosingCluster: Cluster, @unchecked Sendable {
    private let base: SimulatedProcess
    private var late: ClusterTransaction?
    var loses = false
    var revokes = false
    /// Whether it does the next transaction, and is silent from then on.
    var isLast = false
    private var isGone = false
    /// Called before the next transaction.
    var onCommit: (() -> Void)?
    /// Called once an intent is recorded.
    var onRecorded: (() -> Void)?
    /// How often keys were read.
    private(set) var reads = 0

    init(_ base: SimulatedProcess) { self.base = base }

    private static let silence = CredentialError(.temporary, "the cluster does not answer")

    func applyLate() throws(CredentialError) {
        if let late, try base.world.cluster.allows(late) { base.world.cluster.apply(late) }
    }

    func revision(committing transaction: ClusterTransaction) throws(CredentialError) -> Int64? {
        if isGone { throw Self.silence }
        let before = onCommit
        onCommit = nil
        before?()
        guard loses else {
            let revision = try base.revision(committing: transaction)
            if isLast {
                isGone = true
                throw Self.silence
            }
            let called = onRecorded
            onRecorded = nil
            called?()
            return revision
        }
        late = transaction
        throw Self.silence
    }

    func revoke(_ lease: ClusterLease) throws(CredentialError) {
        if loses, !revokes { throw Self.silence }
        try base.revoke(lease)
    }

    func read(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?] {
        if isGone { throw Self.silence }
        reads += 1
        return try base.read(keys)
    }
    func list(_ prefix: String) throws(CredentialError) -> [ClusterRecord] { try base.list(prefix) }
    func grantLease(seconds: Int64) throws(CredentialError) -> ClusterLease {
        try base.grantLease(seconds: seconds)
    }
    func hold(_ lease: ClusterLease) -> any HeldLease { base.hold(lease) }
}
