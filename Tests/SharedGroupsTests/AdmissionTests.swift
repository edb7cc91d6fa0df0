import CredentialCore
import Testing

@testable import SharedGroups
@testable import Simulation

/// The admission of a host is proven, in spite of forged records in the cluster.
struct AdmissionTests {
    private func membership(_ host: SimulatedHost) -> any GroupMembershipService {
        host.process().ports.sharing.membership
    }

    @Test func `a host with a record that only claims its admission gets no key, waits, and is reported`() throws {
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
        // The forgeries: the record that it had in hand as a host of the group; the proof of another; and its own
        // key under another's name.
        var newcomer = GroupHost(
            name: "four", publicKey: [UInt8](repeating: 7, count: 32), joinedAt: expelled.joinedAt)
        newcomer.admission = try host("two").admission
        var replaced = try host("three")
        replaced.publicKey = newcomer.publicKey
        for forged in [newcomer, replaced] { try put(forged) }
        newcomer.name = "five"
        newcomer.admission = KeyEndorsement(epoch: epoch.number, proof: try #require(expelled.admission).proof)
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

    @Test func `a planted key under a known number is ignored, and so is each proof by it`()
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

    @Test func `a host that expels another keeps its own key, for any content of its record`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        var own = try GroupHost(try #require(scene.world.cluster.content.records[World.path + "hosts/one"]))
        own.admission = KeyEndorsement(epoch: 1, proof: [0])
        // The host whose role the others would be told to take away.
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

    @Test func `a host with a lost key in the cluster is admitted once more`() throws {
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

    // MARK: The fingerprint of the group

    @Test func `a new host accepts only the key of the group with the expected fingerprint`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        let right = try membership(one).fingerprint(of: World.group), wrong = String(right.reversed())
        #expect(right.count == 39 && right.split(separator: "-").count == 8)
        #expect(try membership(scene.run.hosts[1]).fingerprint(of: World.group) == right)
        for (name, told) in [("four", right), ("five", wrong), ("six", nil)] as [(String, String?)] {
            let host = SimulatedHost(name, scene.world)
            scene.world.hosts.append(host)
            var backend = host.backend(takesOver: false)
            backend.groupFingerprint = told
            let asked = try membership(host).join(World.group, backend, passphrase: nil)
            try membership(one).admit(name, fingerprint: asked.fingerprint, to: World.group)
            let process = host.process()
            guard told != wrong else {
                for _ in 0..<2 {
                    let error = #expect(throws: CredentialError.self) {
                        try process.ports.sharing.check(World.group)
                    }
                    #expect(error?.code == .denied && error?.message.contains(right) == true)
                }
                #expect(!host.files.keys.contains { $0.hasPrefix("key-") })
                continue
            }
            #expect(try scene.run.token(process, force: true).refreshed)
            let notes = process.ports.sharing.takeNotes().map(\.description)
            #expect(notes.count == (told == nil ? 1 : 0) && notes.allSatisfy { $0.contains(right) }, "\(notes)")
            #expect(process.ports.sharing.takeNotes().isEmpty)
        }
        // A host that is out knows no fingerprint of the key that comes then; one that is in takes that unasked.
        _ = try membership(one).expel("spare", from: World.group)
        let next = try membership(one).fingerprint(of: World.group)
        #expect(next != right)
        #expect(try membership(scene.run.hosts[1]).fingerprint(of: World.group) == next)
    }

    @Test func `a host that waits may ask again, and is shown the same`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], host = SimulatedHost("four", scene.world)
        scene.world.hosts.append(host)
        func join(_ fingerprint: String? = nil) throws -> GroupMember {
            var backend = host.backend(takesOver: false)
            backend.groupFingerprint = fingerprint
            return try host.process().services.groupMove.join(World.group, by: backend, passphrase: nil)
        }
        let first = try join(), right = try membership(one).fingerprint(of: World.group)
        let again = try join()
        #expect(again == first && !again.isAdmitted && again.groupFingerprint == nil)
        // The fingerprint may be said later than the first time, and is kept.
        _ = try join(String(right.reversed()))
        try membership(one).admit("four", fingerprint: first.fingerprint, to: World.group)
        let refused = #expect(throws: CredentialError.self) { try join() }
        #expect(refused?.code == .denied)
        let admitted = try join(right)
        #expect(
            admitted.isAdmitted && admitted.groupFingerprint == right && admitted.fingerprint == first.fingerprint)
        let member = #expect(throws: CredentialError.self) { try join() }
        #expect(member?.code == .usage && member?.message.contains("is already shared") == true)
    }
}
