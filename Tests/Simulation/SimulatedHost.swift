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
    /// Whether a process of it has ended before its time.
    var hasCrashed = false
    /// What has left its processes and is not safe.
    var underWay: [ObjectIdentifier: RefreshToken] = [:]
    /// The refresh tokens that it knows to be used up: a refresh of its own has given the next.
    var usedUp: Set<RefreshToken> = []
    /// The keys of hosts that it knows to be expelled: a process has written something since it had read that.
    var knowsExpelled: Set<[UInt8]> = []

    init(_ name: String, _ world: World, isShared: Bool = true, machine: MemoryMachine? = nil) {
        self.name = name
        self.world = world
        self.isShared = isShared
        self.machine =
            machine ?? MemoryMachine(cryptography: ToyCryptography(random: SimulatedRandom(world: world)))
    }

    /// What a run begins with.
    struct Kept: Sendable {
        let name: String
        let machine: MemoryMachine
        let files: [String: [UInt8]]
        let usedUp: Set<RefreshToken>
    }

    var kept: Kept { Kept(name: name, machine: machine, files: files, usedUp: usedUp) }

    convenience init(_ kept: Kept, _ world: World, isShared: Bool) {
        self.init(
            kept.name, world, isShared: isShared,
            machine: kept.machine.clone(with: ToyCryptography(random: SimulatedRandom(world: world))))
        files = kept.files
        usedUp = kept.usedUp
    }

    /// How it reaches the cluster.
    func backend(takesOver: Bool) -> GroupBackend {
        var backend = GroupBackend(
            endpoints: ["https://simulated"], authorities: nil, certificate: nil, prefix: World.prefix, host: name,
            keyStore: .file)
        backend.takeOverSeconds = takesOver ? 0 : nil
        return backend
    }

    /// Asks to be let into the group.
    func join(_ process: SimulatedProcess, takesOver: Bool) throws(CredentialError) -> SharedHost {
        try process.ports.sharing.membership.join(World.group, backend(takesOver: takesOver), passphrase: nil)
    }

    /// Whether it has an answer that is not known to be in the cluster.
    var hasJournal: Bool { files.keys.contains { $0.hasPrefix(NotesInFiles.answerPrefix) } }

    /// A process on it.
    func process() -> SimulatedProcess { SimulatedProcess(self) }

    /// What its shared group knows it by.
    private(set) lazy var publicKey =
        (try? GroupBackend(fileContent: files[GroupBackend.fileName] ?? [], of: World.group))?.publicKey

    /// What it has written down of an account's intent.
    func note(of account: String) -> IntentNote? {
        try? NotesInFiles(files: StillFiles(host: self), group: World.group).intent(of: account)
    }

    /// The same machine once more, as it is just now.
    ///
    /// - Parameter withNotes: whether what it has written down of its refreshes comes along.
    func clone(withNotes: Bool) -> SimulatedHost {
        let clone = SimulatedHost(name, world, isShared: isShared, machine: machine.clone())
        clone.files = files.filter { withNotes || !($0.key.hasPrefix("intent-") || $0.key.hasPrefix("answer-")) }
        clone.usedUp = usedUp
        clone.knowsExpelled = knowsExpelled
        return clone
    }
}

/// One process of a host: its ports, at each of whose calls others may go on, or it may end.
final class SimulatedProcess: @unchecked Sendable {
    let host: SimulatedHost
    let trace: PortTrace
    /// The intent under which it has noted that it sends, while it does not know how that ended.
    private var noted: IntentNonce?
    /// Whether that note came when the lease was half over.
    private var isTooLate = false
    private var leaseBegan: Int64 = 0
    /// The revisions of token sets as it has read them last.
    private(set) var read: [String: Int64] = [:]
    /// The intent that it has read last, and whether its host was alive.
    private var lastIntent: (nonce: IntentNonce?, isAlive: Bool) = (nil, false)
    /// The keys of hosts that the cluster has named to it as expelled.
    private(set) var readExpelled: Set<[UInt8]> = []
    /// The key and the value of the token set that it has put last.
    private(set) var lastPut: (key: String, value: [UInt8])?
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
            if world.draw(world.faults.crash) || world.isPlannedCrash(moment) { end.withLock { $0 }?() }
        }
        end.withLock { $0 = { [weak self] in self?.crash() } }
    }

    private func crash() {
        guard !trace.isEnded else { return }
        host.hasCrashed = true
        if let noted { world.unknownEnds.insert(noted) }
        loseAnswer()
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
            ports.records = WatchedRecords(
                base: SharedAccountRecords(sharing), begins: { [unowned self] in lastPut = nil },
                written: { [unowned self] in told($0, $1) })
            ports.sharing = sharing
        } else {
            ports.records = WatchedRecords(
                base: ports.records, begins: {}, written: { [unowned self] _, _ in isSafe() })
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

    /// Keeps a sign-in that has just been had.
    func keep(
        _ refresh: RefreshToken, of type: AccountType, _ registration: Registration
    ) throws(CredentialError) -> SignInService.Outcome {
        var grant = Grant(flow: .code, obtainedAt: now)
        grant.refreshToken = Secret("\(refresh)")
        grant.scope = type.scope
        let key = TokenRequestKey(under: type, policy: "", scope: type.scope)
        let result = SignInResult(
            identity: Identity(issuer: SimulatedAdapter.issuer, subject: "ada", username: "ada@example.com"),
            tokens: IssuedTokens(accessToken: SimulatedAdapter.token(refresh, key, self), grant: grant))
        return try services.signIn.keep(
            result, of: type, registration: registration, policy: "", in: World.group, store: .file, forceNew: false
        )
    }

    /// A refresh of this process has given a token, whose refresh token has the same name.
    func hasSeen(_ token: AccessToken) {
        guard !trace.isEnded, let token = RefreshToken(String(token.token.reveal().dropFirst("access-".count)))
        else {
            return
        }
        if let old = world.provider.replaced[token] { host.usedUp.insert(old) }
    }

    /// What the host has copied of the accounts.
    var copies: [String: TokenSet] {
        guard let sharing = ports.sharing as? ClusterSharing,
            let accounts = try? sharing.parts.local.index(of: World.group, .ids).ids
        else { return [:] }
        var copies: [String: TokenSet] = [:]
        for id in accounts {
            guard let sealed = try? sharing.parts.local.read(id, in: World.group)?.sealed else { continue }
            copies[id] = SimulatedCluster.tokenSet(sealed.bytes)
        }
        return copies
    }

    fileprivate func isSafe() { host.underWay[ObjectIdentifier(self)] = nil }

    /// Whatever has left this process, its answer will find nobody.
    private func loseAnswer() {
        guard let token = host.underWay[ObjectIdentifier(self)] else { return }
        world.answerIsLost(token, isShared: host.isShared)
        isSafe()
    }

    /// The answer of a call that has not ended is not to be had any more.
    private func isUnknown() {
        loseAnswer()
        if let noted { world.unknownEnds.insert(noted) }
    }

    /// Who is told that nothing was written finds nothing written.
    private func told(_ record: AccountRecord, _ outcome: RecordWriting?) {
        guard !trace.isEnded, let lastPut, world.cluster.content.records[lastPut.key]?.value == lastPut.value else {
            return
        }
        switch outcome {
        case .done?, .unknown?: return
        case .overtaken?, nil:
            world.problems.append("\(host.name) is told that \(record.account.id) is not written, and it is")
        }
    }
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
            isUnknown()
            throw CredentialError(.temporary, "no answer within the time allowed")
        }
        let next = world.provider.receive(token)
        try trace.call("provider.answer") { () throws(CredentialError) in }
        if world.draw(world.faults.answerLost) {
            isUnknown()
            throw CredentialError(.temporary, "the connection was closed")
        }
        guard let next else {
            // What is refused is refused again.
            isSafe()
            world.mayComeAgain.insert(token)
            return HTTPResponse(status: 400)
        }
        return HTTPResponse(status: 200, body: Array("\(next)".utf8))
    }

    /// The invariant of all: no refresh token is sent while an earlier request with it can still be answered.
    private func leave(_ token: RefreshToken) {
        host.underWay[ObjectIdentifier(self)] = token
        let times = world.provider.leaves(token)
        if host.isShared { checkNote(of: token) }
        if host.usedUp.contains(token) {
            world.problems.append("\(host.name) sends \(token), and knows that it is used up")
        }
        guard times > 1, !world.mayComeAgain.contains(token) else { return }
        if world.wasRestored {
            // Who has never seen what came of it cannot know.
            world.excused.insert(token.signIn)
            return
        }
        world.problems.append("\(token) was sent \(times) times, last by \(host.name)")
    }

    /// What is sent was written down, in time.
    private func checkNote(of token: RefreshToken) {
        guard let noted, world.recorded[noted]?.intent.token == Rules.digest(token) else {
            return world.problems.append("\(host.name) sends \(token) without a note")
        }
        if isTooLate {
            world.problems.append("\(host.name) sends \(token) when more than half of its lease was over")
        }
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
        try call("read") { () throws(CredentialError) in
            let found = keys.map { world.cluster.content.records[$0] }
            if let place = keys.firstIndex(of: World.path + "epoch"), let record = found[place] {
                readExpelled.formUnion((try KeyEpoch(record)).expelled.map(\.publicKey))
            }
            for (key, record) in zip(keys, found) where key.hasPrefix(World.path + "a/") {
                if key.hasSuffix("/set") { read[key] = record?.revision }
                if key.hasSuffix("/intent") { lastIntent.nonce = world.cluster.intent(key)?.nonce }
                if key.hasSuffix("/live") { lastIntent.isAlive = record != nil }
            }
            return found
        }
    }

    func list(_ prefix: String) throws(CredentialError) -> [ClusterRecord] {
        try call("list") { () throws(CredentialError) in
            world.cluster.content.records.values.filter { $0.key.hasPrefix(prefix) }.sorted { $0.key < $1.key }
        }
    }

    func commit(_ transaction: ClusterTransaction) throws(CredentialError) -> Bool {
        try trace.call("cluster.commit") { () throws(CredentialError) in
            guard world.draw(world.faults.cluster) else { return try apply(transaction) }
            // It does it, or not, or later.
            if world.draw(world.faults.later) {
                world.lateCommits.append { [self] in _ = try? apply(transaction) }
            } else if world.draw(2) {
                _ = try apply(transaction)
            }
            throw Self.silence
        }
    }

    private func apply(_ transaction: ClusterTransaction) throws(CredentialError) -> Bool {
        guard try world.cluster.allows(transaction) else { return false }
        if let rules = Rules(transaction, by: self) {
            world.problems += rules.broken
            world.mayComeAgain.formUnion(rules.retried)
            if let intent = rules.newIntent {
                world.recorded[intent.nonce] = (intent, host, ObjectIdentifier(self))
            }
        }
        world.problems += Rules.keys(in: transaction, by: self)
        host.knowsExpelled.formUnion(readExpelled)
        world.cluster.apply(transaction)
        for change in transaction.changes {
            switch change {
            case .put(let key, let value, _) where key.hasSuffix("/set"): lastPut = (key, value)
            case .remove(let key) where key.hasPrefix(World.path + "hosts/"):
                world.wasExpelled(String(key.dropFirst(World.path.count + "hosts/".count)))
            default: break
            }
        }
        return true
    }

    func grantLease(seconds: Int64) throws(CredentialError) -> ClusterLease {
        try call("lease") { () throws(CredentialError) in
            let number = world.cluster.content.nextLease
            world.cluster.content.nextLease += 1
            world.cluster.content.leases[number] = ([], world.milliseconds + seconds * 1_000)
            leaseBegan = world.milliseconds
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
            if name.hasPrefix(NotesInFiles.intentPrefix),
                let note = host.note(of: String(name.dropFirst(NotesInFiles.intentPrefix.count)))
            {
                isNoted(note)
            }
            if name.hasPrefix(NotesInFiles.answerPrefix) {
                noted = nil
                isSafe()
            }
        }
    }

    /// That it sends is noted only when it has read, after it had recorded the intent, that this stands and is alive.
    private func isNoted(_ note: IntentNote) {
        noted = note.maySend ? note.nonce : nil
        guard note.maySend else { return }
        isTooLate = world.milliseconds - leaseBegan >= SharedRefresh.leaseSeconds * 1_000 / 2
        if lastIntent.nonce != note.nonce || !lastIntent.isAlive {
            world.problems.append("\(host.name) notes that it sends under an intent that it has not read again")
        }
    }

    func remove(_ name: String, of group: KeychainGroup) throws(CredentialError) {
        try trace.call("files.remove") { () throws(CredentialError) in host.files[name] = nil }
    }

    func names(of group: KeychainGroup) throws(CredentialError) -> [String] { host.files.keys.sorted() }
    func groups() throws(CredentialError) -> [KeychainGroup] { host.files.isEmpty ? [] : [World.group] }
}

/// The files as they are, without a call.
private struct StillFiles: GroupFiles {
    let host: SimulatedHost
    func read(_ name: String, of group: KeychainGroup) throws(CredentialError) -> [UInt8]? { host.files[name] }
    func write(_ content: [UInt8], to name: String, of group: KeychainGroup) throws(CredentialError) {}
    func remove(_ name: String, of group: KeychainGroup) throws(CredentialError) {}
    func names(of group: KeychainGroup) throws(CredentialError) -> [String] { [] }
    func groups() throws(CredentialError) -> [KeychainGroup] { [] }
}

/// Records of which somebody is told what became of each writing; `nil` for an error.
private struct WatchedRecords: AccountRecords {
    let base: any AccountRecords
    let begins: @Sendable () -> Void
    let written: @Sendable (AccountRecord, RecordWriting?) -> Void

    func write(_ record: AccountRecord, expecting expected: Int64?) throws(CredentialError) -> RecordWriting {
        begins()
        let outcome: RecordWriting
        do throws(CredentialError) { outcome = try base.write(record, expecting: expected) } catch {
            written(record, nil)
            throw error
        }
        written(record, outcome)
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
    func confirmed(
        _ index: AccountIndex, of group: KeychainGroup, _ check: IndexCheck
    ) throws(CredentialError) -> AccountIndex { try base.confirmed(index, of: group, check) }
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
