/// Keeps access tokens for the moment, outside the store: the kernel's user keyring.
///
/// A cache never fails: what it cannot do it leaves undone.
public protocol AccessTokenCache: Sendable {
    /// The entry called `name`.
    func read(_ name: String) -> [UInt8]?
    /// Keeps `entry` under `name` for `seconds`.
    func write(_ entry: [UInt8], name: String, seconds: Int64)
    /// Drops what is kept under `name`.
    func remove(_ name: String)
    /// Drops everything kept under a name that begins with `prefix`.
    func removeAll(prefix: String)
}
