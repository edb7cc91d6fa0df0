import CredentialCore
import StrictJSON
import Testing

@testable import SharedGroups
@testable import Simulation

/// An expelled host whose role in the cluster was not taken away writes what it likes there, and gets nothing for it.
@Suite("What an expelled host writes gets it nothing")
struct ForeignKeyTests {
    /// A host that was expelled, with what it had as one of the group.
    private struct Outcast {
        let scene = Result { try SharedScene() }
        let key: GroupMembership.HostKey
        /// The group's first key, and what stood in the cluster while that was the newest.
        let formerKey: [UInt8]
        let former: [String: [UInt8]]

        init() throws {
            let scene = try scene.get()
            let sharing = try #require(
                scene.run.hosts[3].process().ports.sharing as? ClusterSharing)
            let link = try sharing.sharedLink(World.group)
            key = try link.hostKey()
            formerKey = try link.key(ofEpoch: KeyEpoch.firstNumber)
            former = scene.world.cluster.content.records.mapValues(\.value)
            _ = try scene.run.hosts[0].process().ports.sharing.membership.expel("spare", from: World.group)
        }

        /// What people compare of its key.
        var fingerprint: String {
            get throws {
                try GroupHost.fingerprint(of: key.publicKey, scene.get().link.parts.cryptography)
            }
        }

        func put(_ changes: [ClusterTransaction.Change]) throws {
            var transaction = ClusterTransaction()
            transaction.changes = changes
            #expect(try scene.get().link.cluster.commit(transaction))
        }

        var wrap: KeyWrap {
            get throws { try scene.get().link.membership.wrap(try scene.get().link.membership.groupID()) }
        }

        func host(_ name: String) throws -> GroupHost {
            try GroupHost(
                ClusterRecord(
                    key: World.path + "hosts/" + name, value: try #require(former[World.path + "hosts/" + name]),
                    revision: 1))
        }

        /// What stood there while it belonged to the group, but for the accounts, with what it would have the others agree on, proven by
        /// the key of that time.
        func standing(agreeing seconds: Int64) throws -> [ClusterTransaction.Change] {
            let place = World.path + "group"
            var settings = GroupSettings()
            settings.takeOverSeconds = seconds
            let facts = try GroupFacts(
                ClusterRecord(key: place, value: try #require(former[place]), revision: 1))
            let proven = try facts.encoded(
                agreeing: settings, wrap, key: formerKey, epoch: KeyEpoch.firstNumber)
            return former.filter { !$0.key.contains("/a/") && $0.key != place }.map { .put($0.key, $0.value) }
                + [.put(place, proven)]
        }

        /// Another machine of whoever has it.
        func accomplice(provenBy key: [UInt8], _ epoch: Int64) throws -> GroupHost {
            var host = GroupHost(
                name: "evil", publicKey: try scene.get().link.parts.cryptography.makeAgreementKey().publicKey,
                joinedAt: Instant(epochSeconds: 0))
            host.admission = try wrap.admission(of: host, key: key, epoch: epoch)
            return host
        }
    }

    private func token(_ scene: SharedScene, _ place: Int) throws -> Bool {
        try scene.run.token(scene.run.hosts[place].process(), force: true).refreshed
    }

    private func refusal(_ scene: SharedScene, _ place: Int) -> CredentialError? {
        #expect(throws: CredentialError.self) { try token(scene, place) }
    }

    private func expel(_ name: String, _ scene: SharedScene) throws {
        _ = try scene.run.hosts[0].process().ports.sharing.membership.expel(name, from: World.group)
    }

    /// Everybody but those who were expelled goes on, and nobody else has the key.
    private func checkMended(_ scene: SharedScene, _ holders: [String] = ["one", "three", "two"]) throws {
        #expect(try scene.holders == holders)
        for place in 0..<3 { #expect(try token(scene, place)) }
        #expect(
            try scene.run.hosts[1].process().ports.sharing.membership.hosts(of: World.group)
                .filter(\.isAdmitted).map(\.name) == holders)
    }

    @Test func `a number that is put back gives the key to nobody who was not given the newer one`() throws {
        let outcast = try Outcast(), scene = try outcast.scene.get()
        for place in 0..<3 { #expect(try token(scene, place)) }
        // As it was while it belonged to the group, and somebody whom it proves by the key of that time.
        var changes = outcast.former.filter { !$0.key.contains("/a/") }
            .map { ClusterTransaction.Change.put($0.key, $0.value) }
        let evil = try outcast.accomplice(provenBy: outcast.formerKey, KeyEpoch.firstNumber)
        changes.append(.put(World.path + "hosts/evil", evil.encoded))
        try outcast.put(changes)
        for place in 0..<3 {
            let error = refusal(scene, place)
            #expect(error?.code == .storeUnavailable)
            #expect(error?.hint == "credmgr groups expel default spare --fingerprint \(try outcast.fingerprint)")
        }
        try expel("spare", scene)
        try checkMended(scene)
    }

    @Test func `an older number that names whom it should counts for nothing`() throws {
        let outcast = try Outcast(), scene = try outcast.scene.get(), newest = try scene.newest
        for place in 0..<3 { #expect(try token(scene, place)) }
        let evil = try outcast.accomplice(provenBy: outcast.formerKey, KeyEpoch.firstNumber)
        let forged = KeyEpoch(
            number: KeyEpoch.firstNumber, expelled: newest.expelled,
            hosts: try ["one", "two", "three"].map { try outcast.host($0).whenGivenKey } + [evil.whenGivenKey])
        try outcast.put([.put(World.path + "epoch", forged.encoded), .put(World.path + "hosts/evil", evil.encoded)])
        for place in 0..<3 {
            let error = refusal(scene, place)
            #expect(error?.code == .storeUnavailable)
            #expect(error?.hint?.contains("credmgr groups expel default spare --fingerprint") == true)
        }
        try expel("spare", scene)
        try checkMended(scene)
    }

    @Test func `nothing is sealed by a key of its own`() throws {
        for isLinked in [false, true] {
            let outcast = try Outcast(), scene = try outcast.scene.get(), newest = try scene.newest
            for place in 0..<3 { #expect(try token(scene, place)) }
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
                let error = refusal(scene, place)
                #expect(error?.code == .storeUnavailable)
                #expect(error?.message.contains("made by nobody whom this host knows") == true)
            }
            try expel("spare", scene)
            try checkMended(scene)
        }
    }

    @Test func `what is said then takes nobody out who has come under its name since`() throws {
        let outcast = try Outcast(), scene = try outcast.scene.get()
        let newcomer = SimulatedHost("spare", scene.world)
        scene.world.hosts.append(newcomer)
        let one = scene.run.hosts[0].process().ports.sharing.membership
        let asked = try newcomer.join(newcomer.process(), takesOver: false)
        try one.admit("spare", fingerprint: asked.fingerprint, to: World.group)
        let holders = ["one", "spare", "three", "two"]
        #expect(try scene.holders == holders)
        for place in 0..<3 { #expect(try token(scene, place)) }
        // The number of a key that nobody of the group has made.
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
        #expect(refusal(scene, 1)?.hint?.contains(command) == true)
        let other = #expect(throws: CredentialError.self) {
            try one.expel("spare", fingerprint: "0000-1111", from: World.group)
        }
        #expect(other?.code == .denied && other?.message.contains(asked.fingerprint) == true)
        let expulsion = try one.expel("spare", fingerprint: fingerprint.uppercased(), from: World.group)
        #expect(expulsion.hosts == [Expulsion.Host(name: "spare", user: "spare", sharesUserWith: "spare")])
        try checkMended(scene, holders)
        #expect(try scene.run.token(newcomer.process(), force: true).refreshed)
        // Whoever is meant, and nobody of the name, is a host of the group no more.
        let again = #expect(throws: CredentialError.self) {
            try one.expel("spare", fingerprint: fingerprint, from: World.group)
        }
        #expect(again?.code == .denied)
        _ = try one.expel("spare", fingerprint: asked.fingerprint, from: World.group)
        try checkMended(scene)
    }

    @Test(arguments: ["nothing that opens", "a key that is none"])
    func `what it gives the others in place of a key keeps nobody from making one`(_ given: String) throws {
        let outcast = try Outcast(), scene = try outcast.scene.get(), newest = try scene.newest
        for place in 0..<3 { #expect(try token(scene, place)) }
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
        for place in 0..<3 {
            let error = refusal(scene, place)
            #expect(error?.code == .storeUnavailable)
            #expect(error?.hint?.contains("credmgr groups expel default spare --fingerprint") == true)
        }
        try expel("spare", scene)
        try checkMended(scene)
    }

    @Test(arguments: [true, false])
    func `where it gives nobody the key that it puts there the others leave with what they have`(
        areNamed: Bool
    ) throws {
        let outcast = try Outcast(), scene = try outcast.scene.get(), newest = try scene.newest
        for place in 0..<3 { #expect(try token(scene, place)) }
        let evil = try outcast.accomplice(provenBy: outcast.formerKey, KeyEpoch.firstNumber)
        let members = areNamed ? try ["one", "two", "three"].map { try outcast.host($0) } : []
        let forged = KeyEpoch(
            number: newest.number + 1, expelled: newest.expelled,
            hosts: (members + [evil]).map(\.whenGivenKey))
        try outcast.put([
            .put(World.path + "epoch", forged.encoded),
            .put("\(World.path)keys/\(forged.number)/evil", Array("theirs".utf8)),
        ])
        #expect(refusal(scene, 1)?.code == .storeLocked)
        // No host can tell that from an expel that has taken it out.
        let refused = #expect(throws: CredentialError.self) { try expel("spare", scene) }
        #expect(refused?.code == .storeLocked)
        var taken: [TokenSet] = []
        try scene.run.hosts[1].process().ports.sharing.membership.leave(World.group) {
            (_, _) throws(CredentialError) in
        } take: { (sets, _) throws(CredentialError) in
            taken = sets
        }
        #expect(taken.map(\.account.id) == [scene.account])
    }

    @Test func `what the hosts have begun with is known, and proven anew where the cluster was put back`() throws {
        let outcast = try Outcast(), scene = try outcast.scene.get()
        for place in 0..<3 { #expect(try token(scene, place)) }
        try outcast.put(
            outcast.former.filter { !$0.key.contains("/a/") }.map { .put($0.key, $0.value) })
        let two = scene.run.hosts[1].process().ports.sharing.membership
        _ = try two.expel("spare", from: World.group)
        try checkMended(scene)
        for place in 0..<3 {
            let findings = scene.run.hosts[place].process().ports.sharing.membership.findings(of: World.group)
            #expect(findings.allSatisfy { $0.error == nil })
        }
    }

    @Test func `whose key in the cluster was changed is told to be let in anew by the others`() throws {
        let scene = try SharedScene()
        #expect(try token(scene, 1))
        try expel("spare", scene)
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
                "where the other hosts of the group go on, on one of them: credmgr groups expel default two; ")
                == true)
    }

    @Test func `who is expelled while it expels another makes no key, though its name has come again`() throws {
        let scene = try SharedScene(), process = scene.run.hosts[2].process()
        let newcomer = SimulatedHost("three", scene.world)
        scene.world.hosts.append(newcomer)
        process.trace.act(before: "cluster.read") {
            process.trace.act(before: "cluster.read") {
                #expect(throws: Never.self) {
                    try expel("three", scene)
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

    @Test func `an older key that is put back proves nothing to who has read of a newer one`() throws {
        let outcast = try Outcast(), scene = try outcast.scene.get(), newest = try scene.newest
        let process = scene.run.hosts[0].process(), two = scene.run.hosts[1]
        let theirs = try outcast.standing(agreeing: 30)
        // Between the look at the group and the change.
        process.trace.act(before: "cluster.read") {
            process.trace.act(before: "cluster.read") { try? outcast.put(theirs) }
        }
        let refused = #expect(throws: CredentialError.self) {
            try process.ports.sharing.membership.change(World.group, cacheSeconds: 50, takeOverSeconds: nil)
        }
        #expect(refused?.code == .storeUnavailable)

        // The second host reads of the newer key, and has none.
        try outcast.put([
            .put(World.path + "epoch", newest.encoded), .remove("\(World.path)keys/\(newest.number)/two"),
        ])
        let locked = #expect(throws: CredentialError.self) { try two.process().ports.sharing.check(World.group) }
        #expect(locked?.code == .storeLocked)
        try outcast.put(theirs)
        _ = try two.process().ports.sharing.membership.expel("spare", from: World.group)
        try checkMended(scene)
        for place in 0..<3 {
            let backend = try scene.run.hosts[place].process().ports.sharing.backend(of: World.group)
            #expect(backend?.takeOverSeconds == nil)
        }
    }

    @Test func `who stands there with the key of another goes out without it`() throws {
        let outcast = try Outcast(), scene = try outcast.scene.get(), holders = ["one", "three", "two"]
        for place in 0..<3 { #expect(try token(scene, place)) }
        let two = try outcast.host("two")
        var evil = GroupHost(name: "evil", publicKey: two.publicKey, joinedAt: two.joinedAt)
        evil.admission = two.admission
        evil.user = "three"
        try outcast.put([.put(World.path + "hosts/evil", evil.encoded)])
        let expulsion = try scene.run.hosts[0].process().ports.sharing.membership.expel("evil", from: World.group)
        // Nobody's role is to be taken away: not that of whose key it has, nor of whose name.
        #expect(expulsion.hosts == [Expulsion.Host(name: "evil", user: nil)])
        try checkMended(scene, holders)
        #expect(!(try scene.newest.has(two.whenExpelled)))
    }

    @Test func `what an expelled host has the others agree on counts for nothing`() throws {
        let outcast = try Outcast(), scene = try outcast.scene.get(), place = World.path + "group"
        func sharing(_ place: Int) -> any GroupSharing { scene.run.hosts[place].process().ports.sharing }
        func agreed(_ place: Int) throws -> GroupSettings? { try sharing(place).backend(of: World.group)?.settings }
        func finding() -> GroupFinding? {
            sharing(1).membership.findings(of: World.group).first { $0.check == "settings" }
        }
        var ours = GroupSettings(), theirs = GroupSettings()
        (ours.cacheSeconds, theirs.cacheSeconds, theirs.takeOverSeconds) = (50, 86_400, 30)
        try sharing(0).membership.change(World.group, cacheSeconds: 50, takeOverSeconds: nil)
        for place in 0..<3 {
            #expect(try token(scene, place))
            #expect(try agreed(place) == ours)
        }
        #expect(finding() == nil)
        let facts = try GroupFacts(try #require(scene.world.cluster.content.records[place]))
        // Proven by the key that it had, and as if that were the newest; and not at all.
        var forged = try [KeyEpoch.firstNumber, scene.newest.number].map { epoch in
            try facts.encoded(agreeing: theirs, outcast.wrap, key: outcast.formerKey, epoch: epoch)
        }
        var unproven = try #require(try JSONValue.parse(forged[0]).object)
        unproven["agreed"] = nil
        forged.append(JSONValue.object(unproven).bytes())
        for content in forged {
            try outcast.put([.put(place, content)])
            for place in 0..<3 {
                #expect(try token(scene, place))
                #expect(try agreed(place) == ours)
            }
            #expect(finding()?.error?.code == .problemsFound)
            #expect(
                finding()?.error?.hint?.hasSuffix(
                    "credmgr groups share default --cache-ttl 50 --take-over never") == true)
        }
        // The next key goes with what they agree on, and so does whoever puts that back.
        try expel("three", scene)
        #expect(finding() == nil)
        try outcast.put([.put(place, forged[0])])
        try sharing(1).membership.change(World.group, cacheSeconds: 40, takeOverSeconds: nil)
        ours.cacheSeconds = 40
        for place in 0..<2 {
            #expect(try token(scene, place))
            #expect(try agreed(place) == ours)
        }
        #expect(finding() == nil)
    }

    @Test func `what cannot be taken away of an expelled host is said, and that it is out`() throws {
        let scene = try SharedScene(), process = scene.run.hosts[0].process(), trace = process.trace
        let silence = CredentialError(.temporary, "the cluster does not answer")
        // First the expel, then what takes the old keys away.
        trace.act(before: "cluster.commit") {
            trace.act(before: "cluster.commit") {
                trace.fail("cluster.commit", with: silence)
                trace.act(before: "cluster.read") { trace.heal() }
            }
        }
        let expulsion = try process.ports.sharing.membership.expel("spare", from: World.group)
        #expect(expulsion.hosts == [Expulsion.Host(name: "spare", user: "spare")])
        #expect(expulsion.leftover?.code == .temporary && expulsion.unsealed.isEmpty)
        #expect(try scene.holders == ["one", "three", "two"])
        for place in 0..<3 { #expect(try token(scene, place)) }
    }

    @Test func `who was expelled is out though nothing could be sealed anew, and a refresh does that later`() throws
    {
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
        #expect(try GroupSeal.epoch(of: before) == KeyEpoch.firstNumber)
        #expect(try token(scene, 1))
        let after = try #require(scene.world.cluster.content.records[key])
        #expect(try GroupSeal.epoch(of: after) == scene.newest.number)
        #expect(try scene.holders == ["one", "three", "two"])
    }

    @Test func `who has missed some keys takes the newest, also from a host that came meanwhile`() throws {
        let scene = try SharedScene(), newcomer = SimulatedHost("new", scene.world)
        scene.world.hosts.append(newcomer)
        #expect(try token(scene, 1))
        try expel("spare", scene)
        let asked = try newcomer.join(newcomer.process(), takesOver: false)
        try scene.run.hosts[0].process().ports.sharing.membership.admit(
            "new", fingerprint: asked.fingerprint, to: World.group)
        // The second host has not looked since, and knows neither the newcomer nor the key that it was let in by.
        _ = try newcomer.process().ports.sharing.membership.expel("three", from: World.group)
        #expect(try scene.holders == ["new", "one", "two"])
        for place in 0..<2 { #expect(try token(scene, place)) }
    }
}
