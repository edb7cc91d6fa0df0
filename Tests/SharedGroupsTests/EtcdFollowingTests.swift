import CredentialCore
import CurlTransport
import EtcdCluster
import Foundation
import SharedGroups
import Synchronization
import TestSupport
import Testing

/// The changes that a stream of a real cluster reports, as they come.
private final class Stream: Sendable {
    private let isWanted = Mutex(true)
    private let changes = Mutex<[ClusterChange]>([])
    private let arrived = DispatchSemaphore(value: 0)
    private let end = Mutex<Background<Void>?>(nil)

    init(_ cluster: EtcdCluster, _ prefix: String, after revision: Int64) {
        let thread = Background { [self] in
            try cluster.follow(
                prefix, after: revision, isWanted: { [self] in isWanted.withLock { $0 } },
                take: { [self] news in
                    changes.withLock { $0 += news }
                    for _ in news { arrived.signal() }
                    return true
                })
        }
        end.withLock { $0 = thread }
    }

    /// The next change; `nil` if no change comes within `seconds`.
    func next(seconds: Int = 30) -> ClusterChange? {
        guard arrived.wait(timeout: .now() + .seconds(seconds)) == .success else { return nil }
        return changes.withLock { $0.removeFirst() }
    }

    /// Waits until it ends; why it was lost is thrown.
    func wait() throws { try end.withLock { $0 }?.value() }

    func stop() throws {
        isWanted.withLock { $0 = false }
        try wait()
    }
}

/// A way to a node that counts the calls, and leaves streams alone.
private final class CountedNode: GRPCClient {
    let calls = Mutex(0)
    private let base: any GRPCClient

    init(_ base: any GRPCClient) { self.base = base }

    func call(_ method: String, _ message: [UInt8], milliseconds: Int) throws(GRPCError) -> [UInt8] {
        calls.withLock { $0 += 1 }
        return try base.call(method, message, milliseconds: milliseconds)
    }

    func stream(
        _ method: String, _ message: [UInt8], metadata: [String], isWanted: @escaping @Sendable () -> Bool,
        take: @escaping @Sendable ([UInt8]) -> Bool
    ) throws(GRPCError) {
        try base.stream(method, message, metadata: metadata, isWanted: isWanted, take: take)
    }
}

/// Changes of a real cluster, seen as they happen.
@Suite(.serialized) struct EtcdFollowingTests {
    private static let nodes = Result { try EtcdNodes(3, election: 1_000) }

    /// A way to one node.
    private func node(_ number: Int) throws -> CountedNode {
        let nodes = try Self.nodes.get(), names = nodes.certificate(of: "host")
        return CountedNode(
            GRPCChannel(
                .init(
                    address: try #require(URI(nodes.endpoints[number])), authorities: nodes.authorities,
                    certificate: ClientCertificate(certificateFile: names.certificate, keyFile: names.key)),
                transport: CurlTransport(userAgent: "test")))
    }

    private func put(_ key: String, _ value: String, _ cluster: EtcdCluster) throws {
        var transaction = ClusterTransaction()
        transaction.changes = [.put(key, Array(value.utf8))]
        #expect(try cluster.commit(transaction))
    }

    /// Puts until the cluster takes it: it may be about to find a leader.
    private func putSoon(_ key: String, _ value: String, _ cluster: EtcdCluster) throws {
        for _ in 0..<20 {
            do { return try put(key, value, cluster) } catch let error as CredentialError {
                guard error.code == .temporary else { throw error }
            }
        }
        try put(key, value, cluster)
    }

    @Test func `a change is told within moments, and nothing is asked for it`() throws {
        let nodes = try Self.nodes.get(), node = try node(0), writer = try realCluster(nodes)
        let follower = EtcdCluster([("first", node)])
        try put("/credmgr/f1/a", "1", writer)
        let revision = try follower.read([], listing: "/credmgr/f1/").revision
        try put("/credmgr/f1/a", "2", writer)
        let stream = Stream(follower, "/credmgr/f1/", after: revision)
        // The change that came between the list and the stream, too.
        #expect(stream.next()?.record.value == Array("2".utf8))
        let before = node.calls.withLock { $0 }
        var slowest = Duration.zero
        for number in 3..<13 {
            let start = ContinuousClock.now
            try put("/credmgr/f1/a", "\(number)", writer)
            #expect(stream.next()?.record.value == Array("\(number)".utf8))
            slowest = max(slowest, ContinuousClock.now - start)
        }
        var removal = ClusterTransaction()
        removal.changes = [.remove("/credmgr/f1/a")]
        #expect(try writer.commit(removal))
        let removed = try #require(stream.next())
        #expect(removed.isRemoval && removed.record.key == "/credmgr/f1/a" && removed.record.revision > revision)
        #expect(slowest < .milliseconds(900), "\(slowest)")
        // One sign of life at most, if this machine has been busy for long.
        #expect(node.calls.withLock { $0 } - before <= 2)
        try stream.stop()
    }

    @Test func `a history that was compacted ends the stream, to be listed anew`() throws {
        let nodes = try Self.nodes.get(), cluster = try realCluster(nodes)
        for number in 0..<3 { try put("/credmgr/f2/a", "\(number)", cluster) }
        let now = try cluster.read([], listing: "/credmgr/f2/").revision
        try nodes.compact(to: now)
        let stream = Stream(cluster, "/credmgr/f2/", after: now - 3)
        try stream.wait()
        #expect(stream.next(seconds: 0) == nil)
        let again = Stream(cluster, "/credmgr/f2/", after: now)
        try put("/credmgr/f2/a", "3", cluster)
        #expect(again.next()?.record.value == Array("3".utf8))
        try again.stop()
    }

    @Test func `a user without read permission below a prefix gets an error`() throws {
        let cluster = try realCluster(try Self.nodes.get(), as: "other")
        let error = #expect(throws: CredentialError.self) {
            try cluster.follow("/credmgr/f3/", after: 1, isWanted: { true }, take: { _ in true })
        }
        #expect(error?.message.contains("permission denied") == true, "\(String(describing: error))")
    }

    @Test func `when the leader stands still the others go on to tell`() throws {
        let nodes = try Self.nodes.get(), leader = try nodes.leader(), other = (leader + 1) % 3
        let third = (leader + 2) % 3
        let writer = try realCluster(nodes, endpoints: [nodes.endpoints[third]])
        let follower = try realCluster(nodes, endpoints: [nodes.endpoints[other], nodes.endpoints[third]])
        try put("/credmgr/f4/a", "1", writer)
        let revision = try follower.read([], listing: "/credmgr/f4/").revision
        let stream = Stream(follower, "/credmgr/f4/", after: revision)
        nodes.pause(leader)
        defer { nodes.pause(leader, false) }
        try putSoon("/credmgr/f4/a", "2", writer)
        // An election that takes long ends the stream; the next stream reports the changes made meanwhile.
        let told = stream.next(seconds: 15)
        if let told {
            #expect(told.record.value == Array("2".utf8))
            return try stream.stop()
        }
        #expect(throws: CredentialError.self) { try stream.wait() }
        let again = Stream(follower, "/credmgr/f4/", after: revision)
        #expect(again.next()?.record.value == Array("2".utf8))
        try again.stop()
    }

    @Test func `a node that stands still, or is cut off from the others, is left for another one`() throws {
        let nodes = try Self.nodes.get()
        for silent in [[0], [1, 2]] {
            let follower = try realCluster(nodes, endpoints: [nodes.endpoints[0], nodes.endpoints[1]])
            try putSoon("/credmgr/f5/a", "1", try realCluster(nodes))
            let revision = try follower.read([], listing: "/credmgr/f5/").revision
            let stream = Stream(follower, "/credmgr/f5/", after: revision)
            for node in silent { nodes.pause(node) }
            defer { for node in silent { nodes.pause(node, false) } }
            let start = ContinuousClock.now
            let error = #expect(throws: CredentialError.self) { try stream.wait() }
            #expect(error?.code == .temporary && error?.message.contains("cannot watch the cluster") == true)
            #expect(ContinuousClock.now - start < .seconds(30), "\(ContinuousClock.now - start)")
            if silent == [1, 2] { for node in silent { nodes.pause(node, false) } }
            // It goes on at the other one, from the same revision, once that has a leader.
            try putSoon("/credmgr/f5/a", "2", try realCluster(nodes, endpoints: [nodes.endpoints[1]]))
            let again = Stream(follower, "/credmgr/f5/", after: revision)
            #expect(again.next()?.record.value == Array("2".utf8))
            try again.stop()
        }
    }
}
