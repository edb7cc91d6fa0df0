import CredentialCore
import CryptoSupport

@testable import SharedGroups

/// What goes wrong in a run, as one in so many steps; 0 is never.
struct Faults {
    var crash = 60
    var clusterError = 25
    var leaseEnd = 40
    var requestLost = 25
    var answerLost = 40
    var unreachable = 25
    var rekey = 60
    var relabel = 60
    var pause = 30
    static let none = Faults(
        crash: 0, clusterError: 0, leaseEnd: 0, requestLost: 0, answerLost: 0, unreachable: 0, rekey: 0, relabel: 0,
        pause: 0)
}

/// Some hosts, a cluster and a provider that ends a sign-in when a used-up refresh token comes again, in one thread at a time.
final class SimulatedHosts: @unchecked Sendable {
    let schedule: Schedule
    var faults: Faults
    let keys = AccountKeys(group: "/credmgr/g/", id: "a1")
    let cryptography = LibCryptography()

    // The cluster.
    var records: [String: ClusterRecord] = [:]
    var leases: [ClusterLease: Set<String>] = [:]
    var revision: Int64 = 1
    var nextLease: Int64 = 1

    // The provider.
    var taken = 1
    var ended = false
    var sent: [Int: Int] = [:]
    var deliberate: Set<Int> = []
    /// Whether an answer was lost in a way that no protocol can mend.
    var excused = false
    var late: [Int] = []

    // The hosts' folders.
    var notes: [Int: IntentNote] = [:]
    var journals: [Int: [UInt8]] = [:]
    /// The intents under which a host has ever been about to send.
    var mayHaveSent: Set<IntentNonce> = []

    // Clocks.
    var milliseconds: Int64 = 1_000_000
    var problems: [String] = []

    init(seed: UInt64, faults: Faults) throws {
        schedule = Schedule(seed: seed)
        self.faults = faults
        records[keys.epoch] = ClusterRecord(key: keys.epoch, value: Array("1".utf8), revision: 1)
        var account = Account(
            id: keys.id, type: "T", adapter: "oauth2",
            registration: Registration(provider: "https://op", clientID: "c"),
            subject: "s", store: .file, now: Instant(epochSeconds: 1_800_000_000))
        account.username = "ada"
        var set = TokenSet(account: account, journalKey: [UInt8](repeating: 7, count: 32))
        var grant = Grant(flow: .code, obtainedAt: Instant(epochSeconds: 1_800_000_000))
        grant.refreshToken = Secret("r1")
        set.grants[""] = grant
        records[keys.set] = ClusterRecord(
            key: keys.set, value: try seal(0).seal(set.encoded(), at: keys.set, epoch: 1), revision: 1)
    }

    var now: Instant { Instant(epochSeconds: 1_800_000_000 + milliseconds / 1_000) }

    func seal(_ host: Int) -> GroupSeal {
        GroupSeal(
            groupID: [9], keys: SimulatedKeys(), cryptography: cryptography, random: SimulatedRandom(world: self))
    }

    // MARK: The world between two steps

    func between() {
        milliseconds += Int64(schedule.random.below(200))
        if draw(faults.pause) { milliseconds += Int64(schedule.random.below(20_000)) }
        if draw(faults.leaseEnd), let lease = leases.keys.min(by: { $0.number < $1.number }) { end(lease) }
        if !late.isEmpty, schedule.random.chance(1, in: 4) {
            // A request whose sender has given up arrives all the same; its answer finds nobody.
            receive(late.removeFirst())
            excused = true
        }
        if draw(faults.relabel) { change { $0.account.label = "n\(self.revision)" } }
        if draw(faults.rekey), records[keys.intent] == nil, let epoch = Int64(text(keys.epoch)) {
            // The group is sealed anew, but for accounts with an intent.
            put(keys.epoch, Array("\(epoch + 1)".utf8))
            change { _ in }
        }
    }

    func draw(_ one: Int) -> Bool { one > 0 && schedule.random.chance(1, in: one) }

    private func text(_ key: String) -> String { String(decoding: records[key]?.value ?? [], as: UTF8.self) }

    func tokenSet(_ key: String) -> TokenSet? {
        guard let record = records[key], let bytes = try? seal(0).open(record) else { return nil }
        return try? TokenSet(decoding: bytes)
    }

    private func change(_ how: (inout TokenSet) -> Void) {
        guard var set = tokenSet(keys.set) else { return }
        how(&set)
        set.generation += 1
        guard let value = try? seal(0).seal(set.encoded(), at: keys.set, epoch: Int64(text(keys.epoch)) ?? 0)
        else { return }
        put(keys.set, value)
    }

    func put(_ key: String, _ value: [UInt8]) {
        revision += 1
        records[key] = ClusterRecord(key: key, value: value, revision: revision)
    }

    func end(_ lease: ClusterLease) {
        for key in leases.removeValue(forKey: lease) ?? [] { records[key] = nil }
        revision += 1
    }

    /// An intent is taken over: what it was about may go out again, on purpose.
    func retryDeliberately() {
        guard let text = tokenSet(keys.set)?.grants[""]?.refreshToken?.reveal(), let number = Int(text.dropFirst())
        else { return }
        deliberate.insert(number)
    }

    // MARK: The provider

    /// A request arrives; gives the next refresh token, or `nil` for a refusal.
    @discardableResult
    func receive(_ token: Int) -> Int? {
        sent[token, default: 0] += 1
        if sent[token, default: 0] > 1, !deliberate.contains(token) {
            problems.append("refresh token r\(token) was sent \(sent[token] ?? 0) times")
        }
        guard token == taken, !ended else {
            ended = true
            return nil
        }
        taken += 1
        return taken
    }
}

/// What a host that has crashed finds everywhere.
let crashed = CredentialError(.internalFault, "crashed")
let clusterGone = CredentialError(.temporary, "the cluster does not answer")

/// One life of one host: its ports. After a crash they all fail, and nothing it does has an effect any more.
final class Life: Cluster, HostNotes, BootClock, WallClock, @unchecked Sendable {
    let world: SimulatedHosts
    let host: Int
    var isDead = false
    /// Whether a request has left whose answer is not in the journal.
    var isExposed = false

    init(_ world: SimulatedHosts, host: Int) {
        self.world = world
        self.host = host
    }

    /// A step of this host: others may go on before it, or it may crash there.
    func step() throws(CredentialError) {
        if isDead { throw crashed }
        world.schedule.step(host)
        if world.draw(world.faults.crash) {
            isDead = true
            if isExposed { world.excused = true }
            throw crashed
        }
    }

    var milliseconds: Int64 { world.milliseconds }
    var now: Instant { world.now }

    func read(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?] {
        try step()
        if world.draw(world.faults.clusterError) { throw clusterGone }
        return keys.map { world.records[$0] }
    }

    func list(_ prefix: String) throws(CredentialError) -> [ClusterRecord] {
        try step()
        return world.records.values.filter { $0.key.hasPrefix(prefix) }.sorted { $0.key < $1.key }
    }

    func commit(_ transaction: ClusterTransaction) throws(CredentialError) -> Bool {
        try step()
        let fails = world.draw(world.faults.clusterError)
        if fails, world.schedule.random.chance(1, in: 2) { throw clusterGone }
        for (key, revision) in transaction.conditions where (world.records[key]?.revision ?? 0) != revision {
            if fails { throw clusterGone }
            return false
        }
        for case .put(_, _, let lease?) in transaction.changes where world.leases[lease] == nil {
            throw CredentialError(.temporary, "the lease has ended")
        }
        for change in transaction.changes {
            switch change {
            case .put(let key, let value, let lease):
                if key == world.keys.intent, world.records[key] != nil { world.retryDeliberately() }
                world.put(key, value)
                if let lease { world.leases[lease, default: []].insert(key) }
            case .remove(let key):
                world.records[key] = nil
                for lease in world.leases.keys { world.leases[lease]?.remove(key) }
            }
        }
        try step()
        if fails { throw clusterGone }
        return true
    }

    func grantLease(seconds: Int64) throws(CredentialError) -> ClusterLease {
        try step()
        if world.draw(world.faults.clusterError) { throw clusterGone }
        let lease = ClusterLease(number: world.nextLease)
        world.nextLease += 1
        world.leases[lease] = []
        return lease
    }

    func hold(_ lease: ClusterLease) -> any HeldLease { NothingHeld() }

    func revoke(_ lease: ClusterLease) throws(CredentialError) {
        try step()
        world.end(lease)
    }

    func intent(of account: String) throws(CredentialError) -> IntentNote? {
        try step()
        return world.notes[host]
    }

    func note(_ note: IntentNote, of account: String) throws(CredentialError) {
        try step()
        world.notes[host] = note
        if note.maySend { world.mayHaveSent.insert(note.nonce) }
        try step()
    }

    func journal(of account: String) throws(CredentialError) -> [UInt8]? {
        try step()
        return world.journals[host]
    }

    func keepJournal(_ entry: [UInt8], of account: String) throws(CredentialError) {
        try step()
        world.journals[host] = entry
        isExposed = false
        try step()
    }

    func dropJournal(of account: String) throws(CredentialError) {
        try step()
        world.journals[host] = nil
    }

    /// Asks the provider.
    func send(_ set: TokenSet) -> SharedRefresh.Answer {
        guard let text = set.grants[""]?.refreshToken?.reveal(), let number = Int(text.dropFirst()) else {
            return .unsent(CredentialError(.internalFault, "no refresh token"))
        }
        do throws(CredentialError) {
            if world.draw(world.faults.unreachable) {
                return .unsent(CredentialError(.temporary, "the provider cannot be reached"))
            }
            isExposed = true
            // Until the request arrives others go on; who crashes here leaves it on its way.
            do throws(CredentialError) { try step() } catch {
                world.late.append(number)
                throw error
            }
            if world.draw(world.faults.requestLost) {
                world.late.append(number)
                world.excused = true
                return .unknown(CredentialError(.temporary, "no answer within the time allowed"))
            }
            let next = world.receive(number)
            try step()
            if world.draw(world.faults.answerLost) {
                world.excused = true
                return .unknown(CredentialError(.temporary, "the connection was closed"))
            }
            guard let next else {
                isExposed = false
                return .refused(CredentialError(.signInRequired, "invalid_grant"))
            }
            var set = set
            set.grants[""]?.refreshToken = Secret("r\(next)")
            return .issued(set)
        } catch { return .unknown(error) }
    }

    /// The protocol on the ports of this life.
    var refresh: SharedRefresh {
        SharedRefresh(
            cluster: self, notes: self, seal: world.seal(host), clock: self, bootClock: self,
            random: SimulatedRandom(world: world), cryptography: world.cryptography, host: "host\(host)")
    }
}

struct NothingHeld: HeldLease { func release() {} }

/// Bytes that the seed gives again.
struct SimulatedRandom: RandomSource {
    let world: SimulatedHosts
    func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: world.schedule.random.next()) }
    }
}

struct SimulatedKeys: GroupKeys {
    func key(ofEpoch epoch: Int64) throws(CredentialError) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: epoch), count: 32)
    }
}
