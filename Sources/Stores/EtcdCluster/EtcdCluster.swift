package import CredentialCore
import Platform
package import SharedGroups
import Synchronization

/// A cluster of etcd (3.4 or newer), by one of its endpoints at a time.
///
/// A call that has not reached its endpoint goes to the next. One that broke is asked again only where it reads: of a
/// transaction nobody knows then whether it was applied. The next call begins where the last one was answered: a node that
/// is silent is waited for once. What was waited for in vain moments ago is left out of what the next call may take, and once
/// nothing is left of it calls fail at once: so a command of many calls is bounded, too.
package final class EtcdCluster: Cluster {
    let endpoints: [(name: String, channel: any RemoteProcedures)]
    let elapsed: @Sendable () -> Int64
    private let route = Mutex(Route())

    /// What earlier calls have shown.
    private struct Route {
        /// The endpoint that is asked first.
        var first = 0
        /// For how long was waited in vain, and when that last was, in milliseconds.
        var lost: Int64 = 0
        var lostAt: Int64 = 0
        /// The error of the last call that nobody has answered.
        var failure: CredentialError?
    }

    /// How long one endpoint may take for a call, and all of them, in milliseconds.
    private static let callMilliseconds: Int64 = 4_500
    private static let allMilliseconds: Int64 = 10_000
    /// What is left of that to a command that has waited for something else: nodes have a leader after two seconds.
    private static let electionMilliseconds: Int64 = 3_000
    /// What an endpoint has of what is left, however many come after it.
    private static let leastMilliseconds: Int64 = 1_000
    /// For how long it counts that was waited in vain, in milliseconds.
    private static let memoryMilliseconds: Int64 = 10_000
    private static let keepAliveSeconds: Int32 = 5

    /// Makes it; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - endpoints: the names to show, and the channels.
    ///   - elapsed: milliseconds that only grow; those since now where nothing is given.
    package init(
        _ endpoints: [(name: String, channel: any RemoteProcedures)], elapsed: (@Sendable () -> Int64)? = nil
    ) {
        self.endpoints = endpoints
        let watch = Stopwatch()
        self.elapsed = elapsed ?? { watch.elapsed }
    }

    package func read(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?] {
        let answer = try call(EtcdMessages.transaction, EtcdMessages.readRequest(keys), again: true)
        let ranges = EtcdMessages.answers(in: answer).ranges
        guard ranges.count == keys.count else { throw Self.malformed }
        return ranges.map(\.first)
    }

    package func read(_ keys: [String], listing prefix: String) throws(CredentialError) -> ClusterReading {
        let request = EtcdMessages.readRequest(keys, listing: prefix)
        let answer = try call(EtcdMessages.transaction, request, again: true)
        var ranges = EtcdMessages.answers(in: answer).ranges
        guard ranges.count == keys.count + 1, let listed = ranges.popLast() else { throw Self.malformed }
        return ClusterReading(
            records: ranges.map(\.first), listed: listed, revision: EtcdMessages.revision(of: answer))
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
        let held = KeptLease()
        let request = EtcdMessages.leaseRequest(lease)
        // Where no thread can be had the lease ends after its time, which is what a lease is for.
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

    package var millisecondsLost: Int64 {
        let now = elapsed()
        return route.withLock { now - $0.lostAt > Self.memoryMilliseconds ? 0 : $0.lost }
    }

    package func hasWaited(_ milliseconds: Int64) {
        let now = elapsed()
        route.withLock { route in
            if now - route.lostAt > Self.memoryMilliseconds { (route.lost, route.failure) = (0, nil) }
            let most = max(route.lost, Self.allMilliseconds - Self.electionMilliseconds)
            route.lost = min(route.lost + milliseconds, most)
            route.lostAt = now
        }
    }

    package func health() -> [ClusterNode] {
        var nodes: [ClusterNode] = []
        SideBySide.run(endpoints, atMost: endpoints.count, lane: { $0.name }) { endpoint, _ in
            let watch = Stopwatch()
            var failure: CredentialError?
            do throws(CredentialError) { try Self.check(endpoint) } catch { failure = error }
            return ClusterNode(name: endpoint.name, milliseconds: watch.elapsed, error: failure)
        } take: {
            nodes.append($0)
        }
        return nodes
    }

    private static func check(_ endpoint: (name: String, channel: any RemoteProcedures)) throws(CredentialError) {
        let single = EtcdCluster([endpoint])
        _ = try single.call(EtcdMessages.status, [], again: true)
        // A member that has raised an alarm takes no writes (NOSPACE), or is damaged (CORRUPT).
        let alarms = EtcdMessages.alarms(in: try single.call(EtcdMessages.alarm, [], again: true))
        guard alarms.isEmpty else {
            throw CredentialError(
                .storeUnavailable, "\(endpoint.name) tells of an alarm: \(alarms.joined(separator: ", "))",
                hint: "etcdctl alarm list")
        }
    }

    // MARK: Endpoints

    /// The endpoint that is asked first.
    var firstEndpoint: Int { route.withLock(\.first) }

    /// Has the next call begin at another endpoint than one that was lost.
    func beginElsewhere(than number: Int) {
        route.withLock { if $0.first == number { $0.first = (number + 1) % endpoints.count } }
    }

    private func call(_ method: String, _ message: [UInt8], again: Bool) throws(CredentialError) -> [UInt8] {
        var failures: [String] = []
        let begin = elapsed()
        let (first, end, known) = route.withLock { route in
            if begin - route.lostAt > Self.memoryMilliseconds { (route.lost, route.failure) = (0, nil) }
            return (route.first, begin + Self.allMilliseconds - route.lost, route.failure)
        }
        for step in endpoints.indices {
            let number = (first + step) % endpoints.count, (name, channel) = endpoints[number]
            let asked = elapsed()
            // Who was answered by another node each time has lost as much, and is not refused for that.
            let left = max(end - asked, known == nil ? Self.leastMilliseconds : 0)
            guard left > 0 else {
                if failures.isEmpty, let known { throw known }
                break
            }
            // Those that come later have their share, however long the first ones are silent.
            let share = max(min(Self.leastMilliseconds, left), left / Int64(endpoints.count - step))
            do throws(RemoteFailure) {
                return try channel.call(
                    method, message, milliseconds: Int(min(Self.callMilliseconds, share)))
            } catch {
                let now = elapsed()
                route.withLock { route in
                    route.first = (number + 1) % endpoints.count
                    route.lost += now - asked
                    route.lostAt = now
                }
                switch error {
                case .unreached(let error):
                    if error.code != .temporary { throw Self.named(error) }
                    failures.append("\(name): \(error)")
                case .broken(let error):
                    failures.append("\(name): \(error)")
                    if !again { throw unanswered(failures) }
                case .status(let status, let text):
                    let error = Self.refused(status, text, name)
                    if error.code != .temporary { throw error }
                    failures.append("\(name): \(text)")
                    if !again { throw unanswered(failures) }
                }
            }
        }
        throw unanswered(failures)
    }

    /// An error of the connection, with what helps where it is one to a cluster.
    static func named(_ error: CredentialError) -> CredentialError {
        var error = error
        switch error.code {
        case .denied:
            error.advice = "--ca of groups share and groups join names the authority of the cluster's nodes"
        case .configuration: error.advice = "--ca, --cert and --key of groups share and groups join name PEM files"
        default: break
        }
        return error
    }

    private static var malformed: CredentialError {
        CredentialError(.malformedReply, "the cluster's answer is none of etcd 3.4 or newer")
    }

    private func unanswered(_ failures: [String]) -> CredentialError {
        let error = CredentialError(
            .temporary, "the cluster cannot be reached (\(failures.joined(separator: "; ")))",
            hint: "credmgr doctor")
        route.withLock { $0.failure = error }
        return error
    }

    /// The error of a status (google.golang.org/grpc/codes).
    static func refused(_ status: Int, _ text: String, _ name: String) -> CredentialError {
        switch status {
        case 7:
            CredentialError(
                .storeUnavailable, "\(name) lets this host's certificate do nothing with the group (\(text))",
                hint: "an administrator of the cluster gives the role of the group to its user")
        case 16:
            CredentialError(
                .storeUnavailable, "\(name) does not know who calls (\(text))",
                hint: "the common name of the certificate must be a user of etcd")
        // The same status says that a node has too much to do just now.
        case 8 where text.contains("space exceeded"):
            CredentialError(
                .storeUnavailable, "the cluster has no space left (\(text))",
                hint: "etcdctl alarm list")
        case 12:
            CredentialError(.malformedReply, "\(name) is no etcd 3.4 or newer (\(text))")
        default: CredentialError(.temporary, "\(name): \(text)")
        }
    }
}

/// A lease that a thread keeps alive until it is released.
final class KeptLease: HeldLease {
    private let end = Handover<Void, Never>()

    func release() { end.put(.success(())) }

    /// Waits for so long; gives `false` as soon as it is released.
    func isWanted(after seconds: Int32) -> Bool { end.take(until: Deadline(milliseconds: seconds * 1_000)) == nil }
}
