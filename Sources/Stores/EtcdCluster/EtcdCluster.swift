package import CredentialCore
import Platform
package import SharedGroups

/// A cluster of etcd (3.4 or newer), by one of its endpoints at a time.
///
/// A call that has not reached its endpoint goes to the next. One that broke is asked again only where it reads: of a
/// transaction nobody knows then whether it was applied.
package final class EtcdCluster: Cluster {
    private let endpoints: [(name: String, channel: any RemoteProcedures)]

    /// How long one call may take, in milliseconds: with three endpoints an answer comes within 15 s.
    private static let callMilliseconds = 4_500
    private static let keepAliveSeconds: Int32 = 5

    /// Makes it; nothing is opened yet.
    ///
    /// - Parameter endpoints: the names to show, and the channels.
    package init(_ endpoints: [(name: String, channel: any RemoteProcedures)]) { self.endpoints = endpoints }

    package func read(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?] {
        let answer = try call(EtcdMessages.transaction, EtcdMessages.readRequest(keys), again: true)
        let ranges = EtcdMessages.answers(in: answer).ranges
        guard ranges.count == keys.count else { throw Self.malformed }
        return ranges.map(\.first)
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

    package func commit(_ transaction: ClusterTransaction) throws(CredentialError) -> Bool {
        let request = EtcdMessages.transactionRequest(transaction)
        return EtcdMessages.answers(in: try call(EtcdMessages.transaction, request, again: false)).succeeded
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

    package func health() -> [ClusterNode] {
        endpoints.map { name, channel in
            let watch = Stopwatch()
            var failure: CredentialError?
            do throws(CredentialError) {
                let single = EtcdCluster([(name, channel)])
                _ = try single.call(EtcdMessages.status, [], again: true)
                // A member that has raised an alarm takes no writes (NOSPACE), or is damaged (CORRUPT).
                let alarms = EtcdMessages.alarms(in: try single.call(EtcdMessages.alarm, [], again: true))
                if !alarms.isEmpty {
                    throw CredentialError(
                        .storeUnavailable, "\(name) tells of an alarm: \(alarms.joined(separator: ", "))",
                        hint: "etcdctl alarm list")
                }
            } catch { failure = error }
            return ClusterNode(name: name, milliseconds: watch.elapsed, error: failure)
        }
    }

    // MARK: Endpoints

    private func call(_ method: String, _ message: [UInt8], again: Bool) throws(CredentialError) -> [UInt8] {
        var failures: [String] = []
        for (name, channel) in endpoints {
            do throws(RemoteFailure) {
                return try channel.call(method, message, milliseconds: Self.callMilliseconds)
            } catch {
                switch error {
                case .unreached(let error):
                    if error.code != .temporary { throw Self.named(error) }
                    failures.append("\(name): \(error)")
                case .broken(let error):
                    failures.append("\(name): \(error)")
                    if !again { throw Self.unanswered(failures) }
                case .status(let status, let text):
                    let error = Self.refused(status, text, name)
                    if error.code != .temporary { throw error }
                    failures.append("\(name): \(text)")
                    if !again { throw Self.unanswered(failures) }
                }
            }
        }
        throw Self.unanswered(failures)
    }

    /// An error of the connection, with what helps where it is one to a cluster.
    private static func named(_ error: CredentialError) -> CredentialError {
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

    private static func unanswered(_ failures: [String]) -> CredentialError {
        CredentialError(
            .temporary, "the cluster cannot be reached (\(failures.joined(separator: "; ")))",
            hint: "credmgr doctor")
    }

    /// The error of a status (google.golang.org/grpc/codes).
    private static func refused(_ status: Int, _ text: String, _ name: String) -> CredentialError {
        switch status {
        case 7:
            CredentialError(
                .storeUnavailable, "\(name) lets this host's certificate do nothing with the group (\(text))",
                hint: "an administrator of the cluster gives the role of the group to its user")
        case 16:
            CredentialError(
                .storeUnavailable, "\(name) does not know who calls (\(text))",
                hint: "the common name of the certificate must be a user of etcd")
        case 8:
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
