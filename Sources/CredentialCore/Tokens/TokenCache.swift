import StrictJSON

/// Access tokens in the kernel's keyring: the memory between two calls, in place of a daemon.
///
/// An entry is named by everything that shapes the token, so two requests that differ in a scope never share one.
package struct TokenCache: Sendable {
    private let cache: any AccessTokenCache
    /// Tells apart the data folders of one user, which share the user's keyring.
    private let home: String

    /// Makes a cache for the data folder `home`.
    package init(_ cache: any AccessTokenCache, home: String) {
        self.cache = cache
        self.home = home
    }

    /// The entry's name.
    package func name(of key: TokenRequestKey, account: String, group: KeychainGroup) -> String {
        prefix(account, group) + JSONValue.object(key.json).text()
    }

    /// The token under `name`, whether fresh or not.
    package func token(named name: String) -> AccessToken? {
        cache.read(name).flatMap { try? JSONValue.parse($0) }?.object.flatMap(AccessToken.init(json:))
    }

    /// Keeps a token until it ends.
    package func keep(_ token: AccessToken, of account: String, in group: KeychainGroup, now: Instant) {
        let seconds = token.expiresAt.seconds(since: now)
        guard seconds > 0 else { return }
        cache.write(
            JSONValue.object(token.json).bytes(), name: name(of: token.key, account: account, group: group),
            seconds: seconds)
    }

    /// Keeps a renewed token; what it replaces is gone.
    package func replace(_ token: AccessToken, of account: String, in group: KeychainGroup, now: Instant) {
        keep(token, of: account, in: group, now: now)
    }

    /// Drops every token of an account, and what earlier calls found out about any.
    package func drop(_ account: String, in group: KeychainGroup) {
        cache.removeAll(prefix: prefix(account, group))
        cache.removeAll(prefix: memoPrefix)
    }

    /// What the names of memos begin with; no group's entry begins so, for an account's id holds no slash.
    package var memoPrefix: String { "\(home)\nmemo\n/" }

    /// Drops every token of this data folder.
    package func dropAll() { cache.removeAll(prefix: "\(home)\n") }

    private func prefix(_ account: String, _ group: KeychainGroup) -> String {
        "\(home)\n\(group.name)\n\(account)\n"
    }
}
