import CredentialCore
import Testing

@testable import SharedGroups
@testable import Simulation

/// That a host was let in is proven, whatever anybody writes into the cluster.
struct AdmissionTests {
    private func membership(_ host: SimulatedHost) -> any GroupHosting { host.process().ports.sharing.membership }

    @Test func `whose record only says that it was admitted gets no key, waits, and is told of`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], two = scene.run.hosts[1],
            place = World.path + "hosts/"
        func put(_ host: GroupHost) throws {
            var transaction = ClusterTransaction()
            transaction.changes = [.put(place + host.name, host.encoded)]
            #expect(try scene.link.cluster.commit(transaction))
        }
        func host(_ name: String) throws -> GroupHost {
            try GroupHost(try #require(scene.world.cluster.content.records[place + name]))
        }
        let expelled = try host("spare")
        _ = try membership(one).expel("spare", from: World.group)
        let epoch = try scene.newest
        // What it had in hand as a host of the group; the proof of another; and its own key under another's name.
        var newcomer = GroupHost(
            name: "four", publicKey: [UInt8](repeating: 7, count: 32), joinedAt: expelled.joinedAt)
        newcomer.admission = try host("two").admission
        var replaced = try host("three")
        replaced.publicKey = newcomer.publicKey
        for forged in [newcomer, replaced] { try put(forged) }
        newcomer.name = "five"
        newcomer.admission = KeyProof(epoch: epoch.number, proof: try #require(expelled.admission).proof)
        try put(newcomer)

        let seen = try membership(one).hosts(of: World.group)
        #expect(seen.filter(\.isAdmitted).map(\.name) == ["one", "two"])
        let told = membership(one).findings(of: World.group).filter { $0.error != nil }
        #expect(told.map(\.check) == ["host five", "host four", "host three"])
        #expect(told.last?.error?.hint?.hasSuffix("credmgr groups expel default three") == true)

        _ = try membership(one).expel("five", from: World.group)
        #expect(try scene.holders == ["one", "two"])
        #expect(try !host("four").isAdmitted && !host("three").isAdmitted)
        #expect(try scene.run.token(two.process(), force: true).refreshed)
    }

    @Test func `a key that is put under the number of a known one counts for nothing, nor what is proven by it`()
        throws
    {
        let scene = try SharedScene(), one = scene.run.hosts[0], epoch = KeyEpoch.firstNumber
        #expect(try scene.run.token(one.process(), force: true).refreshed)
        let wrap = scene.link.membership.wrap(try scene.link.membership.groupID())
        let planted = [UInt8](repeating: 9, count: 32)
        let own = try GroupHost(try #require(scene.world.cluster.content.records[World.path + "hosts/one"]))
        var evil = GroupHost(
            name: "evil", publicKey: try scene.link.parts.cryptography.makeAgreementKey().publicKey,
            joinedAt: own.joinedAt)
        evil.admission = try wrap.admission(of: evil, key: planted, epoch: epoch)
        var transaction = ClusterTransaction()
        let key = try wrap.dataKey(planted, of: try scene.newest)
        transaction.changes = [
            .put("\(World.path)keys/\(epoch)/one", try wrap.wrap(key, for: own, by: try scene.link.hostKey())),
            .put(World.path + "hosts/evil", evil.encoded),
        ]
        #expect(try scene.link.cluster.commit(transaction))
        _ = try membership(one).expel("three", from: World.group)
        #expect(try scene.holders == ["one", "spare", "two"])
        #expect(try scene.run.token(one.process(), force: true).refreshed)
    }

    @Test func `who expels keeps its own key, whatever its record says`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        var own = try GroupHost(try #require(scene.world.cluster.content.records[World.path + "hosts/one"]))
        own.admission = KeyProof(epoch: 1, proof: [0])
        // Whose role the others would be told to take away.
        own.user = "two"
        var transaction = ClusterTransaction()
        transaction.changes = [.put(World.path + "hosts/one", own.encoded)]
        #expect(try scene.link.cluster.commit(transaction))
        _ = try membership(one).expel("three", from: World.group)
        let hosts = try membership(one).hosts(of: World.group)
        #expect(hosts.filter(\.isAdmitted).map(\.name) == ["one", "spare", "two"])
        #expect(hosts.map(\.user) == hosts.map(\.name))
        #expect(try scene.newest.hosts.map(\.user).sorted() == hosts.map(\.name))
        #expect(try scene.run.token(one.process(), force: true).refreshed)
    }

    @Test func `who has lost its key in the cluster is admitted once more`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        let key = try #require(
            scene.world.cluster.content.records.keys.first {
                $0.hasPrefix(World.path + "keys/") && $0.hasSuffix("/two")
            })
        var transaction = ClusterTransaction()
        transaction.changes = [.remove(key)]
        #expect(try scene.link.cluster.commit(transaction))
        let two = try #require(try membership(one).hosts(of: World.group).first { $0.name == "two" })
        try membership(one).admit("two", fingerprint: two.fingerprint, to: World.group)
        #expect(scene.world.cluster.content.records[key] != nil)
        #expect(try scene.run.token(scene.run.hosts[1].process(), force: true).refreshed)
    }
}
