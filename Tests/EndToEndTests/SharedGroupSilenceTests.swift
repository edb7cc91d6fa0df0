import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// Nodes that are stopped while their connections stay open: each command ends within 15 s, for any request.
@Suite(.serialized) struct `A cluster that is silent` {
    private let nodes: EtcdNodes
    private let hosts: SharedHosts

    init() throws {
        nodes = try EtcdNodes()
        hosts = try SharedHosts(nodes)
        _ = try hosts.share()
    }

    private func silence(_ isSilent: Bool = true) { for node in 0...2 { nodes.pause(node, isSilent) } }

    /// Whether it takes no longer than a host may take that cannot reach its cluster.
    private func inTime<Value>(
        _ what: String, within limit: Duration = .seconds(15), _ body: () throws -> Value
    ) rethrows -> Value {
        let start = ContinuousClock.now
        let value = try body()
        let took = ContinuousClock.now - start
        #expect(took < limit, "\(what): \(took)")
        return value
    }

    @Test func `Each command answers in time if the nodes were unreachable before`() throws {
        let two = hosts["two"]
        // However many groups there are.
        try two.run(["groups", "share", "second"] + hosts.cluster(as: "two"))
        try two.run(SharedHosts.token())
        silence()
        defer { nodes.stop() }
        func run(_ words: [String], exits status: Int32) throws {
            try inTime(words.joined(separator: " ")) {
                let outcome = try ChildProcess(Home.program, words, environment: two.environment).run()
                #expect(outcome.exitStatus == status, "\(words): \(outcome.standardError)")
            }
        }
        try run(SharedHosts.token("--force-refresh"), exits: 6)
        try run(SharedHosts.token(), exits: 0)
        try run(["accounts", "--json"], exits: 0)
        try run(["label", DemoTenant.alice.email, "ours"], exits: 6)
        try run(["logout", "--all", "--yes"], exits: 6)
        try run(["groups", "hosts", SharedHosts.group], exits: 6)
        try run(["store", "status"], exits: 0)
        try run(["doctor"], exits: 1)
        #expect(hosts.tenant.provider.counters.refreshes == 0)
    }

    @Test func `An account of another group is found without them`() throws {
        let two = hosts["two"]
        try hosts.tenant.define("Own", at: two)
        try two.run(["types", "set", "Own", "keychain_group=own"])
        let bob = try hosts.tenant.signIn(DemoTenant.bob, at: two, type: "Own")
        try two.run(["label", bob, "xx"])
        silence()
        defer { nodes.stop() }
        for words in [
            ["token", "--account", "xx"], ["accounts", "show", "xx"], ["use", bob], ["label", "xx", "yy"],
        ] {
            // Silent nodes are waited for longer than that.
            try inTime("\(words)", within: .seconds(5)) { _ = try two.run(words) }
        }
    }

    @Test func `A group that was never looked into is not taken for an empty one`() throws {
        let two = hosts["two"]
        try hosts.tenant.define("Own", at: two)
        try two.run(["types", "set", "Own", "keychain_group=own"])
        let bob = try hosts.tenant.signIn(DemoTenant.bob, at: two, type: "Own")
        try two.run(["groups", "leave", SharedHosts.group])
        try hosts.letIn("two")
        silence()
        defer { nodes.stop() }
        // To have tried is not to have looked.
        for words in [SharedHosts.token(), ["token"]] {
            let refused = try inTime("\(words)") { try two.run(words, exits: 6) }
            #expect(nodes.endpoints.allSatisfy { refused.standardError.contains($0) })
        }
        for words in [
            ["--account", bob], ["--account", DemoTenant.bob.email], ["--type", "Own"], ["--group", "own"],
        ] {
            try inTime("\(words)", within: .seconds(5)) { _ = try two.run(["token"] + words) }
        }
        silence(false)
        #expect(try two.run(["token"], exits: 3).standardError.contains(DemoTenant.alice.email))
        silence()
        // Before two are called several the cluster is asked whether both are still there.
        try inTime("token") { _ = try two.run(["token"], exits: 3) }
    }

    @Test func `A refresh answers in time, and keeps its response, if the nodes become unreachable in between`()
        throws
    {
        let one = hosts["one"], two = hosts["two"], provider = hosts.tenant.provider
        defer { nodes.stop() }
        provider.holdTokenReplies(1)
        let program = Home.program, environment = two.environment
        let refresh = Background {
            try ChildProcess(program, SharedHosts.token("--force-refresh"), environment: environment).run()
        }
        try #require(provider.waitForHeldTokenReplies())
        silence()
        let outcome = try inTime("the refresh") {
            provider.releaseTokenReplies()
            return try refresh.value()
        }
        #expect(outcome.exitStatus == 0 && outcome.standardError.contains("saved them encrypted on this host"))
        #expect(provider.secrets.contains(outcome.standardOutput.trimmingCharacters(in: .newlines)))
        silence(false)
        // The host that looks next puts it there, and no host sends the token that was replaced.
        _ = try two.json(["accounts", "--json"])
        try one.run(SharedHosts.token("--force-refresh"))
        #expect(provider.counters.refreshes == 2 && provider.counters.reusesDetected == 0)
    }
}
