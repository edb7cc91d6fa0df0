import CredentialCore
import Foundation
import Testing

@testable import SharedGroups

/// One run: three hosts that refresh one account, under the faults of a seed; then all heals.
final class SharedRefreshRun: @unchecked Sendable {
    let world: SimulatedHosts
    let takeOver: SharedRefresh.TakeOver
    /// Whether a person had to say that the host does not come back.
    private(set) var stuck = false

    init(seed: UInt64, faults: Faults = Faults(), takeOver: SharedRefresh.TakeOver = .never) throws {
        world = try SimulatedHosts(seed: seed, faults: faults)
        self.takeOver = takeOver
    }

    private func refresh(_ host: Int, takeOver: SharedRefresh.TakeOver) throws(CredentialError)
        -> SharedRefresh.Outcome
    {
        let life = Life(world, host: host)
        let known = world.tokenSet(world.keys.set)?.generation ?? 0
        let job = SharedRefresh.Job(
            keys: world.keys, policy: "", takeOver: takeOver,
            // Two of three want another token than the one they have just seen.
            isFresh: { $0.generation > known + 1 },
            send: { life.send($0) })
        return try life.refresh.refresh(job)
    }

    private var errors: [String] = []

    /// Runs it; gives what is wrong.
    func problems(hosts: Int = 3, calls: Int = 3) -> [String] {
        world.schedule.run(
            (0..<hosts).map { host in
                { for _ in 0..<calls { _ = try? self.refresh(host, takeOver: self.takeOver) } }
            }, between: world.between)
        heal(hosts)
        return world.problems
    }

    /// No more faults: each host comes once more, and what the provider takes must be found.
    private func heal(_ hosts: Int) {
        world.faults = .none
        for lease in world.leases.keys { world.end(lease) }
        world.milliseconds += 60_000
        for token in world.late {
            world.excused = true
            world.receive(token)
        }
        world.late = []
        world.schedule.run(
            (0..<hosts).map { host in
                { do { _ = try self.refresh(host, takeOver: .never) } catch { self.errors.append("\(error)") } }
            }, between: {})
        if let record = world.records[world.keys.intent] {
            // Only a host that may have sent leaves one; a person who knows then says so.
            stuck = true
            let intent = try? Intent(decoding: world.seal(0).open(record))
            if !world.mayHaveSent.contains(where: { $0 == intent?.nonce }) {
                world.problems.append("an intent stands though no host may have sent: \(errors)")
            }
            world.schedule.run([{ _ = try? self.refresh(0, takeOver: .after(0)) }], between: {})
        }
        let name = "r\(world.taken)"
        let standing = world.tokenSet(world.keys.set)?.grants[""]
        let alternate = world.tokenSet(world.keys.alternate)?.grants[""]?.refreshToken?.reveal()
        if world.ended || world.excused { return }
        if standing?.refreshToken?.reveal() != name, alternate != name {
            world.problems.append("the refresh token \(name) that the provider takes is nowhere")
        }
        if standing?.lostReason != nil { world.problems.append("a sign-in that holds is marked as lost") }
        if world.journals.values.contains(where: { _ in true }) {
            world.problems.append("a journal was not replayed")
        }
        if world.records[world.keys.intent] != nil { world.problems.append("an intent stands for ever") }
    }
}

struct SharedRefreshSimulation {
    private static var seeds: Range<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["CREDMGR_SEED"].flatMap(UInt64.init) { return seed..<seed + 1 }
        return 0..<(environment["CREDMGR_SCHEDULES"].flatMap(UInt64.init) ?? 1_000)
    }

    @Test func `a thousand schedules send no refresh token twice and lose no sign-in`() throws {
        var excused = 0
        var stuck = 0
        var refreshes = 0
        for seed in Self.seeds {
            let run = try SharedRefreshRun(seed: seed)
            let problems = run.problems()
            #expect(problems.isEmpty, "CREDMGR_SEED=\(seed)")
            if run.world.excused { excused += 1 }
            if run.stuck { stuck += 1 }
            refreshes += run.world.taken - 1
        }
        print("excused \(excused) stuck \(stuck) refreshes \(refreshes)")
        #expect(refreshes > 0)
    }

    @Test func `with take-over only the deliberate retry sends a token again`() throws {
        for seed in Self.seeds {
            let run = try SharedRefreshRun(seed: seed, takeOver: .after(0))
            #expect(run.problems().isEmpty, "CREDMGR_SEED=\(seed)")
        }
    }

    @Test func `without faults each host gets a token and nothing is left behind`() throws {
        for seed in Self.seeds {
            let run = try SharedRefreshRun(seed: seed, faults: .none)
            #expect(run.problems().isEmpty && !run.world.excused, "CREDMGR_SEED=\(seed)")
        }
    }
}
