import CredentialCore
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

    var isShared: Bool { self != .alone }
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
        /// How many sign-ins may have ended as an answer was lost, or a person took over.
        package var excused: Int
        /// How often a process went on, and the number that would have been drawn next: two runs of one seed have both in
        /// common.
        package var calls: Int
        package var drawn: UInt64
    }

    private let world: World
    private let scenario: Scenario
    private var hosts: [SimulatedHost] = []
    /// The moments, in calls, at which sign-outs and sign-ins began and ended.
    private var moment = 0
    private var signedOut: [(began: Int, ended: Int)] = []
    private var signIns: [Int] = []
    private var mayBeGone = false
    private var isLabelled = false

    /// Makes a run; nothing has happened yet.
    package init(_ scenario: Scenario, seed: UInt64, faults: Faults = Faults()) {
        var faults = faults
        if scenario == .restored { faults.restore = 150 }
        world = World(seed: seed, faults: faults, cluster: SimulatedCluster())
        world.takesOver = scenario == .takeOver
        self.scenario = scenario
    }

    /// Runs it.
    package func report(processes: Int = 3, calls: Int = 2) -> Report {
        do throws(CredentialError) { try prepare() } catch {
            world.problems.append("the preparation failed: \(error)")
            return made()
        }
        world.schedule.run(
            (0..<processes).map { number in
                {
                    let host = self.hosts[self.scenario.isShared ? number : 0]
                    for _ in 0..<calls { self.act(host) }
                }
            } + (scenario == .cloned ? [{ self.actAsClone(calls) }] : []),
            between: { self.world.between(self.hosts) })
        heal()
        return made()
    }

    private func made() -> Report {
        Report(
            problems: world.problems, refreshes: world.provider.refreshes, excused: world.excused.count,
            calls: world.schedule.steps, drawn: world.schedule.random.next())
    }

    // MARK: What processes do

    private func prepare() throws(CredentialError) {
        let faults = world.faults
        world.faults = .none
        defer { world.faults = faults }
        let first = SimulatedHost("one", world, isShared: scenario.isShared)
        hosts = [first]
        guard scenario.isShared else { return try signIn(first.process()) }
        _ = try first.process().ports.sharing.membership.share(World.group, backend(first), [], passphrase: nil)
        for name in ["two", "three", "spare"] {
            let host = SimulatedHost(name, world)
            let asked = try host.process().ports.sharing.membership.join(
                World.group, backend(host), passphrase: nil)
            try first.process().ports.sharing.membership.admit(
                name, fingerprint: asked.fingerprint, to: World.group)
            hosts.append(host)
        }
        try signIn(first.process())
    }

    private func backend(_ host: SimulatedHost) -> GroupBackend {
        var backend = GroupBackend(
            endpoints: ["https://simulated"], authorities: nil, certificate: nil, prefix: "/credmgr",
            host: host.name, keyStore: .file)
        backend.takeOverSeconds = scenario == .takeOver ? 0 : nil
        return backend
    }

    private func act(_ host: SimulatedHost) {
        let process = host.process()
        moment += 1
        // What fails is its own business; what must hold is looked at elsewhere.
        _ = try? { () throws(CredentialError) in
            switch world.schedule.random.below(20) {
            case 0: try signOut(process)
            case 1: try signIn(process)
            case 2: try label(process)
            case 3: try scenario.isShared ? expel("spare", by: process) : move(process)
            case 4:
                _ = process.services.takeUpSignIns(in: World.group)
                try process.ports.sharing.catchUp(World.group, unlessWithin: 0)
            case 5 where host === hosts[0] && scenario == .shared: try expel("three", by: process)
            case 6...8: _ = try token(process, force: false)
            default: _ = try token(process, force: true)
            }
        }()
    }

    private func actAsClone(_ calls: Int) {
        // It is cloned at any moment.
        for _ in 0..<world.schedule.random.below(120) { world.schedule.step() }
        let clone = hosts[1].clone(withNotes: false)
        hosts.append(clone)
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
    private func token(
        _ process: SimulatedProcess, force: Bool, takesOver: Bool = false
    ) throws(CredentialError) -> TokenService.Answer {
        guard let account = try account(process) else {
            throw CredentialError(.noSuchAccount, "nobody has signed in")
        }
        var demand = TokenDemand(forceRefresh: force)
        demand.takesOver = takesOver
        process.takesOver = takesOver
        let request = try demand.request(of: account, under: world.type, in: World.group, by: SimulatedAdapter())
        return try process.services.tokens.token(request)
    }

    private func signIn(_ process: SimulatedProcess) throws(CredentialError) {
        let refresh = world.provider.begin()
        var grant = Grant(flow: .code, obtainedAt: process.now)
        grant.refreshToken = Secret("\(refresh)")
        grant.scope = world.type.scope
        let key = TokenRequestKey(under: world.type, policy: "", scope: world.type.scope)
        let result = SignInResult(
            identity: Identity(issuer: SimulatedAdapter.issuer, subject: "ada", username: "ada@example.com"),
            tokens: IssuedTokens(accessToken: SimulatedAdapter.token(refresh, key, process), grant: grant))
        // From here on, whatever becomes of this process, there may be an account.
        defer {
            moment += 1
            signIns.append(moment)
        }
        _ = try process.services.signIn.keep(
            result, of: world.type, registration: registration, policy: "", in: World.group, store: .file,
            forceNew: false)
    }

    private func signOut(_ process: SimulatedProcess) throws(CredentialError) {
        guard let account = try account(process) else { return }
        moment += 1
        let began = moment
        mayBeGone = true
        try process.services.signOut.forget(account, policy: nil, in: World.group) { (_) throws(CredentialError) in
        }
        moment += 1
        signedOut.append((began, moment))
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

    private func expel(_ name: String, by process: SimulatedProcess) throws(CredentialError) {
        guard let host = hosts.first(where: { $0.name == name }) else { return }
        // What it has under way may be lost with it, as the manual says.
        let mayLose = name != "spare"
        defer {
            if mayLose, !world.isMember(name) {
                host.isExpelled = true
                loseWhatIsUnderWay(of: name)
            }
        }
        _ = try process.ports.sharing.membership.expel(name, from: World.group)
    }

    private func loseWhatIsUnderWay(of name: String) {
        for signIn in world.provider.current.indices { world.excused.insert(signIn) }
    }

    // MARK: What must hold

    private func heal() {
        world.faults = .none
        for lease in world.cluster.content.leases.keys { world.cluster.end(lease) }
        world.milliseconds += 60_000
        while !world.late.isEmpty { world.comeLate() }
        for host in hosts { host.skew = 0 }
        let members = hosts.filter { $0.name != "spare" && (!scenario.isShared || world.isMember($0.name)) }
        // What a host has journaled it puts there; who finds an intent says so.
        for host in members { host.process().services.takeUpAnswers(in: World.group) }
        var errors = refused(members)
        if !errors.isEmpty { errors = refused(members) }
        let intents = world.cluster.intents
        if !intents.isEmpty {
            // Only who may have sent leaves one; a person who knows then says so.
            // (That of an expelled host stays, and one that a restored cluster brings back.)
            if !world.wasRestored,
                intents.contains(where: { !world.mayHaveSent.contains($0.nonce) && world.isMember($0.host) })
            {
                world.problems.append("an intent stands though nobody has sent: \(errors)")
            }
            do throws(CredentialError) { try token(members[0].process(), force: true, takesOver: true) } catch {
                if error.code != .signInRequired { world.problems.append("nobody can take over: \(error.message)") }
            }
        }
        checkAccount(members, errors)
        for host in hosts where host.isExpelled {
            do throws(CredentialError) {
                try token(host.process(), force: true)
                world.problems.append("\(host.name), which was expelled, gets a token")
            } catch {
                if error.code != .storeLocked, error.code != .noSuchAccount {
                    world.problems.append("\(host.name), which was expelled, is told: \(error.message)")
                }
            }
        }
        for host in hosts where host.machine.hasLocks { world.problems.append("\(host.name) keeps a lock") }
        if scenario.isShared, world.excused.isEmpty {
            for host in members where host.files.keys.contains(where: { $0.hasPrefix("answer-") }) {
                world.problems.append("\(host.name) has not put its journal there: \(errors)")
            }
        }
    }

    /// Whom a new token is refused.
    private func refused(_ hosts: [SimulatedHost]) -> [String] {
        var errors: [String] = []
        for host in hosts {
            do throws(CredentialError) { try token(host.process(), force: true) } catch {
                errors.append("\(host.name): \(error.message)")
            }
        }
        return errors
    }

    private func checkAccount(_ members: [SimulatedHost], _ errors: [String]) {
        let found: [TokenSet]
        do throws(CredentialError) {
            let process = members[0].process()
            found = try process.ports.records.registry(of: World.group).accounts.map {
                (account) throws(CredentialError) in
                guard let set = try process.services.repository.read(account, in: World.group, isLocked: true)
                else {
                    throw CredentialError(.storeDamaged, "\(account.id) has no secrets")
                }
                return set
            }
        } catch {
            // A sign-out that ends half-way leaves an account without secrets, which a second one ends.
            if world.wasRestored || mayBeGone && !scenario.isShared { return }
            return world.problems.append("the accounts cannot be read: \(error.message)")
        }
        if world.wasRestored { return }
        if found.isEmpty {
            if !mayBeGone { world.problems.append("the account is gone: \(errors)") }
            return
        }
        // A sign-out that was acknowledged, and after whose beginning nobody has signed in, stays.
        if let last = signedOut.map(\.began).max(), !signIns.contains(where: { $0 > last }) {
            world.problems.append("an account that was signed out is there: \(errors)")
        }
        if isLabelled, !mayBeGone, !world.wasRestored, found.contains(where: { $0.account.label == nil }) {
            world.problems.append("a label is gone: \(errors)")
        }
        for set in found {
            guard let token = RefreshToken(set.grants[""]?.refreshToken?.reveal()) else {
                world.problems.append("\(set.account.id) has no refresh token")
                continue
            }
            guard !world.excused.contains(token.signIn) else { continue }
            if !world.provider.takes(token) {
                world.problems.append("\(token) is kept, which the provider does not take: \(errors)")
            } else if set.grants[""]?.lostReason != nil {
                world.problems.append("\(token) is marked as lost, which the provider takes: \(errors)")
            }
        }
        let isExcused = found.contains { set in
            RefreshToken(set.grants[""]?.refreshToken?.reveal()).map { world.excused.contains($0.signIn) } ?? true
        }
        if !isExcused, !errors.isEmpty {
            world.problems += refused(members).map { "no token when all has healed: \($0)" }
        }
    }
}

extension World {
    func isMember(_ name: String) -> Bool {
        cluster.content.records.keys.contains { $0.hasSuffix("/hosts/\(name)") }
    }
}
