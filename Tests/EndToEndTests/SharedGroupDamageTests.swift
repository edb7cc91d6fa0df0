import DemoProvider
import Foundation
import TestSupport
import Testing

/// The effects on a shared group when a client that may write below it has changed its records, with a real node.
@Suite(.serialized) struct `Records of a shared group that were changed` {
    private func hosts(_ names: [String] = ["one", "two"]) throws -> SharedHosts {
        try SharedHosts(try EtcdNodes.shared(), names)
    }

    @Test func `With a damaged record no other account is used, and expel refreshes the others`()
        throws
    {
        let nodes = try EtcdNodes.shared(), hosts = try SharedHosts(nodes, ["one", "two", "three"])
        let one = hosts["one"], three = hosts["three"]
        let alice = try hosts.tenant.signIn(at: one)
        let bob = try hosts.tenant.signIn(DemoTenant.bob, at: one)
        try one.run(["groups", "share", SharedHosts.group] + hosts.cluster(as: "one"))
        for name in ["two", "three"] { try hosts.letIn(name) }
        try nodes.put("\(hosts.prefix)/\(SharedHosts.group)/a/\(alice)/set", "foreign")
        // This host has never seen her.
        for words in [
            SharedHosts.token(), SharedHosts.token("--account", alice), ["which", "--type", DemoTenant.typeName],
        ] {
            let refused = try three.run(words, exits: 5)
            #expect(refused.standardOutput.isEmpty)
        }
        try three.run(SharedHosts.token("--account", bob))
        let before = hosts.tenant.provider.counters.refreshes
        let told = try one.run(["groups", "expel", SharedHosts.group, "two"], exits: 5).standardError
        #expect(told.contains("two still has the account's tokens"))
        #expect(told.contains("hint: credmgr doctor --fix; credmgr token --account \(alice)"))
        #expect(hosts.tenant.provider.counters.refreshes > before)
    }

    @Test func `A record that others have changed hurts its account only, and doctor tells`() throws {
        let nodes = try EtcdNodes.shared(), hosts = try hosts()
        let alice = try hosts.share()
        let one = hosts["one"]
        let bob = try hosts.tenant.signIn(DemoTenant.bob, at: one)
        _ = try hosts["two"].json(["accounts", "--json"])
        try one.run(SharedHosts.token("--account", alice, "--force-refresh"))
        for text in ["foreign", "more of it"] {
            try nodes.put("\(hosts.prefix)/\(SharedHosts.group)/a/\(alice)/set", text)
        }
        let refused = try one.run(SharedHosts.token("--account", alice, "--force-refresh"), exits: 5)
        #expect(refused.standardError.contains("does not belong there, or was changed"))
        for words in [["logout"], ["login", "--print-url"], ["token"], ["label", "--", alice, "x"]] {
            let named = words.contains(alice) ? words : words + ["--account", alice]
            let refused = try one.run(named, exits: 5).standardError
            #expect(refused.hasSuffix("hint: credmgr doctor --fix\n"), "\(refused)")
        }
        try one.run(SharedHosts.token("--account", bob, "--force-refresh"))
        let found = try ChildProcess(Home.program, ["doctor"], environment: one.environment).run()
        #expect(found.exitStatus == 1)
        #expect(found.standardOutput.contains("a/\(alice)/set"))
        #expect(found.standardOutput.contains("ok       endpoint \(nodes.endpoints[0]) of group"))
        // The other host has seen an older token only; the cluster remembers the newest.
        let two = hosts["two"]
        let listed = try two.run(["accounts"])
        #expect(listed.standardError.contains("is shown as this host has last seen it"))
        _ = try ChildProcess(Home.program, ["doctor", "--fix", "--yes"], environment: two.environment).run()
        #expect(try two.run(["accounts"]).standardError.isEmpty)
        try two.run(SharedHosts.token("--account", alice, "--force-refresh"))
        try one.run(SharedHosts.token("--account", alice, "--force-refresh"))
        #expect(hosts.tenant.provider.counters.reusesDetected == 0)
        try one.run(["logout", "--account", alice])
        // credmgr quarantines a record of an account that no host had.
        try nodes.put("\(hosts.prefix)/\(SharedHosts.group)/a/0123456789abcdef/set", "foreign")
        _ = try ChildProcess(Home.program, ["doctor", "--fix", "--yes"], environment: two.environment).run()
        #expect(try two.run(["accounts"]).standardError.isEmpty)
    }

    @Test func `A changed key beside an account is fixed by doctor, and no token is sent twice`()
        throws
    {
        let nodes = try EtcdNodes.shared(), hosts = try SharedHosts(nodes) { $0.rotation = .keepsOld }
        let id = try hosts.share(), one = hosts["one"], two = hosts["two"]
        let place = "\(hosts.prefix)/\(SharedHosts.group)/a/\(id)/"
        hosts.tenant.provider.change {
            $0.failures = 1
            $0.failureStatus = 500
        }
        try one.run(SharedHosts.token("--force-refresh"), exits: 6)
        for name in ["intent", "aside"] { try nodes.put(place + name, "foreign") }
        let sent = hosts.tenant.provider.counters.refreshes
        let refused = try two.run(SharedHosts.token("--force-refresh"), exits: 5)
        #expect(refused.standardError.contains("hint: credmgr doctor"))
        let found = try ChildProcess(Home.program, ["doctor"], environment: two.environment).run().standardOutput
        #expect(found.contains(place + "intent") && found.contains(place + "aside"))
        _ = try ChildProcess(Home.program, ["doctor", "--fix", "--yes"], environment: two.environment).run()
        // The refresh with an unknown end is restored.
        let waits = try two.run(SharedHosts.token("--force-refresh"), exits: 6)
        #expect(waits.standardError.contains("the host one began to refresh"))
        #expect(hosts.tenant.provider.counters.refreshes == sent)
        try two.run(SharedHosts.token("--take-over"))
        try one.run(SharedHosts.token("--force-refresh"))
    }

    @Test func `A record under an unknown key is damaged, and not one of a group without this host`()
        throws
    {
        let nodes = try EtcdNodes.shared(), hosts = try hosts()
        let id = try hosts.share(), one = hosts["one"]
        try one.run(SharedHosts.token("--force-refresh"))
        let place = "\(hosts.prefix)/\(SharedHosts.group)/a/\(id)/set"
        var bytes = try nodes.record(place)
        bytes[bytes.startIndex + 6] ^= 1
        try nodes.put(place, bytes)
        let refused = try one.run(SharedHosts.token("--force-refresh"), exits: 5)
        #expect(!refused.standardError.contains("admitted") && refused.standardError.contains("doctor"))
        _ = try ChildProcess(Home.program, ["doctor", "--fix", "--yes"], environment: one.environment).run()
        try one.run(SharedHosts.token("--force-refresh"))
        #expect(hosts.tenant.provider.counters.reusesDetected == 0)
    }
}
