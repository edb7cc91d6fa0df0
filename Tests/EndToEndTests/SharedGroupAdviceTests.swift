import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// The advice of the commands of shared groups, and the settings that their hosts agree on, with a real node.
@Suite(.serialized) struct `What is said of a group of several hosts` {
    private func hosts(
        _ names: [String] = ["one", "two"], _ change: (inout DemoSwitches) -> Void = { _ in }
    ) throws -> SharedHosts { try SharedHosts(try EtcdNodes.shared(), names, change) }

    private func administer(_ script: String, _ nodes: EtcdNodes) throws -> ChildProcess.Outcome {
        let root = nodes.certificate(of: "root")
        return try ChildProcess(
            "/bin/sh", [],
            environment: [
                "PATH": "/usr/bin:/bin", "ETCDCTL_ENDPOINTS": nodes.endpoints.joined(separator: ","),
                "ETCDCTL_CACERT": nodes.authorities, "ETCDCTL_CERT": root.certificate, "ETCDCTL_KEY": root.key,
            ]
        ).run(input: script)
    }

    // MARK: For the administrator

    @Test func `The commands for an administrator may be run again`() throws {
        let home = try Home(), nodes = try EtcdNodes.shared()
        let words = ["groups", "share", "fleet", "--print-etcd-setup", "--hosts"]
        for names in ["alpha", "alpha,beta,gamma", "alpha,beta,gamma"] {
            let outcome = try administer(try home.run(words + [names]).standardOutput, nodes)
            #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        }
        let users = try administer("etcdctl role get credmgr-fleet; etcdctl user get gamma", nodes).standardOutput
        #expect(users.contains("[/credmgr/fleet/, /credmgr/fleet0)") && users.contains("Roles: credmgr-fleet"))
        // Another prefix is another role, though the group has the same name.
        for (prefix, role) in [("/teamA", "credmgr/teamA/fleet"), ("/team$B/", "credmgr/team%24B/fleet")] {
            let printed = try home.run(words + ["me@example.com", "--prefix", prefix]).standardOutput
            let outcome = try administer(printed, nodes)
            #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
            let shown = try administer("etcdctl role get \(role); etcdctl user get me@example.com", nodes)
            #expect(shown.standardOutput.contains("[\(prefix.hasSuffix("/") ? prefix : prefix + "/")fleet/, "))
            #expect(!shown.standardOutput.contains("/credmgr/") && shown.standardOutput.contains(" \(role)"))
        }
        for names in ["", "alpha,", "a b"] { try home.run(words + [names], exits: 2) }
        try home.run(["groups", "share", "fleet", "--etcd", "https://localhost:1", "--hosts", "a"], exits: 2)
    }

    @Test func `A cluster is begun only as it can be`() throws {
        let home = try Home()
        let words = ["groups", "share", "fleet", "--print-etcd-cluster", "--name", "b", "--etcd"]
        for endpoints in [
            "http://localhost:1", "https://a$(id):1", "https://a;b:1", "https://a:1,https://a:3",
            "https://a:1,https://c:1",
            "https://a:65535",
        ] { try home.run(words + [endpoints], exits: 2) }
        for name in ["root", "node", "ca"] { try home.run(words + ["https://a:1", "--hosts", name], exits: 2) }
        // Each machine has a node of its own, and only the first makes users.
        let first = try home.run(words + ["https://b.example.com:1,https://a:1"]).standardOutput
        let second = try home.run(words + ["https://a:1,https://b:1"]).standardOutput
        #expect(first.contains("etcd --name b.example.com --") && first.contains("etcdctl auth enable\n"))
        #expect(second.contains("etcd --name b --") && !second.contains("auth enable"))
        #expect(second.contains("--initial-cluster a=https://a:2,b=https://b:2 "))
    }

    // MARK: What the hosts agree on

    @Test func `The settings of the group are shown, and changed for all hosts`() throws {
        let hosts = try hosts()
        _ = try hosts.share(["--take-over", "never", "--cache-ttl", "50"])
        let one = hosts["one"], two = hosts["two"], share = ["groups", "share", SharedHosts.group]
        func shared(_ home: Home) throws -> JSONObject {
            let groups = try home.json(["groups", "--json"]).array ?? []
            return try #require(
                groups.first { $0.object?["group"]?.string == SharedHosts.group }?.object?["shared"]?.object)
        }
        let before = try shared(two)
        #expect(before["backend"] == "etcd" && before["host"] == "two" && before["state"] == "usable")
        #expect(before["endpoints"]?.array?.compactMap(\.string) == hosts.nodes.endpoints)
        #expect(before["cache_ttl"] == 50 && before["take_over"] == .null)
        let changed = try one.json(share + ["--take-over", "10m", "--json"]).object
        #expect(changed?["cache_ttl"] == 50 && changed?["take_over"] == 600)
        try two.run(["groups", "hosts", SharedHosts.group])
        #expect(try shared(two)["take_over"] == 600)
        try two.run(share + ["--cache-ttl", "5", "--take-over", "never"])
        let told = try one.run(["groups", "hosts", SharedHosts.group]).standardError
        #expect(told.contains("--cache-ttl 5 s, --take-over never"))
        try one.run(SharedHosts.token())
        let last = try shared(one)
        #expect(last["cache_ttl"] == 5 && last["take_over"] == .null)
        #expect(try one.run(["groups"]).standardOutput.contains("as one at \(hosts.nodes.endpoints[0]), usable"))
        // A group of this machine alone has no such settings.
        try hosts["one"].run(["groups", "share", "elsewhere", "--cache-ttl", "5"], exits: 2)
    }

    @Test func `A host that shares an existing group gets the hint to join it`() throws {
        let hosts = try hosts(["one", "two", "three"])
        _ = try hosts.tenant.signIn(at: hosts["one"])
        try hosts["one"].run(["groups", "share", SharedHosts.group] + hosts.cluster(as: "one"))
        let refused = try hosts["two"].run(
            ["groups", "share", SharedHosts.group] + hosts.cluster(as: "two"), exits: 2)
        #expect(refused.standardError.contains("credmgr groups join --help"))
    }

    // MARK: Expelling

    @Test(arguments: [
        (DemoSwitches.Rotation.none, "did not replace the refresh token"),
        (.keepsOld, "may still accept the replaced refresh token"),
    ])
    func `It is said of an account that a new refresh token is no help`(
        rotation: DemoSwitches.Rotation, said: String
    ) throws {
        let hosts = try hosts { $0.rotation = rotation }
        let id = try hosts.share()
        let told = try hosts["one"].run(["groups", "expel", SharedHosts.group, "two"]).standardError
        #expect(told.contains(said) && told.contains(id))
        let group = SharedHosts.group
        // Azure AD B2C has no revocation, and refuses --revoke.
        let hint = "credmgr logout --account \(id) --group \(group) && credmgr login --type "
        #expect(told.contains("the provider has no revocation") && told.contains(hint))
        // By the common name of the certificate, and the role that the setup of this prefix makes.
        let role = "credmgr\(hosts.prefix)/\(group)"
        #expect(told.contains("etcdctl user revoke-role host \(role)\n"))
        let setup = try hosts["one"].run(["groups", "share", group, "--print-etcd-setup", "--prefix", hosts.prefix])
        #expect(setup.standardOutput.contains("etcdctl role add \(role)\n"))
    }

    @Test func `The setting of the type for rotated refresh tokens is trusted`() throws {
        for (value, says) in [("revokes", false), ("tolerated", true)] {
            let hosts = try hosts()
            for name in hosts.names {
                try hosts[name].run(["types", "set", DemoTenant.typeName, "refresh_reuse=\(value)"])
            }
            _ = try hosts.share()
            let told = try hosts["one"].run(["groups", "expel", SharedHosts.group, "two"]).standardError
            #expect(told.contains("also accepts a replaced refresh token") == says)
            #expect(told.contains("credmgr logout ") == says)
        }
    }

    @Test func `Without a refresh the report does not mention the provider's rotation`() throws {
        let hosts = try hosts()
        _ = try hosts.share()
        hosts.tenant.provider.change {
            $0.failures = 1
            $0.failureStatus = 503
        }
        let told = try hosts["one"].run(["groups", "expel", SharedHosts.group, "two"], exits: 6).standardError
        #expect(told.contains("still has the account's tokens") && !told.contains("replace"))
    }

    // MARK: Elsewhere

    @Test func `The accounts of a shared group are neither moved nor exported`() throws {
        let hosts = try hosts()
        let id = try hosts.share()
        let one = hosts["one"]
        let address = try one.run(["login", "--type", DemoTenant.typeName, "--print-url"]).line
        let again = try one.run(
            ["login", "--complete", "-", "--store", "file"], input: try hosts.tenant.redirect(from: address) + "\n")
        #expect(again.line.hasPrefix(id) && !again.standardError.contains("store migrate"))
        let passphrase = try one.write("correct horse battery staple\n", to: "passphrase")
        let refused = try one.run(
            ["accounts", "export", one.path + "/sign-ins", "--passphrase-file", passphrase], exits: 2
        ).standardError
        #expect(refused.contains("credmgr groups join --help") && !refused.contains("logout"))
        #expect(!FileManager.default.fileExists(atPath: one.path + "/sign-ins"))
        // Beside others they are left out.
        try hosts.tenant.define("Solo", at: one)
        try one.run(["types", "set", "Solo", "keychain_group=solo"])
        let solo = try hosts.tenant.signIn(DemoTenant.bob, at: one, type: "Solo")
        let told = try one.run(
            ["accounts", "export", one.path + "/sign-ins", "--passphrase-file", passphrase]).standardError
        #expect(told.contains("1 account is in") && told.contains("(\(id))") && !told.contains(solo))
        try one.run(SharedHosts.token("--force-refresh"))
    }
}
