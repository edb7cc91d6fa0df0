import CredentialCore
import TestPorts
import Testing

@testable import SharedGroups
@testable import Simulation

/// Hosts that leave a group at once, and those that come or are stopped meanwhile, on the simulated ports and
/// without faults.
struct ClusterLeavingTests {
    /// The token sets that two hosts take along when one of them leaves at some call of the other's leaving.
    private final class Leavers: @unchecked Sendable {
        let scene: SharedScene
        var taken: [String: (sets: [TokenSet], isLast: Bool)] = [:]
        /// The error of the other host.
        var failure: (any Error)?
        /// The host that came meanwhile.
        var joined: GroupMember?

        init() throws {
            scene = try SharedScene()
            let first = scene.run.hosts[0].process().ports.sharing.membership
            for name in ["three", "spare"] { _ = try first.expel(name, from: World.group) }
        }

        func leave(_ process: SimulatedProcess) throws {
            try process.ports.sharing.membership.leave(World.group) { (_, _) throws(CredentialError) in
            } take: { [self] (sets, isLast) throws(CredentialError) in
                taken[process.host.name] = (sets, isLast)
            }
        }

        /// How many calls a host makes that leaves while no other host does.
        static func calls() throws -> Int {
            let leavers = try Leavers(), process = leavers.scene.run.hosts[0].process()
            try leavers.leave(process)
            return process.trace.calls.count
        }
    }

    @Test(arguments: PortTrace.Moment.allCases)
    func `of two hosts that leave at once exactly one is the last, and takes the sign-ins along`(
        moment: PortTrace.Moment
    ) throws {
        let calls = try Leavers.calls()
        #expect(calls > 20)
        for number in 1...calls {
            let leavers = try Leavers(), hosts = leavers.scene.run.hosts
            let one = hosts[0].process(), standing = leavers.scene.standing
            one.trace.act(at: number, moment) {
                do { try leavers.leave(hosts[1].process()) } catch { leavers.failure = error }
            }
            try leavers.leave(one)
            #expect(leavers.failure == nil, "\(moment) call \(number)")
            let last = leavers.taken.values.filter(\.isLast)
            #expect(last.count == 1, "\(moment) call \(number): \(leavers.taken.mapValues(\.isLast))")
            #expect(last.first?.sets.map { $0.refreshToken?.description } == [standing], "\(moment) call \(number)")
            let left = leavers.scene.world.cluster.content.records.keys.filter { $0.hasPrefix(World.path) }
            #expect(left.isEmpty, "\(moment) call \(number)")
        }
    }

    @Test(arguments: PortTrace.Moment.allCases)
    func `a host that stops at any point of a leave resumes it there`(moment: PortTrace.Moment) throws {
        for number in 1...(try Leavers.calls()) {
            let leavers = try Leavers(), hosts = leavers.scene.run.hosts, standing = leavers.scene.standing
            let one = hosts[0].process()
            one.trace.end(at: number, moment)
            _ = try? leavers.leave(one)
            // The other one leaves in the meantime, and may be the last: who has said before that it is not stays
            // that.
            try leavers.leave(hosts[1].process())
            // A host that had come to its end has no group to leave.
            if hosts[0].files[ClusterConfiguration.fileName] != nil || hosts[0].files["leaving"] != nil {
                try leavers.leave(hosts[0].process())
            }
            let owners = leavers.taken.values.filter(\.isLast)
            #expect(owners.count == 1, "\(moment) call \(number): \(leavers.taken.mapValues(\.isLast))")
            #expect(
                owners.first?.sets.map { $0.refreshToken?.description } == [standing], "\(moment) call \(number)")
            #expect(hosts[0].files.isEmpty && hosts[1].files.isEmpty, "\(moment) call \(number)")
        }
    }

    @Test func `a host that joins by passphrase while the last one leaves finds the group, or is refused`() throws {
        var outcomes: Set<Bool> = []
        for number in 1...(try Leavers.calls()) {
            // A group of one, with a passphrase.
            let leavers = try Leavers(), scene = leavers.scene, one = scene.run.hosts[0], path = World.path
            let standing = try #require(scene.standing)
            _ = try one.process().ports.sharing.membership.expel("two", from: World.group)
            let link = scene.link, epoch = try link.currentEpoch()
            let wrapped = try link.membership.wrap(link.backend.groupID).wrap(
                try link.key(ofEpoch: epoch), by: Secret("open sesame"), epoch: epoch)
            var transaction = ClusterTransaction()
            transaction.changes = [.put("\(path)keys/\(epoch)/-passphrase", wrapped)]
            scene.world.cluster.apply(transaction)
            let newcomer = SimulatedHost("new", scene.world), leaver = one.process()
            leaver.trace.act(at: number, .after) {
                leavers.joined = try? newcomer.process().ports.sharing.membership.join(
                    World.group, newcomer.backend(takesOver: false), passphrase: Secret("open sesame"))
            }
            try leavers.leave(leaver)
            let taken = leavers.taken["one"], joined = leavers.joined
            outcomes.insert(joined != nil)
            #expect(taken?.isLast == (joined == nil), "call \(number), \(leaver.trace.calls[number - 1])")
            #expect(scene.standing == (joined == nil ? nil : standing), "call \(number)")
            if joined != nil, taken?.isLast == false {
                #expect(try scene.run.token(newcomer.process(), force: true).refreshed)
            }
        }
        #expect(outcomes == [true, false])
    }

    @Test
    func `a host that has announced its leave and cannot finish stays, unless another one leaves as the last`()
        throws
    {
        for isOther in [false, true] {
            let leavers = try Leavers(), hosts = leavers.scene.run.hosts, own = leavers.scene.link.membership
            let known = leavers.scene.link.known
            // An earlier run was stopped after its announcement, and a refresh blocks the leave.
            #expect(try !own.tellLeaving("one", known: known))
            if isOther { #expect(try own.tellLeaving("two", known: known)) }
            let set = try #require(
                leavers.scene.world.cluster.tokenSet(leavers.scene.link.keys(leavers.scene.account).set))
            let intent = Intent(
                nonce: IntentNonce(SimulatedRandom(world: leavers.scene.world)), host: "one",
                publicKey: try #require(hosts[0].publicKey),
                token: try TokenDigest(of: try #require(set.grants[""]), leavers.scene.process.ports.cryptography),
                time: leavers.scene.process.now)
            let key = leavers.scene.link.keys(leavers.scene.account).intent
            let epoch = try KeyEpoch(
                try #require(leavers.scene.world.cluster.content.records[World.path + "epoch"]))
            var transaction = ClusterTransaction()
            transaction.changes = [
                .put(key, try leavers.scene.link.seal.seal(intent.encoded, at: key, epoch: epoch.number))
            ]
            leavers.scene.world.cluster.apply(transaction)
            let refused = #expect(throws: CredentialError.self) { try leavers.leave(hosts[0].process()) }
            #expect(refused?.code == .temporary)
            let record = try #require(leavers.scene.world.cluster.content.records[World.path + "hosts/one"])
            #expect(try GroupHost(record).leaves == (isOther ? .asOneOfMany : nil))
        }
    }

    @Test func `a leave that was stopped between its two files is gone on with`() throws {
        let leavers = try Leavers(), one = leavers.scene.run.hosts[0]
        one.files["leaving"] = one.files[ClusterConfiguration.fileName]
        try leavers.leave(one.process())
        #expect(one.files.isEmpty && leavers.taken["one"]?.isLast == false)
    }

    @Test func `the last host takes pending answers along`() throws {
        let leavers = try Leavers(), scene = leavers.scene
        let set = try #require(scene.world.cluster.tokenSet(scene.link.keys(scene.account).set))
        var issued = set
        issued.grants[""]?.refreshToken = Secret("r-0-2")
        var aside = SupersededIntents()
        aside.keep(
            LateResponse(
                nonce: IntentNonce(SimulatedRandom(world: scene.world)),
                replaced: try TokenDigest(of: try #require(set.grants[""]), scene.process.ports.cryptography),
                policy: "", tokenSet: issued))
        let key = scene.link.keys(scene.account).aside
        var transaction = ClusterTransaction()
        transaction.changes = [
            .put(key, try scene.link.seal.seal(aside.encoded, at: key, epoch: try scene.link.currentEpoch()))
        ]
        scene.world.cluster.apply(transaction)
        try leavers.leave(scene.run.hosts[1].process())
        try leavers.leave(scene.run.hosts[0].process())
        #expect(leavers.taken["one"]?.sets.map { $0.refreshToken?.description } == ["r-0-2"])
    }

    // MARK: Forgetting

    @Test func `a host forgets a group without a request, and reports its local data`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], process = one.process()
        let cluster = LosingCluster(scene.process)
        cluster.onRecorded = { cluster.loses = true }
        try scene.refresh(over: cluster) { SharedScene.issued("r-0-2", over: $0) }
        let standing = scene.world.cluster.content.records
        #expect(one.hasJournal)
        let forgotten = try process.services.groupMove.forget(World.group)
        #expect(forgotten.host == "one" && forgotten.lost == 1)
        #expect(process.trace.calls.allSatisfy { !$0.hasPrefix("cluster.") })
        #expect(one.files.isEmpty && process.copies.isEmpty)
        #expect(try process.ports.sharing.backend(of: World.group) == nil)
        // The others keep their state, and so does this host.
        #expect(scene.world.cluster.content.records == standing)
        // There is no state left to forget.
        let again = #expect(throws: CredentialError.self) { try process.services.groupMove.forget(World.group) }
        #expect(again?.code == .usage)
    }
}
