import CredentialCore
import Synchronization
import Testing

@testable import SharedGroups
@testable import Simulation

/// The reaction of a host to the changes that the cluster reports, on the simulated ports and without faults.
struct FollowingTests {
    /// Three hosts that share a group in which one person has signed in; the first follows the others.
    private struct Scene {
        let run = Run(.shared, seed: 1, faults: Faults.none)
        let account: String
        let process: SimulatedProcess
        let cluster: ToldCluster
        let sharing: ClusterGroupService
        let events = KeptEvents()

        init() throws {
            process = run.hosts[0].process()
            let known = try #require(process.ports.sharing as? ClusterGroupService)
            account = try #require(try known.parts.local.index(of: World.group, .ids).ids.first)
            let cluster = ToldCluster(process)
            self.cluster = cluster
            var parts = known.parts
            parts.events = events
            parts.connect = { _, _ in cluster }
            sharing = ClusterGroupService(parts)
        }

        var two: SimulatedProcess { run.hosts[1].process() }
        var key: String { "\(World.path)a/\(account)/set" }
        var copy: AccountRecord? { try? sharing.parts.local.read(account, in: World.group) }
        var kinds: [AccountEvent.Kind] { events.all.withLock { $0.map(\.kind) } }

        /// The newest change of the account, as a stream tells it.
        func change() throws -> ClusterChange {
            ClusterChange(try #require(process.world.cluster.content.records[key]), isRemoval: false)
        }

        /// Follows until all streams have come to their ends.
        ///
        /// - Returns: the reports: why the other hosts are not seen, or that they are.
        func follow(_ streams: ToldCluster.Stream...) throws -> [ErrorCode?] {
            try follow(streams) { _, body in
                body()
                return true
            }
        }

        func follow(
            _ streams: [ToldCluster.Stream], alone: @escaping @Sendable (String, () -> Void) -> Bool
        ) throws -> [ErrorCode?] {
            let told = Mutex<[ErrorCode?]>([])
            cluster.streams = streams
            sharing.follow(
                World.group,
                WatchRequest(
                    isWanted: { [cluster] in !cluster.streams.isEmpty }, alone: alone,
                    tell: { error in told.withLock { $0.append(error?.code) } }))
            return told.withLock(\.self)
        }
    }

    @Test func `a change by another host is copied and reported as it happens`() throws {
        let scene = try Scene()
        _ = try scene.follow { take in
            _ = try scene.run.token(scene.two, force: true)
            let reads = scene.cluster.reads
            #expect(try take([scene.change()]))
            // Once, whether it is a later step than the one which was copied.
            #expect(scene.cluster.reads <= reads + 1)
            #expect(try scene.copy?.sealed?.key == String(scene.change().record.revision))
            #expect(scene.kinds == [.tokenRefreshed])
            // The same once more is no news, and neither is a record outside an account's set.
            let live = ClusterRecord(key: "\(World.path)a/\(scene.account)/live", value: [1], revision: 9_000)
            #expect(try take([scene.change(), ClusterChange(live, isRemoval: false)]))
        }
        #expect(scene.kinds == [.tokenRefreshed])
    }

    @Test func `an account that another host signs out is forgotten at once`() throws {
        let scene = try Scene()
        _ = try scene.follow { take in
            let removed = ClusterRecord(key: scene.key, value: [], revision: 9_000)
            #expect(take([ClusterChange(removed, isRemoval: true)]))
            #expect(scene.copy == nil)
            #expect(scene.kinds == [.accountRemoved])
        }
    }

    @Test func `a host that leaves the group keeps the records that the cluster then removes`() throws {
        let scene = try Scene()
        let told = try scene.follow(
            { take in
                try scene.sharing.parts.files.remove(ClusterConfiguration.fileName, of: World.group)
                let removed = ClusterRecord(key: scene.key, value: [], revision: 9_000)
                #expect(!take([ClusterChange(removed, isRemoval: true)]))
            }, { _ in Issue.record("the group is followed on") })
        #expect(told == [nil] && scene.copy != nil && scene.kinds.isEmpty)
    }

    @Test func `a resealed record is copied and is no event`() throws {
        let scene = try Scene()
        _ = try scene.follow { take in
            _ = try scene.two.ports.sharing.membership.expel("three", from: World.group)
            #expect(try take([scene.change()]))
            #expect(try scene.copy?.sealed?.key == String(scene.change().record.revision))
        }
        #expect(scene.kinds.isEmpty)
    }

    @Test func `a change by this host is reported once, by its own process`() throws {
        let scene = try Scene(), records = SharedAccountRecords(scene.sharing)
        let isHeld = Mutex(false)
        let stream: ToldCluster.Stream = { take in
            // A process that labels an account has no lock, and has copied it only when the stream has reported it.
            let before = try #require(scene.copy)
            try records.update(scene.account, in: World.group) { $0.label = "ours" }
            _ = try scene.sharing.parts.local.write(before, expecting: try #require(scene.copy).generation)
            #expect(try take([scene.change()]))
            #expect(scene.copy?.account.label == "ours" && scene.kinds.isEmpty)
            // A process that refreshes it has the lock until it is copied.
            isHeld.withLock { $0 = true }
            let older = try #require(scene.copy).sealed?.key
            _ = try scene.run.token(scene.two, force: true)
            #expect(try take([scene.change()]))
            #expect(scene.copy?.sealed?.key == older)
            isHeld.withLock { $0 = false }
            #expect(scene.cluster.isWanted?() == true)
            #expect(try scene.copy?.sealed?.key == String(scene.change().record.revision))
        }
        _ = try scene.follow([stream]) { _, body in
            if isHeld.withLock({ $0 }) { return false }
            body()
            return true
        }
    }

    @Test func `after a compaction all records are listed, and no event is reported`() throws {
        let scene = try Scene()
        let told = try scene.follow(
            { _ in _ = try scene.run.token(scene.two, force: true) },
            { _ in #expect(scene.kinds == [.tokenRefreshed]) })
        #expect(told == [nil, nil])
    }

    @Test func `that the others are not seen is told once, and the waits become longer`() throws {
        let scene = try Scene(), lost = CredentialError(.temporary, "no leader")
        let begin = scene.process.milliseconds
        let told = try scene.follow(
            { _ in throw lost },
            { _ in
                _ = try scene.run.token(scene.two, force: true)
                scene.cluster.isSilent = true
                throw lost
            }, { _ in })
        #expect(told == [nil, .temporary, nil, .temporary])
        #expect(scene.process.milliseconds - begin >= 500)
        // The cluster is back.
        scene.cluster.isSilent = false
        scene.process.world.milliseconds += 10_000
        #expect(try scene.follow({ _ in }) == [nil])
        #expect(scene.kinds == [.tokenRefreshed])
    }

    @Test func `an expelled host gets an error when the cluster reports it`() throws {
        let scene = try Scene()
        let told = try scene.follow(
            { take in
                _ = try scene.two.ports.sharing.membership.expel("one", from: World.group)
                let host = ClusterRecord(key: "\(World.path)hosts/one", value: [], revision: 9_000)
                #expect(!take([ClusterChange(host, isRemoval: true)]))
                scene.cluster.ends = true
            }, { _ in })
        #expect(told == [nil, .storeLocked])
    }
}

/// Events that are kept.
private final class KeptEvents: EventLog {
    let all = Mutex<[AccountEvent]>([])

    func append(_ event: AccountEvent) { all.withLock { $0.append(event) } }
    func follow(_ group: KeychainGroup?) throws(CredentialError) -> any EventFeed {
        throw CredentialError(.unsupported, "nobody reads these")
    }
}

/// The cluster of a process, with streams that the test drives.
private final class ToldCluster: Cluster, @unchecked Sendable {
    typealias Stream = (_ take: ([ClusterChange]) -> Bool) throws -> Void

    private let base: SimulatedProcess
    /// The behaviour of each stream, in turn.
    var streams: [Stream] = []
    /// Whether the follower still wants to.
    private(set) var isWanted: (() -> Bool)?
    private(set) var reads = 0
    /// Whether only streams answer.
    var isSilent = false
    /// Whether no stream follows that would begin now.
    var ends = false

    init(_ base: SimulatedProcess) { self.base = base }

    func follow(
        _ prefix: String, after revision: Int64, isWanted: @escaping @Sendable () -> Bool,
        take: @escaping @Sendable ([ClusterChange]) -> Bool
    ) throws(CredentialError) {
        let stream = streams[0]
        self.isWanted = isWanted
        defer { if !streams.isEmpty { streams.removeFirst() } }
        do { try stream(take) } catch {
            throw error as? CredentialError ?? CredentialError(.internalFault, "the test has failed")
        }
    }

    func read(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?] {
        reads += 1
        if ends { streams.removeAll() }
        if isSilent {
            streams.removeAll()
            throw CredentialError(.temporary, "the cluster does not answer")
        }
        return try base.read(keys)
    }

    func list(_ prefix: String) throws(CredentialError) -> [ClusterRecord] { try base.list(prefix) }
    func revision(committing transaction: ClusterTransaction) throws(CredentialError) -> Int64? {
        try base.revision(committing: transaction)
    }
    func grantLease(seconds: Int64) throws(CredentialError) -> ClusterLease {
        try base.grantLease(seconds: seconds)
    }
    func hold(_ lease: ClusterLease) -> any HeldLease { base.hold(lease) }
    func revoke(_ lease: ClusterLease) throws(CredentialError) { try base.revoke(lease) }
}
