import CredentialCore
import Synchronization
import TestPorts

@testable import SharedGroups

/// One process of a host: its ports, at each of whose calls others may go on, or it may end.
final class SimulatedProcess: @unchecked Sendable {
    let host: SimulatedHost
    /// The host's name, and the number of the process.
    let name: String
    let trace: PortTrace
    /// The intent under which it has noted that it sends, while it does not know how that ended.
    var noted: IntentNonce?
    /// Whether that note came when the lease was half over.
    var isTooLate = false
    var leaseBegan: Int64 = 0
    /// Token sets, and the answers kept aside, as it has read them last.
    var read: [String: ClusterRecord] = [:]
    /// The intent that it has read last, and whether its host was alive.
    var lastIntent: (nonce: IntentNonce?, isAlive: Bool) = (nil, false)
    /// The late answers that it has read with that.
    var lastAside = SupersededIntents()
    /// The keys of hosts that the cluster has named to it as expelled.
    var readExpelled: Set<[UInt8]> = []
    /// The expelled hosts that its host knew of when it looked last: it cannot know the facts that another process
    /// of the host learns while it is about to write.
    var knownExpelled: Set<[UInt8]> = []
    /// The expelled keys that the cluster named at its last request while its host belonged to the group, and at
    /// all earlier ones. It has asked for more since, and so has noted these names.
    var news: Set<[UInt8]> = []
    var notedExpelled: Set<[UInt8]> = []
    /// The keys of that kind that its host had written down at its begin: the facts that another process learns
    /// meanwhile may come too late.
    let knewExpelled: Set<[UInt8]>
    /// The key and the value of the token set that it has put last.
    var lastPut: (key: String, value: [UInt8])?
    /// To how many more calls the cluster does not answer.
    var silentCalls = 0
    /// For how long its cluster is said to have been silent, and for how long it was told that something else was
    /// waited for.
    var millisecondsSpent: Int64 = 0
    var waitedElsewhere: Int64 = 0
    /// The last one that has worked for this one.
    private(set) var lastWorker: SimulatedProcess?
    /// Whether the provider has answered it.
    private(set) var isAnswered = false
    /// Whether it refreshes for another process, and whether it has ended.
    private var isWorker = false
    private(set) var hasEnded = false
    /// Whether a user states that no other host works on it.
    var takesOver = false
    private(set) lazy var ports = makePorts()
    private(set) lazy var services = AccountServices(
        ports, AccountPolicy(refreshes: .worker), Configuration())

    var world: World { host.world }

    /// The epochs whose key its host had at its begin.
    let knewEpochs: [KeyEpoch]
    /// The epochs that it has put into the cluster.
    var madeEpochs: [KeyEpoch] = []

    init(_ host: SimulatedHost) {
        self.host = host
        let world = host.world
        let happens = Mutex<(@Sendable (PortTrace.Moment) -> Void)?>(nil)
        world.processes += 1
        name = "\(host.name)/\(world.processes)"
        knewEpochs = host.keptEpochs
        knewExpelled = host.hasNotedExpelled
        trace = PortTrace(patience: world.patience) { moment in happens.withLock { $0 }?(moment) }
        happens.withLock { $0 = { [weak self] in self?.happens($0) } }
    }

    /// The events at each call.
    private func happens(_ moment: PortTrace.Moment) {
        if moment == .before {
            world.schedule.step()
            world.tell("\(name) \(trace.calls.last ?? "")")
        } else if !host.isShared, let call = trace.calls.last {
            checkKeys(after: call)
        }
        if isWorker, world.draw(world.faults.cleaner) { loseLock() }
        if world.draw(world.faults.crash) || world.isPlannedCrash(moment) { return crash() }
        if world.draw(world.faults.stop) { return stop() }
        guard let focus = world.faults.focus, focus.moment == moment, focus.call == trace.calls.last,
            isAnswered || !focus.isAnswered, world.draw(focus.many)
        else { return }
        if focus.stops { stop() } else { crash() }
    }

    /// Stops, as a machine that sleeps: its leases end meanwhile.
    func stop() {
        guard !trace.isEnded else { return }
        world.tell("\(name) stands still")
        if isWorker, world.faults.cleaner > 0, !trace.calls.contains("provider.send") {
            world.milliseconds += SendCheck.validity + 1
            loseLock()
            host.marks = host.marks.filter { $0.value !== self }
        }
        world.stopped.insert(ObjectIdentifier(trace))
        world.schedule.stop(10 + world.schedule.random.below(150))
        world.stopped.remove(ObjectIdentifier(trace))
    }

    /// The file of its lock is removed: the next one makes another.
    private func loseLock() {
        world.tell("somebody removes the lock of \(name)")
        host.machine.freeLocks(of: trace)
    }

    /// Neither a record nor a journal entry is ever sealed with a key that was forgotten.
    private func checkKeys(after call: String) {
        guard ["file.forget", "records.write", "journal.write"].contains(call) else { return }
        let machine = host.machine
        var sealed = machine.accounts().compactMap { machine.record($0.id)?.sealed }
        for id in machine.journaled() {
            if let kept = machine.journaled(id), let record = try? AccountRecord(kept, of: id, in: World.group) {
                sealed += [record.sealed].compactMap(\.self)
            }
        }
        for sealed in sealed where !machine.hasKey(sealed.key) {
            world.problems.append("after \(call) of \(name) nothing opens what \(sealed.key) has sealed")
        }
    }

    /// No account that has its secrets is marked as one without.
    private func checkMark(_ record: AccountRecord) {
        let id = record.account.id, machine = host.machine
        guard case .needsLogin(let reason) = record.account.status, reason == "its secrets are gone" else { return }
        let isKept =
            machine.journaled(id).flatMap { try? AccountRecord($0, of: id, in: World.group) }?.sealed != nil
        if isKept || machine.tokenSet(id, in: .secretService) != nil || machine.tokenSet(id, in: .file) != nil {
            world.problems.append("\(name) marks \(id) as one without secrets, which it has")
        }
    }

    private func crash() {
        guard !trace.isEnded else { return }
        world.tell("\(name) ends before its time")
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
            let sharing = ClusterGroupService(
                .init(
                    files: self, local: noting(ports.records), events: ports.events, clock: ports.clock,
                    bootClock: self,
                    random: random, cryptography: cryptography, stores: { stores(AccountPolicy()) },
                    connect: { _, _ in self },
                    pause: { [world, trace] milliseconds in
                        world.milliseconds += milliseconds
                        trace.quietCall("pause", otherwise: ()) {}
                    }))
            ports.records = WatchedRecords(
                base: SharedAccountRecords(sharing), begins: { [unowned self] in lastPut = nil },
                written: { [unowned self] in told($0, $1) },
                seen: { [unowned self] in
                    let key = "\(World.path)a/\($0.account.id)/set"
                    // A record from its copy is known to it by the revision.
                    guard read[key]?.revision != $0.generation else { return }
                    read[key] = ClusterRecord(key: key, value: [], revision: $0.generation)
                })
            ports.sharing = sharing
        } else {
            ports.records = WatchedRecords(
                base: ports.records, begins: {},
                written: { [unowned self] record, outcome in
                    world.tell("\(name) writes \(record.account.id): \(outcome.map { "\($0)" } ?? "an error")")
                    isWritten(outcome)
                    checkMark(record)
                })
            ports.journal = SafeJournal(base: ports.journal, process: self)
        }
        return ports
    }

    /// The records of this machine; it notes their contents.
    private func noting(_ records: any AccountRecordStore) -> WatchedRecords {
        WatchedRecords(
            base: records, begins: {},
            written: { [unowned self] record, outcome in
                if case .done? = outcome {
                    host.copiedRevisions[record.account.id] = record.sealed.flatMap { Int64($0.key) }
                }
                guard case .done? = outcome,
                    let set = record.sealed.flatMap({ SimulatedCluster.tokenSet($0.bytes) }),
                    let token = set.refreshToken, !set.isLost
                else { return }
                // Of another sign-in it has the copy no more.
                let before = host.copied[record.account.id, default: []].filter { $0.signIn == token.signIn }
                host.copied[record.account.id] = before.union([token])
            }, removed: { [unowned self] in host.copied[$0] = nil })
    }

    private func machinePorts(_ random: SimulatedRandom, _ cryptography: ToyCryptography) -> MachinePorts {
        var ports = host.machine.process(trace, transport: self)
        ports.clock = self
        ports.bootClock = self
        ports.random = random
        ports.cryptography = cryptography
        ports.adapters = AdapterRegistry([SimulatedAdapter()])
        let workers = MemoryWorker(caller: trace) { [unowned self] (request) throws(CredentialError) in
            worker(for: request)
        }
        ports.programs = EndingWorkers(base: workers) { [unowned self] in lastWorker?.hasEnded = true }
        return ports
    }

    /// The worker that refreshes for this process: another one of its host. It may end when this one does not, and
    /// knows only the reads that this one hands it.
    private func worker(for request: TokenService.Request) -> MemoryWorker.Process {
        let worker = host.process()
        worker.isWorker = true
        let isHanded = request.handed != nil
        world.tell("\(worker.name) works for \(name)" + (isHanded ? ", and knows what that has read" : ""))
        worker.takesOver = takesOver
        lastWorker = worker
        if isHanded {
            (worker.read, worker.lastIntent, worker.lastAside) = (read, lastIntent, lastAside)
            (worker.readExpelled, worker.knownExpelled) = (readExpelled, knownExpelled)
        }
        return (worker.trace, worker.services)
    }

    /// Keeps a sign-in that has just been had.
    func keep(
        _ refresh: RefreshToken, of type: AccountType, _ registration: ClientIdentity, in store: StoreKind = .file
    ) throws(CredentialError) -> SignInService.Outcome {
        var grant = Grant(flow: .code, obtainedAt: now)
        grant.refreshToken = Secret("\(refresh)")
        grant.scope = type.scope
        let key = TokenRequestKey(under: type, policy: "", scope: type.scope)
        let result = SignInResult(
            identity: Identity(issuer: SimulatedAdapter.issuer, subject: "ada", username: "ada@example.com"),
            tokens: IssuedTokens(accessToken: SimulatedAdapter.token(refresh, key, self), grant: grant))
        return try services.signIn.keep(
            result, of: type, registration: registration, policy: "", in: World.group, store: store, forceNew: false
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

    /// The token sets that the host has copied of the accounts.
    var copies: [String: TokenSet] {
        guard let sharing = ports.sharing as? ClusterGroupService,
            let accounts = try? sharing.parts.local.index(of: World.group, .ids).ids
        else { return [:] }
        var copies: [String: TokenSet] = [:]
        for id in accounts {
            guard let sealed = try? sharing.parts.local.read(id, in: World.group)?.sealed else { continue }
            copies[id] = SimulatedCluster.tokenSet(sealed.bytes)
        }
        return copies
    }

    /// A process that was overtaken has the answer in memory alone still.
    private func isWritten(_ outcome: WriteResult?) {
        switch outcome {
        case .done?, .unknown?: isSafe()
        case .overtaken?, nil: break
        }
    }

    func isSafe() { host.underWay[ObjectIdentifier(self)] = nil }

    /// The answer to a token that has left this process will find no process.
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

    /// A process that learns that no record was written finds no such record.
    private func told(_ record: AccountRecord, _ outcome: WriteResult?) {
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
    var now: Timestamp { Timestamp(epochSeconds: World.start + world.milliseconds / 1_000 + host.skew) }
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
        isAnswered = true
        world.tell("\(name) sends \(token), which gives \(next.map { "\($0)" } ?? "nothing")")
        try trace.call("provider.answer") { () throws(CredentialError) in }
        if world.draw(world.faults.answerLost) {
            isUnknown()
            throw CredentialError(.temporary, "the connection was closed")
        }
        guard let next else {
            // A token that is refused is refused again.
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
        if host.journaled.values.contains(token) {
            world.problems.append("\(host.name) sends \(token), and has the answer in its journal")
        }
        if host.usedUp.contains(token) {
            world.problems.append("\(host.name) sends \(token), and knows that it is used up")
        }
        // The requests of a host that was expelled meanwhile are that host's alone.
        if host.isExpelled { world.excused.insert(token.signIn) }
        guard times > 1, !world.mayComeAgain.contains(token) else { return }
        if world.wasRestored {
            // A host that has never seen the result cannot know.
            world.excused.insert(token.signIn)
            return
        }
        world.problems.append("\(token) was sent \(times) times, last by \(host.name)")
    }

    /// Every token that is sent was written down, in time.
    private func checkNote(of token: RefreshToken) {
        guard let noted, world.recorded[noted]?.intent.token == Rules.digest(token) else {
            return world.problems.append("\(host.name) sends \(token) without a note")
        }
        if isTooLate {
            world.problems.append("\(host.name) sends \(token) when more than half of its lease was over")
        }
    }
}

/// Workers that end when they have answered.
private struct EndingWorkers: ProcessRunner {
    let base: MemoryWorker
    let end: @Sendable () -> Void

    func run(_ words: [String], seconds: Int) throws(CredentialError) -> ProcessResult {
        try base.run(words, seconds: seconds)
    }

    func refreshWorker(
        _ input: [UInt8], holding lock: any HeldLock, seconds: Int, whenLate: () -> Void
    ) throws(CredentialError) -> [UInt8] {
        defer { end() }
        return try base.refreshWorker(input, holding: lock, seconds: seconds, whenLate: whenLate)
    }
}
