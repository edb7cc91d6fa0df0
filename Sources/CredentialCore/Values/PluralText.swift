/// Numbers of things, for people.
package enum PluralText {
    /// `1 account`, `2 accounts`.
    package static func shown(_ count: Int, _ thing: String) -> String {
        count == 1 ? "1 \(thing)" : "\(count) \(thing)s"
    }
}
