import CredentialCore
import CurlTransport
import EtcdCluster
import Foundation
import SharedGroups
import Synchronization
import TestSupport
import Testing

/// The cluster of real nodes, as a user of theirs.
func realCluster(
    _ nodes: EtcdNodes, as user: String = "host", authorities: String? = nil, endpoints: [String]? = nil
) throws -> EtcdCluster {
    let names = nodes.certificate(of: user)
    let transport = CurlTransport(userAgent: "test")
    let certificate = ClientCertificate(certificateFile: names.certificate, keyFile: names.key)
    return EtcdCluster(
        try (endpoints ?? nodes.endpoints).map { endpoint in
            let address = try #require(URI(endpoint))
            let channel = GRPCChannel(
                .init(address: address, authorities: authorities ?? nodes.authorities, certificate: certificate),
                transport: transport)
            return (endpoint, channel)
        })
}

extension GRPCClient {
    /// A stream of a node that has no streams ends as its calls do.
    func stream(
        _ method: String, _ message: [UInt8], metadata: [String], isWanted: @escaping @Sendable () -> Bool,
        take: @escaping @Sendable ([UInt8]) -> Bool
    ) throws(GRPCError) {
        _ = try call(method, message, milliseconds: 0)
    }
}

/// A node that cannot be reached, and counts who tries.
private final class LostNode: GRPCClient {
    let calls = Mutex(0)

    func call(_ method: String, _ message: [UInt8], milliseconds: Int) throws(GRPCError) -> [UInt8] {
        calls.withLock { $0 += 1 }
        throw .unreached(CredentialError(.temporary, "no connection"))
    }
}

/// A node that answers everything with an empty message.
private struct EmptyNode: GRPCClient {
    func call(_ method: String, _ message: [UInt8], milliseconds: Int) throws(GRPCError) -> [UInt8] { [] }
}

@Test(arguments: [
    (8, "etcdserver: mvcc: database space exceeded", "; etcdctl defrag --cluster; etcdctl alarm disarm"),
    (7, "etcdserver: permission denied", "that this prints: credmgr groups share fleet --print-etcd-setup"),
    (16, "etcdserver: invalid auth token", "that this prints: credmgr groups share fleet --print-etcd-setup"),
])
func `a permanent refusal by a node is reported with the commands that help`(
    status: Int, text: String, advice: String
) {
    let node = RefusingNode(status: status, text: text)
    let cluster = EtcdCluster([("node", node)], setup: "credmgr groups share fleet --print-etcd-setup")
    let error = #expect(throws: CredentialError.self) { try cluster.list("/credmgr/") }
    #expect(error?.code == .storeUnavailable && error?.hint?.hasSuffix(advice) == true)
}

@Test func `a node that is lost is waited for once`() throws {
    let lost = LostNode()
    let cluster = EtcdCluster([("lost", lost), ("there", EmptyNode())])
    for _ in 0..<3 { #expect(try cluster.list("/credmgr/").isEmpty) }
    #expect(lost.calls.withLock { $0 } == 1)
    // If no node answers, all are tried each time.
    let other = LostNode()
    let none = EtcdCluster([("lost", lost), ("other", other)])
    for _ in 0..<2 { #expect(throws: CredentialError.self) { try none.list("/credmgr/") } }
    #expect(lost.calls.withLock { $0 } == 3 && other.calls.withLock { $0 } == 2)
}

/// A node that takes connections and never answers, with the clock that its callers have.
private final class SilentNode: GRPCClient {
    let waited: Mutex<Int64> = Mutex(0)

    func call(_ method: String, _ message: [UInt8], milliseconds: Int) throws(GRPCError) -> [UInt8] {
        waited.withLock { $0 += Int64(milliseconds) }
        throw .broken(CredentialError(.temporary, "no answer"))
    }
}

/// A node that refuses every call with a status.
private struct RefusingNode: GRPCClient {
    let status: Int
    let text: String

    func call(_ method: String, _ message: [UInt8], milliseconds: Int) throws(GRPCError) -> [UInt8] {
        throw .status(status, text)
    }
}

@Test func `earlier values of a key are remembered until they are compacted`() throws {
    let nodes = try EtcdNodes(1), cluster = try realCluster(nodes), key = "/credmgr/before"
    defer { nodes.stop() }
    var revisions: [Int64] = []
    for text in ["one", "two"] {
        var transaction = ClusterTransaction()
        transaction.changes = [.put(key, Array(text.utf8))]
        revisions.append(try #require(try cluster.revision(committing: transaction)))
    }
    #expect(try cluster.read(key, before: revisions[1])?.value == Array("one".utf8))
    #expect(try cluster.read(key, before: revisions[0]) == nil)
    try nodes.compact(to: revisions[1])
    let error = #expect(throws: CredentialError.self) { try cluster.read(key, before: revisions[1]) }
    #expect(error?.code == .unsupported)
}

@Test func `silent nodes take ten seconds of a command, and then nothing more`() throws {
    let node = SilentNode(), later: Mutex<Int64> = Mutex(0)
    let waiting = TimeoutBudget { node.waited.withLock { $0 } + later.withLock { $0 } }
    let cluster = EtcdCluster((1...3).map { ("silent \($0)", node) }, waiting: waiting)
    func wait() -> Int64 {
        let before = node.waited.withLock { $0 }
        let error = #expect(throws: CredentialError.self) { try cluster.list("/credmgr/") }
        #expect(error?.message.contains("silent 3: no answer") == true)
        return node.waited.withLock { $0 } - before
    }
    #expect(wait() == 10_000)
    for _ in 0..<2 { #expect(wait() == 0) }
    // A command that runs for long, as watch does, waits for them again.
    later.withLock { $0 += 10_001 }
    #expect(wait() == 10_000)
}

@Test func `only a status that speaks of space is one of no space`() throws {
    let full = EtcdCluster([("full", RefusingNode(status: 8, text: "etcdserver: mvcc: database space exceeded"))])
    let busy = EtcdCluster([("busy", RefusingNode(status: 8, text: "etcdserver: too many requests"))])
    let noSpace = #expect(throws: CredentialError.self) { try full.list("/credmgr/") }
    let tooMuch = #expect(throws: CredentialError.self) { try busy.list("/credmgr/") }
    #expect(noSpace?.code == .storeUnavailable && tooMuch?.code == .temporary)
}

@Suite(.serialized)
struct EtcdClusterTests {
    private static let nodes = Result { try EtcdNodes() }

    private func cluster(
        as user: String = "host", authorities: String? = nil, endpoints: [String]? = nil
    ) throws -> EtcdCluster {
        try realCluster(try Self.nodes.get(), as: user, authorities: authorities, endpoints: endpoints)
    }

    private func put(_ key: String, _ value: String, when condition: Int64? = nil) -> ClusterTransaction {
        var transaction = ClusterTransaction()
        if let condition { transaction.conditions[key] = condition }
        transaction.changes = [.put(key, Array(value.utf8))]
        return transaction
    }

    @Test func `a condition checks the value that was read, not its revision alone`() throws {
        let cluster = try cluster(), key = "/credmgr/t0/a"
        #expect(try cluster.commit(put(key, "one", when: 0)))
        let standing = try #require(try cluster.read([key])[0])
        // As a restored cluster has it: another value under the same revision.
        var change = put(key, "two")
        change.expect(ClusterRecord(key: key, value: Array("eno".utf8), revision: standing.revision), at: key)
        #expect(try cluster.commit(change) == false)
        change.expect(standing, at: key)
        #expect(try cluster.commit(change))
        // An empty value is a value.
        change.expect(
            ClusterRecord(key: key, value: [], revision: try #require(try cluster.read([key])[0]).revision), at: key
        )
        #expect(try cluster.commit(change) == false)
    }

    @Test func `a transaction is applied whole, or not at all`() throws {
        let cluster = try cluster()
        let key = "/credmgr/t1/a", other = "/credmgr/t1/b"
        #expect(try cluster.read([key, other]) == [nil, nil])
        #expect(try cluster.commit(put(key, "one", when: 0)))
        #expect(try cluster.commit(put(key, "two", when: 0)) == false)
        let first = try #require(try cluster.read([key])[0])
        #expect(first.value == Array("one".utf8) && first.revision > 0)
        var both = put(key, "three", when: first.revision)
        both.conditions[other] = 7
        both.changes.append(.put(other, [1]))
        #expect(try cluster.commit(both) == false)
        #expect(try cluster.read([key, other])[0] == first)
        both.conditions[other] = 0
        #expect(try cluster.commit(both))
        let now = try cluster.read([other, key])
        #expect(
            now[0]?.value == [1] && now[1]?.value == Array("three".utf8) && now[0]?.revision == now[1]?.revision)
        var removal = ClusterTransaction()
        removal.changes = [.remove(key)]
        #expect(try cluster.commit(removal))
        #expect(try cluster.read([key]) == [nil])
    }

    @Test func `a thousand records are listed in one call, large ones too`() throws {
        let cluster = try cluster()
        #expect(try cluster.commit(put("/credmgr/t2-beside", "1")))
        for batch in 0..<10 {
            var transaction = ClusterTransaction()
            for number in 0..<100 {
                let value = [UInt8](repeating: UInt8(batch), count: 3_000)
                transaction.changes.append(.put("/credmgr/t2/\(1_000 + 100 * batch + number)", value))
            }
            #expect(try cluster.commit(transaction))
        }
        let records = try cluster.list("/credmgr/t2/")
        #expect(records.count == 1_000 && records.allSatisfy { $0.value.count == 3_000 })
        #expect(records.map(\.key) == records.map(\.key).sorted())
        let reading = try cluster.read(["/credmgr/t2-none", "/credmgr/t2-beside"], listing: "/credmgr/t2/")
        #expect(reading.records.map { $0?.value } == [nil, Array("1".utf8)])
        #expect(reading.listed.map(\.revision) == records.map(\.revision))
        #expect(reading.listed.allSatisfy { $0.value.isEmpty })
        #expect(try #require(records.map(\.revision).max()) <= reading.revision)
    }

    @Test func `a key with a lease is removed when the lease is revoked`() throws {
        let cluster = try cluster()
        let lease = try cluster.grantLease(seconds: 15)
        var transaction = ClusterTransaction()
        transaction.changes = [.put("/credmgr/t3/live", [1], lease: lease)]
        #expect(try cluster.commit(transaction))
        let held = cluster.hold(lease)
        #expect(try cluster.read(["/credmgr/t3/live"])[0] != nil)
        held.release()
        try cluster.revoke(lease)
        #expect(try cluster.read(["/credmgr/t3/live"]) == [nil])
    }

    @Test func `a certificate without the role may do nothing with the group`() throws {
        let error = #expect(throws: CredentialError.self) { try cluster(as: "other").list("/credmgr/t4/") }
        #expect(error?.code == .storeUnavailable && error?.message.contains("permission denied") == true)
        let write = #expect(throws: CredentialError.self) {
            try cluster(as: "other").commit(put("/credmgr/t4/x", "1"))
        }
        #expect(write?.code == .storeUnavailable)
        #expect(try cluster().read(["/credmgr/t4/x"]) == [nil])
    }

    @Test func `the wrong authority and a stranger's certificate are refused`() throws {
        let nodes = try Self.nodes.get()
        let untrusted = #expect(throws: CredentialError.self) {
            try cluster(authorities: nodes.wrongAuthorities).list("/credmgr/")
        }
        #expect(untrusted?.code == .denied && untrusted?.message.contains("certificate") == true)
        #expect(throws: CredentialError.self) { try cluster(as: "stranger").list("/credmgr/") }
    }

    @Test func `an endpoint without a server is skipped`() throws {
        let nodes = try Self.nodes.get()
        let dead = "https://127.0.0.1:\(try freePort())"
        let cluster = try cluster(endpoints: [dead, nodes.endpoints[1]])
        #expect(try cluster.commit(put("/credmgr/t5/x", "1")))
        let none = #expect(throws: CredentialError.self) { try self.cluster(endpoints: [dead]).list("/credmgr/") }
        #expect(none?.code == .temporary && none?.message.contains("127.0.0.1") == true)
    }
}
