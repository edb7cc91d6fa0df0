package import CredentialCore

/// A store of small records that several hosts share, with transactions: etcd, or one in memory for tests.
///
/// Reads are linearizable. Each error is ``ErrorCode/temporary`` if another try may help. After an error from
/// ``revision(committing:)`` the caller cannot know whether the transaction was applied: read again and look for a
/// nonce.
package protocol Cluster: Sendable {
    /// The records of these keys, all at one moment; `nil` for a key that is absent.
    func read(_ keys: [String]) throws(CredentialError) -> [ClusterRecord?]

    /// The record of a key right before its change of this revision; `nil` if the key was absent.
    ///
    /// - Throws: ``ErrorCode/unsupported`` if the history does not reach back to that.
    func read(_ key: String, before revision: Int64) throws(CredentialError) -> ClusterRecord?

    /// All records whose keys begin with `prefix`, by key.
    func list(_ prefix: String) throws(CredentialError) -> [ClusterRecord]

    /// As ``list(_:)``, without the content of the records.
    func listKeys(_ prefix: String) throws(CredentialError) -> [ClusterRecord]

    /// As ``read(_:)`` and ``listKeys(_:)`` together, all of one moment.
    func read(_ keys: [String], listing prefix: String) throws(CredentialError) -> ReadResult

    /// Applies a transaction as a whole, or no part of it if a condition fails.
    ///
    /// - Returns: the revision of the records that it put; `nil` if it was not applied.
    func revision(committing transaction: ClusterTransaction) throws(CredentialError) -> Int64?

    /// Makes a lease; records put with it go when it ends.
    func grantLease(seconds: Int64) throws(CredentialError) -> ClusterLease

    /// Keeps a lease alive until the hold is released or the process ends.
    func hold(_ lease: ClusterLease) -> any HeldLease

    /// Follows the changes below `prefix` after a moment, in their order, for as long as the caller wants them.
    ///
    /// It returns when `isWanted` or `take` returns false, and when the history does not reach back to that moment
    /// any more: then the records have to be listed again.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the keys.
    ///   - revision: the moment, as ``ReadResult/revision`` has it.
    ///   - isWanted: asked about once a second.
    ///   - take: is given the changes of one moment, or of several.
    /// - Throws: ``ErrorCode/temporary`` if no state can be seen for now: a node that hangs or is cut off, one
    ///   without a leader, a broken connection.
    func follow(
        _ prefix: String, after revision: Int64, isWanted: @escaping @Sendable () -> Bool,
        take: @escaping @Sendable ([ClusterChange]) -> Bool
    ) throws(CredentialError)

    /// How each node is, asked one by one.
    func health() -> [ClusterNode]

    /// The certificate that this host shows; `nil` if it shows no certificate, or one that cannot be read.
    var ownCertificate: ClientCertificateInfo? { get }

    /// Ends a lease, and with it the records that were put with it.
    func revoke(_ lease: ClusterLease) throws(CredentialError)

    /// For how long its nodes were waited for in vain just now, in milliseconds.
    var millisecondsSpent: Int64 { get }

    /// Counts the time that a command has waited for something else as waited for the nodes in vain: if they are
    /// silent, too, they are waited for so much less. Enough is left for the nodes to choose a leader.
    func recordWait(_ milliseconds: Int64)
}

/// A node of a cluster, as it answered.
package struct ClusterNode: Sendable {
    /// The name of the endpoint.
    package let name: String
    /// How long it took to answer.
    package let milliseconds: Int64
    /// The fault of the endpoint.
    package let error: CredentialError?

    package init(name: String, milliseconds: Int64, error: CredentialError?) {
        self.name = name
        self.milliseconds = milliseconds
        self.error = error
    }
}

extension Cluster {
    /// As ``revision(committing:)``.
    ///
    /// - Returns: whether it was applied.
    package func commit(_ transaction: ClusterTransaction) throws(CredentialError) -> Bool {
        try revision(committing: transaction) != nil
    }

    /// It remembers nothing.
    package func read(_ key: String, before revision: Int64) throws(CredentialError) -> ClusterRecord? {
        throw CredentialError(.unsupported, "this cluster does not support reads of earlier revisions")
    }

    /// This cluster does not report changes.
    package func follow(
        _ prefix: String, after revision: Int64, isWanted: @escaping @Sendable () -> Bool,
        take: @escaping @Sendable ([ClusterChange]) -> Bool
    ) throws(CredentialError) {
        throw CredentialError(.unsupported, "this cluster does not report changes")
    }

    /// The state of the nodes is unknown.
    package func health() -> [ClusterNode] { [] }

    /// It asks for no certificate.
    package var ownCertificate: ClientCertificateInfo? { nil }

    /// It has no nodes to wait for.
    package var millisecondsSpent: Int64 { 0 }
    package func recordWait(_ milliseconds: Int64) {}

    /// Lists all of it.
    package func listKeys(_ prefix: String) throws(CredentialError) -> [ClusterRecord] {
        try list(prefix).map { ClusterRecord(key: $0.key, value: [], revision: $0.revision) }
    }

    /// One after the other: the listing is not older than the records read.
    package func read(_ keys: [String], listing prefix: String) throws(CredentialError) -> ReadResult {
        let records = try read(keys)
        return ReadResult(records: records, listed: try listKeys(prefix))
    }
}

/// The records that were read of a cluster at one moment.
package struct ReadResult: Sendable {
    /// The records of the keys, in the order of the keys.
    package var records: [ClusterRecord?]
    /// The records below the prefix, by key, without their values.
    package var listed: [ClusterRecord]
    /// The cluster's number of the moment: its next change has a greater one.
    package var revision: Int64 = 0

    package init(records: [ClusterRecord?], listed: [ClusterRecord] = [], revision: Int64 = 0) {
        self.records = records
        self.listed = listed
        self.revision = revision
    }
}

/// A change of a record.
package struct ClusterChange: Sendable, Hashable {
    /// The record as it is now; of one that was removed its key and when that was.
    package let record: ClusterRecord
    /// Whether it was removed.
    package let isRemoval: Bool

    package init(_ record: ClusterRecord, isRemoval: Bool) {
        self.record = record
        self.isRemoval = isRemoval
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
    /// The value of the record.
    package let value: [UInt8]
    /// The cluster's number of its last change; never 0.
    package let revision: Int64
    /// The revision of the change since which it has been there all the time; 0 if that is not known.
    package let created: Int64

    package init(key: String, value: [UInt8], revision: Int64, created: Int64 = 0) {
        self.key = key
        self.value = value
        self.revision = revision
        self.created = created
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
    /// The values that keys must hold as well: revisions repeat after a cluster was restored.
    package private(set) var values: [String: [UInt8]] = [:]
    /// The changes of the transaction.
    package var changes: [Change] = []

    package init() {}

    /// Demands that a record has the revision that it was read with, for transactions with many records, since etcd
    /// counts conditions (128).
    package mutating func expectRevision(_ record: ClusterRecord) { conditions[record.key] = record.revision }

    /// The record at a key, as it is read after the change is applied.
    func record(at key: String, _ revision: Int64) -> ClusterRecord? {
        for case .put(key, let value, _) in changes {
            return ClusterRecord(key: key, value: value, revision: revision)
        }
        return nil
    }

    /// Demands that a key is as it was read.
    package mutating func expect(_ record: ClusterRecord?, at key: String) {
        conditions[key] = record?.revision ?? 0
        values[key] = record?.value
    }
}
