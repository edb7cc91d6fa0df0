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
    /// That somebody is about to use the refresh token, or was; it has no lease.
    package var intent: String { "\(group)a/\(id)/intent" }
    /// That the host of the intent is alive; it has a lease.
    package var live: String { "\(group)a/\(id)/live" }
    /// The late answers of hosts whose intents were taken over, and whose may still come; absent where nobody was.
    package var aside: String { "\(group)a/\(id)/aside" }
    /// The number of the group's data key.
    package var epoch: String { "\(group)epoch" }
    /// That a host belongs to the group.
    func host(_ name: String) -> String { "\(group)hosts/\(name)" }
}
