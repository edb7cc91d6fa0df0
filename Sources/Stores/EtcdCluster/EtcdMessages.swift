import SharedGroups

/// etcd's messages, version 3 (`etcdserver/etcdserverpb/rpc.proto`): those that are needed.
enum EtcdMessages {
    static let range = "/etcdserverpb.KV/Range"
    static let transaction = "/etcdserverpb.KV/Txn"
    static let grant = "/etcdserverpb.Lease/LeaseGrant"
    static let keepAlive = "/etcdserverpb.Lease/LeaseKeepAlive"
    static let revoke = "/etcdserverpb.Lease/LeaseRevoke"
    static let watch = "/etcdserverpb.Watch/Watch"
    static let status = "/etcdserverpb.Maintenance/Status"
    static let alarm = "/etcdserverpb.Maintenance/Alarm"

    /// The first key that does not begin with `prefix`.
    static func end(ofPrefix prefix: String) -> [UInt8] {
        var bytes = Array(prefix.utf8)
        // A prefix is text, whose last byte is never 255.
        if let last = bytes.popLast() { bytes.append(last + 1) }
        return bytes
    }

    /// - Parameter revision: the moment that is asked about; 0 for now.
    static func rangeRequest(
        _ key: String, end: [UInt8] = [], revision: Int64 = 0, keysOnly: Bool = false
    ) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.data(1, Array(key.utf8))
        writer.data(2, end)
        writer.number(4, revision)
        writer.number(8, keysOnly ? 1 : 0)
        return writer.bytes
    }

    /// Several keys at one moment, and the keys below a prefix: a transaction of reads, without a condition.
    static func readRequest(_ keys: [String], listing prefix: String? = nil) -> [UInt8] {
        var writer = ProtobufWriter()
        for key in keys {
            writer.message(2) { operation in
                operation.message(1) { $0.data(1, Array(key.utf8)) }
            }
        }
        if let prefix {
            writer.message(2) { operation in
                operation.message(1) { range in
                    range.data(1, Array(prefix.utf8))
                    range.data(2, end(ofPrefix: prefix))
                    range.number(8, 1)
                }
            }
        }
        return writer.bytes
    }

    static func transactionRequest(_ transaction: ClusterTransaction) -> [UInt8] {
        var writer = ProtobufWriter()
        for (key, revision) in transaction.conditions.sorted(by: { $0.key < $1.key }) {
            writer.message(1) { compare in
                // EQUAL is 0; MOD is 2. An absent key has the revision 0.
                compare.number(2, 2)
                compare.data(3, Array(key.utf8))
                compare.chosenNumber(6, revision)
            }
        }
        for (key, value) in transaction.values.sorted(by: { $0.key < $1.key }) {
            writer.message(1) { compare in
                // VALUE is 3.
                compare.number(2, 3)
                compare.data(3, Array(key.utf8))
                compare.chosenData(7, value)
            }
        }
        for change in transaction.changes {
            writer.message(2) { operation in
                switch change {
                case .put(let key, let value, let lease):
                    operation.message(2) { put in
                        put.data(1, Array(key.utf8))
                        put.data(2, value)
                        put.number(3, lease?.number ?? 0)
                    }
                case .remove(let key): operation.message(3) { $0.data(1, Array(key.utf8)) }
                }
            }
        }
        return writer.bytes
    }

    static func grantRequest(seconds: Int64) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.number(1, seconds)
        return writer.bytes
    }

    static func leaseRequest(_ lease: ClusterLease) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.number(1, lease.number)
        return writer.bytes
    }

    static func watchRequest(prefix: String, from revision: Int64) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.message(1) { create in
            create.data(1, Array(prefix.utf8))
            create.data(2, end(ofPrefix: prefix))
            create.number(3, revision)
        }
        return writer.bytes
    }

    // MARK: Answers

    /// A header's revision: the cluster's own, of the whole store.
    static func revision(of answer: [UInt8]) -> Int64 {
        for (field, value) in ProtobufReader(answer) where field == 1 {
            for (field, value) in ProtobufReader(value.data) where field == 3 { return value.number }
        }
        return 0
    }

    static func records(in answer: [UInt8]) -> [ClusterRecord] {
        var records: [ClusterRecord] = []
        for (field, value) in ProtobufReader(answer) where field == 2 {
            if let record = record(value.data) { records.append(record) }
        }
        return records
    }

    /// The results of the reads of a transaction, in their order.
    static func answers(in transaction: [UInt8]) -> (succeeded: Bool, ranges: [[ClusterRecord]]) {
        var succeeded = false
        var ranges: [[ClusterRecord]] = []
        for (field, value) in ProtobufReader(transaction) {
            if field == 2 { succeeded = value.number != 0 }
            guard field == 3 else { continue }
            for (field, value) in ProtobufReader(value.data) where field == 1 {
                ranges.append(records(in: value.data))
            }
        }
        return (succeeded, ranges)
    }

    static func lease(in answer: [UInt8]) -> (number: Int64, seconds: Int64) {
        var lease = (number: Int64(0), seconds: Int64(0))
        for (field, value) in ProtobufReader(answer) {
            if field == 2 { lease.number = value.number }
            if field == 3 { lease.seconds = value.number }
        }
        return lease
    }

    /// The alarms that members have raised (`AlarmResponse`).
    static func alarms(in answer: [UInt8]) -> [String] {
        var alarms: [String] = []
        for (field, value) in ProtobufReader(answer) where field == 2 {
            for (field, value) in ProtobufReader(value.data) where field == 2 && value.number != 0 {
                alarms.append(
                    value.number == 1 ? "NOSPACE" : value.number == 2 ? "CORRUPT" : "number \(value.number)")
            }
        }
        return alarms
    }

    /// The content of a message of a watch.
    static func news(in answer: [UInt8]) -> WatchEvent {
        var news = WatchEvent()
        for (field, value) in ProtobufReader(answer) {
            switch field {
            case 4: news.isCancelled = value.number != 0
            case 5: news.compactedRevision = value.number
            case 6: news.reason = String(decoding: value.data, as: UTF8.self)
            case 11:
                var isRemoval = false
                var changed: ClusterRecord?
                for (field, value) in ProtobufReader(value.data) {
                    if field == 1 { isRemoval = value.number == 1 }
                    if field == 2 { changed = record(value.data) }
                }
                if let changed { news.changes.append(ClusterChange(changed, isRemoval: isRemoval)) }
            default: break
            }
        }
        return news
    }

    private static func record(_ bytes: [UInt8]) -> ClusterRecord? {
        var key: [UInt8] = []
        var value: [UInt8] = []
        var revision: Int64 = 0
        var created: Int64 = 0
        for (field, content) in ProtobufReader(bytes) {
            switch field {
            case 1: key = content.data
            case 2: created = content.number
            case 3: revision = content.number
            case 5: value = content.data
            default: break
            }
        }
        guard !key.isEmpty else { return nil }
        return ClusterRecord(
            key: String(decoding: key, as: UTF8.self), value: value, revision: revision, created: created)
    }
}

/// A message of a watch.
struct WatchEvent {
    /// The changes of the records.
    var changes: [ClusterChange] = []
    /// Whether the server has ended the watch, and why.
    var isCancelled = false
    var reason = ""
    /// The revision at which the history begins, if the requested one is older.
    var compactedRevision: Int64 = 0
}
