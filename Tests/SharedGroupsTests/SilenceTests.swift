import CredentialCore
import CurlTransport
import Synchronization
import TestSupport
import Testing

@testable import EtcdCluster
@testable import SharedGroups
@testable import Simulation

/// Nodes that answer so many calls of a refresh and then take connections and never answer.
private final class TiringNodes: Sendable {
    private let left: Mutex<Int>
    /// For how long was waited for them, in milliseconds.
    let waited: Mutex<Int64> = Mutex(0)

    init(answering calls: Int) { left = Mutex(calls) }

    func answers() -> Bool {
        left.withLock { left in
            left -= 1
            return left >= 0
        }
    }
}

private struct TiringNode: GRPCClient {
    let base: any GRPCClient
    let nodes: TiringNodes

    func call(_ method: String, _ message: [UInt8], milliseconds: Int) throws(GRPCError) -> [UInt8] {
        if nodes.answers() { return try base.call(method, message, milliseconds: 30_000) }
        nodes.waited.withLock { $0 += Int64(milliseconds) }
        throw .broken(CredentialError(.temporary, "no answer"))
    }
}

@Test func `at any point of a refresh, unreachable nodes cost ten seconds, and the response is kept`() throws {
    let nodes = try EtcdNodes(1), names = nodes.certificate(of: "host")
    defer { nodes.stop() }
    let channel = GRPCChannel(
        .init(
            address: try #require(URI(nodes.endpoints[0])), authorities: nodes.authorities,
            certificate: ClientCertificate(certificateFile: names.certificate, keyFile: names.key)),
        transport: CurlTransport(userAgent: "test"))
    let real = EtcdCluster([("real", channel)])
    var ends: Set<String> = []
    for calls in 0..<9 {
        let run = Run(.shared, seed: 1, faults: Faults.none), process = run.hosts[0].process(),
            world = process.world
        let sharing = try #require(process.ports.sharing as? ClusterGroupService)
        let link = try sharing.sharedLink(World.group)
        let account = try #require(try sharing.parts.local.index(of: World.group, .ids).ids.first)
        // The group as the simulation has it, on the real node.
        for old in try real.listKeys(World.path) { try put([.remove(old.key)], real) }
        for record in world.cluster.content.records.values { try put([.put(record.key, record.value)], real) }
        let tiring = TiringNodes(answering: calls), node = TiringNode(base: channel, nodes: tiring)
        let cluster = EtcdCluster(
            (1...3).map { ("\($0)", node) }, waiting: TimeoutBudget { tiring.waited.withLock { $0 } })
        let random = SimulatedRandom(world: world)
        let notes = FileIntentLog(files: process, group: World.group)
        let shared = SharedRefresh(
            cluster: cluster, notes: notes, seal: link.seal, clock: process, bootClock: process, random: random,
            cryptography: ToyCryptography(random: random), host: "one", publicKey: link.backend.publicKey)
        var issued = try #require(world.cluster.tokenSet(link.keys(account).set))
        issued.grants[""]?.refreshToken = Secret("r-0-2")
        let answer = issued, isSent = Mutex(false)
        do throws(CredentialError) {
            let outcome = try shared.refresh(
                SharedRefresh.Job(
                    keys: link.keys(account), policy: "", takeOver: .never, isFresh: { _ in false },
                    send: { (_, _) in
                        isSent.withLock { $0 = true }
                        return .issued(answer)
                    }))
            ends.insert(outcome.warnings.isEmpty ? "put" : "kept")
        } catch {
            #expect(error.code == .temporary && !isSent.withLock { $0 })
            ends.insert("refused")
        }
        #expect(tiring.waited.withLock { $0 } <= 10_000, "after \(calls) calls")
        let isPut = try real.read([link.keys(account).intent])[0] == nil
        #expect(try !isSent.withLock { $0 } || isPut || notes.journal(of: account) != nil)
    }
    #expect(ends == ["refused", "kept", "put"])
}

private struct AnsweringNode: GRPCClient {
    func call(_ method: String, _ message: [UInt8], milliseconds: Int) throws(GRPCError) -> [UInt8] { [] }
}

@Test func `a command that has waited before waits three seconds for unreachable nodes, and reaches a live one`()
    throws
{
    let silent = TiringNodes(answering: 0), node = TiringNode(base: AnsweringNode(), nodes: silent)
    let elapsed: @Sendable () -> Int64 = { silent.waited.withLock { $0 } }
    let cluster = EtcdCluster((1...3).map { ("\($0)", node) }, waiting: TimeoutBudget(elapsed: elapsed))
    cluster.recordWait(12_000)
    for _ in 0..<3 { #expect(throws: CredentialError.self) { try cluster.revoke(ClusterLease(number: 1)) } }
    #expect(elapsed() == 3_000 && cluster.millisecondsSpent == 10_000)
    let other = EtcdCluster(
        [("1", node), ("2", node), ("3", AnsweringNode())], waiting: TimeoutBudget(elapsed: elapsed))
    other.recordWait(12_000)
    try other.revoke(ClusterLease(number: 1))
    #expect(other.millisecondsSpent > 7_000)
}

@Test func `a command that lost all its time to unreachable nodes, and got answers from others, still asks them`()
    throws
{
    let silent = TiringNodes(answering: 0), node = TiringNode(base: AnsweringNode(), nodes: silent)
    let cluster = EtcdCluster(
        [("1", node), ("2", AnsweringNode())], waiting: TimeoutBudget { silent.waited.withLock { $0 } })
    while cluster.millisecondsSpent < 10_000 {
        cluster.beginElsewhere(than: 1)
        try cluster.revoke(ClusterLease(number: 1))
    }
    let before = silent.waited.withLock { $0 }
    cluster.beginElsewhere(than: 1)
    try cluster.revoke(ClusterLease(number: 1))
    #expect(silent.waited.withLock { $0 } == before + 1_000)
}

@Test func `silent clusters of a process are waited for together, each of them and one after the other`() throws {
    let silent = TiringNodes(answering: 0), node = TiringNode(base: AnsweringNode(), nodes: silent)
    let elapsed: @Sendable () -> Int64 = { silent.waited.withLock { $0 } },
        waiting = TimeoutBudget(elapsed: elapsed)
    func cluster(_ names: [String]) -> EtcdCluster { EtcdCluster(names.map { ($0, node) }, waiting: waiting) }
    #expect(throws: CredentialError.self) { try cluster(["1", "2", "3"]).list("/a/") }
    #expect(elapsed() == 10_000)
    // Another group, with the same nodes.
    let again = #expect(throws: CredentialError.self) { try cluster(["1", "2", "3"]).list("/b/") }
    #expect(elapsed() == 10_000 && again?.message.contains("3: no answer") == true)
    // Nodes that were not asked yet may answer even so.
    for _ in 0..<2 { #expect(throws: CredentialError.self) { try cluster(["4", "5", "6"]).list("/c/") } }
    #expect(elapsed() == 13_000)
    try EtcdCluster([("7", AnsweringNode())], waiting: waiting).revoke(ClusterLease(number: 1))
}

@Test func `nodes that are looked at one by one are not waited for once more`() throws {
    let silent = TiringNodes(answering: 0), node = TiringNode(base: AnsweringNode(), nodes: silent)
    let cluster = EtcdCluster(
        (1...3).map { ("\($0)", node) }, waiting: TimeoutBudget { silent.waited.withLock { $0 } })
    #expect(cluster.health().allSatisfy { $0.error?.message.hasSuffix(": no answer") == true })
    #expect(cluster.millisecondsSpent >= 10_000)
    let before = silent.waited.withLock { $0 }
    #expect(throws: CredentialError.self) { try cluster.list("/a/") }
    #expect(silent.waited.withLock { $0 } == before)
}

private func put(_ changes: [ClusterTransaction.Change], _ cluster: EtcdCluster) throws {
    var transaction = ClusterTransaction()
    transaction.changes = changes
    #expect(try cluster.commit(transaction))
}
