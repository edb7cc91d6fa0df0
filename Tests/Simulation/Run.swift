import CredentialCore
import Synchronization
import TestPorts

@testable import SharedGroups

/// What a run is about.
package enum Scenario: String, Sendable, CaseIterable {
    /// Three hosts that share a group.
    case shared
    /// The same, and an intent without a lease is taken over at once.
    case takeOver = "take-over"
    /// The same, and a machine is cloned in the middle of it, with its key.
    case cloned
    /// The same, and the cluster is put back to an earlier state.
    case restored
    /// One machine alone, with three processes.
    case alone
    /// One process, alone or of a shared group, that ends at one call of one operation: each seed is another of these.
    case eachCall = "each-call"
}

/// What a process does.
private enum Operation: CaseIterable {
    case refresh, get, signIn, signOut, label, expelSpare, expelThird, renewThird, catchUp, takeOver, move

    static let shared: [Self] = [
        .refresh, .signIn, .signOut, .label, .expelSpare, .expelThird, .renewThird, .takeOver,
    ]
    static let alone: [Self] = [.refresh, .get, .signIn, .signOut, .label, .move, .catchUp]
    /// What is tried at each call; a person's word that nobody is at it is not among them.
    static let each: [Self] = [.refresh, .signIn, .signOut, .label, .expelSpare, .catchUp]
}

/// One run: what processes of some hosts do with one person's account under the faults of a seed; then all heals, and what
/// must hold is looked at.
package final class Run: @unchecked Sendable {
    /// What came of it.
    package struct Report: Sendable {
        /// What is wrong.
        package var problems: [String]
        /// How many refreshes the provider did.
        package var refreshes: Int
        /// How many refresh tokens were sent again: somebody has said so, or the provider that it did nothing.
        package var again: Int
        /// How many sign-ins may have ended as an answer was lost on its way to the journal.
        package var excused: Int
        /// How often a process went on, and the number that would have been drawn next: two runs of one seed have both in
        /// common.
        package var calls: Int
        package var drawn: UInt64
    }

    /// From when to when something lasted, in the run's own moments, and whether it was said to have succeeded.
    private struct Span {
        var began: Int
        var ended: Int?
        var isDone = false
    }

    private let world: World
    private let scenario: Scenario
    private let seed: UInt64
    private let isShared: Bool
    /// Whether what a machine has written down of its refreshes is cloned with it.
    private let clonesNotes: Bool
    /// What is done more often than all else, in this run.
    private let theme: Operation?
    private var moment = 0
    private var signOuts: [Span] = []
    /// By the number of the sign-in.
    private var signIns: [Int: Span] = [0: Span(began: 0, ended: 0, isDone: true)]
    private var isLabelled = false

    var hosts: [SimulatedHost] { world.hosts }

    /// Makes a run; nothing has happened yet.
    package init(_ scenario: Scenario, seed: UInt64, faults: Faults = Faults()) {
        var faults = scenario == .eachCall ? .none : faults
        if scenario == .restored { faults.restore = 150 }
        // A copy of a folder is told from the folder by the lease alone, so nothing stands still for longer.
        clonesNotes = scenario == .cloned && seed % 2 == 1
        if clonesNotes { (faults.pause, faults.leaseEnd) = (0, 0) }
        self.scenario = scenario
        self.seed = seed
        isShared = scenario == .eachCall ? seed % 2 == 0 : scenario != .alone
        let schedule = Schedule(seed: seed)
        let operations = isShared ? Operation.shared : Operation.alone
        theme = schedule.random.once(in: 2) ? operations[schedule.random.below(operations.count)] : nil
        let prepared = Prepared.of(isShared: isShared, takesOver: scenario == .takeOver)
        world = World(
            schedule, faults: faults, cluster: SimulatedCluster(prepared.cluster),
            provider: SimulatedProvider(current: prepared.current))
        world.takesOver = scenario == .takeOver
        // What a refusal leaves to be done shows only where it does not end the sign-in; what a late answer is worth, only where
        // two are given to one token.
        if scenario == .takeOver {
            world.provider.reuse = [.refuses, .ends, .answers, .ends][schedule.random.below(4)]
        }
        world.hosts = prepared.hosts.map { SimulatedHost($0, world, isShared: isShared) }
        if scenario == .eachCall {
            world.plannedCrash = (Int(seed / 24) + 1, seed / 12 % 2 == 0 ? .before : .after)
        }
    }

    /// Runs it.
    package func report(processes: Int = 3, calls: Int = 2) -> Report {
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
        if let theme, world.schedule.random.once(in: 2) { return attempt(theme, on: host) }
        let operation: Operation =
            switch world.schedule.random.below(20) {
            case 0: .signOut
            case 1: .signIn
            case 2: .label
            case 3: isShared ? .expelSpare : .move
            case 4: .catchUp
            case 5 where scenario == .shared: .expelThird
            case 6...8: .get
            default: .refresh
            }
        attempt(operation, on: host)
    }

    private func attempt(_ operation: Operation, on host: SimulatedHost) {
        let process = host.process()
        moment += 1
        // What fails is its own business; what must hold is looked at elsewhere.
        _ = try? { () throws(CredentialError) in try perform(operation, by: process) }()
    }

    private func perform(_ operation: Operation, by process: SimulatedProcess) throws(CredentialError) {
        switch operation {
        case .refresh: _ = try token(process, force: true)
        case .get: _ = try token(process, force: false)
        case .signIn: try signIn(process)
        case .signOut: try signOut(process)
        case .label: try label(process)
        case .expelSpare: _ = try process.ports.sharing.membership.expel("spare", from: World.group)
        // Whoever expels it is not it.
        case .expelThird:
            guard process.host === hosts[0] else { return _ = try token(process, force: true) }
            _ = try process.ports.sharing.membership.expel("three", from: World.group)
        case .renewThird: try renewThird(process)
        case .catchUp:
            _ = process.services.takeUpSignIns(in: World.group)
            try process.ports.sharing.catchUp(World.group, unlessWithin: 0)
        case .takeOver: _ = try token(process, force: true, takesOver: true)
        case .move: try move(process)
        }
    }

    private func expel(_ name: String, on host: SimulatedHost) {
        // Who knows of nothing that was forgotten has nobody to expel.
        _ = try? host.process().ports.sharing.membership.expel(name, from: World.group)
    }

    private func actAsClone(_ calls: Int) {
        // It is cloned at any moment.
        for _ in 0..<world.schedule.random.below(120) { world.schedule.step() }
        let clone = hosts[1].clone(withNotes: clonesNotes)
        world.hosts.append(clone)
        for _ in 0..<calls { act(clone) }
    }

    private func account(_ process: SimulatedProcess) throws(CredentialError) -> Account? {
        let entry = try process.ports.records.index(of: World.group, .none).entries(
            of: registration, subject: "ada"
        ).first
        guard let entry else { return nil }
        return try process.ports.records.account(entry.id, in: World.group)
    }

    private var registration: Registration {
        Registration(provider: SimulatedAdapter.issuer, clientID: world.type.clientID)
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
        signIns[refresh.signIn] = Span(began: moment)
        // From here on, whatever becomes of this process, there may be an account.
        defer {
            moment += 1
            signIns[refresh.signIn]?.ended = moment
        }
        let kept = try process.keep(refresh, of: world.type, registration)
        signIns[refresh.signIn]?.isDone = kept.warnings.isEmpty
    }

    private func signOut(_ process: SimulatedProcess) throws(CredentialError) {
        guard let account = try account(process) else { return }
        moment += 1
        let place = signOuts.count
        signOuts.append(Span(began: moment))
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

    // MARK: What must hold

    private func heal() {
        world.faults = .none
        world.plannedCrash = nil
        for lease in world.cluster.content.leases.keys { world.cluster.end(lease) }
        // Longer than any clock is off.
        world.milliseconds += 3 * 3_600_000
        while !world.lateCommits.isEmpty { world.lateCommits.removeFirst()() }
        while !world.late.isEmpty { world.comeLate() }
        for host in hosts { host.skew = 0 }
        var members = hosts.filter { $0.name != "spare" && (!isShared || world.hasAdmitted($0)) }
        // A host that has crashed may never come back.
        var gone: SimulatedHost?
        let crashed = members.filter(\.hasCrashed)
        if members.count > 1, !crashed.isEmpty, world.draw(3) {
            gone = crashed[world.schedule.random.below(crashed.count)]
            members.removeAll { $0 === gone }
        }
        // A cluster that was put back to before somebody was expelled may take nothing before that is done again.
        if world.wasRestored {
            for host in members { for name in world.expelledNames where name != host.name { expel(name, on: host) } }
            members.removeAll { isShared && !world.hasAdmitted($0) }
        }
        // What a host has journaled it puts there; who finds an intent says so.
        for host in members { host.process().services.takeUpAnswers(in: World.group) }
        var errors = refused(members)
        if !errors.isEmpty { errors = refused(members) }
        if settle(members, errors) { errors = refused(members) }
        // An answer that was put aside is tried when another is refused.
        if !errors.isEmpty { errors = refused(members) }
        checkAccount(members, errors, isKept: gone.map { $0.hasJournal } ?? false)
        // A cluster that was put back may have brought it back, too.
        for host in hosts where host.isExpelled && !world.hasAdmitted(host) { checkExpelled(host) }
        for host in hosts where host.machine.hasLocks { world.problems.append("\(host.name) keeps a lock") }
        if !isShared { checkSecrets(hosts[0]) }
        for host in members where host.hasJournal {
            world.problems.append("\(host.name) has not put its journal there: \(errors)")
        }
    }

    /// Looks at the intents that stand; a person who knows says that nobody is at it.
    ///
    /// - Returns: whether there was one.
    private func settle(_ members: [SimulatedHost], _ errors: [Refusal]) -> Bool {
        let intents = world.cluster.intents
        guard !intents.isEmpty else { return false }
        // Those stay of which nobody can know how they ended: not even who has recorded them, when it comes back.
        for intent in intents where !world.wasRestored && !world.unknownEnds.contains(intent.nonce) {
            guard let host = world.recorded[intent.nonce]?.host, members.contains(where: { $0 === host }) else {
                continue
            }
            world.problems.append("an intent of \(intent.host) stands though it knows how it ended: \(errors)")
        }
        do throws(CredentialError) { try token(members[0].process(), force: true, takesOver: true) } catch {
            if error.code != .signInRequired { world.problems.append("nobody can take over: \(error.message)") }
        }
        return true
    }

    private func checkExpelled(_ host: SimulatedHost) {
        // One that ended while it joined knows of no group.
        guard host.files[GroupBackend.fileName] != nil else { return }
        // Nobody is sent to sign in for what it could not keep, whoever has its name now.
        do throws(CredentialError) {
            try host.process().ports.sharing.check(World.group)
            world.problems.append("\(host.name), which was expelled, may send a person to sign in")
        } catch {
            if error.code != .storeLocked {
                world.problems.append("\(host.name), which was expelled, is told: \(error.message)")
            }
        }
        do throws(CredentialError) {
            try token(host.process(), force: true)
            world.problems.append("\(host.name), which was expelled, gets a token")
        } catch {
            if error.code != .storeLocked, error.code != .noSuchAccount {
                world.problems.append("\(host.name), which was expelled, is told: \(error.message)")
            }
        }
    }

    /// No secret is without an account that leads to it: a copy that does not count is noted.
    private func checkSecrets(_ host: SimulatedHost) {
        let accounts = host.machine.accounts()
        for (id, stores) in host.machine.secrets() {
            let account = accounts.first { $0.id == id }
            for store in stores where account?.store != store && account?.leftover != store {
                world.problems.append("\(id) has a secret in \(store) to which nothing leads")
            }
        }
    }

    private struct Refusal: CustomStringConvertible {
        let host: String
        let error: CredentialError
        var description: String { "\(host): \(error.message)" }
    }

    /// Whom a new token is refused.
    private func refused(_ hosts: [SimulatedHost]) -> [Refusal] {
        // Nobody has looked at the cluster just now.
        world.milliseconds += 2 * 1_000 * GroupBackend.standardCacheSeconds
        var errors: [Refusal] = []
        for host in hosts {
            do throws(CredentialError) { try token(host.process(), force: true) } catch {
                errors.append(Refusal(host: host.name, error: error))
            }
        }
        return errors
    }

    private func sets(_ process: SimulatedProcess) throws(CredentialError) -> [TokenSet] {
        try process.ports.records.registry(of: World.group).accounts.map { (account) throws(CredentialError) in
            guard let set = try process.services.repository.read(account, in: World.group, isLocked: true) else {
                throw CredentialError(.storeDamaged, "\(account.id) has no secrets")
            }
            return set
        }
    }

    private func checkAccount(_ members: [SimulatedHost], _ errors: [Refusal], isKept: Bool) {
        let found: [TokenSet]
        do throws(CredentialError) { found = try sets(members[0].process()) } catch {
            // A sign-out that ends half-way leaves an account without secrets, which a second one ends.
            if world.wasRestored || !signOuts.isEmpty && !isShared { return }
            return world.problems.append("the accounts cannot be read: \(error.message)")
        }
        if world.wasRestored { return checkRestored(errors) }
        if found.isEmpty {
            // A sign-in that was acknowledged stays, but for a sign-out that had not ended when it began.
            let last = signOuts.compactMap(\.ended).max() ?? -1
            if signIns.values.contains(where: { $0.isDone && $0.began > last }) {
                world.problems.append("the account is gone: \(errors)")
            }
            return
        }
        // A sign-out that was acknowledged, and after whose beginning nobody has signed in, stays.
        if let last = signOuts.filter(\.isDone).map(\.began).max(),
            !signIns.values.contains(where: { $0.ended ?? .max > last })
        {
            world.problems.append("an account that was signed out is there: \(errors)")
        }
        if isLabelled, signOuts.isEmpty, found.contains(where: { $0.account.label == nil }) {
            world.problems.append("a label is gone: \(errors)")
        }
        for set in found { check(set, isOnly: found.count == 1, errors, isKept: isKept) }
    }

    private func check(_ set: TokenSet, isOnly: Bool, _ errors: [Refusal], isKept: Bool) {
        guard let token = set.refreshToken else {
            return world.problems.append("\(set.account.id) has no refresh token")
        }
        if isOnly, let end = signIns[token.signIn]?.ended,
            let newer = signIns.first(where: { number, span in
                // One that has ended gives way to an answer that was put aside.
                span.isDone && span.began > end && !world.provider.hasEnded(number)
                    && !world.excused.contains(number)
            })
        {
            world.problems.append("sign-in \(newer.key) was acknowledged, and \(token) stands")
        }
        if world.provider.takes(token) {
            if set.isLost {
                world.problems.append("\(token) is marked as lost, which the provider takes: \(errors)")
            } else if isOnly, !errors.isEmpty {
                world.problems.append("no token when all has healed: \(errors)")
            }
            return
        }
        // The provider has gone on, and what it gave is nowhere.
        if !world.provider.hasEnded(token.signIn), !world.excused.contains(token.signIn), !isKept {
            world.problems.append("\(token) is kept, which the provider does not take: \(errors)")
        }
        // Everybody is told to sign in again; nobody waits for what does not come.
        if isOnly, !set.isLost || errors.contains(where: { $0.error.code != .signInRequired }) {
            world.problems.append("\(token) is gone, and not everybody is told so: \(errors)")
        }
    }

    /// What a cluster has forgotten it may have lost; but everybody gets a token, or is told to sign in again.
    private func checkRestored(_ errors: [Refusal]) {
        // What a host knows to be the newest grant stands there again.
        for host in hosts where world.hasAdmitted(host) && host.name != "spare" {
            for (id, known) in host.process().copies {
                guard let token = known.refreshToken, world.provider.takes(token), !known.isLost,
                    let standing = world.cluster.tokenSet("\(World.path)a/\(id)/set")?.refreshToken,
                    standing.signIn == token.signIn, standing != token
                else { continue }
                world.problems.append("\(host.name) knows \(token), and \(standing) stands: \(errors)")
            }
        }
        for refusal in errors where refusal.error.code != .signInRequired && refusal.error.code != .noSuchAccount {
            world.problems.append("after the cluster was put back \(refusal)")
        }
    }
}

/// Machines with one person's account, as every run begins.
private struct Prepared: Sendable {
    var cluster = SimulatedCluster.Content()
    var hosts: [SimulatedHost.Kept] = []
    var current: [Int?] = []

    private static let known = Mutex<[String: Prepared]>([:])

    static func of(isShared: Bool, takesOver: Bool) -> Prepared {
        known.withLock { known in
            let name = "\(isShared) \(takesOver)"
            if let prepared = known[name] { return prepared }
            do throws(CredentialError) {
                let prepared = try Prepared(isShared: isShared, takesOver: takesOver)
                known[name] = prepared
                return prepared
            } catch { fatalError("the simulation cannot begin: \(error)") }
        }
    }

    private init(isShared: Bool, takesOver: Bool) throws(CredentialError) {
        let world = World(Schedule(seed: 0), faults: .none)
        let first = SimulatedHost("one", world, isShared: isShared)
        world.hosts = [first]
        if isShared {
            _ = try first.process().ports.sharing.membership.share(
                World.group, first.backend(takesOver: takesOver), [], passphrase: nil)
            for name in ["two", "three", "spare"] {
                let host = SimulatedHost(name, world)
                let asked = try host.join(host.process(), takesOver: takesOver)
                try first.process().ports.sharing.membership.admit(
                    name, fingerprint: asked.fingerprint, to: World.group)
                world.hosts.append(host)
            }
        }
        _ = try first.process().keep(
            world.provider.begin(), of: world.type,
            Registration(provider: SimulatedAdapter.issuer, clientID: world.type.clientID))
        cluster = world.cluster.content
        hosts = world.hosts.map(\.kept)
        current = world.provider.current
    }
}
