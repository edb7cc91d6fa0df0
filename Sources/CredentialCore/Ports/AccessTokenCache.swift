/// Keeps access tokens for the moment, outside the store: sealed, in memory.
///
/// A cache never fails: it leaves undone any work that it cannot do.
package protocol AccessTokenCache: Sendable {
    /// The entry called `name`, if it has not ended.
    func read(_ name: CacheKey) -> [UInt8]?
    /// Keeps `entry` under `name` for `seconds`. If `seconds` is zero or the entry cannot be kept, it drops the
    /// previous entry.
    func write(_ entry: [UInt8], name: CacheKey, seconds: Int64)
    /// Drops the entry that is kept under `name`.
    func remove(_ name: CacheKey)
    /// Drops everything of the owner that `name` has.
    func removeAll(ofOwner name: CacheKey)
    /// Drops every token of every account.
    func removeTokens()
    /// Tries it with an entry as large as they usually are.
    ///
    /// - Throws: ``ErrorCode/unsupported`` with the reason why this cache keeps no entries.
    func check() throws(CredentialError)
}

/// The names of all that is kept in an ``AccessTokenCache``: no two kinds of entry can have the same.
package enum CacheKey: Sendable, Hashable {
    /// An access token: the data folder, the group, the account's id, and the key of the token as text.
    case token(dataFolder: String, group: String, account: String, key: String)
    /// The result of a call, by every part of the call that decides the result.
    case memo(String)
    /// The data key of an encrypted file that was unlocked, by the file's id.
    case dataKey(String)
    /// An entry to try the cache with.
    case trial

    /// The common part of entries that are dropped together.
    package var owner: String {
        switch self {
        case .token(let dataFolder, let group, let account, _): "token\n\(dataFolder)\n\(group)\n\(account)"
        case .memo(let call): "memo\n\(call)"
        case .dataKey(let file): "key\n\(file)"
        case .trial: "trial"
        }
    }

    /// The part that distinguishes the entries of one owner.
    package var detail: String {
        switch self {
        case .token(_, _, _, let key): key
        case .memo, .dataKey, .trial: ""
        }
    }

    /// Whether it holds a key, which stays until its end however much else is kept.
    package var isKey: Bool {
        if case .dataKey = self { true } else { false }
    }
}

/// A cache that never keeps an entry.
package struct NoTokenCache: AccessTokenCache {
    /// Makes it.
    package init() {}

    package func read(_ name: CacheKey) -> [UInt8]? { nil }
    package func write(_ entry: [UInt8], name: CacheKey, seconds: Int64) {}
    package func remove(_ name: CacheKey) {}
    package func removeAll(ofOwner name: CacheKey) {}
    package func removeTokens() {}
    package func check() {}
}
