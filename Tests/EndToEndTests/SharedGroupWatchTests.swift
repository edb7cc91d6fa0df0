import Credentials
import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// `credmgr watch` of a host that shares a group with others.
@Suite(.serialized) struct `Watching a group of several hosts` {
    /// A `watch --json` under way.
    private final class Watch {
        private let process: RunningProcess

        init(at home: Home) throws {
            process = try home.start(["watch", "--json", "--group", SharedHosts.group])
        }

        /// The next event, waited for.
        func event() throws -> String? {
            try process.line().flatMap { try JSONValue.parse(Array($0.utf8)).object?["event"]?.string }
        }

        /// Waits until it has said something.
        func waitForNote(_ text: String) throws { try process.wait(for: text) }
    }

    @Test func `Changes by another host are seen at once, and an account that it signs out gives no token here`()
        throws
    {
        let hosts = try SharedHosts(try EtcdNodes.shared())
        let id = try hosts.share(["--cache-ttl", "1h"])
        let one = hosts["one"], two = hosts["two"]
        let before = try two.run(SharedHosts.token()).line
        let watch = try Watch(at: two)
        try watch.waitForNote("watching")
        try one.run(["label", id, "ours"])
        #expect(try watch.event() == "account.updated")
        #expect(try two.run(SharedHosts.token()).line == before)
        let renewed = try one.run(SharedHosts.token("--force-refresh")).line
        let start = ContinuousClock.now
        #expect(try watch.event() == "token.refreshed")
        #expect(ContinuousClock.now - start < .seconds(1), "\(ContinuousClock.now - start)")
        #expect(try two.run(SharedHosts.token()).line == renewed)
        // A change that this host makes itself is reported once.
        try two.run(SharedHosts.token("--force-refresh"))
        try two.run(["label", id, "theirs"])
        try one.run(["logout", "--account", id])
        #expect(try watch.event() == "token.refreshed")
        #expect(try watch.event() == "account.updated")
        #expect(try watch.event() == "account.removed")
        try two.run(SharedHosts.token(), exits: 3)
    }

    @Test func `An unreachable cluster is reported once, and the missed events arrive after its return`()
        throws
    {
        let nodes = try EtcdNodes(1)
        defer { nodes.stop() }
        let hosts = try SharedHosts(nodes)
        let id = try hosts.share()
        try hosts["two"].run(SharedHosts.token())
        let watch = try Watch(at: hosts["two"])
        try watch.waitForNote("watching")
        try hosts["one"].run(["label", id, "first"])
        #expect(try watch.event() == "account.updated")
        nodes.pause(0)
        try watch.waitForNote("cannot watch the other hosts")
        nodes.pause(0, false)
        try hosts["one"].run(["label", id, "second"])
        #expect(try watch.event() == "account.updated")
    }

    @Test func `A program that has the library sees it, too`() async throws {
        let hosts = try SharedHosts(try EtcdNodes.shared())
        let id = try hosts.share()
        let one = hosts["one"], two = hosts["two"]
        try two.run(SharedHosts.token())
        let store = try AccountStore(environment: two.environment)
        var changes = try store.changes().makeAsyncIterator()
        try one.run(["label", id, "ours"])
        #expect(await changes.next()?.kind == .accountUpdated)
        try one.run(SharedHosts.token("--force-refresh"))
        #expect(await changes.next()?.kind == .tokenRefreshed)
        try one.run(["logout", "--account", id])
        let last = await changes.next()
        #expect(last?.kind == .accountRemoved && last?.account == id)
        #expect(try store.accounts().isEmpty)
    }
}
