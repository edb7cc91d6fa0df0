import CredentialCore
import Synchronization
import TestPorts
import Testing

@testable import SharedGroups
@testable import Simulation

/// The token sets that a host takes along when it leaves a group, those that it restores first, and its refusals,
/// on the simulated ports.
struct LeavingHostTests {
    private func membership(_ host: SimulatedHost) -> any GroupMembershipService {
        host.process().ports.sharing.membership
    }

    /// The token sets that a host that leaves takes along, and whether it is the last.
    private func leave(_ host: SimulatedHost) throws -> (sets: [TokenSet], isLast: Bool) {
        var taken: (sets: [TokenSet], isLast: Bool) = ([], false)
        try membership(host).leave(World.group) { (_, _) throws(CredentialError) in
        } take: { (sets, isLast) throws(CredentialError) in
            taken = (sets, isLast)
        }
        return taken
    }

    @Test func `the last host takes along its records that are newer than a restored cluster`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        for name in ["two", "three", "spare"] { _ = try membership(one).expel(name, from: World.group) }
        let snapshot = scene.world.cluster.content
        #expect(try scene.run.token(one.process(), force: true).refreshed)
        let newest = try #require(scene.standing)
        scene.world.cluster.restore(snapshot)
        let (sets, isLast) = try leave(one)
        #expect(isLast && sets.map { $0.refreshToken?.description } == [newest])
    }

    @Test func `a host that leaves others behind first restores its newer records`() throws {
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

    @Test func `a host that was expelled before a restore does not stop another from being the last`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        for name in ["two", "three"] { _ = try membership(one).expel(name, from: World.group) }
        let snapshot = scene.world.cluster.content
        _ = try membership(one).expel("spare", from: World.group)
        scene.world.cluster.restore(snapshot)
        #expect(try leave(one).isLast)
    }

    @Test func `no host leaves with an answer that the cluster lacks`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], cluster = LosingCluster(scene.process)
        cluster.onRecorded = { cluster.loses = true }
        try scene.refresh(over: cluster) { SharedScene.issued("r-0-2", over: $0) }
        #expect(one.hasJournal)
        let before = (one.files, scene.world.cluster.content.revision)
        let refused = #expect(throws: CredentialError.self) { try leave(one) }
        #expect(refused?.code == .temporary)
        #expect(refused?.hint == "try again when the cluster accepts them: credmgr accounts --group default")
        #expect(one.files == before.0 && scene.world.cluster.content.revision == before.1)
        one.process().services.takeUpAnswers(in: World.group)
        #expect(try !leave(one).isLast)
        #expect(scene.standing == "r-0-2")
    }

    @Test(arguments: [ErrorCode.denied, .storeUnavailable, .storeLocked, .storeDamaged, .temporary])
    func `a host that may not read the group has not left, and forgets no account`(code: ErrorCode) throws {
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

    @Test func `an account that a keyring has refused is not kept, and the next leave resumes`() throws {
        let scene = try alone(), one = scene.run.hosts[0], standing = scene.standing
        one.machine.breakStore(.secretService, with: CredentialError(.cancelled, "the prompt was dismissed"))
        for _ in 0..<2 {
            let refused = #expect(throws: CredentialError.self) {
                try one.process().services.groupMove.leave(World.group, keepingIn: .secretService)
            }
            #expect(refused?.code == .cancelled)
            #expect(
                refused?.message.contains(
                    "\(scene.account) (the prompt was dismissed); the account is still in the cluster") == true
            )
            #expect(refused?.hint == "credmgr groups leave default --keep")
            #expect(scene.standing == standing)
        }
        one.machine.breakStore(.secretService, with: nil)
        let left = one.process()
        let ended = try left.services.groupMove.leave(World.group, keepingIn: .secretService)
        #expect(
            ended.kept == 1 && ended.wasLast && ended.departure.abandoned == nil && scene.standing == nil
                && one.files.isEmpty
        )
        let account = try #require(try left.ports.records.account(scene.account, in: World.group))
        let set = try left.services.repository.read(account, in: World.group, isLocked: true)
        #expect(account.store == .secretService && set?.refreshToken?.description == standing)
    }

    @Test func `no hint suggests a sign-in, or a command on the cluster, between the two steps of a leave`()
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
            #expect(error?.message == "this host has not finished leaving the shared group default")
        }
        refused {
            try process.services.signIn.withReservedSpace(in: World.group, of: .file) {
                isSent.withLock { $0 = true }
            }
        }
        #expect(!isSent.withLock { $0 })
        refused { _ = try sharing.membership.hosts(of: World.group) }
        refused { _ = try one.join(process, takesOver: false) }
        #expect(try process.services.groupMove.leave(World.group, keepingIn: .secretService).kept == 1)
        try process.services.signIn.withReservedSpace(in: World.group, of: .file) { isSent.withLock { $0 = true } }
        #expect(isSent.withLock { $0 })
    }

    @Test func `no host leaves with a sign-in that the cluster lacks`() throws {
        let scene = try alone(), one = scene.run.hosts[0], process = one.process()
        let held = try process.services.machine.locks.lock("new-account", in: World.group, seconds: 1)
        let token = scene.world.provider.begin(),
            registration = ClientIdentity(provider: "https://p", clientID: "d")
        let kept = try one.process().keep(token, of: scene.world.type, registration)
        #expect(kept.isNew && kept.warnings.count == 1)
        held.release()
        // Another process works on it just now.
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
            #expect(refused?.code == .temporary && one.files[ClusterConfiguration.fileName] != nil)
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

    @Test func `a host that resumes a leave first restores its newer records`() throws {
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

    @Test func `an account that was kept and then signed out here does not return when the leave resumes`() throws {
        let scene = try alone(), one = scene.run.hosts[0], before = one.process()
        let other = try before.keep(
            scene.world.provider.begin(), of: scene.world.type, ClientIdentity(provider: "https://p", clientID: "d")
        )
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

    @Test func `nor if the leave had ended before the kept account was noted`() throws {
        let scene = try alone(), one = scene.run.hosts[0], leaver = one.process()
        // Its next step ends it, once the keyring has the account.
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

    @Test func `the last host reports the records that it leaves behind if it has lost its key`() throws {
        let scene = try alone(), one = scene.run.hosts[0], process = one.process()
        let parts = try #require(process.ports.sharing as? ClusterGroupService).parts
        try GroupConnection.forgetKey(World.group, scene.link.backend.keyStore, parts)
        let ended = try process.services.groupMove.leave(World.group, keepingIn: .file)
        #expect(ended.kept == 0 && ended.departure.abandoned == OrphanedGroup(accounts: 1, path: World.path))
        #expect(scene.standing != nil && one.files.isEmpty)
    }

    @Test func `nor does it report them if others have the key`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], process = one.process()
        let parts = try #require(process.ports.sharing as? ClusterGroupService).parts
        try GroupConnection.forgetKey(World.group, scene.link.backend.keyStore, parts)
        #expect(try process.services.groupMove.leave(World.group, keepingIn: .file).departure.abandoned == nil)
        #expect(try scene.run.token(scene.run.hosts[1].process(), force: true).refreshed)
    }

    @Test func `a host that must leave first gets the command`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], process = one.process()
        func told(_ code: ErrorCode, _ body: () throws -> Void) {
            let error = #expect(throws: CredentialError.self) { try body() }
            #expect(error?.code == code && error?.hint == "credmgr groups leave default --keep")
        }
        told(.usage) { _ = try membership(one).expel("one", from: World.group) }
        // An account of this machine alone.
        var record = try #require(try process.ports.records.read(scene.account, in: World.group))
        record.sealed = nil
        told(.unsupported) { _ = try process.ports.records.write(record, expecting: record.generation) }
        for name in ["two", "three", "spare"] { _ = try membership(one).expel(name, from: World.group) }
        told(.usage) { _ = try one.process().services.groupMove.leave(World.group, keepingIn: nil) }
        #expect(try scene.link.membership.tellLeaving("one", known: scene.link.known))
        told(.storeLocked) { try one.process().ports.sharing.check(World.group) }
    }
}
