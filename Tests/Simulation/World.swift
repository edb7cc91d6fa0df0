import CredentialCore
import Synchronization
import TestPorts

@testable import SharedGroups

/// The faults of a run, each as one in so many times; 0 is never.
package struct Faults: Sendable {
    /// A process ends at a call.
    package var crash = 400
    /// The cluster does not answer: it has done the request, or has not, or does it later.
    package var cluster = 60
    /// Which of these transactions are done later; 1 for all.
    package var later = 0
    /// How long these take: at each step one in so many.
    package var lateness = 8
    /// A lease ends before its time, as any user of the cluster can have it.
    package var leaseEnd = 25
    /// The provider cannot be reached.
    package var unreachable = 30
    /// The provider reports that it did no refresh.
    package var busy = 30
    /// A request is late: who sent it has given up when it comes.
    package var requestLost = 30
    /// The answer is lost.
    package var answerLost = 40
    /// All are stopped for longer than a lease lives.
    package var pause = 150
    /// A host's clock is set to another time.
    package var clock = 600
    /// The user ends a sign-in at the provider.
    package var revoke = 1_500
    /// The cluster is restored to an earlier state.
    package var restore = 0
    /// The same, right after a host has read about an expel for the first time.
    var restoreAfterNews = 0
    /// An expelled host writes any records into the cluster.
    package var meddle = 0
    /// A process is stopped while others go on, and keeps no lease alive.
    package var stop = 400
    /// The keyring of a machine alone goes, or comes back.
    package var keyring = 0
    /// Another program removes the file of the lock under which a machine alone refreshes.
    package var cleaner = 0
    /// The fault that is more frequent than all others in this run; `nil` without one.
    var focus: Focus?

    /// One kind of call at which a process ends, or is stopped, time and again. A mistake that needs two such
    /// moments in certain places hardly ever shows if each comes by itself.
    struct Focus: Sendable {
        let call: String
        let moment: PortTrace.Moment
        let stops: Bool
        /// Whether only those do who have got an answer.
        let isAnswered: Bool
        /// One in so many.
        let many: Int

        private static let calls = [
            "provider.wait", "provider.answer", "cluster.commit", "cluster.commit", "cluster.read", "files.write",
            "files.remove",
        ]

        /// The faults of a run in which a key is replaced while others seal and write.
        init(ofKeys random: inout SeededRandom) {
            let calls = [
                "file.seal", "records.write", "journal.write", "file.key", "file.rekey", "file.forget",
                "secret-service.write", "secret-service.remove", "records.list", "locks.lock",
            ]
            call = calls[random.below(calls.count)]
            moment = random.once(in: 2) ? .before : .after
            stops = !random.once(in: 3)
            isAnswered = false
            many = [1, 2, 4][random.below(3)]
        }

        init(_ random: inout SeededRandom) {
            call = Self.calls[random.below(Self.calls.count)]
            moment = random.once(in: 2) ? .before : .after
            stops = !random.once(in: 3)
            isAnswered = random.once(in: 2)
            many = [1, 2, 4][random.below(3)]
        }
    }

    /// The usual ones.
    package init() {}

    /// Makes some of them come often and others never. A mistake that needs three of one kind and not one of
    /// another hardly ever shows if all come now and then (swarm testing).
    mutating func vary(_ random: inout SeededRandom) {
        let kinds: [WritableKeyPath<Faults, Int>] = [
            \.crash, \.cluster, \.leaseEnd, \.unreachable, \.busy, \.requestLost, \.answerLost, \.pause, \.stop,
        ]
        for kind in kinds {
            switch random.below(6) {
            case 0: self[keyPath: kind] = 0
            case 1: self[keyPath: kind] = max(3, self[keyPath: kind] / 8)
            default: break
            }
        }
        if random.once(in: 2) { focus = Focus(&random) }
        if random.once(in: 3) { later = 3 }
    }

    /// Nothing goes wrong.
    package static var none: Faults {
        var faults = Faults()
        (faults.crash, faults.cluster, faults.leaseEnd, faults.unreachable, faults.busy) = (0, 0, 0, 0, 0)
        (faults.requestLost, faults.answerLost, faults.pause, faults.clock, faults.restore) = (0, 0, 0, 0, 0)
        (faults.revoke, faults.stop, faults.keyring, faults.cleaner) = (0, 0, 0, 0)
        return faults
    }
}

/// Hosts, a cluster and a provider, of which one thing happens at a time.
final class World: @unchecked Sendable {
    static let group = KeychainGroup.standard
    static let prefix = "/credmgr"
    /// The prefix of the group's keys.
    static let path = "\(prefix)/\(group.name)/"
    static let start: Int64 = 1_800_000_000

    let schedule: Schedule
    var faults: Faults
    let cluster: SimulatedCluster
    let provider: SimulatedProvider
    let type: AccountType
    var hosts: [SimulatedHost] = []
    /// Requests on their way whose senders have given up.
    var late: [RefreshToken] = []
    /// Transactions that the cluster does later than it was waited for.
    var lateCommits: [() -> Void] = []
    var milliseconds: Int64 = 1_000_000
    var problems: [String] = []
    /// The processes that are stopped.
    var stopped: Set<ObjectIdentifier> = []
    /// The one moment at which a process ends, if it is not drawn.
    var plannedCrash: (step: Int, moment: PortTrace.Moment)?

    /// Sign-ins whose answer was lost in a way that no protocol can fix: between the provider and the journal.
    var excused: Set<Int> = []
    /// Tokens that may be sent again: a person has said so, or, on a machine alone, a run has ended with the
    /// answer.
    var mayComeAgain: Set<RefreshToken> = []
    /// The numbers of all the group's keys so far, in any state of the cluster.
    var keyNumbers: Set<Int64> = []
    /// The sign-ins that the cluster has had, in the order in which they were saved in it.
    var haveStood: [Int] = []
    /// Each intent that was ever recorded, and its host and process.
    var recorded: [IntentNonce: (intent: Intent, host: SimulatedHost, process: ObjectIdentifier)] = [:]
    /// The intents with an unknown end: the process has ended after it had noted that it sends, or no answer came.
    var unknownEnds: Set<IntentNonce> = []
    /// How often a lock that another process holds is tried again.
    var patience = 60
    /// Whether the group says that an intent is taken over.
    var takesOver = false
    /// Whether the cluster was restored: a host may send a token again if it cannot know better.
    var wasRestored = false
    private var snapshot: SimulatedCluster.Content?
    /// The keys that expelled hosts have stored, by their numbers.
    var forgeries: [Int64: [Forgery]] = [:]
    /// The forgeries that have only changed the agreed settings.
    var changedSettings: [Forgery] = []
    /// Whether a host that could not know better has accepted an expelled host's settings as agreed: others may
    /// have them from that host.
    var isMisled = false
    /// Whether the keyring of the first host does not answer.
    private var isKeyringAway = false
    /// How many processes there have been.
    var processes = 0
    /// The action of another host while one is stopped; `nil` without one.
    var meanwhile: ((SimulatedHost) -> Void)?
    /// Gets each event, line by line, if a caller follows a run; `nil` otherwise.
    var teller: ((String) -> Void)?

    func tell(_ line: @autoclosure () -> String) { teller?("\(milliseconds) \(line())") }

    init(
        _ schedule: Schedule, faults: Faults, cluster: SimulatedCluster = SimulatedCluster(),
        provider: SimulatedProvider = SimulatedProvider()
    ) {
        self.schedule = schedule
        self.faults = faults
        self.cluster = cluster
        self.provider = provider
        var type = AccountType(name: "Tasks", adapter: "simulated", clientID: "c")
        type.scope = ["read"]
        self.type = type
    }

    /// Whether this is the moment at which a process is to end.
    func isPlannedCrash(_ moment: PortTrace.Moment) -> Bool {
        guard let plannedCrash, schedule.isRunning, plannedCrash == (schedule.steps, moment) else { return false }
        self.plannedCrash = nil
        return true
    }

    /// Whether a sign-in other than the last one has replaced this one.
    func isReplaced(_ signIn: Int, before last: Int) -> Bool {
        guard let place = haveStood.lastIndex(of: signIn) else { return false }
        return haveStood[(place + 1)...].contains { $0 != last }
    }

    /// Whether another sign-in has replaced this one, for any time.
    func wasReplaced(_ signIn: Int) -> Bool {
        guard let place = haveStood.firstIndex(of: signIn) else { return false }
        return haveStood[(place + 1)...].contains { $0 != signIn }
    }

    func draw(_ many: Int) -> Bool { schedule.random.once(in: many) }

    /// The events between two steps.
    func between() {
        milliseconds += Int64(schedule.random.below(100))
        if draw(faults.pause) { milliseconds += Int64(schedule.random.below(40_000)) }
        let leases = cluster.content.leases.keys
        if !leases.isEmpty, draw(faults.leaseEnd) {
            cluster.end(leases.sorted()[schedule.random.below(leases.count)])
        }
        cluster.endLeases(milliseconds, stopped)
        if !late.isEmpty, draw(8) { comeLate() }
        if !lateCommits.isEmpty, draw(faults.lateness) { lateCommits.removeFirst()() }
        if draw(faults.clock) {
            let host = hosts[schedule.random.below(hosts.count)]
            host.skew = Int64(schedule.random.below(7_200)) - 3_600
            tell("the clock of \(host.name) is \(host.skew) s off")
        }
        if draw(faults.revoke) {
            let signIn = schedule.random.below(provider.current.count)
            provider.revoke(signIn)
            tell("somebody ends sign-in \(signIn)")
        }
        if draw(faults.restore) { restore() }
        if draw(faults.meddle) { meddle() }
        if draw(faults.keyring) { setKeyring(isAway: !isKeyringAway) }
    }

    /// Has the keyring of the first host go, or come back.
    func setKeyring(isAway: Bool) {
        isKeyringAway = isAway
        let error = CredentialError(.storeUnavailable, "no keyring answers")
        hosts[0].machine.breakStore(.secretService, with: isAway ? error : nil)
        tell("the keyring \(isAway ? "goes" : "is there")")
    }

    private func restore() {
        if let snapshot {
            cluster.restore(snapshot, revisionsComeAgain: draw(2))
            wasRestored = true
            tell("the cluster is put back")
        } else {
            snapshot = cluster.content
        }
    }

    /// A host has read about an expel for the first time: the effects show only if no other read repeats it.
    func hearOfExpel() {
        if snapshot != nil, draw(faults.restoreAfterNews) { restore() }
    }

    /// A request arrives though its sender has given up; no process receives its answer.
    func comeLate() {
        let token = late.removeFirst(), next = provider.receive(token)
        tell("\(token) comes late and gives \(next.map { "\($0)" } ?? "nothing")")
    }

    func answerIsLost(_ token: RefreshToken, isShared: Bool) {
        excused.insert(token.signIn)
        if !isShared { mayComeAgain.insert(token) }
    }

    /// The names of the machines that were expelled.
    var expelledNames: [String] { Set(hosts.filter(\.isExpelled).map(\.name)).sorted() }

    /// Whether the group has a host of this name.
    func isMember(_ name: String) -> Bool { cluster.content.records["\(Self.path)hosts/\(name)"] != nil }

    /// Whether the group still has the host that has recorded an intent.
    func isMember(_ intent: Intent) -> Bool {
        cluster.content.records["\(Self.path)hosts/\(intent.host)"].flatMap { try? GroupHost($0) }?.publicKey
            == intent.publicKey
    }

    /// Whether a machine belongs to the group: another may have come under its name.
    func hasAdmitted(_ host: SimulatedHost) -> Bool {
        guard let record = cluster.content.records["\(Self.path)hosts/\(host.name)"],
            let known = try? GroupHost(record)
        else { return false }
        return newest?.admits(known) == true && known.publicKey == host.publicKey
    }

    /// The newest key of the group.
    var newest: KeyEpoch? {
        cluster.content.records[Self.path + "epoch"].flatMap { KeyEpoch(content: $0.value) }
    }

    /// The keys of the hosts to which the cluster has given the group's newest key.
    var admittedKeys: Set<[UInt8]> {
        Set(
            cluster.content.records.values.filter { $0.key.hasPrefix("\(Self.path)hosts/") }
                .compactMap { try? GroupHost($0) }.filter { newest?.admits($0) == true }.map(\.publicKey))
    }

    /// A host was expelled just now. Its refreshes that are under way may be lost with it, as the manual says, and
    /// no others.
    func wasExpelled(_ name: String) {
        for host in hosts where host.name == name && !host.isExpelled {
            host.isExpelled = true
            var lost = Set(host.underWay.values)
            for intent in cluster.intents where recorded[intent.nonce]?.host === host {
                lost.formUnion(cluster.tokens.filter { Rules.digest($0) == intent.token })
            }
            if host.files.keys.contains(where: { $0.hasPrefix(FileIntentLog.answerPrefix) }) {
                lost.formUnion(cluster.tokens)
            }
            for token in lost { excused.insert(token.signIn) }
        }
    }
}

/// The random values of a seed.
struct SimulatedRandom: RandomSource {
    let world: World
    func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 7)
        while bytes.count < count {
            let word = world.schedule.random.next()
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
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

    var content: Content
    /// The leases that a process keeps alive.
    var held: [Int64: PortTrace] = [:]

    static let leaseMilliseconds: Int64 = 15_000

    init(_ content: Content = Content()) { self.content = content }

    /// The revisions that records had before the cluster was restored, if they are to repeat: the cluster serves
    /// others, too, and their writes count as well.
    private var former: [String: Int64] = [:]

    func restore(_ snapshot: Content, revisionsComeAgain: Bool = false) {
        former = revisionsComeAgain ? content.records.mapValues(\.revision) : [:]
        content = snapshot
    }

    func end(_ lease: Int64) {
        for key in content.leases.removeValue(forKey: lease)?.keys ?? [] { content.records[key] = nil }
        content.revision += 1
        held[lease] = nil
    }

    func endLeases(_ now: Int64, _ stopped: Set<ObjectIdentifier>) {
        for (number, lease) in content.leases where lease.end <= now {
            // A pause that is longer than the lease ends it, however alive its holder is.
            if let holder = held[number], !holder.isEnded, !stopped.contains(ObjectIdentifier(holder)),
                now - lease.end < Self.leaseMilliseconds / 3
            {
                content.leases[number]?.end = now + Self.leaseMilliseconds
            } else {
                end(number)
            }
        }
    }

    /// Whether all conditions of a transaction hold.
    ///
    /// - Throws: if a lease that it puts with has ended.
    func allows(_ transaction: ClusterTransaction) throws(CredentialError) -> Bool {
        for (key, revision) in transaction.conditions where (content.records[key]?.revision ?? 0) != revision {
            return false
        }
        for (key, value) in transaction.values where content.records[key]?.value != value { return false }
        for case .put(_, _, let lease?) in transaction.changes where content.leases[lease.number] == nil {
            throw CredentialError(.temporary, "the lease has ended")
        }
        return true
    }

    /// Applies a transaction.
    func apply(_ transaction: ClusterTransaction) {
        content.revision += 1
        for case .put(let key, _, _) in transaction.changes {
            if let before = former.removeValue(forKey: key), before > content.revision { content.revision = before }
        }
        for change in transaction.changes {
            switch change {
            case .put(let key, let value, let lease):
                content.records[key] = ClusterRecord(
                    key: key, value: value, revision: content.revision,
                    created: content.records[key]?.created ?? content.revision)
                for number in content.leases.keys { content.leases[number]?.keys.remove(key) }
                if let lease { content.leases[lease.number]?.keys.insert(key) }
            case .remove(let key):
                content.records[key] = nil
                for number in content.leases.keys { content.leases[number]?.keys.remove(key) }
            }
        }
    }

    // MARK: What stands, read by nobody's key: the simulation's seals hide nothing

    func tokenSet(_ key: String) -> TokenSet? { content.records[key].flatMap { Self.tokenSet($0.value) } }
    func intent(_ key: String) -> Intent? {
        content.records[key].flatMap { try? Intent(decoding: Self.plaintext($0.value)) }
    }

    /// The recorded intents.
    var intents: [Intent] {
        content.records.keys.filter { $0.hasSuffix("/intent") }.sorted().compactMap { intent($0) }
    }

    /// The refresh tokens in token sets.
    var tokens: [RefreshToken] {
        content.records.keys.filter { $0.hasSuffix("/set") }.sorted().compactMap { tokenSet($0)?.refreshToken }
    }

    static func tokenSet(_ value: [UInt8]) -> TokenSet? { try? TokenSet(decoding: plaintext(value)) }
    /// Behind the form, the epoch and the salt; in the first form the nonce.
    static func plaintext(_ value: [UInt8]) -> [UInt8] {
        Array(value.dropFirst(value.first == 1 ? 21 : 41).dropLast(16))
    }
}

extension TokenSet {
    /// The refresh token of the simulation's one policy.
    var refreshToken: RefreshToken? { RefreshToken(grants[""]?.refreshToken?.reveal()) }
    /// Whether that was refused.
    var isLost: Bool { grants[""]?.lostReason != nil }
}

extension GroupMembershipService {
    /// Removes the host of a name, with any key.
    @discardableResult
    func expel(_ host: String, from group: KeychainGroup) throws(CredentialError) -> RemovalResult {
        try expel(host, fingerprint: nil, from: group)
    }
}
