/// An account as it is kept: one record, replaced as a whole.
public struct AccountRecord: Sendable, Hashable {
    /// The group it belongs to.
    public var group: KeychainGroup
    /// How often it was written; 0 for one that was not yet. A writer that has read *n* may only replace *n*.
    public var generation: Int64
    /// The facts, kept in clear.
    public var account: Account
    /// The token set, sealed; `nil` if a store outside has it.
    public var sealed: SealedTokenSet?

    /// Makes a record that was not written yet.
    public init(group: KeychainGroup, account: Account, sealed: SealedTokenSet? = nil) {
        self.group = group
        self.account = account
        self.sealed = sealed
        generation = 0
    }
}

/// A token set that only the key of its group opens, bound to its account and generation.
public struct SealedTokenSet: Sendable, Hashable {
    /// The generation of the token set.
    public var generation: Int64
    /// Which key has sealed it.
    public var key: String
    /// The sealed bytes.
    public var bytes: [UInt8]

    /// Names the parts.
    public init(generation: Int64, key: String, bytes: [UInt8]) {
        self.generation = generation
        self.key = key
        self.bytes = bytes
    }
}
