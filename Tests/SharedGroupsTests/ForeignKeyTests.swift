import CredentialCore
import Testing

@testable import SharedGroups
@testable import Simulation

/// An expelled host that kept its role in the cluster writes records there, and gains no access.
@Suite("What an expelled host writes gets it nothing")
struct ForeignKeyTests {
    @Test func `a restored older number gives the key only to hosts that were given the newer one`() throws {
        let outcast = try RevokedHostFixture(), scene = try outcast.scene.get()
        for place in 0..<3 { #expect(try scene.token(place)) }
        // As it was while it belonged to the group, and an accomplice that it proves by the key of that time.
        var changes = outcast.former.filter { !$0.key.contains("/a/") }
            .map { ClusterTransaction.Change.put($0.key, $0.value) }
        let evil = try outcast.accomplice(provenBy: outcast.formerKey, KeyEpoch.firstNumber)
        changes.append(.put(World.path + "hosts/evil", evil.encoded))
        try outcast.put(changes)
        for place in 0..<3 {
            let error = scene.refusal(place)
            #expect(error?.code == .storeUnavailable)
            #expect(error?.hint == "credmgr groups expel default spare --fingerprint \(try outcast.fingerprint)")
        }
        try scene.expel("spare")
        try scene.checkMended()
    }

    @Test func `an older number that names every member is ignored`() throws {
        let outcast = try RevokedHostFixture(), scene = try outcast.scene.get(), newest = try scene.newest
        for place in 0..<3 { #expect(try scene.token(place)) }
        let evil = try outcast.accomplice(provenBy: outcast.formerKey, KeyEpoch.firstNumber)
        let forged = KeyEpoch(
            number: KeyEpoch.firstNumber, expelled: newest.expelled,
            hosts: try ["one", "two", "three"].map { try outcast.host($0).whenGivenKey } + [evil.whenGivenKey])
        try outcast.put([.put(World.path + "epoch", forged.encoded), .put(World.path + "hosts/evil", evil.encoded)])
        scene.checkRefused()
        try scene.expel("spare")
        try scene.checkMended()
    }

    @Test func `nothing is sealed by a key of its own`() throws {
        for isLinked in [false, true] {
            let outcast = try RevokedHostFixture(), scene = try outcast.scene.get(), newest = try scene.newest
            for place in 0..<3 { #expect(try scene.token(place)) }
            let members = try ["one", "two", "three"].map { try outcast.host($0) }
            let planted = [UInt8](repeating: 9, count: 32)
            let forged = KeyEpoch(
                number: newest.number + 1, expelled: newest.expelled, hosts: members.map(\.whenGivenKey))
            let first = try KeyEpoch(
                ClusterRecord(
                    key: World.path + "epoch", value: try #require(outcast.former[World.path + "epoch"]),
                    revision: 1))
            let earlier = try outcast.wrap.dataKey(outcast.formerKey, of: first)
            let former = isLinked ? [first.number: earlier] : [:]
            let key = try outcast.wrap.dataKey(planted, of: forged, former: former)
            try outcast.put(
                [.put(World.path + "epoch", forged.encoded)]
                    + members.map { member in
                        .put(
                            "\(World.path)keys/\(forged.number)/\(member.name)",
                            try outcast.wrap.wrap(key, for: member, by: outcast.key))
                    })
            for place in 0..<3 {
                let error = scene.refusal(place)
                #expect(error?.code == .storeUnavailable)
                #expect(error?.message.contains("no known host of the group made its newest key") == true)
            }
            try scene.expel("spare")
            try scene.checkMended()
        }
    }

    @Test func `its list of expelled hosts then removes no newer host of the same name`() throws {
        let outcast = try RevokedHostFixture(), scene = try outcast.scene.get()
        let newcomer = SimulatedHost("spare", scene.world)
        scene.world.hosts.append(newcomer)
        let one = scene.run.hosts[0].process().ports.sharing.membership
        let asked = try newcomer.join(newcomer.process(), takesOver: false)
        try one.admit("spare", fingerprint: asked.fingerprint, to: World.group)
        let holders = ["one", "spare", "three", "two"]
        #expect(try scene.holders == holders)
        for place in 0..<3 { #expect(try scene.token(place)) }
        // The number of a key that no host of the group has made.
        let newest = try scene.newest
        let forged = KeyEpoch(number: newest.number + 1, expelled: newest.expelled, hosts: newest.hosts)
        let key = try outcast.wrap.dataKey([UInt8](repeating: 9, count: 32), of: forged)
        try outcast.put(
            [.put(World.path + "epoch", forged.encoded)]
                + ["one", "three", "two"].map { name in
                    .put(
                        "\(World.path)keys/\(forged.number)/\(name)",
                        try outcast.wrap.wrap(key, for: outcast.host(name), by: outcast.key))
                })
        let fingerprint = try outcast.fingerprint
        let command = "credmgr groups expel default spare --fingerprint \(fingerprint)"
        #expect(scene.refusal(1)?.hint?.contains(command) == true)
        let other = #expect(throws: CredentialError.self) {
            try one.expel("spare", fingerprint: "0000-1111", from: World.group)
        }
        #expect(other?.code == .denied && other?.message.contains(asked.fingerprint) == true)
        let expulsion = try one.expel("spare", fingerprint: fingerprint.uppercased(), from: World.group)
        #expect(expulsion.hosts == [RemovalResult.Host(name: "spare", user: "spare", sharesUserWith: "spare")])
        try scene.checkMended(holders)
        #expect(try scene.run.token(newcomer.process(), force: true).refreshed)
        // The host that is meant, and no other of the name, is a host of the group no more.
        let again = #expect(throws: CredentialError.self) {
            try one.expel("spare", fingerprint: fingerprint, from: World.group)
        }
        #expect(again?.code == .denied)
        _ = try one.expel("spare", fingerprint: asked.fingerprint, from: World.group)
        try scene.checkMended()
    }

    @Test(arguments: ["nothing that opens", "a key that is none"])
    func `invalid keys that it gives the others do not stop a new one`(_ given: String) throws {
        let outcast = try RevokedHostFixture(), scene = try outcast.scene.get(), newest = try scene.newest
        for place in 0..<3 { #expect(try scene.token(place)) }
        let members = try ["one", "two", "three"].map { try outcast.host($0) }
        let forged = KeyEpoch(
            number: newest.number + 1, expelled: newest.expelled, hosts: members.map(\.whenGivenKey))
        // As a wrap begins, with public keys that are zero; or with words.
        let wrapped =
            given == "a key that is none" ? [3] + [UInt8](repeating: 0, count: 200) : Array(given.utf8)
        try outcast.put(
            try outcast.standing(agreeing: 30) + [.put(World.path + "epoch", forged.encoded)]
                + members.map {
                    .put("\(World.path)keys/\(forged.number)/\($0.name)", wrapped)
                })
        scene.checkRefused()
        try scene.expel("spare")
        try scene.checkMended()
    }

    @Test(arguments: [true, false])
    func `if its new key is given to no other host the others leave with their own copies`(
        areNamed: Bool
    ) throws {
        let outcast = try RevokedHostFixture(), scene = try outcast.scene.get(), newest = try scene.newest
        for place in 0..<3 { #expect(try scene.token(place)) }
        let evil = try outcast.accomplice(provenBy: outcast.formerKey, KeyEpoch.firstNumber)
        let members = areNamed ? try ["one", "two", "three"].map { try outcast.host($0) } : []
        let forged = KeyEpoch(
            number: newest.number + 1, expelled: newest.expelled,
            hosts: (members + [evil]).map(\.whenGivenKey))
        try outcast.put([
            .put(World.path + "epoch", forged.encoded),
            .put("\(World.path)keys/\(forged.number)/evil", Array("theirs".utf8)),
        ])
        #expect(scene.refusal(1)?.code == .storeLocked)
        // No host can tell that from an expel that has taken it out.
        let refused = #expect(throws: CredentialError.self) { try scene.expel("spare") }
        #expect(refused?.code == .storeLocked)
        var taken: [TokenSet] = []
        try scene.run.hosts[1].process().ports.sharing.membership.leave(World.group) {
            (_, _) throws(CredentialError) in
        } take: { (sets, _) throws(CredentialError) in
            taken = sets
        }
        #expect(taken.map(\.account.id) == [scene.account])
    }

    @Test func `a host with a changed key in the cluster gets the hint to be admitted again by the others`() throws
    {
        let scene = try SharedScene()
        #expect(try scene.token(1))
        try scene.expel("spare")
        var transaction = ClusterTransaction()
        transaction.changes = [
            .put("\(World.path)keys/\(try scene.newest.number)/two", Array("nothing that opens".utf8))
        ]
        #expect(try scene.link.cluster.commit(transaction))
        let told = #expect(throws: CredentialError.self) {
            try scene.run.hosts[1].process().ports.sharing.check(World.group)
        }
        #expect(told?.code == .storeUnavailable)
        #expect(
            told?.hint?.hasPrefix(
                "if other hosts use the group, on one of them: credmgr groups expel default two; ")
                == true)
    }

    @Test func `a host that is expelled while it expels another makes no key, even if its name has rejoined`()
        throws
    {
        let scene = try SharedScene(), process = scene.run.hosts[2].process()
        let newcomer = SimulatedHost("three", scene.world)
        scene.world.hosts.append(newcomer)
        process.trace.act(before: "cluster.read") {
            process.trace.act(before: "cluster.read") {
                #expect(throws: Never.self) {
                    try scene.expel("three")
                    let asked = try newcomer.join(newcomer.process(), takesOver: false)
                    try scene.run.hosts[0].process().ports.sharing.membership.admit(
                        "three", fingerprint: asked.fingerprint, to: World.group)
                }
            }
        }
        let refused = #expect(throws: CredentialError.self) {
            try process.ports.sharing.membership.expel("spare", from: World.group)
        }
        #expect(refused?.code == .storeLocked)
        #expect(try scene.holders == ["one", "spare", "three", "two"])
        for host in [scene.run.hosts[0], scene.run.hosts[1], newcomer] {
            #expect(try scene.run.token(host.process(), force: true).refreshed)
        }
    }

    @Test func `a host record with the key of another host is expelled without it`() throws {
        let outcast = try RevokedHostFixture(), scene = try outcast.scene.get(), holders = ["one", "three", "two"]
        for place in 0..<3 { #expect(try scene.token(place)) }
        let two = try outcast.host("two")
        var evil = GroupHost(name: "evil", publicKey: two.publicKey, joinedAt: two.joinedAt)
        evil.admission = two.admission
        evil.user = "three"
        try outcast.put([.put(World.path + "hosts/evil", evil.encoded)])
        let expulsion = try scene.run.hosts[0].process().ports.sharing.membership.expel("evil", from: World.group)
        // No role is to be removed: neither that of the key's owner nor that of the name's.
        #expect(expulsion.hosts == [RemovalResult.Host(name: "evil", user: nil)])
        try scene.checkMended(holders)
        #expect(!(try scene.newest.has(two.whenExpelled)))
    }

    @Test func `access that cannot be taken from an expelled host is reported, and so is the expel`() throws {
        let scene = try SharedScene(), process = scene.run.hosts[0].process(), trace = process.trace
        let silence = CredentialError(.temporary, "the cluster does not answer")
        // First the expel, then the step that removes the old keys.
        trace.act(before: "cluster.commit") {
            trace.act(before: "cluster.commit") {
                trace.fail("cluster.commit", with: silence)
                trace.act(before: "cluster.read") { trace.heal() }
            }
        }
        let expulsion = try process.ports.sharing.membership.expel("spare", from: World.group)
        #expect(expulsion.hosts == [RemovalResult.Host(name: "spare", user: "spare")])
        #expect(expulsion.staleKeyringCopy?.code == .temporary && expulsion.unsealed.isEmpty)
        #expect(try scene.holders == ["one", "three", "two"])
        for place in 0..<3 { #expect(try scene.token(place)) }
    }

    @Test func `a host is expelled even if no record could be resealed, and a refresh reseals later`() throws {
        let scene = try SharedScene(), process = scene.run.hosts[0].process(), trace = process.trace
        let key = scene.link.keys(scene.account).set
        trace.act(before: "cluster.commit") {
            trace.act(before: "cluster.commit") {
                trace.fail("cluster.read", with: CredentialError(.temporary, "the cluster does not answer"))
            }
        }
        let expulsion = try process.ports.sharing.membership.expel("spare", from: World.group)
        #expect(expulsion.hosts.map(\.name) == ["spare"] && expulsion.interruption?.code == .temporary)
        trace.heal()
        let before = try #require(scene.world.cluster.content.records[key])
        #expect(try GroupCipher.epoch(of: before) == KeyEpoch.firstNumber)
        #expect(try scene.token(1))
        let after = try #require(scene.world.cluster.content.records[key])
        #expect(try GroupCipher.epoch(of: after) == scene.newest.number)
        #expect(try scene.holders == ["one", "three", "two"])
    }

    @Test func `a host that has missed some keys accepts the newest, also from a host that joined meanwhile`()
        throws
    {
        let scene = try SharedScene(), newcomer = SimulatedHost("new", scene.world)
        scene.world.hosts.append(newcomer)
        #expect(try scene.token(1))
        try scene.expel("spare")
        let asked = try newcomer.join(newcomer.process(), takesOver: false)
        try scene.run.hosts[0].process().ports.sharing.membership.admit(
            "new", fingerprint: asked.fingerprint, to: World.group)
        // The second host has not looked since, and knows neither the newcomer nor the key that it was let in by.
        _ = try newcomer.process().ports.sharing.membership.expel("three", from: World.group)
        #expect(try scene.holders == ["new", "one", "two"])
        for place in 0..<2 { #expect(try scene.token(place)) }
    }
}
