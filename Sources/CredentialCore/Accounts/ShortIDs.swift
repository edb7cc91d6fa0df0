/// The shortest beginnings of account IDs that identify one account each.
package struct ShortIDs: Sendable {
    private let beginnings: [String: String]

    /// Finds the beginnings.
    ///
    /// - Parameters:
    ///   - ids: the IDs that a beginning has to be unique among.
    ///   - names: labels, user names and subjects: they take precedence over the beginning of an ID.
    package init(_ ids: [String], names: Set<String> = []) {
        let sorted = ids.sorted()
        var beginnings: [String: String] = [:]
        for (place, id) in sorted.enumerated() {
            let before = place > 0 ? Self.commonLength(sorted[place - 1], id) : 0
            let behind = place + 1 < sorted.count ? Self.commonLength(sorted[place + 1], id) : 0
            var length = max(AccountSelection.shortestPrefix, max(before, behind) + 1)
            while length < id.count, names.contains(String(id.prefix(length))) { length += 1 }
            beginnings[id] = String(id.prefix(length))
        }
        self.beginnings = beginnings
    }

    /// Finds the beginnings for accounts.
    package init(_ accounts: [Account]) {
        self.init(
            accounts.map(\.id),
            names: Set(accounts.flatMap { [$0.label, $0.username, $0.subject].compactMap(\.self) }))
    }

    /// The beginning of an ID; the whole ID if it is not in the given ones.
    package subscript(id: String) -> String { beginnings[id] ?? id }

    private static func commonLength(_ one: String, _ other: String) -> Int {
        zip(one, other).prefix { $0 == $1 }.count
    }
}
