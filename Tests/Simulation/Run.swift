import CredentialCore
import Synchronization
import TestPorts

@testable import SharedGroups

/// The subject of a run.
package enum Scenario: String, Sendable, CaseIterable {
    /// Three hosts that share a group.
    case shared
    /// The same, and an intent without a lease is taken over at once.
    case takeOver = "take-over"
    /// The same, and a machine is cloned in the middle of it, with its key.
    case cloned
    /// The same, and the cluster is restored to an earlier state.
    case restored
    /// The same, and an expelled host writes any records into the cluster.
    case meddled
    /// The same, and the cluster often gives no response to a change and applies it later; half of the time an
    /// intent without a lease is taken over.
    case unanswered
    /// One machine alone, with three processes; in each fifth seed another program removes the files of locks.
    case alone
    /// The same machine alone, whose encrypted file gets another key time and again; the account is repaired, and
    /// moved between the stores, and its keyring goes and comes, so that sign-ins wait in the journal.
    case keys
    /// One process, alone or of a shared group, that ends at one call of one operation: each seed is another of
    /// these.
    case eachCall = "each-call"
}

/// The operation of a process.
enum Operation: CaseIterable {
    case refresh, get, signIn, signOut, label, expelSpare, expelThird, renewThird, catchUp, takeOver, move, rekey,
        doctor

    static let shared: [Self] = [
        .refresh, .signIn, .signOut, .label, .expelSpare, .expelThird, .renewThird, .takeOver,
    ]
    static let alone: [Self] = [.refresh, .get, .signIn, .signOut, .label, .move, .catchUp]
    static let keys: [Self] = [.rekey, .rekey, .doctor, .doctor, .move, .signIn, .signOut, .refresh]
    /// The operations that are tried at each call; they do not include a user's statement that no host works on the
    /// account.
    static let each: [Self] = [.refresh, .signIn, .signOut, .label, .expelSpare, .catchUp]
}

/// One run: processes of some hosts use one user's account under the faults of a seed; then all heals, and the
/// rules are checked.
package final class Run: @unchecked Sendable {
    /// The result of the run.
    package struct Report: Sendable {
        /// The violated rules.
        package var problems: [String]
        /// How many refreshes the provider did.
        package var refreshes: Int
        /// How many refresh tokens were sent again: on the word of the user, or of the provider that it did no
        /// refresh.
        package var again: Int
        /// How many sign-ins may have ended as an answer was lost on its way to the journal.
        package var excused: Int
        /// How often a process went on, and the number that would have been drawn next: two runs of one seed have
        /// both in common.
        package var calls: Int
        package var drawn: UInt64
    }

    /// From when to when something lasted, in the run's own moments, and whether it was said to have succeeded.
    struct Span {
        var began: Int
        var ended: Int?
        var isDone = false
        /// When it was, by the clock of its host.
        var time: Int64 = 0
        /// The account, if it is known.
        var account: String?
    }

    let world: World
    let scenario: Scenario
    let seed: UInt64
    let isShared: Bool
    /// Whether a machine's notes of its refreshes are cloned with it.
    let clonesNotes: Bool
    /// The operation that this run does more often than all others.
    let theme: Operation?
    /// The operation that the other hosts than the first do more often: the same, or one that gets in its way.
    let rival: Operation?
    var moment = 0
    var signOuts: [Span] = []
    /// By the number of the sign-in.
    var signIns: [Int: Span] = [0: Span(began: 0, ended: 0, isDone: true)]
    var isLabelled = false

    var hosts: [SimulatedHost] { world.hosts }

    /// Makes a run that has not begun.
    ///
    /// - Parameter faults: the faults; drawn from the seed by default.
    package init(_ scenario: Scenario, seed: UInt64, faults known: Faults? = nil) {
        var faults = scenario == .eachCall ? .none : known ?? Faults()
        if scenario == .restored { (faults.restore, faults.restoreAfterNews) = (150, 4) }
        if scenario == .meddled { (faults.restore, faults.meddle) = (600, 60) }
        clonesNotes = scenario == .cloned && seed % 2 == 1
        self.scenario = scenario
        self.seed = seed
        isShared = scenario == .eachCall ? seed % 2 == 0 : scenario != .alone && scenario != .keys
        let schedule = Schedule(seed: seed)
        if known == nil, scenario != .eachCall { faults.vary(&schedule.random) }
        if scenario == .keys, known == nil {
            faults.keyring = [0, 40, 15][schedule.random.below(3)]
            faults.focus = schedule.random.once(in: 2) ? Faults.Focus(ofKeys: &schedule.random) : nil
        }
        if scenario == .alone, known == nil, seed % 5 == 2 { (faults.cleaner, faults.stop) = (12, 60) }
        let operations = scenario == .keys ? Operation.keys : isShared ? Operation.shared : Operation.alone
        theme = schedule.random.once(in: 2) ? operations[schedule.random.below(operations.count)] : nil
        rival =
            theme != nil && schedule.random.once(in: 2)
            ? operations[schedule.random.below(operations.count)] : theme
        let takesOver = scenario == .takeOver || scenario == .unanswered && seed % 2 == 1
        let prepared = Prepared.of(isShared: isShared, takesOver: takesOver)
        world = World(
            schedule, faults: faults, cluster: SimulatedCluster(prepared.cluster),
            provider: SimulatedProvider(current: prepared.current))
        world.takesOver = takesOver
        if scenario == .unanswered, known == nil {
            (world.faults.cluster, world.faults.later) = (5, 1 + schedule.random.below(3))
            world.faults.lateness = 40
            // A later request has no effect, so that a late answer finds the state that it expects, and its lease.
            (world.faults.busy, world.faults.unreachable, world.faults.leaseEnd) = (3, 6, 300)
        }
        // A sign-in that gives up waiting is kept beside the account, and the next holder of the lock saves it:
        // also while the one before is refused.
        if scenario == .alone || scenario == .keys, seed % 4 == 3 {
            world.patience = 2
            if known == nil, scenario == .alone { world.faults.revoke = 100 }
        }
        // The work that a refusal leaves shows only if the refusal does not end the sign-in; the worth of a late
        // answer shows only if two are given to one token.
        if takesOver {
            world.provider.reuse = [.refuses, .ends, .answers, .ends][schedule.random.below(4)]
        }
        world.hosts = prepared.hosts.map { SimulatedHost($0, world, isShared: isShared) }
        if scenario == .eachCall {
            world.plannedCrash = (Int(seed / 24) + 1, seed / 12 % 2 == 0 ? .before : .after)
        }
    }

    /// Reports each event, line by line.
    package func follow(_ teller: @escaping (String) -> Void) { world.teller = teller }

    /// Runs it.
    package func report(processes: Int = 3, calls: Int = 2) -> Report {
        // A host that was never given a key cannot tell one from another.
        if scenario == .meddled {
            for host in hosts {
                // A process may end before it has one.
                for _ in 0..<99 where !host.files.keys.contains(where: { $0.hasPrefix("key-") }) {
                    _ = try? host.process().ports.sharing.catchUp(World.group, unlessWithin: 0)
                }
            }
        }
        // The journal keeps first sign-ins whole.
        if scenario == .keys, seed % 3 == 0 { attempt(.signOut, on: hosts[0]) }
        world.meanwhile = { [unowned self] host in
            guard let other = hosts.first(where: { $0.name != host.name && world.hasAdmitted($0) }) else { return }
            attempt(.label, on: other)
        }
        if scenario == .eachCall {
            world.schedule.run([{ self.each(self.seed) }], between: { self.world.between() })
        } else {
            world.schedule.run(
                places(processes).map { place in
                    { for _ in 0..<calls { self.act(self.hosts[place]) } }
                } + (scenario == .cloned ? [{ self.actAsClone(calls) }] : []),
                between: { self.world.between() })
        }
        heal()
        return Report(
            problems: world.problems, refreshes: world.provider.refreshes,
            again: world.provider.sent.values.count { $0 > 1 }, excused: world.excused.count,
            calls: world.schedule.steps, drawn: world.schedule.random.next())
    }

    /// On which host each process runs: sometimes two are of one.
    private func places(_ processes: Int) -> [Int] {
        guard isShared else { return Array(repeating: 0, count: processes) }
        let many = world.schedule.random.once(in: 4) ? 2 : processes
        return (0..<processes).map { $0 % many }
    }

    // MARK: What processes do

    private func each(_ seed: UInt64) {
        let operation = Operation.each[Int(seed / 2 % 6)]
        attempt(operation == .expelSpare && !isShared ? .move : operation, on: hosts[0])
    }

    private func act(_ host: SimulatedHost) {
        let often = host === hosts[0] ? theme : rival
        if let often, world.faults.cleaner == 0, world.schedule.random.once(in: 2) {
            return attempt(often, on: host)
        }
        if scenario == .keys {
            return attempt(Operation.keys[world.schedule.random.below(Operation.keys.count)], on: host)
        }
        // Without its lock only the mark of the refreshing process holds a process back, and others do not look at
        // that.
        if world.faults.cleaner > 0 { return attempt(world.draw(3) ? .get : .refresh, on: host) }
        let operation: Operation =
            switch world.schedule.random.below(20) {
            case 0: .signOut
            case 1: .signIn
            case 2: .label
            case 3: isShared ? .expelSpare : .move
            case 4: .catchUp
            case 5 where scenario == .shared || scenario == .restored || scenario == .meddled: .expelThird
            case 6...8: .get
            default: .refresh
            }
        attempt(operation, on: host)
    }

    func attempt(_ operation: Operation, on host: SimulatedHost) {
        let process = host.process()
        moment += 1
        world.tell("\(process.name) begins to \(operation)")
        // A failure of an operation is its own business; the rules that must hold are checked separately.
        do throws(CredentialError) {
            try perform(operation, by: process)
            world.tell("\(process.name) has done it")
        } catch { world.tell("\(process.name) fails: \(error.message)") }
    }

    private func perform(_ operation: Operation, by process: SimulatedProcess) throws(CredentialError) {
        switch operation {
        case .refresh: _ = try token(process, force: true)
        case .get: _ = try token(process, force: false)
        case .signIn: try signIn(process)
        case .signOut: try signOut(process)
        case .label: try label(process)
        case .expelSpare: _ = try process.ports.sharing.membership.expel("spare", from: World.group)
        // The host that expels is not the one that is expelled.
        case .expelThird:
            guard process.host === hosts[0] else { return _ = try token(process, force: true) }
            _ = try process.ports.sharing.membership.expel("three", from: World.group)
        case .renewThird: try renewThird(process)
        case .catchUp:
            _ = process.services.takeUpSignIns(in: World.group)
            try process.ports.sharing.catchUp(World.group, unlessWithin: 0)
        case .takeOver: _ = try token(process, force: false, takesOver: true)
        case .move: try move(process)
        case .rekey:
            if let failure = process.services.keyReplacement.run(World.group, with: .keyFile).failure {
                throw failure
            }
        case .doctor: try doctor(process)
        }
    }

    func expel(_ name: String, on host: SimulatedHost) {
        // A host that knows of no forgotten expulsion has no host to expel.
        do throws(CredentialError) {
            _ = try host.process().ports.sharing.membership.expel(name, from: World.group)
        } catch { world.tell("\(host.name) does not expel \(name): \(error.message)") }
    }

    private func actAsClone(_ calls: Int) {
        // It is cloned at any moment.
        for _ in 0..<world.schedule.random.below(120) { world.schedule.step() }
        let clone = hosts[1].clone(withNotes: clonesNotes)
        world.hosts.append(clone)
        for _ in 0..<calls { act(clone) }
    }

    private func account(_ process: SimulatedProcess) throws(CredentialError) -> Account? {
        let index = try process.ports.records.index(of: World.group, .none)
        guard let entry = index.entries(of: registration, subject: "ada").first else {
            // As a command does: the error of an unreadable record says more than that there is no record.
            for id in index.unreadable { _ = try process.ports.records.read(id, in: World.group) }
            return nil
        }
        return try process.ports.records.account(entry.id, in: World.group)
    }

    private var registration: ClientIdentity {
        ClientIdentity(provider: SimulatedAdapter.issuer, clientID: world.type.clientID)
    }

    @discardableResult
    func token(
        _ process: SimulatedProcess, force: Bool, takesOver: Bool = false
    ) throws(CredentialError) -> TokenService.Answer {
        guard let account = try account(process) else {
            throw CredentialError(.noSuchAccount, "nobody has signed in")
        }
        var demand = TokenDemand(forceRefresh: force)
        demand.takesOver = takesOver
        process.takesOver = takesOver
        let request = try demand.request(of: account, under: world.type, in: World.group, by: SimulatedAdapter())
        let answer = try process.services.tokens.token(request)
        if answer.refreshed { process.hasSeen(answer.token) }
        return answer
    }

    private func signIn(_ process: SimulatedProcess) throws(CredentialError) {
        let refresh = world.provider.begin()
        moment += 1
        signIns[refresh.signIn] = Span(began: moment, time: process.now.epochSeconds)
        // From here on there may be an account, even if this process ends.
        defer {
            moment += 1
            signIns[refresh.signIn]?.ended = moment
        }
        let isInKeyring = scenario == .keys && world.draw(2)
        let kept = try process.keep(
            refresh, of: world.type, registration, in: isInKeyring ? .secretService : .file)
        signIns[refresh.signIn]?.isDone = kept.warnings.isEmpty
        signIns[refresh.signIn]?.account = kept.account.id
    }

    private func signOut(_ process: SimulatedProcess) throws(CredentialError) {
        guard let account = try account(process) else { return }
        moment += 1
        let place = signOuts.count
        signOuts.append(Span(began: moment, account: account.id))
        defer {
            moment += 1
            signOuts[place].ended = moment
        }
        try process.services.signOut.forget(account, policy: nil, in: World.group) { (_) throws(CredentialError) in
        }
        signOuts[place].isDone = true
    }

    private func label(_ process: SimulatedProcess) throws(CredentialError) {
        guard let account = try account(process) else { return }
        let name = "n\(moment)"
        if try process.ports.records.update(account.id, in: World.group, { $0.label = name }) { isLabelled = true }
    }

    private func move(_ process: SimulatedProcess) throws(CredentialError) {
        guard let account = try account(process) else { return }
        _ = try process.services.migration.move(
            account, to: account.store == .file ? .secretService : .file, in: World.group)
    }

    /// Looks for problems, and repairs its findings; the user may think about it in between for long.
    private func doctor(_ process: SimulatedProcess) throws(CredentialError) {
        let services = process.services, group = World.group
        let accounts = try process.ports.records.registry(of: group).accounts
        services.repository.finishSignIns(in: group, locks: process.ports.locks)
        let inventory = services.rebuild.inventory(of: group)
        let known = Set(accounts.map(\.id))
        let troubles = accounts.compactMap { account in
            services.repair.trouble(of: account, by: inventory).map { (account.id, $0) }
        }
        if inventory.accounts.contains(where: { !known.contains($0.id) }) { _ = try services.rebuild.run(group) }
        for (id, trouble) in troubles {
            world.tell("\(process.name) repairs \(id): \(trouble)")
            try services.repair.repair(trouble, of: id, in: group)
        }
    }

    /// Another machine comes under the name of one that was expelled.
    private func renewThird(_ process: SimulatedProcess) throws(CredentialError) {
        guard process.host === hosts[0] else { return _ = try token(process, force: true) }
        if !hosts[2].isExpelled {
            _ = try process.ports.sharing.membership.expel("three", from: World.group)
        }
        guard !world.isMember("three") else { return }
        let host = SimulatedHost("three", world)
        world.hosts.append(host)
        let asked = try host.join(host.process(), takesOver: world.takesOver)
        try process.ports.sharing.membership.admit("three", fingerprint: asked.fingerprint, to: World.group)
    }
}
