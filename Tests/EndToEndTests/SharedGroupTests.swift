import DemoProvider
import Foundation
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// Groups that several hosts share, through real nodes of etcd, against a provider that ends a sign-in when a
/// refresh token comes twice.
@Suite(.serialized) struct `A group of several hosts` {
    private func hosts(_ names: [String] = ["one", "two"], variables: [String: String] = [:]) throws -> SharedHosts
    {
        try SharedHosts(try EtcdNodes.shared(), names, variables: variables)
    }

    @Test func `A second host is let in by its fingerprint, and has the same sign-in`() throws {
        let hosts = try hosts()
        let one = hosts["one"], two = hosts["two"]
        let id = try hosts.tenant.signIn(at: one)
        let shared = try one.run(["groups", "share", SharedHosts.group] + hosts.cluster(as: "one"))
        #expect(shared.standardOutput.hasPrefix("host: one\nfingerprint: "))
        let token = try one.run(SharedHosts.token()).line
        #expect(hosts.tenant.provider.secrets.contains(token))

        let asked = try two.json(["groups", "join", SharedHosts.group, "--json"] + hosts.cluster(as: "two"))
        let fingerprint = try #require(asked.object?["fingerprint"]?.string)
        let waiting = try two.run(SharedHosts.token(), exits: 5)
        #expect(waiting.standardError.contains("waits for approval"))
        try two.run(["groups", "hosts", SharedHosts.group], exits: 5)
        let wrong = String(fingerprint.reversed())
        try one.run(["groups", "admit", SharedHosts.group, "two", "--fingerprint", wrong], exits: 7)
        try one.run(["groups", "admit", SharedHosts.group, "three", "--fingerprint", wrong], exits: 3)
        try one.run(["groups", "admit", SharedHosts.group, "two"], exits: 2)
        try one.run(["groups", "admit", SharedHosts.group, "two", "--fingerprint", fingerprint])

        #expect(try two.run(SharedHosts.token()).line == token)
        let listed = try #require(try two.json(["accounts", "--json"]).array?.first?.object)
        #expect(listed["id"]?.string == id && listed["store"] == "etcd" && listed["default"] == true)
        let names = try one.json(["groups", "hosts", SharedHosts.group, "--json"]).array ?? []
        #expect(names.map { $0.object?["host"]?.string } == ["one", "two"])
        #expect(names.map { $0.object?["this_host"]?.bool } == [true, false])
        #expect(names.allSatisfy { $0.object?["admitted"] == true })
    }

    @Test func `A host that waits may ask again, and gets its name and fingerprint again`() throws {
        let hosts = try hosts()
        let one = hosts["one"], two = hosts["two"]
        try hosts.tenant.signIn(at: one)
        try one.run(["groups", "share", SharedHosts.group] + hosts.cluster(as: "one"))
        let join = ["groups", "join", SharedHosts.group] + hosts.cluster(as: "two")
        let first = try two.run(join).standardOutput
        #expect(first.hasPrefix("host: two\nfingerprint: "))
        for _ in 0..<2 {
            let again = try two.run(join)
            #expect(again.standardOutput == first)
            #expect(again.standardError.contains("credmgr groups admit \(SharedHosts.group) two --fingerprint "))
        }
        let shown = try two.json(join + ["--json"]).object
        let fingerprint = try #require(shown?["fingerprint"]?.string)
        #expect(shown?["admitted"] == false && first == "host: two\nfingerprint: \(fingerprint)\n")
        // The fingerprint that the first call printed admits the host.
        try one.run(["groups", "admit", SharedHosts.group, "two", "--fingerprint", fingerprint])
        #expect(try two.run(SharedHosts.token()).line == one.run(SharedHosts.token()).line)
        try two.run(join, exits: 2)
    }

    @Test func `A sign-in that can do less is refused, and takes the stronger one from no host`() throws {
        let hosts = try hosts()
        _ = try hosts.share()
        let one = hosts["one"], two = hosts["two"]
        let provider = try ScriptedProvider { $0.rotation = .grantsScopes }
        for home in [one, two] {
            for (type, scope) in [("Wide", "openid read write offline_access"), ("Narrow", "openid read")] {
                try home.run(
                    ["types", "add", type, "--issuer", provider.base, "--client-id", "app", "--scope", scope])
                try home.run(["types", "set", type, "keychain_group=\(SharedHosts.group)"])
            }
        }
        try provider.signIn(at: one, type: "Wide")
        let accounts = try one.json(["accounts", "--json"]).array ?? []
        let id = try #require(accounts.first { $0.object?["type"] == "Wide" }?.object?["id"]?.string)
        func refresh(exits status: Int32 = 0) throws {
            for home in [one, two] { try home.run(["token", "--type", "Wide", "--force-refresh"], exits: status) }
        }
        // Without a refresh token, and with other scopes.
        for more in [[], ["--scope", "openid", "--scope", "admin", "--scope", "offline_access"]] {
            let refused = try provider.signIn(at: two, type: "Narrow", more: more, exits: 2).standardError
            #expect(refused.contains("keeps the sign-in of "), "\(refused)")
            #expect(refused.contains(" with scope openid read write"), "\(refused)")
            #expect(refused.contains("hint: to end it: credmgr login --account \(id) --replace"), "\(refused)")
            try refresh()
        }
        // The stored one serves both types.
        try two.run(["token", "--type", "Narrow"])
        // A sign-in of the account that asks for less does not even begin.
        let less = ["login", "--account", id, "--type", "Narrow", "--print-url"]
        let early = try two.run(
            less + ["--scope", "openid", "--scope", "read", "--scope", "offline_access"], exits: 2
        ).standardError
        #expect(early.contains("the new one would lack write"), "\(early)")
        let login = "credmgr login --account \(id) --type Narrow --scope "
        #expect(early.contains("to sign in for both: \(login)'openid read offline_access write'"), "\(early)")
        #expect(early.contains("to end it: \(login)'openid read offline_access' --replace"), "\(early)")
        try refresh()
        #expect(provider.refusals == 0)
        try provider.signIn(at: two, type: "Narrow", more: ["--replace"])
        try refresh(exits: 4)
        try one.run(["token", "--type", "Narrow"])
    }

    @Test func `The other host sees the changes of one host`() throws {
        let hosts = try hosts()
        let id = try hosts.share()
        let one = hosts["one"], two = hosts["two"]
        let renewed = try two.run(SharedHosts.token("--force-refresh")).line
        #expect(try one.run(SharedHosts.token()).line == renewed)
        let counters = hosts.tenant.provider.counters
        #expect(counters.refreshes == 1 && counters.reusesDetected == 0)
        try two.run(["label", id, "our-alice"])
        #expect(try one.run(SharedHosts.token("--account", "our-alice")).line == renewed)
        let bob = try hosts.tenant.signIn(DemoTenant.bob, at: two)
        #expect(
            try one.run(SharedHosts.token("--account", bob)).line
                == two.run(SharedHosts.token("--account", bob)).line)
        try one.run(["use", bob])
        // Sooner or later, and at once if the command needs the choice.
        #expect(try two.json(["accounts", "--json"]).array?.count == 2)
        #expect(try two.run(["which", "--type", DemoTenant.typeName]).standardOutput.contains(bob))
        try one.run(["logout", "--account", bob])
        try two.run(SharedHosts.token("--account", bob), exits: 3)
        #expect(try two.json(["accounts", "--json"]).array?.count == 1)
    }

    @Test func `An account that moved from one group to another is found by the first call`() throws {
        let hosts = try hosts()
        _ = try hosts.share()
        let one = hosts["one"], two = hosts["two"], second = "second", type = "Second"
        for home in [one, two] {
            try hosts.tenant.define(type, at: home)
            try home.run(["types", "set", type, "keychain_group=\(second)"])
        }
        let passphrase = "correct horse battery staple\n"
        for (home, verb, name) in [(one, "share", "one"), (two, "join", "two")] {
            let words = ["groups", verb, second] + hosts.cluster(as: name)
            try home.run(words + ["--passphrase-file", "-"], input: passphrase)
        }
        try two.run(["token"])
        /// The account in which the second host finds alice, who has moved meanwhile.
        func found(_ words: [String]) throws -> String? {
            try two.json(["token", "--format", "json"] + words).object?["account"]?.object?["id"]?.string
        }
        try one.run(["logout", "--all", "--yes"])
        let there = try hosts.tenant.signIn(at: one, type: type)
        #expect(try found(["--account", DemoTenant.alice.email]) == there)
        try one.run(["logout", "--all", "--yes"])
        let back = try hosts.tenant.signIn(at: one)
        #expect(try found([]) == back)
        // Seen in both, with a name that is one account's by now.
        let again = try hosts.tenant.signIn(at: one, type: type)
        #expect(try two.json(["accounts", "--json"]).array?.count == 2)
        try one.run(["logout", "--account", again, "--yes"])
        #expect(try found(["--account", DemoTenant.alice.email]) == back)
        let bob = try hosts.tenant.signIn(DemoTenant.bob, at: one, type: type)
        #expect(try two.json(["accounts", "--json"]).array?.count == 2)
        try one.run(["logout", "--account", back, "--yes"])
        #expect(try found([]) == bob)
    }

    @Test func `Many processes of three hosts use each refresh token once`() throws {
        let hosts = try hosts(["one", "two", "three"])
        let id = try hosts.share()
        let outcomes = Mutex<[ChildProcess.Outcome]>([])
        DispatchQueue.concurrentPerform(iterations: 9) { number in
            let home = hosts[hosts.names[number % 3]]
            guard let outcome = try? home.run(SharedHosts.token("--force-refresh")) else { return }
            outcomes.withLock { $0.append(outcome) }
        }
        #expect(outcomes.withLock { $0.count } == 9)
        let counters = hosts.tenant.provider.counters
        #expect((1...9).contains(counters.refreshes) && counters.reusesDetected == 0)
        // The sign-in lives.
        let last = try hosts["two"].run(SharedHosts.token("--force-refresh")).line
        for name in hosts.names { #expect(try hosts[name].run(SharedHosts.token("--account", id)).line == last) }
        #expect(hosts.tenant.provider.counters.reusesDetected == 0)
    }

    @Test func `A refresh with an unknown outcome waits for the user`() throws {
        let hosts = try SharedHosts(try EtcdNodes.shared()) { $0.rotation = .keepsOld }
        let id = try hosts.share()
        let one = hosts["one"], two = hosts["two"]
        hosts.tenant.provider.change {
            $0.failures = 1
            $0.failureStatus = 500
        }
        try one.run(SharedHosts.token("--force-refresh"), exits: 6)
        // The lease of the first host may live for some seconds yet, which is waited for.
        let refused = try two.run(SharedHosts.token("--force-refresh"), exits: 6)
        #expect(refused.standardError.contains("the host one began to refresh"))
        #expect(refused.standardError.contains("--account \(id) --group \(SharedHosts.group) --take-over"))
        // credmgr still prints a token that is valid.
        try two.run(SharedHosts.token())
        try one.run(SharedHosts.token("--force-refresh"), exits: 6)
        let old = try two.run(SharedHosts.token()).line
        let taken = try two.run(SharedHosts.token("--take-over")).line
        #expect(taken != old)
        // If there is no refresh left to settle, the command returns a plain token.
        #expect(try two.run(SharedHosts.token("--take-over")).line == taken)
        #expect(try one.run(SharedHosts.token()).line == taken)
        try one.run(SharedHosts.token("--force-refresh"))
    }

    @Test func `A refresh token that is certainly unused is tried again`() throws {
        let hosts = try hosts()
        _ = try hosts.share()
        hosts.tenant.provider.change {
            $0.failures = 1
            $0.failureStatus = 503
        }
        try hosts["one"].run(SharedHosts.token("--force-refresh"), exits: 6)
        try hosts["two"].run(SharedHosts.token("--force-refresh"))
        #expect(hosts.tenant.provider.counters.reusesDetected == 0)
    }

    @Test(arguments: [DemoSwitches.IDTokenFault.signature, .expired, .issuer])
    func `The new refresh token of a response that one host refused is sent by the other`(
        fault: DemoSwitches.IDTokenFault
    ) throws {
        let hosts = try hosts()
        _ = try hosts.share()
        hosts.tenant.provider.change { $0.idTokenFault = fault }
        try hosts["one"].run(SharedHosts.token("--force-refresh"), exits: 7)
        hosts.tenant.provider.change { $0.idTokenFault = .none }
        // No host sends the token from a response of another issuer.
        try hosts["two"].run(SharedHosts.token("--force-refresh"), exits: fault == .issuer ? 4 : 0)
        try hosts["one"].run(SharedHosts.token("--force-refresh"), exits: fault == .issuer ? 4 : 0)
        let counters = hosts.tenant.provider.counters
        #expect(counters.refreshes == (fault == .issuer ? 1 : 3) && counters.reusesDetected == 0)
    }

    @Test func `An expelled host gets nothing more, and the others go on`() throws {
        let hosts = try hosts(["one", "two", "three"])
        _ = try hosts.share()
        let before = try hosts["three"].run(SharedHosts.token()).line
        let told = try hosts["one"].run(["groups", "expel", SharedHosts.group, "three"]).standardError
        // All have one certificate here.
        #expect(told.contains("it was the same user there as one, which stays"))
        let refused = try hosts["three"].run(SharedHosts.token(), exits: 5)
        #expect(refused.standardError.contains("does not belong to the group"))
        try hosts["three"].run(SharedHosts.token("--force-refresh"), exits: 5)
        try hosts["three"].run(["groups", "expel", SharedHosts.group, "one"], exits: 5)
        try hosts["three"].run(["groups", "hosts", SharedHosts.group], exits: 5)
        let after = try hosts["two"].run(SharedHosts.token()).line
        #expect(after != before && hosts.tenant.provider.counters.refreshes == 1)
        // As an expel says it that could not go on behind the new key.
        try hosts["two"].run(["refresh", "--all", "--group", SharedHosts.group, "--min-valid", "365d"])
        #expect(hosts.tenant.provider.counters.refreshes == 2)
        try hosts["two"].run(SharedHosts.token("--force-refresh"))
        // It may come back as any other host does.
        try hosts["three"].run(["groups", "leave", SharedHosts.group])
        try hosts.letIn("three")
        #expect(try hosts["three"].run(SharedHosts.token()).line == hosts["one"].run(SharedHosts.token()).line)
    }

    @Test func `A host that leaves takes no refresh token along, but the last host does`() throws {
        let hosts = try hosts()
        let id = try hosts.share()
        let one = hosts["one"], two = hosts["two"]
        let token = try two.run(SharedHosts.token()).line
        try two.run(["groups", "leave", SharedHosts.group, "--keep", "--store", "file"])
        let kept = try #require(try two.json(["accounts", "--json"]).array?.first?.object)
        #expect(kept["id"]?.string == id && kept["status"] == "needs-login" && kept["store"] == "file")
        #expect(try two.run(SharedHosts.token()).line == token)
        try two.run(SharedHosts.token("--force-refresh"), exits: 4)
        try one.run(["groups", "leave", SharedHosts.group], exits: 2)
        try one.run(["groups", "leave", SharedHosts.group, "--keep", "--store", "file"])
        try one.run(SharedHosts.token("--force-refresh"))
        #expect(hosts.tenant.provider.counters.reusesDetected == 0)
        try one.run(["groups", "hosts", SharedHosts.group], exits: 2)
        // No data of it is left, so it can be shared again.
        try one.run(["groups", "share", SharedHosts.group] + hosts.cluster(as: "one"))
        try two.run(["logout", "--all", "--yes"])
        try hosts.letIn("two")
        try two.run(SharedHosts.token("--force-refresh"))
    }

    @Test func `A passphrase lets hosts in without anybody's word`() throws {
        let hosts = try hosts()
        let one = hosts["one"], two = hosts["two"]
        try hosts.tenant.signIn(at: one)
        let right = "correct horse battery staple"
        let weak = try one.write("short\n", to: "weak"), file = try one.write(right + "\n", to: "passphrase")
        let words = ["groups", "share", SharedHosts.group] + hosts.cluster(as: "one")
        try one.run(words + ["--passphrase-file", weak], exits: 2)
        try one.run(words + ["--passphrase-file", file])
        let join = ["groups", "join", SharedHosts.group] + hosts.cluster(as: "two")
        try two.run(join + ["--passphrase-file", "-"], input: "incorrect horse\n", exits: 7)
        try two.run(join + ["--passphrase-file", "-"], input: right + "\n")
        #expect(try two.run(SharedHosts.token()).line == one.run(SharedHosts.token()).line)
    }

    @Test func `Nothing but ciphertext lies on the nodes`() throws {
        let nodes = try EtcdNodes.shared()
        let hosts = try hosts()
        _ = try hosts.share()
        try hosts["two"].run(SharedHosts.token("--force-refresh"))
        let files = try nodes.everything()
        #expect(files.contains { $0.range(of: Data(hosts.prefix.utf8)) != nil })
        let secrets = hosts.tenant.provider.secrets + ["alice@example.com"]
        for secret in secrets { #expect(!files.contains { $0.range(of: Data(secret.utf8)) != nil }) }
    }
}
