package import CredentialCore
import Platform
package import SharedGroups
import Synchronization

/// A cluster of etcd (3.4 or newer), by one of its endpoints at a time.
///
/// A call that has not reached its endpoint goes to the next. A call that broke is repeated only if it reads: for a
/// transaction it is unknown then whether it was applied. The next call begins with the node that answered the last
/// one: a node that is silent is waited for once. Time that any cluster of this process has waited in vain moments
/// ago is subtracted from the time of the next call. Once no time is left, calls to nodes that were asked fail at
/// once: so a command of many calls, and of many groups, is bounded, too.
package final class EtcdCluster: Cluster {
    let endpoints: [(name: String, channel: any GRPCClient)]
    private let waiting: TimeoutBudget
    /// The function that prints the commands that give this host its access to the cluster.
    private let setup: @Sendable () -> LocalizedMessage
    private let certificate: @Sendable () -> ClientCertificateInfo?
    private let now: @Sendable () -> Timestamp
    /// The endpoint that is asked first.
    private let first = Mutex(0)

    /// How long one endpoint may take for a call, and all of them, in milliseconds.
    private static let callMilliseconds: Int64 = 4_500
    private static let allMilliseconds: Int64 = 10_000
    /// The part of that time that is left to a command that has waited for something else: nodes have a leader
    /// after two seconds.
    private static let electionMilliseconds: Int64 = 3_000
    /// The least part of the remaining time that an endpoint has, however many come after it.
    private static let leastMilliseconds: Int64 = 1_000
    private static let keepAliveSeconds: Int32 = 5

    /// Makes it; opens no connection yet.
    ///
    /// - Parameters:
    ///   - endpoints: the names to show, and the channels.
    ///   - setup: the command that prints the steps that an administrator of the cluster does for this host.
    ///   - waiting: the budget that it shares with the other clusters of the process.
    ///   - certificate: reads this host's; `nil` if it shows no certificate, or one that cannot be read.
    ///   - now: the time by which that counts.
    package init(
        _ endpoints: [(name: String, channel: any GRPCClient)],
        setup: @autoclosure @escaping @Sendable () -> LocalizedMessage = "credmgr groups share --help",
        waiting: TimeoutBudget = TimeoutBudget(),
        certificate: @escaping @Sendable () -> ClientCertificateInfo? = { nil },
        now: @escaping @Sendable () -> Timestamp = { Timestamp(epochSeconds: 0) }
    ) {
        self.setup = setup
        self.certificate = certificate
        self.now = now
        self.endpoints = endpoints
        self.waiting = waiting
    }

    var elapsed: @Sendable () -> Int64 { waiting.elapsed }
    private var names: [String] { endpoints.map(\.name) }

    package func read(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?] {
        let answer = try call(EtcdMessages.transaction, EtcdMessages.readRequest(keys), again: true)
        let ranges = EtcdMessages.answers(in: answer).ranges
        guard ranges.count == keys.count else { throw Self.malformed }
        return ranges.map(\.first)
    }

    package func read(_ keys: [String], listing prefix: String) throws(CredentialError) -> ReadResult {
        let request = EtcdMessages.readRequest(keys, listing: prefix)
        let answer = try call(EtcdMessages.transaction, request, again: true)
        var ranges = EtcdMessages.answers(in: answer).ranges
        guard ranges.count == keys.count + 1, let listed = ranges.popLast() else { throw Self.malformed }
        return ReadResult(
            records: ranges.map(\.first), listed: listed, revision: EtcdMessages.revision(of: answer))
    }

    package func read(_ key: String, before revision: Int64) throws(CredentialError) -> ClusterRecord? {
        guard revision > 1 else { return nil }
        let request = EtcdMessages.rangeRequest(key, revision: revision - 1)
        return EtcdMessages.records(in: try call(EtcdMessages.range, request, again: true)).first
    }

    package func list(_ prefix: String) throws(CredentialError) -> [ClusterRecord] {
        let request = EtcdMessages.rangeRequest(prefix, end: EtcdMessages.end(ofPrefix: prefix))
        return EtcdMessages.records(in: try call(EtcdMessages.range, request, again: true))
    }

    package func listKeys(_ prefix: String) throws(CredentialError) -> [ClusterRecord] {
        let request = EtcdMessages.rangeRequest(
            prefix, end: EtcdMessages.end(ofPrefix: prefix), keysOnly: true)
        return EtcdMessages.records(in: try call(EtcdMessages.range, request, again: true))
    }

    package func revision(committing transaction: ClusterTransaction) throws(CredentialError) -> Int64? {
        let request = EtcdMessages.transactionRequest(transaction)
        let answer = try call(EtcdMessages.transaction, request, again: false)
        return EtcdMessages.answers(in: answer).succeeded ? EtcdMessages.revision(of: answer) : nil
    }

    package func grantLease(seconds: Int64) throws(CredentialError) -> ClusterLease {
        let answer = try call(EtcdMessages.grant, EtcdMessages.grantRequest(seconds: seconds), again: true)
        let lease = EtcdMessages.lease(in: answer)
        guard lease.number != 0 else { throw Self.malformed }
        return ClusterLease(number: lease.number)
    }

    package func hold(_ lease: ClusterLease) -> any HeldLease {
        let held = LeaseKeeper()
        let request = EtcdMessages.leaseRequest(lease)
        // If no thread is available, the lease ends after its time, which is the purpose of a lease.
        try? DeadlineThread.start { [self] in
            while held.isWanted(after: Self.keepAliveSeconds) {
                guard let answer = try? call(EtcdMessages.keepAlive, request, again: true),
                    EtcdMessages.lease(in: answer).seconds > 0
                else { return }
            }
        }
        return held
    }

    package func revoke(_ lease: ClusterLease) throws(CredentialError) {
        _ = try call(EtcdMessages.revoke, EtcdMessages.leaseRequest(lease), again: true)
    }

    package var millisecondsSpent: Int64 { waiting.lost }

    package func recordWait(_ milliseconds: Int64) {
        waiting.lose(milliseconds, upTo: Self.allMilliseconds - Self.electionMilliseconds)
    }

    package var ownCertificate: ClientCertificateInfo? { certificate() }

    /// The fault of this host's certificate, if a connection has failed: the nodes do not report it.
    var ownFault: CredentialError? { certificate()?.fault(at: now()) }

    package func health() -> [ClusterNode] {
        var nodes: [ClusterNode] = [], silent: [String] = []
        let begin = elapsed(), waiting = waiting, setup = setup
        BoundedWorkQueue.run(endpoints, atMost: endpoints.count, lane: { $0.name }) { endpoint, _ in
            let watch = Stopwatch(), own = waiting.copy()
            var failure: CredentialError?
            do throws(CredentialError) { try Self.check(endpoint, setup, own) } catch { failure = error }
            let reasons = failure?.code == .temporary ? own.failures(of: [endpoint.name]) ?? [] : []
            if !reasons.isEmpty {
                failure = CredentialError(
                    .temporary, LocalizedMessage(verbatim: reasons.joined(separator: "; ")),
                    hint: "check that etcd runs on the node and that this host reaches the node")
            }
            return (ClusterNode(name: endpoint.name, milliseconds: watch.elapsed, error: failure), reasons)
        } take: { (node: ClusterNode, reasons: [String]) in
            nodes.append(node)
            silent += reasons
        }
        // They were waited for at one time. Silent nodes are not asked once more.
        if !silent.isEmpty { waiting.lose(elapsed() - begin) }
        if silent.count == nodes.count { waiting.note(silent, of: names) }
        return nodes
    }

    private static func check(
        _ endpoint: (name: String, channel: any GRPCClient), _ setup: @escaping @Sendable () -> LocalizedMessage,
        _ waiting: TimeoutBudget
    ) throws(CredentialError) {
        let single = EtcdCluster([endpoint], setup: setup(), waiting: waiting)
        _ = try single.call(EtcdMessages.status, [], again: true)
        // A member that has raised an alarm takes no writes (NOSPACE), or is damaged (CORRUPT).
        let alarms = EtcdMessages.alarms(in: try single.call(EtcdMessages.alarm, [], again: true))
        guard alarms.isEmpty else {
            throw CredentialError(
                .storeUnavailable, "\(endpoint.name) reports an alarm: \(alarms.joined(separator: ", "))",
                hint: alarms == ["NOSPACE"] ? Self.moreSpace : "etcdctl alarm list")
        }
    }

    // MARK: Endpoints

    /// The endpoint that is asked first.
    var firstEndpoint: Int { first.withLock { $0 } }

    /// Has the next call begin at another endpoint than one that was lost.
    func beginElsewhere(than number: Int) {
        first.withLock { if $0 == number { $0 = (number + 1) % endpoints.count } }
    }

    private func call(_ method: String, _ message: [UInt8], again: Bool) throws(CredentialError) -> [UInt8] {
        var failures: [String] = [], details: [String] = []
        let known = waiting.failures(of: names), first = firstEndpoint
        let end = elapsed() + Self.allMilliseconds - waiting.lost
        for step in endpoints.indices {
            let number = (first + step) % endpoints.count, (name, channel) = endpoints[number]
            let asked = elapsed()
            // A process that was answered by another node each time has lost as much, and is not refused for that.
            let left = max(end - asked, known == nil ? Self.leastMilliseconds : 0)
            guard left > 0 else {
                if failures.isEmpty, let known { failures = known }
                break
            }
            // Those that come later have their share, however long the first ones are silent.
            let share = max(min(Self.leastMilliseconds, left), left / Int64(endpoints.count - step))
            do throws(GRPCError) {
                return try channel.call(
                    method, message, milliseconds: Int(min(Self.callMilliseconds, share)))
            } catch {
                self.first.withLock { $0 = (number + 1) % endpoints.count }
                waiting.lose(elapsed() - asked)
                if case .status = error {} else if let fault = ownFault { throw fault }
                switch error {
                case .unreached(let error):
                    if error.code != .temporary { throw Self.named(error) }
                    failures.append("\(name): \(error)")
                    details += error.details
                case .broken(let error):
                    failures.append("\(name): \(error)")
                    details += error.details
                    if !again { throw unanswered(failures, details) }
                case .status(let status, let text):
                    let error = refused(status, text, name)
                    if error.code != .temporary { throw error }
                    failures.append("\(name): \(text)")
                    if !again { throw unanswered(failures, details) }
                }
            }
        }
        throw unanswered(failures, details)
    }

    /// An error of the connection, with a hint if it is one to a cluster.
    static func named(_ error: CredentialError) -> CredentialError {
        var error = error
        guard error.code == .configuration else { return error }
        error.advice =
            "check that --ca, --cert and --key name PEM files, and that --cert matches --key"
        error.isClusterUnusable = true
        return error
    }

    private static var malformed: CredentialError {
        CredentialError(.malformedReply, "the cluster's response is not from etcd 3.4 or newer")
    }

    private func unanswered(_ failures: [String], _ details: [String]) -> CredentialError {
        waiting.note(failures, of: names)
        return CredentialError(
            .temporary, "the cluster cannot be reached (\(failures.joined(separator: "; ")))",
            hint: "credmgr doctor", details: details)
    }

    /// The commands that make room: history goes, then the files shrink, then writes are accepted again.
    private static var moreSpace: LocalizedMessage {
        "an administrator of the cluster: etcdctl compact $(etcdctl get / -w fields | sed -n 's/.*Revision. : //p'); "
            + "etcdctl defrag --cluster; etcdctl alarm disarm"
    }

    /// The error of a status (google.golang.org/grpc/codes).
    func refused(_ status: Int, _ text: String, _ name: String) -> CredentialError {
        switch status {
        case 7:
            CredentialError(
                .storeUnavailable, "\(name) denies this host's certificate access to the group (\(text))",
                hint:
                    "have a cluster administrator grant the group's role with the commands that this prints: "
                    + "\(setup())"
            )
        case 16:
            CredentialError(
                .storeUnavailable, "\(name) cannot authenticate this host (\(text))",
                hint:
                    "create an etcd user for the certificate's common name with the commands that this prints: "
                    + "\(setup())")
        // The same status says that a node has too much to do just now.
        case 8 where text.contains("space exceeded"):
            CredentialError(
                .storeUnavailable, "the cluster has no space left (\(text))",
                hint: Self.moreSpace)
        // Out of range: the requested revision has been compacted.
        case 11:
            CredentialError(.unsupported, "\(name) no longer has the requested revision (\(text))")
        case 12:
            CredentialError(.malformedReply, "\(name) is not etcd 3.4 or newer (\(text))")
        default: CredentialError(.temporary, "\(name): \(text)")
        }
    }
}

/// A lease that a thread keeps alive until it is released.
final class LeaseKeeper: HeldLease {
    private let end = OneShot<Void, Never>()

    func release() { end.put(.success(())) }

    /// Waits for so long; gives `false` as soon as it is released.
    func isWanted(after seconds: Int32) -> Bool { end.take(until: Deadline(milliseconds: seconds * 1_000)) == nil }
}
