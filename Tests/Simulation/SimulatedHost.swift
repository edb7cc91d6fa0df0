import CredentialCore
import Synchronization
import TestPorts

@testable import SharedGroups

/// A machine, alone or one of several that share a group.
final class SimulatedHost: @unchecked Sendable {
    let name: String
    let world: World
    let machine: MemoryMachine
    let isShared: Bool
    /// The small files of the shared group.
    var files: [String: [UInt8]] = [:]
    /// By how many seconds its clock is off.
    var skew: Int64 = 0
    /// Whether the others have expelled it.
    var isExpelled = false

    init(_ name: String, _ world: World, isShared: Bool = true, machine: MemoryMachine? = nil) {
        self.name = name
        self.world = world
        self.isShared = isShared
        self.machine =
            machine ?? MemoryMachine(cryptography: ToyCryptography(random: SimulatedRandom(world: world)))
    }

    /// A process on it.
    func process() -> SimulatedProcess { SimulatedProcess(self) }

    /// Whether it has written down that a refresh token is used up.
    func knows(used token: RefreshToken) -> Bool {
        let cryptography = ToyCryptography(random: SimulatedRandom(world: world))
        return machine.spent.contains { known in
            known.digests.contains(
                cryptography.sha256(
                    Array("credmgr spent 1\n\(known.group.name)\n\(known.account)\n\(token)".utf8)))
        }
    }

    /// The same machine once more, as it is just now.
    ///
    /// - Parameter withNotes: whether what it has written down of its refreshes comes along.
    func clone(withNotes: Bool) -> SimulatedHost {
        let clone = SimulatedHost(name, world, isShared: isShared, machine: machine.clone())
        clone.files = files.filter { withNotes || !($0.key.hasPrefix("intent-") || $0.key.hasPrefix("answer-")) }
        return clone
    }
}

/// One process of a host: its ports, at each of whose calls others may go on, or it may end.
final class SimulatedProcess: @unchecked Sendable {
    let host: SimulatedHost
    let trace: PortTrace
    /// The refresh token that has left this process, while its answer is not safe.
    fileprivate let exposed = Mutex<RefreshToken?>(nil)
    /// Whether a person says that nobody else is at it.
    var takesOver = false
    private(set) lazy var ports = makePorts()
    private(set) lazy var services = AccountServices(ports, AccountPolicy(refreshes: .here), ProductConfiguration())

    var world: World { host.world }

    init(_ host: SimulatedHost) {
        self.host = host
        let world = host.world
        let end = Mutex<(@Sendable () -> Void)?>(nil)
        trace = PortTrace(patience: 60) { moment in
            if moment == .before { world.schedule.step() }
            if world.draw(world.faults.crash) { end.withLock { $0 }?() }
        }
        end.withLock { $0 = { [weak self] in self?.crash() } }
    }

    private func crash() {
        guard !trace.isEnded else { return }
        if let token = exposed.withLock({ $0 }) { world.answerIsLost(token, isShared: host.isShared) }
        trace.end()
    }

    private func makePorts() -> MachinePorts {
        let random = SimulatedRandom(world: world), cryptography = ToyCryptography(random: random)
        var ports = machinePorts(random, cryptography)
        if host.isShared {
            let stores = ports.stores
            let sharing = ClusterSharing(
                .init(
                    files: self, local: ports.records, events: ports.events, clock: ports.clock, bootClock: self,
                    random: random, cryptography: cryptography, stores: { stores(AccountPolicy()) },
                    connect: { _ in self },
                    pause: { [world, trace] milliseconds in
                        world.milliseconds += milliseconds
                        trace.quietCall("pause", otherwise: ()) {}
                    }))
            ports.records = SharedAccountRecords(sharing)
            ports.sharing = sharing
        } else {
            ports.records = SafeRecords(base: ports.records, process: self)
            ports.journal = SafeJournal(base: ports.journal, process: self)
        }
        return ports
    }

    private func machinePorts(_ random: SimulatedRandom, _ cryptography: ToyCryptography) -> MachinePorts {
        var ports = host.machine.process(trace, transport: self)
        ports.clock = self
        ports.random = random
        ports.cryptography = cryptography
        ports.adapters = AdapterRegistry([SimulatedAdapter()])
        return ports
    }

    fileprivate func isSafe() { exposed.withLock { $0 = nil } }
}

extension SimulatedProcess: WallClock, BootClock {
    var now: Instant { Instant(epochSeconds: World.start + world.milliseconds / 1_000 + host.skew) }
    var milliseconds: Int64 { world.milliseconds }
}

// MARK: The provider, from here

extension SimulatedProcess: HTTPTransport {
    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        guard case .bytes(let body) = request.body, let token = RefreshToken(String(decoding: body, as: UTF8.self))
        else { throw CredentialError(.internalFault, "not a refresh") }
        if world.draw(world.faults.unreachable) {
            var error = CredentialError(.temporary, "the provider cannot be reached")
            error.isBeforeRequest = true
            throw error
        }
        try trace.call("provider.send") { () throws(CredentialError) in leave(token) }
        // Until it arrives others go on; who ends here leaves it on its way.
        do throws(CredentialError) { try trace.call("provider.wait") { () throws(CredentialError) in } } catch {
            world.late.append(token)
            throw error
        }
        if world.draw(world.faults.busy) {
            isSafe()
            world.mayComeAgain.insert(token)
            return HTTPResponse(status: 503)
        }
        if world.draw(world.faults.requestLost) {
            world.late.append(token)
            world.answerIsLost(token, isShared: host.isShared)
            throw CredentialError(.temporary, "no answer within the time allowed")
        }
        let next = world.provider.receive(token)
        try trace.call("provider.answer") { () throws(CredentialError) in }
        if world.draw(world.faults.answerLost) {
            world.answerIsLost(token, isShared: host.isShared)
            throw CredentialError(.temporary, "the connection was closed")
        }
        guard let next else {
            isSafe()
            return HTTPResponse(status: 400)
        }
        return HTTPResponse(status: 200, body: Array("\(next)".utf8))
    }

    /// The invariant of all: no refresh token is sent while an earlier request with it can still be answered.
    private func leave(_ token: RefreshToken) {
        exposed.withLock { $0 = token }
        let times = world.provider.leaves(token)
        guard times > 1, !world.mayComeAgain.contains(token) else { return }
        if world.wasRestored {
            // Who has never seen what came of it cannot know.
            guard host.knows(used: token) else {
                world.excused.insert(token.signIn)
                return
            }
        }
        world.problems.append("\(token) was sent \(times) times, last by \(host.name)")
    }
}

// MARK: The cluster, from here

extension SimulatedProcess: Cluster {
    private static let silence = CredentialError(.temporary, "the cluster does not answer")

    private func call<Value>(
        _ name: String, _ body: () throws(CredentialError) -> Value
    ) throws(CredentialError) -> Value {
        try trace.call("cluster.\(name)") { () throws(CredentialError) in
            let fails = world.draw(world.faults.cluster)
            if fails, world.draw(2) { throw Self.silence }
            let value = try body()
            // It was done all the same.
            if fails { throw Self.silence }
            return value
        }
    }

    func read(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?] {
        try call("read") { () throws(CredentialError) in keys.map { world.cluster.content.records[$0] } }
    }

    func list(_ prefix: String) throws(CredentialError) -> [ClusterRecord] {
        try call("list") { () throws(CredentialError) in
            world.cluster.content.records.values.filter { $0.key.hasPrefix(prefix) }.sorted { $0.key < $1.key }
        }
    }

    func commit(_ transaction: ClusterTransaction) throws(CredentialError) -> Bool {
        try call("commit") { () throws(CredentialError) in
            noteRetry(transaction)
            let wasApplied = try world.cluster.apply(transaction)
            for case .put(let key, _, _) in transaction.changes
            where wasApplied && key.contains("/a/") && !world.isMember(host.name) {
                world.problems.append("\(host.name), which was expelled, puts \(key)")
            }
            return wasApplied
        }
    }

    /// An intent is taken over: what it was about may go out again, on purpose.
    private func noteRetry(_ transaction: ClusterTransaction) {
        for case .put(let key, _, _) in transaction.changes where key.hasSuffix("/intent") {
            // Only where that is allowed, and nobody is at it.
            guard world.takesOver || takesOver, let standing = world.cluster.intent(key),
                world.cluster.content.records[String(key.dropLast("intent".count)) + "live"] == nil,
                let set = world.cluster.tokenSet(String(key.dropLast("intent".count)) + "set")
            else { continue }
            let cryptography = ToyCryptography(random: SimulatedRandom(world: world))
            for grant in set.grants.values {
                guard let text = grant.refreshToken?.reveal(), let token = RefreshToken(text),
                    cryptography.sha256(Array(text.utf8)) == standing.token.bytes
                else { continue }
                world.mayComeAgain.insert(token)
                world.excused.insert(token.signIn)
            }
        }
    }

    func grantLease(seconds: Int64) throws(CredentialError) -> ClusterLease {
        try call("lease") { () throws(CredentialError) in
            let number = world.cluster.content.nextLease
            world.cluster.content.nextLease += 1
            world.cluster.content.leases[number] = ([], world.milliseconds + seconds * 1_000)
            return ClusterLease(number: number)
        }
    }

    func hold(_ lease: ClusterLease) -> any HeldLease {
        world.cluster.held[lease.number] = trace
        return Hold(cluster: world.cluster, number: lease.number)
    }

    func revoke(_ lease: ClusterLease) throws(CredentialError) {
        try call("revoke") { () throws(CredentialError) in world.cluster.end(lease.number) }
    }
}

private struct Hold: HeldLease {
    let cluster: SimulatedCluster
    let number: Int64
    func release() { cluster.held[number] = nil }
}

// MARK: The folder

extension SimulatedProcess: GroupFiles {
    func read(_ name: String, of group: KeychainGroup) throws(CredentialError) -> [UInt8]? {
        // How the group is shared is looked at again and again, and never changes here.
        if name == GroupBackend.fileName { return host.files[name] }
        return try trace.call("files.read") { () throws(CredentialError) in host.files[name] }
    }

    func write(_ content: [UInt8], to name: String, of group: KeychainGroup) throws(CredentialError) {
        try trace.call("files.write") { () throws(CredentialError) in
            host.files[name] = content
            if name.hasPrefix("intent-"),
                let note = try NotesInFiles(files: Kept(host: host), group: group).intent(
                    of: String(name.dropFirst("intent-".count))), note.maySend
            {
                world.mayHaveSent.insert(note.nonce)
            }
            if name.hasPrefix("answer-") { isSafe() }
        }
    }

    func remove(_ name: String, of group: KeychainGroup) throws(CredentialError) {
        try trace.call("files.remove") { () throws(CredentialError) in host.files[name] = nil }
    }

    func names(of group: KeychainGroup) throws(CredentialError) -> [String] { host.files.keys.sorted() }
    func groups() throws(CredentialError) -> [KeychainGroup] { host.files.isEmpty ? [] : [World.group] }
}

/// The files as they are, without a call.
private struct Kept: GroupFiles {
    let host: SimulatedHost
    func read(_ name: String, of group: KeychainGroup) throws(CredentialError) -> [UInt8]? { host.files[name] }
    func write(_ content: [UInt8], to name: String, of group: KeychainGroup) throws(CredentialError) {}
    func remove(_ name: String, of group: KeychainGroup) throws(CredentialError) {}
    func names(of group: KeychainGroup) throws(CredentialError) -> [String] { [] }
    func groups() throws(CredentialError) -> [KeychainGroup] { [] }
}

/// On a machine alone an answer is safe when its record is written, or its journal.
private struct SafeRecords: AccountRecords {
    let base: any AccountRecords
    let process: SimulatedProcess

    func write(_ record: AccountRecord, expecting expected: Int64?) throws(CredentialError) -> RecordWriting {
        let outcome = try base.write(record, expecting: expected)
        process.isSafe()
        return outcome
    }
    func groups() throws(CredentialError) -> [KeychainGroup] { try base.groups() }
    func index(of group: KeychainGroup, _ check: IndexCheck) throws(CredentialError) -> AccountIndex {
        try base.index(of: group, check)
    }
    func read(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        try base.read(id, in: group)
    }
    func registry(
        of group: KeychainGroup, damaged: (String, CredentialError) -> Void
    ) throws(CredentialError) -> AccountRegistry { try base.registry(of: group, damaged: damaged) }
    func remove(
        _ id: String, in group: KeychainGroup, expecting expected: Int64
    ) throws(CredentialError) -> RecordWriting { try base.remove(id, in: group, expecting: expected) }
    func setAside(_ id: String, in group: KeychainGroup) throws(CredentialError) -> String {
        try base.setAside(id, in: group)
    }
    func setAsideOlder(_ group: KeychainGroup) throws(CredentialError) { try base.setAsideOlder(group) }
}

private struct SafeJournal: GenerationJournal {
    let base: any GenerationJournal
    let process: SimulatedProcess

    func write(_ sealed: [UInt8], for account: String, in group: KeychainGroup) throws(CredentialError) {
        try base.write(sealed, for: account, in: group)
        process.isSafe()
    }
    func accounts(in group: KeychainGroup) throws(CredentialError) -> [String] { try base.accounts(in: group) }
    func read(_ account: String, in group: KeychainGroup) throws(CredentialError) -> [UInt8]? {
        try base.read(account, in: group)
    }
    func reserve(_ size: Int, for account: String, in group: KeychainGroup) throws(CredentialError) {
        try base.reserve(size, for: account, in: group)
    }
    func releaseReserve(for account: String, in group: KeychainGroup) {
        base.releaseReserve(for: account, in: group)
    }
    func remove(_ account: String, in group: KeychainGroup) throws(CredentialError) {
        try base.remove(account, in: group)
    }
}
