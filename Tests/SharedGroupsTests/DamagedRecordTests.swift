import CredentialCore
import TestPorts
import Testing

@testable import SharedGroups
@testable import Simulation

/// Damaged records of a group, which any user with its role can write.
struct DamagedRecordTests {
    private func put(_ text: String, at key: String, _ scene: SharedScene) {
        var transaction = ClusterTransaction()
        transaction.changes = [.put(World.path + key, Array(text.utf8))]
        scene.world.cluster.apply(transaction)
    }

    private func membership(_ scene: SharedScene, of host: Int = 0) -> any GroupMembershipService {
        scene.run.hosts[host].process().ports.sharing.membership
    }

    @Test func `a host that cannot be read is listed, told of, given no key, and expelled`() throws {
        let scene = try SharedScene()
        put("{}", at: "hosts/evil", scene)
        let hosts = try membership(scene).hosts(of: World.group)
        #expect(hosts.filter(\.isDamaged).map(\.name) == ["evil"] && hosts.count > 3)
        let told = membership(scene).findings(of: World.group).filter { $0.error != nil }
        #expect(told.map(\.check) == ["host evil"])
        #expect(told.first?.error?.hint?.hasSuffix("credmgr groups expel \(World.group) evil") == true)
        // Others are expelled beside it.
        #expect(try membership(scene).expel("two", from: World.group).unsealed.isEmpty)
        #expect(
            !scene.world.cluster.content.records.keys.contains { $0.hasSuffix("/evil") && $0.contains("/keys/") })
        #expect(try scene.run.token(scene.run.hosts[0].process(), force: true).refreshed)
        #expect(try membership(scene).expel("evil", from: World.group).unsealed.isEmpty)
        #expect(try membership(scene).hosts(of: World.group).allSatisfy { !["evil", "two"].contains($0.name) })
        let gone = #expect(throws: CredentialError.self) { try membership(scene).expel("evil", from: World.group) }
        #expect(gone?.code == .noSuchAccount)
    }

    @Test func `a host's user stands in its record, and one that would do harm in a command does not count`() throws
    {
        let scene = try SharedScene(), place = World.path + "hosts/two"
        func user() throws -> String? {
            try membership(scene).hosts(of: World.group).first { $0.name == "two" }?.user
        }
        #expect(try user() == "two")
        let wrap = scene.link.membership.wrap(try scene.link.membership.groupID())
        func put(_ said: String) throws {
            var host = try GroupHost(try #require(scene.world.cluster.content.records[place]))
            host.user = said
            // As the host that admits it proves it.
            let epoch = KeyEpoch.firstNumber
            host.admission = try wrap.admission(of: host, key: try scene.link.key(ofEpoch: epoch), epoch: epoch)
            self.put(String(decoding: host.encoded, as: UTF8.self), at: "hosts/two", scene)
        }
        for (said, shown) in [("2.example.com", "2.example.com"), ("-x", "two"), ("a\nb", "two"), ("", "two")] {
            try put(said)
            #expect(try user() == shown)
        }
        // A host cannot claim another role for itself later; `expel` removes the proven one.
        var host = try GroupHost(try #require(scene.world.cluster.content.records[place]))
        host.user = "one"
        self.put(String(decoding: host.encoded, as: UTF8.self), at: "hosts/two", scene)
        #expect(try user() == "two")
        // It outlives a new key.
        try put("2.example.com")
        _ = try membership(scene).expel("three", from: World.group)
        #expect(try user() == "2.example.com")
    }

    @Test func `an invalid record below the accounts stops no expel and no leave, and is reported`()
        throws
    {
        let scene = try SharedScene(), keys = ["a/x/y/intent", "a/x/y/set", "a/x", "a/\(scene.account)/sets"]
        for key in keys { put("z", at: key, scene) }
        #expect(try membership(scene).expel("three", from: World.group).unsealed.isEmpty)
        let told = membership(scene).findings(of: World.group).filter { $0.error != nil }
        #expect(told.count == keys.count)
        for key in keys {
            let finding = told.first {
                $0.error?.message == "the record \(World.path)\(key) is not an account of the group"
            }
            #expect(finding?.error?.hint?.hasSuffix(": etcdctl del \(World.path)\(key)") == true)
        }
        #expect(try scene.run.token(scene.run.hosts[0].process(), force: true).refreshed)
        for host in scene.run.hosts {
            _ = try? host.process().services.groupMove.leave(World.group, keepingIn: .file)
        }
        // The last host takes the sign-in along, and takes those records away.
        #expect(scene.world.cluster.content.records.isEmpty)
    }

    @Test func `a leave is stopped by no unreadable host, nor by the host's own record`() throws {
        let scene = try SharedScene()
        put("{}", at: "hosts/evil", scene)
        let departure = try scene.run.hosts[1].process().services.groupMove.leave(World.group, keepingIn: nil)
            .departure
        #expect(departure == LeaveResult())
        put("junk", at: "hosts/three", scene)
        let refused = #expect(throws: CredentialError.self) {
            try scene.run.hosts[2].process().ports.sharing.check(World.group)
        }
        #expect(refused?.code == .storeDamaged)
        #expect(refused?.hint?.hasSuffix("credmgr groups expel \(World.group) three") == true)
        let own = try scene.run.hosts[2].process().services.groupMove.leave(World.group, keepingIn: nil).departure
        #expect(own.untold == "three")
    }

    @Test func `a host that leaves while another cluster answers is warned that the group may still list it`()
        throws
    {
        let scene = try SharedScene(), one = scene.run.hosts[0]
        let there = scene.world.cluster.content
        for key in scene.world.cluster.content.records.keys {
            var transaction = ClusterTransaction()
            transaction.changes = [.remove(key)]
            scene.world.cluster.apply(transaction)
        }
        let (kept, wasLast, departure) = try one.process().services.groupMove.leave(World.group, keepingIn: .file)
        #expect(departure.untold == "one" && departure.abandoned == nil)
        // The host keeps the copies that it has seen; the sign-in may be the group's still, so its refresh token
        // stays there.
        #expect(kept == 1 && !wasLast)
        let ports = one.process().ports
        let account = try #require(try ports.records.registry(of: World.group).accounts.first)
        guard case .needsLogin = account.status else {
            Issue.record("\(account.status)")
            return
        }
        scene.world.cluster.restore(there)
        #expect(try membership(scene, of: 1).hosts(of: World.group).contains { $0.name == "one" })
    }

    @Test(arguments: PortTrace.Moment.allCases, [StoreKind.file, .secretService])
    func `a host stopped at any point of a leave from another cluster loses no copied account`(
        moment: PortTrace.Moment, store: StoreKind
    ) throws {
        var number = 1, isReached = true
        while isReached {
            let scene = try SharedScene(), one = scene.run.hosts[0]
            for key in scene.world.cluster.content.records.keys {
                var transaction = ClusterTransaction()
                transaction.changes = [.remove(key)]
                scene.world.cluster.apply(transaction)
            }
            let process = one.process()
            process.trace.end(at: number, moment)
            isReached = (try? process.services.groupMove.leave(World.group, keepingIn: store)) == nil
            if one.files[ClusterConfiguration.fileName] != nil || one.files["leaving"] != nil {
                _ = try one.process().services.groupMove.leave(World.group, keepingIn: store)
            }
            let left = one.process(), accounts = try left.ports.records.registry(of: World.group).accounts
            #expect(accounts.map(\.store) == [store], "\(moment) call \(number)")
            let set = try accounts.first.flatMap {
                try left.services.repository.read($0, in: World.group, isLocked: true)
            }
            #expect(set?.accessTokens.isEmpty == false, "\(moment) call \(number)")
            number += 1
        }
        #expect(number > 10)
    }

    @Test(arguments: ["epoch", "group"])
    func `a group with a damaged record is reported with the remedy`(name: String) throws {
        let scene = try SharedScene()
        put("junk", at: name, scene)
        let refused = #expect(throws: CredentialError.self) { try scene.run.token(scene.process, force: true) }
        #expect(refused?.code == .storeDamaged)
        #expect(refused?.hint?.hasSuffix("credmgr groups leave \(World.group) --forget") == true)
        #expect(membership(scene).findings(of: World.group).last?.error?.code == .storeDamaged)
    }

    @Test func `a record that claims without an intent that a host is alive stops no refresh`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], key = "a/\(scene.account)/live"
        put("evil", at: key, scene)
        #expect(try scene.run.token(one.process(), force: true).refreshed)
        #expect(scene.world.cluster.content.records[World.path + key] == nil && scene.intents.isEmpty)
        // One that is put between reading and recording is seen at the second look.
        let process = scene.run.hosts[1].process()
        process.trace.act(before: "cluster.lease") { put("evil", at: key, scene) }
        #expect(try scene.run.token(process, force: true).refreshed)
        #expect(scene.world.problems.isEmpty)
    }

    @Test func `nor does it stop a host from discarding a request that it has never sent`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], cluster = LosingCluster(scene.process)
        cluster.loses = true
        #expect(throws: CredentialError.self) {
            try scene.refresh(over: cluster) { _ in .unsent(CredentialError(.temporary, "not sent")) }
        }
        scene.endLeases()
        put("evil", at: "a/\(scene.account)/live", scene)
        #expect(one.note(of: scene.account)?.unsent.isEmpty == false)
        scene.world.milliseconds += 86_400_000
        one.process().services.takeUpAnswers(in: World.group)
        #expect(one.note(of: scene.account)?.unsent.isEmpty ?? true)
    }

    @Test func `an account of which only a copy is left keeps its id, and its refresh token is not used`() throws {
        let scene = try SharedScene(), one = scene.run.hosts[0], two = scene.run.hosts[1]
        _ = try two.process().ports.records.index(of: World.group, .ids)
        #expect(try scene.run.token(one.process(), force: true).refreshed)
        let newest = try #require(scene.standing)
        put("junk", at: "a/\(scene.account)/set", scene)
        // The simulated cluster remembers no state.
        #expect(try two.process().ports.sharing.restore(scene.account, in: World.group))
        let refused = #expect(throws: CredentialError.self) { try scene.run.token(two.process(), force: true) }
        #expect(refused?.code == .signInRequired && scene.standing != newest)
        // A host that knows a later set puts that back.
        #expect(try scene.run.token(one.process(), force: true).refreshed)
        // The quarantined records are unchanged.
        #expect(scene.world.problems.allSatisfy { $0.contains("/damaged/") })
    }

    @Test func `a repair of a record that another host has fixed since leaves it unchanged`() throws {
        let scene = try SharedScene(), two = scene.run.hosts[1].process().ports, key = "a/\(scene.account)/set"
        #expect(try scene.run.token(scene.run.hosts[0].process(), force: true).refreshed)
        let newest = try #require(scene.standing)
        #expect(try two.sharing.restore(scene.account, in: World.group))
        #expect(scene.standing == newest)
        let error = #expect(throws: CredentialError.self) {
            try two.records.setAside(scene.account, in: World.group)
        }
        #expect(error?.code == .temporary && scene.standing == newest)
        put("junk", at: key, scene)
        _ = try two.records.setAside(scene.account, in: World.group)
        #expect(scene.world.cluster.content.records[scene.link.keys(scene.account).set] == nil)
    }

    @Test func `a host that has no key puts nothing back, and takes nothing away`() throws {
        let scene = try SharedScene(), host = scene.run.hosts[2]
        let epoch = try GroupMembership.epoch(try scene.link.standing([]).epoch)
        put("junk", at: "a/\(scene.account)/set", scene)
        put("junk", at: "keys/\(epoch)/three", scene)
        for name in host.files.keys where name.hasPrefix("key-") { host.files[name] = nil }
        let error = #expect(throws: CredentialError.self) {
            try host.process().ports.sharing.restore(scene.account, in: World.group)
        }
        #expect(error?.code == .storeLocked)
        #expect(
            scene.world.cluster.content.records[scene.link.keys(scene.account).set]?.value == Array("junk".utf8))
    }

    @Test func `an account that was damaged before this host has seen it is there all the same`() throws {
        let scene = try SharedScene(), host = scene.run.hosts[2], process = host.process()
        let sharing = try #require(process.ports.sharing as? ClusterGroupService)
        try sharing.forgetCopy(scene.account, World.group, tells: false)
        host.files["looked"] = nil
        put("junk", at: "a/\(scene.account)/set", scene)
        // A process that looks, also moments later, takes no other account for the only one.
        for check in [IndexVerification.none, .none, .ids] {
            #expect(try host.process().ports.records.index(of: World.group, check).unreadable == [scene.account])
        }
        // It has looked even so.
        #expect(try !sharing.catchUp(World.group, unlessWithin: .max))
    }

    @Test func `a host with a damaged key gets an error about the key, not about a missing account`() throws {
        let scene = try SharedScene(), host = scene.run.hosts[2]
        let epoch = try GroupMembership.epoch(try scene.link.standing([]).epoch)
        // A process that has no copy yet.
        let fresh = host.process()
        for id in try fresh.ports.records.index(of: World.group, .ids).ids {
            let sharing = try #require(fresh.ports.sharing as? ClusterGroupService)
            try sharing.forgetCopy(id, World.group, tells: false)
        }
        put("junk", at: "keys/\(epoch)/three", scene)
        for name in host.files.keys where name.hasPrefix("key-") { host.files[name] = nil }
        host.files["looked"] = nil
        let process = host.process()
        _ = try process.ports.records.index(of: World.group, .none)
        let failure = process.ports.sharing.recentFailure(of: World.group)
        #expect(failure?.code == .storeLocked)
        #expect(failure?.hint?.hasSuffix("credmgr groups expel \(World.group) three") == true)
        let told = #expect(throws: CredentialError.self) {
            try host.process().ports.records.registry(of: World.group) { _, _ in }
        }
        #expect(told?.code == .storeLocked)
        #expect(membership(scene, of: 2).findings(of: World.group).last?.error?.code == .storeLocked)
    }

    @Test(arguments: ["intent", "aside"])
    func `if the record beside an account is unreadable its refresh token is not sent any more`(
        name: String
    ) throws {
        let scene = try SharedScene(), two = scene.run.hosts[1], key = "a/\(scene.account)/\(name)"
        put("junk", at: key, scene)
        let told = membership(scene).findings(of: World.group).filter { $0.error != nil }
        #expect(told.map(\.damagedAccount) == [scene.account])
        let sent = scene.world.provider.sent
        var refused = #expect(throws: CredentialError.self) { try scene.run.token(two.process(), force: true) }
        #expect(refused?.code == .storeDamaged)
        // The simulated cluster remembers no state.
        #expect(try two.process().ports.sharing.restore(scene.account, in: World.group))
        for host in scene.run.hosts {
            refused = #expect(throws: CredentialError.self) { try scene.run.token(host.process(), force: true) }
            #expect(refused?.code == .signInRequired && scene.world.provider.sent == sent)
        }
        #expect(membership(scene).findings(of: World.group).allSatisfy { $0.error == nil })
    }

    @Test func `an answer in flight takes precedence over a repair made meanwhile`() throws {
        let scene = try SharedScene(), two = scene.run.hosts[1], token = "r-0-9"
        #expect(throws: Never.self) {
            try scene.refresh(over: scene.process) { set in
                self.put("junk", at: "a/\(scene.account)/intent", scene)
                #expect((try? two.process().ports.sharing.restore(scene.account, in: World.group)) == true)
                return SharedScene.issued(token, over: set)
            }
        }
        #expect(scene.standing == token)
    }

    @Test func `if an account and its refresh are both unknown no older copy replaces it`() throws {
        let scene = try SharedScene(), two = scene.run.hosts[1].process()
        for name in ["set", "intent"] { put("junk", at: "a/\(scene.account)/\(name)", scene) }
        #expect(try !two.ports.sharing.restore(scene.account, in: World.group))
        _ = try two.ports.records.setAside(scene.account, in: World.group)
        #expect(scene.world.cluster.content.records.keys.allSatisfy { !$0.hasPrefix(scene.link.path + "a/") })
    }

    @Test func `a host expelled beside a damaged intent cannot open later records of its account`()
        throws
    {
        let scene = try SharedScene()
        put("junk", at: "a/\(scene.account)/intent", scene)
        let failures = try membership(scene).expel("two", from: World.group).unsealed
        #expect(failures.map(\.id) == [scene.account] && failures[0].error.code == .storeDamaged)
        let record = try #require(scene.world.cluster.content.records[scene.link.keys(scene.account).set])
        #expect(try GroupCipher.epoch(of: record) == GroupMembership.epoch(try scene.link.standing([]).epoch))
    }

    @Test func `a record under a key that no host has is damaged`() throws {
        let scene = try SharedScene(), key = scene.link.keys(scene.account).set
        var record = try #require(scene.world.cluster.content.records[key]).value
        record[7] ^= 1
        var transaction = ClusterTransaction()
        transaction.changes = [.put(key, record)]
        scene.world.cluster.apply(transaction)
        let refused = #expect(throws: CredentialError.self) { try scene.run.token(scene.process, force: true) }
        #expect(refused?.code == .storeDamaged)
    }

    @Test func `an account that was signed out after it was copied is not restored`() throws {
        let scene = try SharedScene(), key = "a/\(scene.account)/set"
        var transaction = ClusterTransaction()
        transaction.changes = [.remove(World.path + key)]
        scene.world.cluster.apply(transaction)
        put("junk", at: key, scene)
        #expect(try !scene.run.hosts[1].process().ports.sharing.restore(scene.account, in: World.group))
    }
}
