import CredentialCore
import StrictJSON

/// The keys of one account in a cluster, below `PREFIX/GROUP/`.
package struct AccountKeys: Sendable, Hashable {
    /// `PREFIX/GROUP/`.
    let group: String
    /// The account's id.
    package let id: String

    package init(group: String, id: String) {
        self.group = group
        self.id = id
    }

    /// The sealed token set.
    package var set: String { "\(group)a/\(id)/set" }
    /// That a process is about to use the refresh token, or was; it has no lease.
    package var intent: String { "\(group)a/\(id)/intent" }
    /// That the host of the intent is alive; it has a lease.
    package var live: String { "\(group)a/\(id)/live" }
    /// The late answers of hosts whose intents were taken over, and whose may still come; absent if there are no
    /// such hosts.
    package var aside: String { "\(group)a/\(id)/aside" }
    /// The number of the group's data key.
    package var epoch: String { "\(group)epoch" }
    /// Changes with every account that is added to the group.
    var newcomers: String { "\(group)newcomers" }
    /// That a host belongs to the group.
    func host(_ name: String) -> String { "\(group)hosts/\(name)" }
}

/// The records of one account, with those of its group that a change hangs on, all of one moment.
struct AccountSnapshot {
    /// The sealed token set; `nil` if the account is gone.
    var set: ClusterRecord?
    var intent: ClusterRecord?
    var live: ClusterRecord?
    var aside: ClusterRecord?
    /// The number of the group's data key.
    var epoch: ClusterRecord?
    /// That of the host which has read.
    var host: ClusterRecord?

    /// The keys that ``init(_:epoch:host:)`` expects to have been read.
    static func keys(_ keys: AccountKeys) -> [String] { [keys.set, keys.intent, keys.live, keys.aside] }

    init(_ found: [ClusterRecord?], epoch: ClusterRecord?, host: ClusterRecord?) {
        (set, intent, live, aside) = (found[0], found[1], found[2], found[3])
        (self.epoch, self.host) = (epoch, host)
    }
}

/// As one process of a host hands it to another: the records of the cluster, sealed as they are there.
extension AccountSnapshot {
    private static var members: [(name: String, part: WritableKeyPath<AccountSnapshot, ClusterRecord?>)] {
        [
            ("set", \.set), ("intent", \.intent), ("live", \.live), ("aside", \.aside), ("epoch", \.epoch),
            ("host", \.host),
        ]
    }

    var json: JSONObject {
        var object = JSONObject()
        for (name, part) in Self.members {
            guard let record = self[keyPath: part] else { continue }
            var member = JSONObject()
            member["revision"] = .integer(record.revision)
            member["value"] = .string(Base64URL.encode(record.value))
            object[name] = .object(member)
        }
        return object
    }

    /// Reads the output of ``json``; `nil` for any other object.
    init?(json: JSONObject, _ keys: AccountKeys, host: String) {
        self.init([nil, nil, nil, nil], epoch: nil, host: nil)
        let names = Self.keys(keys) + [keys.epoch, keys.host(host)]
        for ((name, part), key) in zip(Self.members, names) {
            guard let member = json[name] else { continue }
            guard let revision = member.object?["revision"]?.integer,
                let value = member.object?["value"]?.string.flatMap(Base64URL.decode)
            else { return nil }
            self[keyPath: part] = ClusterRecord(key: key, value: value, revision: revision)
        }
    }
}
