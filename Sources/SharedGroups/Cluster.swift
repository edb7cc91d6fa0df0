package import CredentialCore

/// A store of small records that several hosts share, with transactions: etcd, or one in memory for tests.
///
/// Reads are linearizable. Each error is ``ErrorCode/temporary`` where another try may help, and after one that came from
/// ``commit(_:)`` nobody knows whether the transaction was applied: read again and look for a nonce.
package protocol Cluster: Sendable {
    /// What these keys hold, all of one moment; `nil` for one that is absent.
    func read(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?]

    /// All records whose keys begin with `prefix`, by key.
    func list(_ prefix: String) throws(CredentialError) -> [ClusterRecord]

    /// As ``list(_:)``, without what the records hold.
    func listKeys(_ prefix: String) throws(CredentialError) -> [ClusterRecord]

    /// Applies a transaction whole, or nothing of it where a condition does not hold.
    ///
    /// - Returns: whether it was applied.
    func commit(_ transaction: ClusterTransaction) throws(CredentialError) -> Bool

    /// Makes a lease; records put with it go when it ends.
    func grantLease(seconds: Int64) throws(CredentialError) -> ClusterLease

    /// Keeps a lease alive until the hold is released or the process ends.
    func hold(_ lease: ClusterLease) -> any HeldLease

    /// How each node is, asked one by one.
    func health() -> [ClusterNode]

    /// Ends a lease, and with it the records that were put with it.
    func revoke(_ lease: ClusterLease) throws(CredentialError)
}

/// A node of a cluster, as it answered.
package struct ClusterNode: Sendable {
    /// Where it is.
    package let name: String
    /// How long it took to answer.
    package let milliseconds: Int64
    /// What is wrong with it.
    package let error: CredentialError?

    package init(name: String, milliseconds: Int64, error: CredentialError?) {
        self.name = name
        self.milliseconds = milliseconds
        self.error = error
    }
}

extension Cluster {
    /// Nothing is known of nodes.
    package func health() -> [ClusterNode] { [] }

    /// Lists all of it.
    package func listKeys(_ prefix: String) throws(CredentialError) -> [ClusterRecord] {
        try list(prefix).map { ClusterRecord(key: $0.key, value: [], revision: $0.revision) }
    }
}

/// A lease that is kept alive.
package protocol HeldLease: Sendable {
    /// Keeps it alive no longer; it ends by itself after its time.
    func release()
}

/// The number of a lease in its cluster.
package struct ClusterLease: Sendable, Hashable {
    /// The cluster's own number.
    package let number: Int64

    package init(number: Int64) { self.number = number }
}

/// A record as it was read.
package struct ClusterRecord: Sendable, Hashable {
    /// Its key.
    package let key: String
    /// What it holds.
    package let value: [UInt8]
    /// The cluster's number of its last change; never 0.
    package let revision: Int64

    package init(key: String, value: [UInt8], revision: Int64) {
        self.key = key
        self.value = value
        self.revision = revision
    }
}

/// Changes that are applied together, if all conditions hold.
package struct ClusterTransaction: Sendable {
    /// One change.
    package enum Change: Sendable, Hashable {
        case put(String, [UInt8], lease: ClusterLease? = nil)
        case remove(String)
    }

    /// The revision that each key must have; 0 for one that must be absent.
    package var conditions: [String: Int64] = [:]
    /// What is then done.
    package var changes: [Change] = []

    package init() {}

    /// Demands that a key is as it was read.
    package mutating func expect(_ record: ClusterRecord?, at key: String) {
        conditions[key] = record?.revision ?? 0
    }
}
