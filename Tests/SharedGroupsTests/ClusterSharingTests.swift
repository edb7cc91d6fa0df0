import CredentialCore
import Synchronization
import TestPorts
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

    @Test func `who was seen to be expelled gets no new key, though the cluster is put back before there is one`()
        throws
    {
        let scene = try SharedScene(), one = scene.run.hosts[0], two = scene.run.hosts[1], process = one.process()
        let snapshot = scene.world.cluster.content, isExpelled = Mutex(false)
        process.trace.act(before: "cluster.commit") {
            let failed = try? two.process().ports.sharing.membership.expel("spare", from: World.group)
            isExpelled.withLock { $0 = failed?.isEmpty == true }
            // Overtaken, it has read that, and is about to try again.
            process.trace.act(before: "cluster.list") { scene.world.cluster.restore(snapshot) }
        }
        _ = try process.ports.sharing.membership.expel("three", from: World.group)
        #expect(isExpelled.withLock { $0 })
        #expect(try names(scene) == ["one", "two"])
        #expect(try scene.run.token(two.process(), force: true).refreshed)
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

    @Test(arguments: [ErrorCode.denied, .storeUnavailable, .storeLocked, .storeDamaged, .temporary])
    func `who is let read nothing has not left, and forgets nothing`(code: ErrorCode) throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], standing = scene.standing
        for name in ["two", "three", "spare"] { _ = try membership(one).expel(name, from: World.group) }
        let before = (one.files, scene.world.cluster.content.revision), process = one.process()
        process.trace.fail("cluster.read", with: CredentialError(code, "no"))
        let refused = #expect(throws: CredentialError.self) {
            try process.ports.sharing.membership.leave(World.group) { (_, _) throws(CredentialError) in
            } take: { (_, _) throws(CredentialError) in
                Issue.record("nothing is taken along")
            }
        }
        #expect(refused?.code == code)
        #expect(one.files == before.0 && scene.world.cluster.content.revision == before.1)
        let (sets, isLast) = try leave(one)
        #expect(isLast && sets.map { $0.refreshToken?.description } == [standing])
    }

    /// A group of one host, the first one.
    private func alone() throws -> SharedScene {
        let scene = try SharedScene()
        for name in ["two", "three", "spare"] {
            _ = try membership(scene.run.hosts[0]).expel(name, from: World.group)
        }
        return scene
    }

    @Test func `what a keyring has refused is not kept, and the next leave goes on`() throws {
        let scene = try alone(), one = scene.run.hosts[0], standing = scene.standing
        one.machine.breakStore(.secretService, with: CredentialError(.cancelled, "the prompt was dismissed"))
        for _ in 0..<2 {
            let refused = #expect(throws: CredentialError.self) {
                try one.process().services.groupMove.leave(World.group, keepingIn: .secretService)
            }
            #expect(refused?.code == .cancelled)
            #expect(
                refused?.message.contains("\(scene.account) (the prompt was dismissed); the cluster has it") == true
            )
            #expect(refused?.hint == "credmgr groups leave default --keep")
            #expect(scene.standing == standing)
        }
        one.machine.breakStore(.secretService, with: nil)
        let left = one.process(),
            (kept, wasLast) = try left.services.groupMove.leave(
                World.group, keepingIn: .secretService)
        #expect(kept == 1 && wasLast && scene.standing == nil && one.files.isEmpty)
        let account = try #require(try left.ports.records.account(scene.account, in: World.group))
        let set = try left.services.repository.read(account, in: World.group, isLocked: true)
        #expect(account.store == .secretService && set?.refreshToken?.description == standing)
    }

    @Test func `nobody is sent to a sign-in, nor to anything of the cluster, between the two halves of a leave`()
        throws
    {
        let scene = try alone(), one = scene.run.hosts[0]
        one.machine.breakStore(.secretService, with: CredentialError(.cancelled, "the prompt was dismissed"))
        #expect(throws: CredentialError.self) {
            try one.process().services.groupMove.leave(World.group, keepingIn: .secretService)
        }
        one.machine.breakStore(.secretService, with: nil)
        let process = one.process(), sharing = process.ports.sharing, isSent = Mutex(false)
        func refused(_ body: () throws -> Void) {
            let error = #expect(throws: CredentialError.self) { try body() }
            #expect(error?.code == .storeLocked && error?.hint == "credmgr groups leave default --keep")
            #expect(error?.message == "this host has not quite left the shared group default")
        }
        refused {
            try process.services.signIn.withRoom(in: World.group, of: .file) { isSent.withLock { $0 = true } }
        }
        #expect(!isSent.withLock { $0 })
        refused { _ = try sharing.membership.hosts(of: World.group) }
        refused { _ = try one.join(process, takesOver: false) }
        #expect(try process.services.groupMove.leave(World.group, keepingIn: .secretService).kept == 1)
        try process.services.signIn.withRoom(in: World.group, of: .file) { isSent.withLock { $0 = true } }
        #expect(isSent.withLock { $0 })
    }

    @Test func `nobody leaves with a sign-in that the cluster has not`() throws {
        let scene = try alone(), one = scene.run.hosts[0], process = one.process()
        let held = try process.services.machine.locks.lock("new-account", in: World.group, seconds: 1)
        let token = scene.world.provider.begin(), registration = Registration(provider: "https://p", clientID: "d")
        let kept = try one.process().keep(token, of: scene.world.type, registration)
        #expect(kept.isNew && kept.warnings.count == 1)
        held.release()
        // Somebody is at it just now.
        let lock = try process.services.machine.locks.lock(kept.account.id, in: World.group, seconds: 1)
        let before = (one.files, scene.world.cluster.content.revision)
        let refused = #expect(throws: CredentialError.self) {
            try one.process().services.groupMove.leave(World.group, keepingIn: .file)
        }
        #expect(refused?.code == .temporary)
        #expect(one.files == before.0 && scene.world.cluster.content.revision == before.1)
        lock.release()
        #expect(try one.process().services.groupMove.leave(World.group, keepingIn: .file).kept == 2)
        let left = one.process(),
            account = try #require(
                try left.ports.records.account(kept.account.id, in: World.group))
        let set = try left.services.repository.read(account, in: World.group, isLocked: true)
        #expect(set?.refreshToken?.description == "\(token)")
    }

    @Test func `a sign-in of a known account that had to wait is put into the cluster before its host leaves`()
        throws
    {
        for staysAlone in [true, false] {
            let scene = try staysAlone ? alone() : SharedScene(), one = scene.run.hosts[0], process = scene.process
            let account = try #require(try process.ports.records.account(scene.account, in: World.group))
            let lock = try process.services.machine.locks.lock(scene.account, in: World.group, seconds: 1)
            let token = scene.world.provider.begin()
            #expect(try one.process().keep(token, of: scene.world.type, account.registration).warnings.count == 1)
            let refused = #expect(throws: CredentialError.self) {
                try one.process().services.groupMove.leave(World.group, keepingIn: .file)
            }
            #expect(refused?.code == .temporary && one.files[GroupBackend.fileName] != nil)
            lock.release()
            #expect(try one.process().services.groupMove.leave(World.group, keepingIn: .file).kept == 1)
            if staysAlone {
                let set = try one.process().services.repository.read(account, in: World.group, isLocked: true)
                #expect(set?.refreshToken?.description == "\(token)")
            } else {
                #expect(scene.standing == "\(token)")
            }
            #expect(one.machine.journaled().isEmpty)
        }
    }

    @Test func `who goes on with leaving puts back first what it knows better`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        let snapshot = scene.world.cluster.content
        #expect(try scene.run.token(one.process(), force: true).refreshed)
        let newest = try #require(scene.standing)
        scene.world.cluster.restore(snapshot)
        #expect(try !scene.link.membership.tellLeaving("one", known: scene.link.known))
        #expect(scene.standing != newest)
        let early = #expect(throws: CredentialError.self) {
            try scene.refresh(over: one.process()) { SharedScene.issued("none", over: $0) }
        }
        #expect(early?.code == .storeLocked && early?.message == "this host, one, is leaving the group")
        #expect(try !leave(one).isLast)
        #expect(scene.standing == newest)
    }

    @Test func `who was kept and has signed out here does not come back when the leave goes on`() throws {
        let scene = try alone(), one = scene.run.hosts[0], before = one.process()
        let other = try before.keep(
            scene.world.provider.begin(), of: scene.world.type, Registration(provider: "https://p", clientID: "d"))
        // The keyring takes one of them, and then no more.
        let leaver = one.process(), ids = [scene.account, other.account.id]
        for number in 1...400 {
            leaver.trace.act(at: number, .before) {
                if one.machine.secrets().values.contains(where: { $0.contains(.secretService) }) {
                    one.machine.breakStore(.secretService, with: CredentialError(.cancelled, "dismissed"))
                }
            }
        }
        #expect(throws: CredentialError.self) {
            try leaver.services.groupMove.leave(World.group, keepingIn: .secretService)
        }
        one.machine.breakStore(.secretService, with: nil)
        let kept = ids.filter { one.machine.secrets()[$0]?.contains(.secretService) == true }
        #expect(kept.count == 1)
        let gone = try #require(kept.first)
        let person = try #require(try before.ports.records.account(gone, in: World.group))
        try one.process().services.signOut.forget(person, policy: nil, in: World.group) {
            (_) throws(CredentialError) in
        }
        #expect(try one.process().services.groupMove.leave(World.group, keepingIn: .secretService).kept == 1)
        #expect(one.machine.accounts().map(\.id) == ids.filter { $0 != gone })
        #expect(one.files.isEmpty)
    }

    @Test func `nor where the leave had ended before it was noted that the account is kept`() throws {
        let scene = try alone(), one = scene.run.hosts[0], leaver = one.process()
        // It ends at whatever it does next, once the keyring has the account.
        leaver.trace.act(before: "files.write") {
            leaver.trace.act(before: "files.write") { leaver.trace.end() }
        }
        #expect(throws: (any Error).self) {
            try leaver.services.groupMove.leave(World.group, keepingIn: .secretService)
        }
        #expect(one.machine.secrets()[scene.account]?.contains(.secretService) == true)
        #expect(!one.files.keys.contains("taken-\(scene.account)"))
        // The next run is stopped, too, and has seen that it is kept.
        let next = one.process()
        next.trace.act(before: "files.remove") {
            next.trace.act(before: "files.remove") { next.trace.end() }
        }
        _ = try? next.services.groupMove.leave(World.group, keepingIn: .secretService)
        #expect(one.files.keys.contains("taken-\(scene.account)"))
        let person = try #require(try one.process().ports.records.account(scene.account, in: World.group))
        try one.process().services.signOut.forget(person, policy: nil, in: World.group) {
            (_) throws(CredentialError) in
        }
        #expect(try one.process().services.groupMove.leave(World.group, keepingIn: .secretService).kept == 0)
        #expect(one.machine.accounts().isEmpty && one.files.isEmpty)
    }

    @Test func `what is not answered and not there yet is not said to be unwritten`() throws {
        let scene = try SharedScene(), sharing = try #require(scene.process.ports.sharing as? ClusterSharing)
        let cluster = LosingCluster(scene.process)
        var parts = sharing.parts
        parts.connect = { _ in cluster }
        let records = SharedAccountRecords(ClusterSharing(parts))
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

    @Test func `two processes that learn of two expelled hosts at once remember both`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        let hosts = [1, 2].map { ExpelledHost(name: "gone\($0)", publicKey: [UInt8](repeating: $0, count: 32)) }
        // The links of two processes of one machine, one of which comes between any two calls of the other.
        var number = 1
        while true {
            one.files = one.files.filter { !$0.key.hasPrefix("expelled") }
            let process = one.process()
            let link = try #require(process.ports.sharing as? ClusterSharing).sharedLink(World.group)
            let other = try #require(one.process().ports.sharing as? ClusterSharing).sharedLink(World.group)
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
