package import CredentialCore
package import SharedGroups
import Synchronization

// etcd's watch: a stream of changes from one node. It sends no request while no record changes, except for a sign
// of life.
extension EtcdCluster {
    /// A node that has lost its leader then ends the stream; without this it would be silent.
    private static let metadata = ["hasleader: true"]
    /// How long the stream may be silent before the node is asked whether it still sees the cluster, in
    /// milliseconds, and how long it may take to answer.
    private static let silenceMilliseconds: Int64 = 5_000
    private static let signMilliseconds = 4_000

    package func follow(
        _ prefix: String, after revision: Int64, isWanted: @escaping @Sendable () -> Bool,
        take: @escaping @Sendable ([ClusterChange]) -> Bool
    ) throws(CredentialError) {
        let number = firstEndpoint, (name, channel) = endpoints[number]
        let heard = Mutex(elapsed()), end = Mutex(End.unknown)
        let elapsed = elapsed
        // A machine that hangs keeps its connections, and a silent stream looks like one without changes.
        let isAlive: @Sendable () -> Bool = {
            guard elapsed() - heard.withLock({ $0 }) >= Self.silenceMilliseconds else { return true }
            do throws(GRPCError) {
                _ = try channel.call(
                    EtcdMessages.range, EtcdMessages.rangeRequest(prefix, keysOnly: true),
                    milliseconds: Self.signMilliseconds)
            } catch {
                end.withLock { $0 = .lost(error) }
                return false
            }
            heard.withLock { $0 = elapsed() }
            return true
        }
        do throws(GRPCError) {
            try channel.stream(
                EtcdMessages.watch, EtcdMessages.watchRequest(prefix: prefix, from: revision + 1),
                metadata: Self.metadata, isWanted: { isWanted() && isAlive() },
                take: { message in
                    let news = EtcdMessages.news(in: message)
                    heard.withLock { $0 = elapsed() }
                    if news.isCancelled {
                        end.withLock { $0 = .cancelled(news) }
                        return false
                    }
                    guard news.changes.isEmpty || take(news.changes) else {
                        end.withLock { $0 = .enough }
                        return false
                    }
                    return true
                })
        } catch { end.withLock { $0 = .lost(error) } }
        switch end.withLock({ $0 }) {
        case .enough: return
        case .cancelled(let news) where news.compactedRevision > 0: return
        case .cancelled(let news):
            beginElsewhere(than: number)
            throw Self.ended("\(name): \(UntrustedText.shown(news.reason))")
        case .lost(let failure):
            beginElsewhere(than: number)
            throw try error(of: failure, name)
        case .unknown:
            guard isWanted() else { return }
            // The server has ended it without a word.
            beginElsewhere(than: number)
            throw Self.ended("\(name): the node has ended the stream")
        }
    }

    private func error(of failure: GRPCError, _ name: String) throws(CredentialError) -> CredentialError {
        switch failure {
        case .unreached(let error), .broken(let error):
            if let fault = ownFault { return fault }
            guard error.code == .temporary else { throw Self.named(error) }
            return Self.ended("\(name): \(error)")
        case .status(let status, let text):
            let error = refused(status, text, name)
            return error.code == .temporary ? Self.ended("\(error)") : error
        }
    }

    private static func ended(_ reason: LocalizedMessage) -> CredentialError {
        CredentialError(.temporary, "cannot watch the cluster (\(reason))", hint: "credmgr doctor")
    }

    /// How a stream came to its end.
    private enum End {
        case unknown
        case enough
        case cancelled(WatchEvent)
        case lost(GRPCError)
    }
}
