import CredentialCore
import Synchronization
import TestPorts

@testable import SharedGroups

/// What goes wrong in a run, as one in so many times; 0 is never.
package struct Faults: Sendable {
    /// A process ends at a call.
    package var crash = 400
    /// The cluster does not answer, whether it has done what it was asked or not.
    package var cluster = 60
    /// A lease ends before its time, as any user of the cluster can have it.
    package var leaseEnd = 25
    /// The provider cannot be reached.
    package var unreachable = 30
    /// The provider says that it did nothing.
    package var busy = 30
    /// A request is late: who sent it has given up when it comes.
    package var requestLost = 30
    /// The answer is lost.
    package var answerLost = 40
    /// All stand still for longer than a lease lives.
    package var pause = 150
    /// A host's clock is set to another time.
    package var clock = 600
    /// The cluster is put back to what it was some time ago.
    package var restore = 0

    /// The usual ones.
    package init() {}

    /// Nothing goes wrong.
    package static var none: Faults {
        var faults = Faults()
        (faults.crash, faults.cluster, faults.leaseEnd, faults.unreachable, faults.busy) = (0, 0, 0, 0, 0)
        (faults.requestLost, faults.answerLost, faults.pause, faults.clock, faults.restore) = (0, 0, 0, 0, 0)
        return faults
    }
}

/// Hosts, a cluster and a provider, of which one thing happens at a time.
final class World: @unchecked Sendable {
    static let group = KeychainGroup.standard
    static let start: Int64 = 1_800_000_000

    let schedule: Schedule
    var faults: Faults
    let cluster: SimulatedCluster
    let provider = SimulatedProvider()
    let type: AccountType
    /// Requests on their way whose senders have given up.
    var late: [RefreshToken] = []
    var milliseconds: Int64 = 1_000_000
    var problems: [String] = []

    /// Sign-ins that may end: an answer was lost in a way that no protocol can mend.
    var excused: Set<Int> = []
    /// Tokens that may be sent again: a person has said so, or, on a machine alone, a run has ended with the answer.
    var mayComeAgain: Set<RefreshToken> = []
    /// The intents under which a host has ever been about to send.
    var mayHaveSent: Set<IntentNonce> = []
    /// Whether the group says that an intent is taken over.
    var takesOver = false
    /// Whether the cluster was put back: what a host cannot know it may send again.
    var wasRestored = false
    private var snapshot: SimulatedCluster.Content?

    init(seed: UInt64, faults: Faults, cluster: SimulatedCluster) {
        schedule = Schedule(seed: seed)
        self.faults = faults
        self.cluster = cluster
        var type = AccountType(name: "Tasks", adapter: "simulated", clientID: "c")
        type.scope = ["read"]
        self.type = type
    }

    func draw(_ many: Int) -> Bool { schedule.random.once(in: many) }

    /// What happens between two steps.
    func between(_ hosts: [SimulatedHost]) {
        milliseconds += Int64(schedule.random.below(100))
        if draw(faults.pause) { milliseconds += Int64(schedule.random.below(40_000)) }
        let leases = cluster.content.leases.keys
        if !leases.isEmpty, draw(faults.leaseEnd) {
            cluster.end(leases.sorted()[schedule.random.below(leases.count)])
        }
        cluster.endLeases(milliseconds)
        if !late.isEmpty, draw(8) { comeLate() }
        if draw(faults.clock) {
            hosts[schedule.random.below(hosts.count)].skew = Int64(schedule.random.below(7_200)) - 3_600
        }
        if draw(faults.restore) {
            if let snapshot {
                cluster.restore(snapshot)
                wasRestored = true
            } else {
                snapshot = cluster.content
            }
        }
    }

    /// A request arrives though its sender has given up; its answer finds nobody.
    func comeLate() { _ = provider.receive(late.removeFirst()) }

    func answerIsLost(_ token: RefreshToken, isShared: Bool) {
        excused.insert(token.signIn)
        if !isShared { mayComeAgain.insert(token) }
    }
}

/// What a seed draws.
struct SimulatedRandom: RandomSource {
    let world: World
    func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let word = world.schedule.random.next()
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return Array(bytes.prefix(count))
    }
}

/// The cluster of all.
final class SimulatedCluster: @unchecked Sendable {
    struct Content {
        var records: [String: ClusterRecord] = [:]
        /// The keys that were put with each lease, and when it ends.
        var leases: [Int64: (keys: Set<String>, end: Int64)] = [:]
        var revision: Int64 = 1
        var nextLease: Int64 = 1
    }

    var content = Content()
    /// The leases that a process keeps alive.
    var held: [Int64: PortTrace] = [:]

    static let leaseMilliseconds: Int64 = 15_000

    func restore(_ snapshot: Content) { content = snapshot }

    func end(_ lease: Int64) {
        for key in content.leases.removeValue(forKey: lease)?.keys ?? [] { content.records[key] = nil }
        content.revision += 1
        held[lease] = nil
    }

    func endLeases(_ now: Int64) {
        for (number, lease) in content.leases where lease.end <= now {
            // A pause that is longer than the lease ends it, however alive its holder is.
            if let holder = held[number], !holder.isEnded, now - lease.end < Self.leaseMilliseconds / 3 {
                content.leases[number]?.end = now + Self.leaseMilliseconds
            } else {
                end(number)
            }
        }
    }

    /// - Returns: whether all conditions held.
    func apply(_ transaction: ClusterTransaction) throws(CredentialError) -> Bool {
        for (key, revision) in transaction.conditions where (content.records[key]?.revision ?? 0) != revision {
            return false
        }
        for case .put(_, _, let lease?) in transaction.changes where content.leases[lease.number] == nil {
            throw CredentialError(.temporary, "the lease has ended")
        }
        content.revision += 1
        for change in transaction.changes {
            switch change {
            case .put(let key, let value, let lease):
                content.records[key] = ClusterRecord(key: key, value: value, revision: content.revision)
                for number in content.leases.keys { content.leases[number]?.keys.remove(key) }
                if let lease { content.leases[lease.number]?.keys.insert(key) }
            case .remove(let key):
                content.records[key] = nil
                for number in content.leases.keys { content.leases[number]?.keys.remove(key) }
            }
        }
        return true
    }

    /// The token set that stands of an account, read by nobody's key: the simulation's seals hide nothing.
    func tokenSet(_ key: String) -> TokenSet? { plaintext(key).flatMap { try? TokenSet(decoding: $0) } }
    func intent(_ key: String) -> Intent? { plaintext(key).flatMap { try? Intent(decoding: $0) } }

    /// The intents that stand.
    var intents: [Intent] {
        content.records.keys.filter { $0.hasSuffix("/intent") }.sorted().compactMap { intent($0) }
    }

    private func plaintext(_ key: String) -> [UInt8]? {
        content.records[key].map { Array($0.value.dropFirst(21).dropLast(16)) }
    }
}
