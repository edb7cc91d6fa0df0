import CredentialCore
import Synchronization
import TestPorts
import Testing

@testable import SharedGroups
@testable import Simulation

/// The actions of a host on its own intents, on hosts that have gone, and on records that it knows better than the
/// cluster, on the simulated ports and without faults.
struct SharedRefreshTests {
    private static let unsent = SharedRefresh.Answer.unsent(CredentialError(.temporary, "not sent"))

    @Test func `an intent that is recorded late, after its host has gone on, is taken away by its host`() throws {
        let scene = try SharedScene(), cluster = LosingCluster(scene.process)
        cluster.loses = true
        #expect(throws: CredentialError.self) { try scene.refresh(over: cluster) { _ in Self.unsent } }
        cluster.loses = false
        // Another run of the host comes and goes before that transaction is applied.
        #expect(throws: CredentialError.self) { try scene.refresh(over: cluster) { _ in Self.unsent } }
        #expect(scene.intents.isEmpty)
        try cluster.applyLate()
        #expect(scene.intents.count == 1)
        scene.endLeases()
        #expect(throws: CredentialError.self) { try scene.run.token(scene.run.hosts[1].process(), force: true) }
        scene.run.hosts[0].process().services.takeUpAnswers(in: World.group)
        #expect(scene.intents.isEmpty)
        #expect(try scene.run.token(scene.run.hosts[1].process(), force: true).refreshed)
    }

    @Test func `if the intent's transaction gets no answer the lease is revoked, and the intent with it`() throws {
        let scene = try SharedScene(), cluster = LosingCluster(scene.process)
        cluster.loses = true
        cluster.revokes = true
        #expect(throws: CredentialError.self) { try scene.refresh(over: cluster) { _ in Self.unsent } }
        #expect(throws: CredentialError.self) { try cluster.applyLate() }
        #expect(scene.intents.isEmpty)
        #expect(try scene.run.token(scene.run.hosts[1].process(), force: true).refreshed)
    }

    @Test func `no host waits for the intent of an expelled host`() throws {
        let scene = try SharedScene()
        let lost = SharedRefresh.Answer.unknown(CredentialError(.temporary, "no answer"))
        #expect(throws: CredentialError.self) { try scene.refresh(over: scene.process) { _ in lost } }
        let two = scene.run.hosts[1]
        let waiting = #expect(throws: CredentialError.self) { try scene.run.token(two.process(), force: true) }
        #expect(waiting?.code == .temporary)
        _ = try two.process().ports.sharing.membership.expel("one", from: World.group)
        #expect(scene.intents.map(\.host) == ["one"])
        let early = #expect(throws: CredentialError.self) { try scene.run.token(two.process(), force: true) }
        #expect(early?.code == .temporary)
        scene.world.milliseconds += 31_000
        #expect(try scene.run.token(two.process(), force: true).refreshed)
        #expect(scene.intents.isEmpty)
    }

    @Test func `a host that is expelled between recording and sending does not send`() throws {
        let scene = try SharedScene(), cluster = LosingCluster(scene.process)
        let two = scene.run.hosts[1]
        cluster.onRecorded = { _ = try? two.process().ports.sharing.membership.expel("one", from: World.group) }
        let isSent = Mutex(false)
        #expect(throws: CredentialError.self) {
            try scene.refresh(over: cluster) { _ in
                isSent.withLock { $0 = true }
                return Self.unsent
            }
        }
        #expect(!isSent.withLock { $0 })
        // It cannot remove its intent, which has been sealed again; no host waits for it for long.
        scene.world.milliseconds += 31_000
        #expect(try scene.run.token(two.process(), force: true).refreshed)
    }

    @Test
    func `a host that stood still before it sends gives up if its intent was taken over`()
        throws
    {
        let scene = try SharedScene(), error = Mutex<CredentialError?>(nil)
        #expect(throws: CredentialError.self) {
            try scene.refresh(over: scene.process) { (set, check) in
                scene.world.milliseconds += SendCheck.validity + 1
                scene.endLeases()
                try? scene.refresh(over: scene.run.hosts[1].process(), at: 1, takeOver: .after(0)) {
                    SharedScene.issued("r-0-2", over: $0)
                }
                do throws(CredentialError) { try check.run() } catch let failure {
                    error.withLock { $0 = failure }
                    return .unsent(failure)
                }
                return SharedScene.issued("r-0-3", over: set)
            }
        }
        #expect(error.withLock { $0 }?.code == .temporary)
        #expect(scene.standing == "r-0-2" && scene.intents.isEmpty)
    }

    @Test func `a host that stood still sends if its intent stands, and looks at it only then`() throws {
        let scene = try SharedScene(), cluster = LosingCluster(scene.process), reads = Mutex<[Int]>([])
        for wait in [0, SendCheck.validity, SendCheck.validity + 1] {
            try scene.refresh(over: cluster) { (set, check) in
                scene.world.milliseconds += wait
                let before = cluster.reads
                do throws(CredentialError) { try check.run() } catch { return .unsent(error) }
                reads.withLock { $0.append(cluster.reads - before) }
                return SharedScene.issued("r-0-\(wait)", over: set)
            }
        }
        #expect(reads.withLock { $0 } == [0, 0, 1])
        #expect(scene.standing == "r-0-\(SendCheck.validity + 1)")
    }

    @Test func `a refresh goes on while the group is sealed anew`() throws {
        let scene = try SharedScene(), two = scene.run.hosts[1]
        try scene.refresh(over: scene.process) { set in
            _ = try? two.process().ports.sharing.membership.expel("spare", from: World.group)
            return SharedScene.issued("r-0-2", over: set)
        }
        #expect(scene.standing == "r-0-2")
        #expect(scene.intents.isEmpty)
    }

    @Test func `a grant lost by an error outside OAuth is tried once more on request`()
        throws
    {
        let scene = try SharedScene(), two = scene.run.hosts[1]
        var words = CredentialError(
            .signInRequired, "the provider no longer accepts the refresh token (token_inactive)")
        words.keepsGrant = true
        let refused = SharedRefresh.Answer.refused(words), place = scene.link.keys(scene.account).set
        #expect(throws: CredentialError.self) { try scene.refresh(over: scene.process) { _ in refused } }
        #expect(scene.world.cluster.tokenSet(place)?.grants[""]?.isDoubtful == true)
        // Each host sees the doubt, and asks the provider only on request.
        let sent = Mutex(0)
        func retry(triesDoubtful: Bool) throws {
            try scene.refresh(over: two.process(), at: 1, triesDoubtful: triesDoubtful) { set in
                sent.withLock { $0 += 1 }
                var set = set
                set.grants[""]?.lostReason = nil
                set.grants[""]?.isDoubtful = false
                return SharedScene.issued("r-0-2", over: set)
            }
        }
        #expect(throws: CredentialError.self) { try retry(triesDoubtful: false) }
        #expect(sent.withLock { $0 } == 0)
        try retry(triesDoubtful: true)
        #expect(scene.standing == "r-0-2" && sent.withLock { $0 } == 1)
        #expect(scene.world.cluster.tokenSet(place)?.grants[""]?.isRefreshable == true)
        // One that is lost in OAuth's own word stays lost.
        let gone = SharedRefresh.Answer.refused(CredentialError(.signInRequired, "invalid_grant"))
        #expect(throws: CredentialError.self) { try scene.refresh(over: scene.process) { _ in gone } }
        #expect(throws: CredentialError.self) { try retry(triesDoubtful: true) }
        #expect(sent.withLock { $0 } == 1)
    }

    @Test func `an answer that comes when another host has had its own is tried when that is refused`() throws {
        let scene = try SharedScene()
        try scene.refresh(over: scene.process) { set in
            // This host is held up; another takes its intent over and is answered.
            scene.endLeases()
            try? scene.refresh(over: scene.run.hosts[1].process(), at: 1, takeOver: .after(0)) { set in
                SharedScene.issued("r-0-2", over: set)
            }
            return SharedScene.issued("r-0-3", over: set)
        }
        #expect(scene.standing == "r-0-2")
        let sent = Mutex<[String]>([])
        try scene.refresh(over: scene.run.hosts[2].process(), at: 2, waits: true) { set in
            let token = set.grants[""]?.refreshToken?.reveal() ?? ""
            sent.withLock { $0.append(token) }
            guard token == "r-0-3" else { return .refused(CredentialError(.signInRequired, "invalid_grant")) }
            return SharedScene.issued("r-0-4", over: set)
        }
        #expect(sent.withLock { $0 } == ["r-0-2", "r-0-3"])
        #expect(scene.standing == "r-0-4")
        // No token that is already used is kept aside.
        #expect(scene.world.cluster.content.records[scene.link.keys(scene.account).aside] == nil)
    }

    @Test func `an answer that is about to be quarantined replaces a grant that is refused at that moment`() throws
    {
        let scene = try SharedScene(), two = scene.run.hosts[1]
        let refused = SharedRefresh.Answer.refused(CredentialError(.signInRequired, "invalid_grant"))
        let cluster = LosingCluster(scene.process)
        try scene.refresh(over: cluster) { set in
            // This host is held up; another takes its intent over, is answered, and is refused the next time.
            scene.endLeases()
            try? scene.refresh(over: two.process(), at: 1, takeOver: .after(0)) { set in
                SharedScene.issued("r-0-2", over: set)
            }
            // The first try finds another intent than its own.
            cluster.onCommit = {
                cluster.onCommit = { try? scene.refresh(over: two.process(), at: 1) { _ in refused } }
            }
            return SharedScene.issued("r-0-3", over: set)
        }
        #expect(scene.standing == "r-0-3")
        #expect(scene.world.cluster.tokenSet(scene.link.keys(scene.account).set)?.isLost == false)
    }

    @Test func `a refresh is a lease, two transactions and two reads, that of the choice with them`() throws {
        let scene = try SharedScene(), process = scene.process
        let request = try Self.request(process, scene), calls = process.trace.calls.count
        #expect(try process.services.tokens.token(request).refreshed)
        // The first is the choice's; the others are its worker's.
        let made = process.trace.calls + (process.lastWorker?.trace.calls ?? [])
        #expect(
            made.filter { $0.hasPrefix("cluster.") }
                == ["cluster.read", "cluster.lease", "cluster.commit", "cluster.read", "cluster.commit"])
        #expect(process.trace.calls[..<calls].contains("cluster.read"))
        #expect(process.copies[scene.account]?.refreshToken?.description == scene.standing)
    }

    /// A forced refresh of the account, which was just looked up.
    private static func request(_ process: SimulatedProcess, _ scene: SharedScene) throws -> TokenService.Request {
        let record = try #require(try process.ports.records.read(scene.account, in: World.group))
        return try TokenDemand(forceRefresh: true).request(
            of: record.account, under: scene.world.type, in: World.group, by: SimulatedAdapter())
    }

    @Test func `a worker does not repeat the read of its caller, unless a moment has passed`() throws {
        for (pause, reads) in [(Int64(0), 1), (500, 1), (1_000, 2)] {
            let scene = try SharedScene(), caller = scene.process, worker = scene.run.hosts[0].process()
            var request = try Self.request(caller, scene)
            request.handed = caller.ports.sharing.handOver(scene.account, of: World.group)
            scene.world.milliseconds += pause
            // As the worker does it, at the other end of the pipe.
            request = try RefreshWorkerProtocol.decodeRequest(RefreshWorkerProtocol.encode(request))
            #expect(request.handed != nil)
            let lock = try #require(try worker.ports.locks.tryLock(scene.account, in: World.group))
            #expect(try worker.services.refresh.refresh(request, holding: lock).refreshed)
            #expect(worker.trace.calls.filter { $0 == "cluster.read" }.count == reads, "after \(pause) ms")
            #expect(worker.copies[scene.account]?.refreshToken?.description == scene.standing)
        }
    }

    @Test func `the read of a caller is discarded after another host has refreshed`() throws {
        let scene = try SharedScene(), caller = scene.process, worker = scene.run.hosts[0].process()
        var request = try Self.request(caller, scene)
        request.handed = caller.ports.sharing.handOver(scene.account, of: World.group)
        #expect(try scene.run.token(scene.run.hosts[1].process(), force: true).refreshed)
        let other = scene.standing
        // It is about to send an already used token; it is overtaken, and gives the other host's token.
        let lock = try #require(try worker.ports.locks.tryLock(scene.account, in: World.group))
        let answer = try worker.services.refresh.refresh(request, holding: lock)
        #expect(answer.token.token.reveal() == "access-\(other ?? "")")
        #expect(scene.standing == other)
        #expect(scene.world.problems.isEmpty)
    }

    @Test
    func `no copy is left of an account that another host signs out, even if the cluster is lost at once`()
        throws
    {
        var ends: [Bool] = []
        for reads in 0..<8 {
            let scene = try SharedScene(), caller = scene.process, worker = scene.run.hosts[0].process()
            var request = try Self.request(caller, scene)
            request.handed = caller.ports.sharing.handOver(scene.account, of: World.group)
            try scene.run.hosts[1].process().services.signOut.forget(
                request.account, policy: nil, in: World.group
            ) { (_) throws(CredentialError) in }
            #expect(worker.copies[scene.account] != nil)
            Self.lose(worker.trace, at: reads + 1)
            let lock = try #require(try worker.ports.locks.tryLock(scene.account, in: World.group))
            let error = #expect(throws: CredentialError.self) {
                try worker.services.refresh.refresh(request, holding: lock)
            }
            guard error?.code == .signInRequired else { continue }
            #expect(error?.forbidsStaleToken == true && worker.copies[scene.account] == nil, "after \(reads) reads")
            ends.append(worker.trace.calls.count { $0 == "cluster.read" } > reads)
        }
        // In one of them it was the look behind that which found no cluster.
        #expect(ends.contains(true) && ends.contains(false))
    }

    /// Loses the cluster before the read with this number from now on.
    private static func lose(_ trace: PortTrace, at read: Int) {
        guard read > 0 else {
            return trace.fail("cluster.read", with: CredentialError(.temporary, "the cluster does not answer"))
        }
        trace.act(before: "cluster.read") { [unowned trace] in lose(trace, at: read - 1) }
    }

    @Test func `an invalid record that another process of the host hands over is refused`() throws {
        let scene = try SharedScene(), caller = scene.process
        _ = try caller.ports.records.read(scene.account, in: World.group)
        let handed = try #require(caller.ports.sharing.handOver(scene.account, of: World.group))
        for member in ["at", "data_key", "wrapped", "set"] {
            var broken = handed
            broken[member] = true
            let error = #expect(throws: CredentialError.self, "\(member)") {
                try scene.run.hosts[0].process().ports.sharing.resume(
                    scene.account, of: World.group, with: broken)
            }
            #expect(error?.code == .internalFault)
        }
    }

    @Test func `a process that has waited for a peer's wait for another host does not wait as long again`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], world = scene.world
        try scene.refresh(over: scene.run.hosts[1].process(), at: 1) { set in
            for peerSeconds: Int64 in [0, 5, 12, 30] {
                let began = world.milliseconds, process = one.process()
                let lock = try? one.process().ports.locks.tryLock(scene.account, in: World.group)
                process.trace.act(before: "locks.lock") {
                    world.milliseconds += peerSeconds * 1_000
                    lock?.release()
                }
                let error = #expect(throws: CredentialError.self) { try scene.run.token(process, force: true) }
                #expect(error?.code == .temporary)
                let seconds = Double(world.milliseconds - began) / 1_000
                #expect((Double(max(peerSeconds, 12))..<Double(max(peerSeconds, 12)) + 1).contains(seconds))
            }
            return SharedScene.issued("r-0-2", over: set)
        }
        #expect(scene.standing == "r-0-2")
    }

    @Test func `the waits of a command add up: unreachable nodes, a peer, another host`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], world = scene.world
        try scene.refresh(over: scene.run.hosts[1].process(), at: 1) { set in
            let began = world.milliseconds, process = one.process()
            process.millisecondsSpent = 5_000
            let lock = try? one.process().ports.locks.tryLock(scene.account, in: World.group)
            process.trace.act(before: "locks.lock") {
                world.milliseconds += 4_000
                lock?.release()
            }
            #expect(throws: CredentialError.self) { try scene.run.token(process, force: true) }
            // Of twelve seconds the other host has had the last three.
            let seconds = Double(world.milliseconds - began) / 1_000
            #expect((7.0..<8.0).contains(seconds))
            // Its worker has lost no time itself, and counts the time that it was given.
            #expect(process.trace.lockSeconds == 12 && process.lastWorker?.waitedElsewhere == 12_000)
            return SharedScene.issued("r-0-2", over: set)
        }
        #expect(scene.standing == "r-0-2")
    }

    @Test func `an answer that was in the set is not put aside when its host comes back late`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        let cluster = LosingCluster(scene.process)
        cluster.onRecorded = { cluster.isLast = true }
        // The transaction is applied; its response is lost, and the journal stays.
        try scene.refresh(over: cluster) { SharedScene.issued("r-0-2", over: $0) }
        #expect(scene.standing == "r-0-2" && one.hasJournal)
        // Another host goes on with it.
        try scene.refresh(over: scene.run.hosts[1].process(), at: 1) { SharedScene.issued("r-0-3", over: $0) }
        one.process().services.takeUpAnswers(in: World.group)
        #expect(!one.hasJournal && scene.standing == "r-0-3")
        #expect(scene.world.cluster.content.records[scene.link.keys(scene.account).aside] == nil)
    }

    @Test func `a token is not sent again when the answer to it was put aside`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        let cluster = LosingCluster(scene.process)
        cluster.onRecorded = { cluster.loses = true }
        try scene.refresh(over: cluster) { SharedScene.issued("r-0-2", over: $0) }
        scene.endLeases()
        #expect(one.hasJournal && scene.standing == "r-0-1")
        // A person takes over, the first host puts its answer aside, and the retry is not sent.
        #expect(throws: CredentialError.self) {
            try scene.refresh(over: scene.run.hosts[1].process(), at: 1, takeOver: .after(0)) { _ in
                one.process().services.takeUpAnswers(in: World.group)
                return Self.unsent
            }
        }
        #expect(!one.hasJournal && scene.standing == "r-0-1" && scene.intents.isEmpty)
        let sent = Mutex<[String]>([])
        try scene.refresh(over: scene.run.hosts[2].process(), at: 2) { set in
            sent.withLock { $0.append(set.grants[""]?.refreshToken?.reveal() ?? "") }
            return SharedScene.issued("r-0-3", over: set)
        }
        #expect(sent.withLock { $0 } == ["r-0-2"])
        #expect(scene.standing == "r-0-3")
    }

    @Test func `a token from a clock that is ahead is told, not refreshed again and again`() throws {
        let scene = try SharedScene()
        scene.run.hosts[0].skew = 1_200
        #expect(try scene.run.token(scene.run.hosts[0].process(), force: true).refreshed)
        let refreshes = scene.world.provider.refreshes
        let two = scene.run.hosts[1]
        for _ in 0..<3 {
            let error = #expect(throws: CredentialError.self) { try scene.run.token(two.process(), force: false) }
            #expect(error?.code == .temporary && error?.message.contains("20 minutes in the future") == true)
        }
        #expect(scene.world.provider.refreshes == refreshes)
        // A user that knows better forces the refresh.
        #expect(try scene.run.token(two.process(), force: true).refreshed)
        #expect(try !scene.run.token(two.process(), force: false).refreshed)
    }
}
