import CredentialCore
import Testing

@testable import SharedGroups
@testable import Simulation

/// Who belongs to a group, on the simulated ports and without faults: clusters that were put back, hosts that leave and come.
struct ClusterSharingTests {
    private func membership(_ host: SimulatedHost) -> any GroupHosting { host.process().ports.sharing.membership }

    private func names(_ scene: SharedScene) throws -> [String] { try scene.link.membership.hosts().map(\.name) }

    /// What a host that leaves takes along, and whether it is the last.
    private func leave(_ host: SimulatedHost) throws -> (sets: [TokenSet], isLast: Bool) {
        var taken: (sets: [TokenSet], isLast: Bool) = ([], false)
        try membership(host).leave(World.group) { (_, _) throws(CredentialError) in
        } take: { (sets, isLast) throws(CredentialError) in
            taken = (sets, isLast)
        }
        return taken
    }

    // MARK: Expelling

    @Test func `a name that nobody has is told with those of the group`() throws {
        let scene = try SharedScene(), before = scene.world.cluster.content.revision
        let error = #expect(throws: CredentialError.self) {
            try membership(scene.run.hosts[0]).expel("thre", from: World.group)
        }
        #expect(error?.code == .noSuchAccount)
        #expect(error?.message.contains("thre; its hosts are one, spare, three, two") == true)
        #expect(scene.world.cluster.content.revision == before)
    }

    @Test func `one expel after a restore takes out all who were expelled before it`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], two = scene.run.hosts[1]
        let snapshot = scene.world.cluster.content
        _ = try membership(one).expel("spare", from: World.group)
        _ = try membership(one).expel("three", from: World.group)
        scene.world.cluster.restore(snapshot)
        let refused = #expect(throws: CredentialError.self) { try scene.run.token(one.process(), force: true) }
        #expect(refused?.code == .storeUnavailable)
        #expect(refused?.message.contains("before spare, three was expelled") == true)
        #expect(refused?.hint == "credmgr groups expel default spare")
        let mistyped = #expect(throws: CredentialError.self) {
            try membership(one).expel("thre", from: World.group)
        }
        #expect(mistyped?.code == .noSuchAccount)
        _ = try membership(one).expel("three", from: World.group)
        #expect(try names(scene) == ["one", "two"])
        let epoch = try KeyEpoch(try #require(scene.world.cluster.content.records[World.path + "epoch"]))
        let keys = scene.world.cluster.content.records.keys.filter {
            $0.hasPrefix("\(World.path)keys/\(epoch.number)/")
        }
        #expect(keys.count == 2)
        for host in [one, two] { #expect(try scene.run.token(host.process(), force: true).refreshed) }
        for place in [2, 3] {
            let error = #expect(throws: CredentialError.self) {
                try scene.run.hosts[place].process().ports.sharing.check(World.group)
            }
            #expect(error?.code == .storeLocked)
        }
    }

    @Test func `who was expelled and is not listed any more can be expelled again`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        var snapshot = scene.world.cluster.content
        _ = try membership(one).expel("spare", from: World.group)
        // It had left by itself when that snapshot was taken.
        for key in ["hosts/spare", "keys/1/spare"] { snapshot.records[World.path + key] = nil }
        scene.world.cluster.restore(snapshot)
        _ = try membership(one).expel("spare", from: World.group)
        #expect(try scene.run.token(one.process(), force: true).refreshed)
    }

    @Test func `hosts that count on from one number after a restore make two keys`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], two = scene.run.hosts[1]
        let snapshot = scene.world.cluster.content
        _ = try membership(one).expel("spare", from: World.group)
        #expect(try scene.run.token(one.process(), force: true).refreshed)
        let known = one.process().copies
        scene.world.cluster.restore(snapshot)
        // The other host has not looked since, and makes the next key for somebody else's sake.
        _ = try membership(two).expel("three", from: World.group)
        let refused = #expect(throws: CredentialError.self) { try scene.run.token(one.process(), force: true) }
        #expect(refused?.code == .storeUnavailable && refused?.message.contains("spare") == true)
        _ = try membership(one).expel("spare", from: World.group)
        #expect(try names(scene) == ["one", "two"])
        // What the first host had copied under its own key is put back.
        for host in [one, two] { try host.process().ports.sharing.catchUp(World.group, unlessWithin: 0) }
        #expect(scene.standing == known[scene.account]?.refreshToken?.description)
        for host in [two, one] { #expect(try scene.run.token(host.process(), force: true).refreshed) }
    }

    // MARK: Coming

    @Test func `a host that is admitted after an expel that ended half-way reads everything`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        try scene.link.membership.expel("spare", by: ("one", try scene.link.hostKey()))
        let four = SimulatedHost("four", scene.world)
        scene.world.hosts.append(four)
        let asked = try four.join(four.process(), takesOver: false)
        try membership(one).admit("four", fingerprint: asked.fingerprint, to: World.group)
        #expect(try scene.run.token(four.process(), force: true).refreshed)
    }

    @Test func `a host that comes again under its name does not wait for what it had begun before`() throws {
        let scene = try SharedScene(), two = scene.run.hosts[1]
        let lost = SharedRefresh.Answer.unknown(CredentialError(.temporary, "no answer"))
        #expect(throws: CredentialError.self) { try scene.refresh(over: scene.process) { _ in lost } }
        _ = try membership(two).expel("one", from: World.group)
        let again = SimulatedHost("one", scene.world)
        scene.world.hosts.append(again)
        let asked = try again.join(again.process(), takesOver: false)
        try membership(two).admit("one", fingerprint: asked.fingerprint, to: World.group)
        let early = #expect(throws: CredentialError.self) { try scene.run.token(again.process(), force: true) }
        #expect(early?.code == .temporary)
        scene.world.milliseconds += 31_000
        #expect(try scene.run.token(again.process(), force: true).refreshed)
        #expect(scene.intents.isEmpty)
    }

    // MARK: Leaving

    @Test func `the last host takes along what it knows better than a cluster that was put back`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        for name in ["two", "three", "spare"] { _ = try membership(one).expel(name, from: World.group) }
        let snapshot = scene.world.cluster.content
        #expect(try scene.run.token(one.process(), force: true).refreshed)
        let newest = try #require(scene.standing)
        scene.world.cluster.restore(snapshot)
        let (sets, isLast) = try leave(one)
        #expect(isLast && sets.map { $0.refreshToken?.description } == [newest])
    }

    @Test func `who leaves others behind puts back first what it knows better`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        let snapshot = scene.world.cluster.content
        #expect(try scene.run.token(one.process(), force: true).refreshed)
        let newest = try #require(scene.standing)
        scene.world.cluster.restore(snapshot)
        #expect(scene.standing != newest)
        #expect(try !leave(one).isLast)
        #expect(scene.standing == newest)
        #expect(try scene.run.token(scene.run.hosts[1].process(), force: true).refreshed)
    }

    @Test func `who was expelled before a restore does not keep anybody from being the last`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        for name in ["two", "three"] { _ = try membership(one).expel(name, from: World.group) }
        let snapshot = scene.world.cluster.content
        _ = try membership(one).expel("spare", from: World.group)
        scene.world.cluster.restore(snapshot)
        #expect(try leave(one).isLast)
    }

    @Test func `nobody leaves with an answer that the cluster has not`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], cluster = LosingCluster(scene.process)
        cluster.onRecorded = { cluster.loses = true }
        try scene.refresh(over: cluster) { SharedScene.issued("r-0-2", over: $0) }
        #expect(one.hasJournal)
        let before = (one.files, scene.world.cluster.content.revision)
        let refused = #expect(throws: CredentialError.self) { try leave(one) }
        #expect(refused?.code == .temporary)
        #expect(refused?.hint == "try again, once the cluster takes them: credmgr accounts --group default")
        #expect(one.files == before.0 && scene.world.cluster.content.revision == before.1)
        one.process().services.takeUpAnswers(in: World.group)
        #expect(try !leave(one).isLast)
        #expect(scene.standing == "r-0-2")
    }
}
