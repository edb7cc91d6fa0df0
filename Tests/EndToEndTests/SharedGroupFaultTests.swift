import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// The faults of the cluster of a shared group, with real nodes: each with its error and exit status, and no group
/// of this machine alone touched by it.
@Suite(.serialized) struct `What goes wrong in a group of several hosts` {
    func hosts(_ names: [String] = ["one", "two"]) throws -> SharedHosts {
        try SharedHosts(try EtcdNodes.shared(), names)
    }

    @Test func `Options that make no sense are told before anything is asked`() throws {
        let home = try Home()
        try home.run(["groups", "share", "work"], exits: 2)
        for address in ["ftp://x", "ftp://127.0.0.1:2379", "ws://localhost:2379", "file://localhost/"] {
            let refused = try home.run(["groups", "share", "work", "--etcd", address], exits: 2)
            #expect(refused.standardError.contains("'\(address)' is not a valid cluster endpoint"))
        }
        try home.run(["groups", "share", "work", "--etcd", "http://example.com:2379"], exits: 2)
        try home.run(["groups", "share", "work", "--etcd", "https://localhost:1", "--ca", "missing.pem"], exits: 2)
        let file = try home.write("x", to: "some.pem")
        try home.run(["groups", "share", "work", "--etcd", "https://localhost:1", "--cert", file], exits: 2)
        try home.run(
            ["groups", "share", "work", "--etcd", "https://localhost:1", "--prefix", "no-slash"], exits: 2)
        try home.run(["groups", "share", "work", "--etcd", "https://localhost:1", "--name", "a/b"], exits: 2)
        try home.run(["groups", "hosts", "work"], exits: 2)
        try home.run(["groups", "leave", "work"], exits: 2)
        let setup = try home.run(["groups", "share", "work", "--print-etcd-setup", "--name", "alpha"])
        #expect(setup.standardOutput.contains("etcdctl user add alpha --no-password\n"))
        for prefix in ["/a", "/a/"] {
            let setup = try home.run(["groups", "share", "work", "--print-etcd-setup", "--prefix", prefix])
            #expect(setup.standardOutput.contains(" readwrite /a/work/\n"))
        }
    }

    @Test func `A group is shared once, and a name is taken once`() throws {
        let hosts = try hosts(["one", "two", "three"])
        _ = try hosts.share()
        let again = try hosts["one"].run(
            ["groups", "share", SharedHosts.group] + hosts.cluster(as: "one"), exits: 2)
        #expect(again.standardError.contains("credmgr groups hosts \(SharedHosts.group)"))
        let three = hosts["three"]
        try three.run(["groups", "leave", SharedHosts.group])
        let taken = try three.run(["groups", "join", SharedHosts.group] + hosts.cluster(as: "two"), exits: 2)
        #expect(taken.standardError.contains("another host of the group is called two"))
        try hosts.tenant.signIn(DemoTenant.bob, at: three)
        let own = try three.run(["groups", "join", SharedHosts.group] + hosts.cluster(as: "three"), exits: 2)
        #expect(own.standardError.contains("credmgr accounts --group \(SharedHosts.group)"))
        try three.run(["groups", "share", SharedHosts.group] + hosts.cluster(as: "three"), exits: 2)
        // The refused calls have not changed the group of this machine alone.
        try three.run(SharedHosts.token("--force-refresh"))
    }

    @Test func `Wrong authorities, strangers and missing roles are refused`() throws {
        let nodes = try EtcdNodes.shared(), hosts = try hosts()
        let one = hosts["one"]
        try hosts.tenant.signIn(at: one)
        let words = ["groups", "share", SharedHosts.group]
        let untrusted = try one.run(
            words + hosts.cluster(as: "one", authorities: nodes.wrongAuthorities), exits: 7)
        #expect(untrusted.standardError.contains("--ca of 'groups share'"))
        let role = try one.run(words + hosts.cluster(as: "one", user: "other"), exits: 5)
        #expect(role.standardError.contains("permission denied"))
        let stranger = try one.run(words + hosts.cluster(as: "one", user: "stranger"), exits: 6)
        #expect(stranger.standardError.contains("the cluster cannot be reached"))
        try one.run(words + hosts.cluster(as: "one", endpoints: ["https://localhost:1"]), exits: 6)
        try one.run(
            ["groups", "join", SharedHosts.group] + hosts.cluster(as: "one", prefix: "/credmgr/none"), exits: 2)
        try one.run(SharedHosts.token("--force-refresh"))
        #expect(try one.json(["accounts", "--json"]).array?.first?.object?["store"] == "file")
    }

    @Test func `Without a quorum tokens that are valid are given, and for the rest it is exit 6`() throws {
        let nodes = try EtcdNodes()
        defer { nodes.stop() }
        let hosts = try SharedHosts(nodes)
        _ = try hosts.share()
        let two = hosts["two"]
        let token = try two.run(SharedHosts.token()).line
        nodes.pause(0)
        nodes.pause(1)
        #expect(try two.run(SharedHosts.token()).line == token)
        let refused = try two.run(SharedHosts.token("--force-refresh"), exits: 6)
        #expect(nodes.endpoints.allSatisfy { refused.standardError.contains($0) })
        let listed = try two.run(["accounts", "--json"])
        #expect(try JSONValue.parse(Array(listed.standardOutput.utf8)).array?.count == 1)
        #expect(listed.standardError.contains("is shown as this host has last seen it"))
        #expect(nodes.endpoints.allSatisfy { listed.standardError.contains($0) })
        let status = try two.json(["store", "status", "--json"]).array?.last?.object
        #expect(
            status?["store"] == "etcd" && status?["state"] == "unavailable" && status?["accounts"]?.integer == 1)
        try two.run(["logout", "--all", "--yes"], exits: 6)
        nodes.pause(0, false)
        nodes.pause(1, false)
        #expect(hosts.tenant.provider.counters.refreshes == 0)
    }

    @Test func `A host that leaves writes its received tokens into the cluster first`() throws {
        let nodes = try EtcdNodes()
        defer { nodes.stop() }
        let hosts = try SharedHosts(nodes)
        _ = try hosts.share()
        let one = hosts["one"], two = hosts["two"], provider = hosts.tenant.provider
        provider.holdTokenReplies(1)
        let refresh = try two.start(SharedHosts.token("--force-refresh"))
        try #require(provider.waitForHeldTokenReplies())
        for node in 0...1 { nodes.pause(node) }
        provider.releaseTokenReplies()
        let outcome = try refresh.outcome(), told = outcome.standardError
        #expect(outcome.exitStatus == 0 && told.contains("saved them encrypted on this host"), "\(told)")
        for node in 0...1 { nodes.pause(node, false) }
        try two.run(["groups", "leave", SharedHosts.group])
        // No host sends the token that the provider has rotated.
        try one.run(SharedHosts.token("--force-refresh"))
        #expect(provider.counters.refreshes == 2 && provider.counters.reusesDetected == 0)
    }

    static let backendFile = "data/credmgr/groups/\(SharedHosts.group)/shared/backend"

    /// Has a host come with the certificate of a user.
    func come(_ host: Home, as user: String, _ backend: Data) throws {
        let nodes = try EtcdNodes.shared()
        var text = String(decoding: backend, as: UTF8.self)
        let own = nodes.certificate(of: "host"), other = nodes.certificate(of: user)
        for (file, new) in [(own.certificate, other.certificate), (own.key, other.key)] {
            text = text.replacingOccurrences(
                of: JSONValue.string(file).text(), with: JSONValue.string(new).text())
        }
        try Data(text.utf8).write(to: URL(fileURLWithPath: host.path + "/" + Self.backendFile))
    }

    @Test func `A host that its cluster lets in no more forgets the group, and comes again as a new one`() throws {
        let hosts = try hosts()
        _ = try hosts.share()
        let (one, two) = (hosts["one"], hosts["two"])
        try come(two, as: "other", try #require(two.files[Self.backendFile]))
        let refused = try two.run(["groups", "leave", SharedHosts.group], exits: 5)
        let hint = "credmgr groups leave \(SharedHosts.group) --forget"
        #expect(refused.standardError.contains(": \(hint)\n"))
        try two.run(["groups", "leave", SharedHosts.group, "--forget", "--keep"], exits: 2)
        let forgotten = try two.run(Array(hint.split(separator: " ").map(String.init).dropFirst()))
        #expect(forgotten.standardError.contains("credmgr groups expel \(SharedHosts.group) two\n"))
        #expect(!forgotten.standardError.contains("that only this host had"))
        #expect(two.files.keys.allSatisfy { !$0.contains("/\(SharedHosts.group)/shared/") })
        try two.run(SharedHosts.token(), exits: 3)
        try one.run(["groups", "expel", SharedHosts.group, "two"])
        try one.run(SharedHosts.token("--force-refresh"))
        try two.run(["groups", "join", SharedHosts.group] + hosts.cluster(as: "two"))
    }

    @Test func `The last host that may read nothing for now does not leave, and forgets nothing`() throws {
        let hosts = try hosts(["one"])
        _ = try hosts.share()
        let one = hosts["one"], backend = try #require(one.files[Self.backendFile])
        try come(one, as: "other", backend)
        let before = one.files
        for more in [["--keep", "--store", "file"], []] {
            let refused = try one.run(["groups", "leave", SharedHosts.group] + more, exits: 5)
            #expect(refused.standardError.contains("permission denied"))
            #expect(
                refused.standardError.contains(
                    "credmgr groups share \(SharedHosts.group) --print-etcd-setup --name other --prefix \(hosts.prefix);"
                ))
        }
        #expect(one.files == before)
        try come(one, as: "host", backend)
        try one.run(["groups", "leave", SharedHosts.group, "--keep", "--store", "file"])
        try one.run(SharedHosts.token("--force-refresh"))
    }

    @Test func `A host with a damaged group file joins under its former name`() throws {
        let hosts = try hosts()
        _ = try hosts.share()
        let two = hosts["two"], name = "data/credmgr/groups/\(SharedHosts.group)/shared/backend"
        let path = two.path + "/" + name, backend = try #require(two.files[name])
        // In place, as its rights are those that it needs.
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 20)
        try file.close()
        let damaged = try two.run(SharedHosts.token(), exits: 5)
        #expect(damaged.standardError.contains("the configuration file groups/"))
        #expect(damaged.standardError.contains(": credmgr groups join --help\n"))
        try two.run(["groups", "join", "--help"])
        try two.run(["groups", "join", SharedHosts.group] + hosts.cluster(as: "two"))
        #expect(two.files[name] == backend)
        try two.run(SharedHosts.token("--force-refresh"))
    }

    @Test func `A group that cannot be read leaves the accounts of other groups unchanged`() throws {
        let nodes = try EtcdNodes.shared(), hosts = try hosts(["one", "two"])
        let alice = try hosts.share(), one = hosts["one"]
        try hosts.tenant.define("Own", at: one)
        try one.run(["types", "set", "Own", "keychain_group=own"])
        let bob = try hosts.tenant.signIn(DemoTenant.bob, at: one, type: "Own")
        try one.run(["label", bob, "xx"])
        let backend = try #require(one.files[Self.backendFile])
        let path = one.path + "/" + Self.backendFile
        func others() throws {
            let token = try one.run(["token", "--account", "xx"]).line
            #expect(hosts.tenant.provider.secrets.contains(token))
            try one.run(["accounts", "show", "xx"])
            try one.run(["use", "xx"])
            try one.run(["label", "xx", "yy"])
            try one.run(["label", bob, "xx"])
        }
        func changed(_ old: String, _ new: String) -> Data {
            let text = String(decoding: backend, as: UTF8.self)
            return Data(
                text.replacingOccurrences(of: JSONValue.string(old).text(), with: JSONValue.string(new).text()).utf8
            )
        }
        let faults: [(Data, Int32)] = [
            (changed(nodes.authorities, nodes.wrongAuthorities), 7),
            (changed(nodes.certificate(of: "host").certificate, "/missing.pem"), 2), (backend.prefix(20), 5),
        ]
        for (fault, status) in faults {
            try fault.write(to: URL(fileURLWithPath: path))
            try others()
            // The cluster may have an account that no group here has.
            try one.run(["accounts", "show", "nobody"], exits: status)
        }
        try come(one, as: "other", backend)
        try others()
        try backend.write(to: URL(fileURLWithPath: path))
        // A host that waits to be let in.
        let two = hosts["two"]
        try two.run(["groups", "leave", SharedHosts.group])
        try two.run(["groups", "join", SharedHosts.group] + hosts.cluster(as: "two"))
        try hosts.tenant.define("Own", at: two)
        try two.run(["types", "set", "Own", "keychain_group=own"])
        let carol = try hosts.tenant.signIn(DemoTenant.bob, at: two, type: "Own")
        try two.run(["label", carol, "xx"])
        try two.run(["token", "--account", "xx"])
        try two.run(["accounts", "show", "nobody"], exits: 5)
        try nodes.put("\(hosts.prefix)/\(SharedHosts.group)/a/\(alice)/set", "foreign")
        try others()
    }

    @Test func `A host that has lost its key leaves, and joins anew`() throws {
        let hosts = try hosts()
        _ = try hosts.share()
        let two = hosts["two"], store = "data/credmgr/groups/\(SharedHosts.group)/store.v1"
        try two.run(SharedHosts.token())
        #expect(two.files[store] != nil)
        try FileManager.default.removeItem(atPath: two.path + "/" + store)
        let refused = try two.run(SharedHosts.token("--force-refresh"), exits: 5)
        #expect(refused.standardError.contains("is not in the"))
        #expect(refused.standardError.contains(": credmgr groups leave \(SharedHosts.group)\n"))
        try two.run(["groups", "leave", SharedHosts.group])
        try hosts.letIn("two")
        try two.run(SharedHosts.token("--force-refresh"))
    }

    @Test func `Doctor reports a host with a clock that is ahead`() throws {
        let hosts = try hosts(["one"])
        let id = try hosts.share(), one = hosts["one"]
        func doctor() throws -> String {
            try ChildProcess(Home.program, ["doctor"], environment: one.environment).run().standardOutput
        }
        #expect(try doctor().contains("ok       clock of group \(SharedHosts.group)"))
        // The copy of a record that was written by a host with a clock decades ahead.
        let name = "data/credmgr/groups/\(SharedHosts.group)/accounts/\(id)"
        var copy = try #require(one.files[name])
        let time = try #require(copy.range(of: Data(#""updated_at":1"#.utf8)))
        copy.replaceSubrange(time, with: Data(#""updated_at":2"#.utf8))
        try copy.write(to: URL(fileURLWithPath: one.path + "/" + name))
        let found = try doctor()
        #expect(found.contains("\(id) was changed at 20"), "\(found)")
    }

    @Test func `Another cluster under the same address is not believed`() throws {
        let hosts = try hosts()
        _ = try hosts.share()
        let two = hosts["two"]
        try two.run(SharedHosts.token())
        // The other host removes the group and creates it again.
        try two.run(["groups", "leave", SharedHosts.group])
        try hosts.letIn("two")
        try hosts["one"].run(["groups", "expel", SharedHosts.group, "two"])
        try hosts["one"].run(["groups", "leave", SharedHosts.group, "--keep", "--store", "file"])
        try hosts["one"].run(["groups", "share", SharedHosts.group] + hosts.cluster(as: "one"))
        let refused = try two.run(SharedHosts.token("--force-refresh"), exits: 5)
        #expect(refused.standardError.contains("it is another cluster, or the group was created again"))
        #expect(refused.standardError.contains("credmgr groups leave \(SharedHosts.group)"))
    }

    @Test func `A cluster that is restored to an earlier state gets newer records from a host`() throws {
        let nodes = try EtcdNodes.shared(), hosts = try hosts(["one", "two", "three"])
        let id = try hosts.share()
        let one = hosts["one"], two = hosts["two"], three = hosts["three"]
        let set = "\(hosts.prefix)/\(SharedHosts.group)/a/\(id)/set"
        let earlier = try nodes.record(set)
        try two.run(SharedHosts.token("--force-refresh"))
        let newest = try two.run(SharedHosts.token("--force-refresh")).line
        // A host that has seen the newest set puts it back; a host that has not is given it.
        try nodes.put(set, earlier)
        #expect(try two.json(["accounts", "--json"]).array?.count == 1)
        #expect(try nodes.record(set) != earlier)
        #expect(try one.run(SharedHosts.token()).line == newest)
        try three.run(SharedHosts.token("--force-refresh"))
        // The same if a refresh is the first request.
        let again = try nodes.record(set)
        try one.run(SharedHosts.token("--force-refresh"))
        try nodes.put(set, again)
        try one.run(SharedHosts.token("--force-refresh"))
        let counters = hosts.tenant.provider.counters
        #expect(counters.refreshes == 5 && counters.reusesDetected == 0)
        // A user has signed in after the restore: that is no earlier state.
        try hosts.tenant.signIn(at: three)
        let signedIn = try nodes.record(set)
        for host in [one, two] { _ = try host.json(["accounts", "--json"]) }
        #expect(try nodes.record(set) == signedIn)
        // An account that was signed out stays so.
        try three.run(["logout", "--all", "--yes"])
        #expect(try two.json(["accounts", "--json"]).array?.isEmpty == true)
        try two.run(SharedHosts.token(), exits: 3)
    }

    @Test func `A cluster that is put back to before a host was expelled takes nothing that it could read`() throws
    {
        let nodes = try EtcdNodes.shared(), hosts = try hosts(["one", "two", "three"])
        let id = try hosts.share()
        let one = hosts["one"], path = "\(hosts.prefix)/\(SharedHosts.group)/"
        let kept = try ["epoch", "keys/1/three", "hosts/one", "hosts/two", "hosts/three", "a/\(id)/set"].map {
            ($0, try nodes.record(path + $0))
        }
        try one.run(["groups", "expel", SharedHosts.group, "three"])
        for (key, value) in kept { try nodes.put(path + key, value) }
        let refused = try one.run(SharedHosts.token("--force-refresh"), exits: 5)
        #expect(refused.standardError.contains("was restored to a state before three was removed"))
        #expect(refused.standardError.contains("credmgr groups expel \(SharedHosts.group) three --fingerprint "))
        #expect(try nodes.record(path + "a/\(id)/set") == kept.last?.1)
        let mistyped = try one.run(["groups", "expel", SharedHosts.group, "thre"], exits: 3)
        #expect(mistyped.standardError.contains("its hosts are one, three, two"))
        try one.run(["groups", "expel", SharedHosts.group, "three"])
        let token = try one.run(SharedHosts.token()).line
        #expect(try hosts["two"].run(SharedHosts.token()).line == token)
        try hosts["three"].run(SharedHosts.token("--force-refresh"), exits: 5)
        #expect(hosts.tenant.provider.counters.reusesDetected == 0)
    }
}
