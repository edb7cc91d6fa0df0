/// The protocol between host and plugin: its versions and its limits, as `docs/reference/plugin-protocol.md` has
/// them.
package enum PluginProtocol {
    /// The versions that this host speaks, the newest last.
    package static let versions: [Int64] = [1]

    /// The most that a plugin may print on standard output in one operation, in bytes.
    package static let outputLimit = 1 << 20
    /// The time of one operation in seconds.
    package static let seconds = 30
    /// The largest `pending` and `state`, in bytes of compact JSON.
    static let opaqueLimit = 1 << 16
    /// The most lines of one exchange.
    static let lineLimit = 256
    /// The longest lifetime of a token or code that is believed, in seconds: one year.
    static let longestLifetime: Int64 = 31_536_000
    /// The lifetime of an access token that comes without one, in seconds.
    static let defaultLifetime: Int64 = 600

    /// The newest version that both sides speak.
    static func common(with theirs: [Int64]) -> Int64? { versions.filter(theirs.contains).max() }
}

/// The operation that a plugin is asked for.
package enum ProviderOperation: String, Sendable, CaseIterable {
    /// Say who it is.
    case describe
    /// Begin a sign-in.
    case begin
    /// Go on with a sign-in after an interaction.
    case `continue`
    /// Refresh a grant.
    case refresh
    /// Revoke a grant.
    case revoke
}
