import CredentialCore
import Synchronization
import TestPorts
import Testing

@testable import SharedGroups
@testable import Simulation

/// The membership of a group, on the simulated ports and without faults: clusters that were restored, hosts that
/// leave and come.
struct ClusterGroupServiceTests {
    private func membership(_ host: SimulatedHost) -> any GroupMembershipService {
        host.process().ports.sharing.membership
    }

    private func names(_ scene: SharedScene) throws -> [String] { try scene.link.membership.hosts().map(\.name) }

    // MARK: Expelling

    @Test func `an unknown host name is reported with those of the group`() throws {
        let scene = try SharedScene(), before = scene.world.cluster.content.revision
        let error = #expect(throws: CredentialError.self) {
            try membership(scene.run.hosts[0]).expel("thre", from: World.group)
        }
        #expect(error?.code == .noSuchAccount)
        #expect(error?.message.contains("thre; its hosts are one, spare, three, two") == true)
        #expect(scene.world.cluster.content.revision == before)
    }

    @Test func `an expel by another host is remembered, even if it was read for a lost answer`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], two = scene.run.hosts[1], process = one.process()
        let snapshot = scene.world.cluster.content
        process.trace.act(before: "cluster.commit") {
            _ = try? two.process().ports.sharing.membership.expel("three", from: World.group)
            process.trace.fail("cluster.commit", with: CredentialError(.temporary, "the cluster does not answer"))
            process.trace.act(before: "cluster.read") { process.trace.heal() }
        }
        let lost = #expect(throws: CredentialError.self) {
            try process.ports.sharing.membership.expel("spare", from: World.group)
        }
        #expect(lost?.code == .temporary)
        scene.world.cluster.restore(snapshot)
        let refused = #expect(throws: CredentialError.self) { try scene.run.token(one.process(), force: true) }
        #expect(refused?.code == .storeUnavailable)
        #expect(refused?.message.contains("before three was removed") == true)
    }

    @Test func `one expel after a restore removes all hosts that were expelled before it`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], two = scene.run.hosts[1]
        let snapshot = scene.world.cluster.content
        _ = try membership(one).expel("spare", from: World.group)
        _ = try membership(one).expel("three", from: World.group)
        scene.world.cluster.restore(snapshot)
        let refused = #expect(throws: CredentialError.self) { try scene.run.token(one.process(), force: true) }
        #expect(refused?.code == .storeUnavailable)
        #expect(refused?.message.contains("before spare, three was removed") == true)
        #expect(refused?.hint?.hasPrefix("credmgr groups expel default spare --fingerprint ") == true)
        let mistyped = #expect(throws: CredentialError.self) {
            try membership(one).expel("thre", from: World.group)
        }
        #expect(mistyped?.code == .noSuchAccount)
        _ = try membership(one).expel("three", from: World.group)
        #expect(try names(scene) == ["one", "two"])
        #expect(try scene.holders == ["one", "two"])
        for host in [one, two] { #expect(try scene.run.token(host.process(), force: true).refreshed) }
        for place in [2, 3] {
            let error = #expect(throws: CredentialError.self) {
                try scene.run.hosts[place].process().ports.sharing.check(World.group)
            }
            #expect(error?.code == .storeLocked)
        }
    }

    @Test func `a host that was seen to be expelled gets no new key, even if the cluster is restored first`()
        throws
    {
        let scene = try SharedScene(), one = scene.run.hosts[0], two = scene.run.hosts[1], process = one.process()
        let snapshot = scene.world.cluster.content, isExpelled = Mutex(false)
        process.trace.act(before: "cluster.commit") {
            let failed = try? two.process().ports.sharing.membership.expel("spare", from: World.group)
            isExpelled.withLock { $0 = failed?.unsealed.isEmpty == true }
            // Overtaken, it has read that, and is about to try again.
            process.trace.act(before: "cluster.list") { scene.world.cluster.restore(snapshot) }
        }
        _ = try process.ports.sharing.membership.expel("three", from: World.group)
        #expect(isExpelled.withLock { $0 })
        #expect(try names(scene) == ["one", "two"])
        #expect(try scene.run.token(two.process(), force: true).refreshed)
    }

    @Test func `a host that expels another remembers the expels it has read, at every restore of the cluster`()
        throws
    {
        var number = 1, isReached = true
        while isReached {
            for later in 1...3 {
                let scene = try SharedScene(), two = scene.run.hosts[1], snapshot = scene.world.cluster.content
                let process = scene.run.hosts[0].process()
                process.trace.act(at: number, .before) {
                    _ = try? two.process().ports.sharing.membership.expel("spare", from: World.group)
                }
                process.trace.act(at: number + later, .before) {
                    scene.world.cluster.restore(snapshot)
                    scene.world.wasRestored = true
                }
                _ = try? process.ports.sharing.membership.expel("three", from: World.group)
                #expect(scene.world.problems == [], "calls \(number) and \(number + later)")
                isReached = process.trace.calls.count >= number
            }
            number += 1
        }
        #expect(number > 2)
    }

    @Test func `a host that admits another gives no key to one that it has read as expelled, restored or not`()
        throws
    {
        var number = 1, isReached = true
        while isReached {
            for later in 1...20 {
                let scene = try SharedScene(), two = scene.run.hosts[1], four = SimulatedHost("four", scene.world)
                scene.world.hosts.append(four)
                let asked = try four.join(four.process(), takesOver: false)
                let snapshot = scene.world.cluster.content, process = scene.run.hosts[0].process()
                process.trace.act(at: number, .before) {
                    _ = try? two.process().ports.sharing.membership.expel("four", from: World.group)
                }
                process.trace.act(at: number + later, .before) {
                    scene.world.cluster.restore(snapshot)
                    scene.world.wasRestored = true
                }
                _ = try? process.ports.sharing.membership.admit(
                    "four", fingerprint: asked.fingerprint, to: World.group)
                #expect(scene.world.problems == [], "calls \(number) and \(number + later)")
                isReached = process.trace.calls.count >= number
            }
            number += 1
        }
        #expect(number > 2)
    }

    @Test func `an expelled host that is no longer listed can be expelled again`() throws {
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
        // The other host has not looked since, and makes the next key to remove a different host.
        _ = try membership(two).expel("three", from: World.group)
        let refused = #expect(throws: CredentialError.self) { try scene.run.token(one.process(), force: true) }
        #expect(refused?.code == .storeUnavailable && refused?.message.contains("spare") == true)
        _ = try membership(one).expel("spare", from: World.group)
        #expect(try names(scene) == ["one", "two"])
        // The record that the first host had copied under its own key is restored.
        for host in [one, two] { try host.process().ports.sharing.catchUp(World.group, unlessWithin: 0) }
        #expect(scene.standing == known[scene.account]?.refreshToken?.description)
        for host in [two, one] { #expect(try scene.run.token(host.process(), force: true).refreshed) }
    }

    // MARK: Coming

    @Test func `a host that is admitted after an expel that ended half-way reads everything`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        try scene.link.membership.expel("spare", by: ("one", try scene.link.hostKey()), scene.link)
        let four = SimulatedHost("four", scene.world)
        scene.world.hosts.append(four)
        let asked = try four.join(four.process(), takesOver: false)
        try membership(one).admit("four", fingerprint: asked.fingerprint, to: World.group)
        #expect(try scene.run.token(four.process(), force: true).refreshed)
    }

    @Test func `a host that is admitted while an expel ends half-way reads everything`() throws {
        var number = 1
        while true {
            let scene = try SharedScene(), two = scene.run.hosts[1], four = SimulatedHost("four", scene.world)
            scene.world.hosts.append(four)
            let asked = try four.join(four.process(), takesOver: false)
            let expels = try #require(two.process().ports.sharing as? ClusterGroupService).sharedLink(World.group)
            // Between any two calls of the one that admits.
            let admits = scene.run.hosts[0].process()
            admits.trace.act(at: number, .before) {
                #expect(throws: Never.self) {
                    try expels.membership.expel("spare", by: ("two", try expels.hostKey()), expels)
                }
            }
            try admits.ports.sharing.membership.admit("four", fingerprint: asked.fingerprint, to: World.group)
            guard admits.trace.calls.count >= number else { break }
            let answer = try? scene.run.token(four.process(), force: true)
            #expect(answer?.refreshed == true, "call \(number)")
            number += 1
        }
        #expect(number > 1)
    }

    @Test(arguments: [true, false]) func `two processes that are given a key at once both have it`(isFirst: Bool)
        throws
    {
        var number = 1, isReached = true
        while isReached {
            let scene = try SharedScene(), two = scene.run.hosts[1]
            if !isFirst {
                #expect(try scene.run.token(two.process(), force: true).refreshed)
                _ = try membership(scene.run.hosts[0]).expel("spare", from: World.group)
            }
            let process = two.process(), other = two.process()
            process.trace.act(at: number, .before) { _ = try? scene.run.token(other, force: true) }
            #expect(throws: Never.self, "call \(number)") {
                try process.ports.sharing.catchUp(World.group, unlessWithin: 0)
            }
            isReached = process.trace.calls.count >= number
            number += 1
        }
        #expect(number > 5)
    }

    @Test func `a failed join by passphrase leaves no record`() throws {
        let scene = try SharedScene(), four = SimulatedHost("four", scene.world)
        func refused(_ passphrase: String) -> ErrorCode? {
            #expect(throws: CredentialError.self) {
                try membership(four).join(
                    World.group, four.backend(takesOver: false), passphrase: Secret(passphrase))
            }?.code
        }
        let before = scene.world.cluster.content.revision
        #expect(refused("open sesame") == .unsupported)
        #expect(scene.world.cluster.content.revision == before)
        try putPassphrase("open sesame", scene)
        #expect(refused("open barley") == .denied)
        // A host with another group's fingerprint does not join either.
        var backend = four.backend(takesOver: false)
        backend.groupFingerprint = "0000-0000-0000-0000-0000-0000-0000-0000"
        let other = #expect(throws: CredentialError.self) {
            try membership(four).join(World.group, backend, passphrase: Secret("open sesame"))
        }
        #expect(other?.code == .denied)
        #expect(try !names(scene).contains("four"))
        // Another machine has the name then; who has asked before still waits.
        let twin = SimulatedHost("four", scene.world)
        _ = try twin.join(twin.process(), takesOver: false)
        #expect(refused("open sesame") == .usage)
        let wrong = #expect(throws: CredentialError.self) {
            try membership(twin).join(
                World.group, twin.backend(takesOver: false), passphrase: Secret("open barley"))
        }
        #expect(wrong?.code == .denied)
        #expect(try names(scene).contains("four"))
        let host = try membership(twin).join(
            World.group, twin.backend(takesOver: false), passphrase: Secret("open sesame"))
        #expect(host.isAdmitted)
        #expect(try scene.run.token(twin.process(), force: true).refreshed)
    }

    @Test func `a host that shares a group again gets the settings of the second request`() throws {
        let scene = try SharedScene(), four = SimulatedHost("four", scene.world), path = "/elsewhere/default/"
        var backend = four.backend(takesOver: false)
        backend.prefix = "/elsewhere"
        func share(_ passphrase: String?, _ cacheSeconds: Int64, _ takeOverSeconds: Int64?) throws {
            backend.cacheSeconds = cacheSeconds
            backend.takeOverSeconds = takeOverSeconds
            _ = try membership(four).share(World.group, backend, [], passphrase: passphrase.map { Secret($0) })
            let record = try #require(scene.world.cluster.content.records[path + "group"])
            #expect(try GroupFacts(record).settings == backend.settings)
            let isThere = scene.world.cluster.content.records[path + "keys/1/-passphrase"] != nil
            #expect(isThere == (passphrase != nil))
            // It ended before it had written down that the group is shared.
            four.files[ClusterConfiguration.fileName] = nil
        }
        func join(by passphrase: String) -> ErrorCode? {
            let five = SimulatedHost("five", scene.world)
            var own = five.backend(takesOver: false)
            own.prefix = backend.prefix
            do throws(CredentialError) {
                _ = try membership(five).join(World.group, own, passphrase: Secret(passphrase))
                return nil
            } catch { return error.code }
        }
        try share("open sesame", 60, nil)
        try share(nil, 5, 600)
        try share("open barley", 50, nil)
        #expect(join(by: "open sesame") == .denied)
        #expect(join(by: "open barley") == nil)
        // Others belong to it now.
        #expect(throws: CredentialError.self) { try share(nil, 5, 600) }
    }

    /// Gives the group a passphrase.
    private func putPassphrase(_ text: String, _ scene: SharedScene) throws {
        let epoch = try scene.link.currentEpoch()
        let wrapped = try scene.link.membership.wrap(scene.link.backend.groupID).wrap(
            try scene.link.key(ofEpoch: epoch), by: Secret(text), epoch: epoch)
        var transaction = ClusterTransaction()
        transaction.changes = [.put("\(World.path)keys/\(epoch)/-passphrase", wrapped)]
        scene.world.cluster.apply(transaction)
    }

    @Test func `a host that rejoins under its name does not wait for its earlier refresh`() throws {
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

    // MARK: What a host knows

    @Test func `a host that failed to read a group has not seen that it is empty`() throws {
        let scene = try SharedScene(), host = scene.run.hosts[2], stamp = "looked"
        let sharing = try #require(host.process().ports.sharing as? ClusterGroupService)
        var parts = sharing.parts
        parts.connect = { _, _ throws(CredentialError) in throw CredentialError(.temporary, "no node answers") }
        let silent = ClusterGroupService(parts)
        func looks(_ sharing: ClusterGroupService) throws -> Bool {
            try sharing.catchUp(World.group, unlessWithin: .max)
        }
        host.files[stamp] = nil
        for _ in 0..<2 {
            _ = try SharedAccountRecords(silent).index(of: World.group, .none)
            #expect(throws: CredentialError.self) { try looks(silent) }
        }
        #expect(try looks(sharing))
        #expect(try !looks(silent))
        // If the copies serve, the cluster is not tried for each look.
        let before = host.files[stamp]
        scene.world.milliseconds += 120_000
        _ = try SharedAccountRecords(silent).index(of: World.group, .none)
        #expect(host.files[stamp] != before)
    }

    @Test func `an unanswered write that is not there yet is not reported as unwritten`() throws {
        let scene = try SharedScene(), sharing = try #require(scene.process.ports.sharing as? ClusterGroupService)
        let cluster = LosingCluster(scene.process)
        var parts = sharing.parts
        parts.connect = { _, _ in cluster }
        let records = SharedAccountRecords(ClusterGroupService(parts))
        var record = try #require(try records.read(scene.account, in: World.group))
        record.account.label = "later"
        cluster.loses = true
        guard case .unknown(let error) = try records.write(record, expecting: record.generation) else {
            Issue.record("it is said to be written, or not")
            return
        }
        #expect(error.code == .temporary)
        try cluster.applyLate()
        #expect(
            try scene.link.cluster.list(World.path + "a/").compactMap { SimulatedCluster.tokenSet($0.value) }.map(
                \.account.label) == ["later"])
    }

    @Test func `a revision that comes again is not taken for the record that was read`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0].process()
        let snapshot = scene.world.cluster.content
        #expect(try scene.run.token(one, force: true).refreshed)
        let read = try #require(try one.ports.records.read(scene.account, in: World.group))
        scene.world.cluster.restore(snapshot)
        let key = scene.link.keys(scene.account).set
        let older = try scene.link.seal.open(try #require(scene.world.cluster.content.records[key]))
        // Another host changes it since, and the numbers of the changes are those of before.
        while let record = scene.world.cluster.content.records[key], record.revision < read.generation {
            var transaction = ClusterTransaction()
            transaction.changes = [
                .put(key, try scene.link.seal.seal(older, at: key, epoch: try scene.link.currentEpoch()))
            ]
            scene.world.cluster.apply(transaction)
        }
        let now = try #require(scene.world.cluster.content.records[key])
        try #require(now.revision == read.generation && now.value != read.sealed?.bytes)
        guard
            case .overtaken = try one.ports.records.remove(
                scene.account, in: World.group, expecting: read.generation),
            case .overtaken = try one.ports.records.write(read, expecting: read.generation)
        else {
            Issue.record("it was changed")
            return
        }
        #expect(scene.world.cluster.content.records[key] == now)
    }

    @Test func `a token refreshed by another process survives an older read, and a restore of the cluster`() throws
    {
        var number = 1
        while true {
            let scene = try SharedScene(), one = scene.run.hosts[0], snapshot = scene.world.cluster.content
            // Between any two calls of the one that looks.
            let looks = one.process()
            looks.trace.act(at: number, .before) {
                #expect(throws: Never.self) { try scene.run.token(one.process(), force: true) }
                scene.world.cluster.restore(snapshot)
            }
            _ = try looks.ports.records.read(scene.account, in: World.group)
            guard looks.trace.calls.count >= number else { break }
            try one.process().ports.sharing.catchUp(World.group, unlessWithin: 0)
            #expect(scene.standing == "r-0-2", "call \(number)")
            number += 1
        }
        #expect(number > 1)
    }

    @Test func `two processes that learn of two expelled hosts at once remember both`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        let hosts = [1, 2].map { RevokedHost(name: "gone\($0)", publicKey: [UInt8](repeating: $0, count: 32)) }
        // The links of two processes of one machine, one of which comes between any two calls of the other.
        var number = 1
        while true {
            one.files = one.files.filter { !$0.key.hasPrefix("expelled") }
            let process = one.process()
            let link = try #require(process.ports.sharing as? ClusterGroupService).sharedLink(World.group)
            let other = try #require(one.process().ports.sharing as? ClusterGroupService).sharedLink(World.group)
            process.trace.act(at: process.trace.calls.count + number, .before) {
                _ = try? other.forgotten(by: KeyEpoch(number: 2, expelled: [hosts[1]]))
            }
            _ = try link.forgotten(by: KeyEpoch(number: 3, expelled: [hosts[0]]))
            let known = try link.remembered()
            // The last one comes when all is done.
            if known.expelled == [hosts[0]] { break }
            #expect(Set(known.expelled) == Set(hosts) && known.number == 3, "call \(number)")
            number += 1
        }
        #expect(number > 1)
    }
}
