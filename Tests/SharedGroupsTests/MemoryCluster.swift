import CredentialCore
import Synchronization

@testable import SharedGroups

/// A cluster in memory for one test, without history.
final class MemoryCluster: Cluster {
    private struct Content {
        var records: [String: ClusterRecord] = [:]
        var revision: Int64 = 0
    }

    private let content = Mutex(Content())

    /// All records in it, by key.
    var records: [String: ClusterRecord] { content.withLock { $0.records } }

    /// Stores a record there, even over another one.
    func put(_ value: [UInt8], at key: String) {
        content.withLock { content in
            content.revision += 1
            content.records[key] = ClusterRecord(key: key, value: value, revision: content.revision)
        }
    }

    func read(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?] {
        content.withLock { content in keys.map { content.records[$0] } }
    }

    func list(_ prefix: String) throws(CredentialError) -> [ClusterRecord] {
        content.withLock { $0.records.values.filter { $0.key.hasPrefix(prefix) }.sorted { $0.key < $1.key } }
    }

    func revision(committing transaction: ClusterTransaction) throws(CredentialError) -> Int64? {
        content.withLock { content in
            for (key, revision) in transaction.conditions where (content.records[key]?.revision ?? 0) != revision {
                return nil
            }
            for (key, value) in transaction.values where content.records[key]?.value != value { return nil }
            content.revision += 1
            for change in transaction.changes {
                switch change {
                case .put(let key, let value, _):
                    content.records[key] = ClusterRecord(key: key, value: value, revision: content.revision)
                case .remove(let key): content.records[key] = nil
                }
            }
            return content.revision
        }
    }

    func revoke(_ lease: ClusterLease) throws(CredentialError) {}
    func grantLease(seconds: Int64) throws(CredentialError) -> ClusterLease { ClusterLease(number: 1) }
    func hold(_ lease: ClusterLease) -> any HeldLease { Held() }

    private struct Held: HeldLease { func release() {} }
}
