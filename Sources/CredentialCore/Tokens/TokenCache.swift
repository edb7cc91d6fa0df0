import StrictJSON

/// Access tokens kept for the moment: the memory between two calls, in place of a daemon.
///
/// An entry is named by everything that shapes the token, so two requests that differ in a scope never share one.
/// It counts only while the account's record is the one that it was made from, so that a sign-out on any host is
/// seen at once.
package struct TokenCache: Sendable {
    private let cache: AnyAccessTokenCache
    private let files: AnyFileStates
    private let answers: CacheDependencies
    private let limit: @Sendable (KeychainGroup) -> Int64?

    /// Makes a cache for the accounts of a data folder, `$XDG_DATA_HOME/credmgr`.
    ///
    /// - Parameter limit: how long a token of a group is kept at most, in seconds; another host may sign its
    ///   account out.
    package init(
        _ cache: AnyAccessTokenCache, files: AnyFileStates, dataFolder: String,
        limit: @escaping @Sendable (KeychainGroup) -> Int64? = { _ in nil }
    ) {
        self.limit = limit
        self.cache = cache
        self.files = files
        answers = CacheDependencies(dataFolder: dataFolder)
    }

    /// The token that is kept for a key, whether fresh or not.
    package func token(for key: TokenRequestKey, of account: String, in group: KeychainGroup) -> AccessToken? {
        token(key, named: Self.text(of: key), of: account, in: group.name)
    }

    /// The same if only the text of the key is known: ``text(of:)``.
    ///
    /// - Parameter key: the facts that the token states about itself.
    package func token(
        _ key: TokenRequestKey, named text: String, of account: String, in group: String
    ) -> AccessToken? {
        guard let bytes = cache.read(name(text, account, group)) else { return nil }
        var reader = CacheEntryDecoder(bytes)
        guard let ties = CacheValidators(&reader), ties.hold(files), let token = reader.string(),
            let type = reader.string(), let issuedAt = reader.integer(), let expiresAt = reader.integer(),
            let count = reader.integer(), (0...1_000).contains(count)
        else { return nil }
        var scope: [String] = []
        for _ in 0..<count {
            guard let word = reader.string() else { return nil }
            scope.append(word)
        }
        // Only an entry with a guessed end has one more field.
        let isEndGuessed = !reader.isAtEnd && reader.integer() == 1
        guard reader.isAtEnd else { return nil }
        var kept = AccessToken(
            key: key, token: Secret(token), tokenType: type, issuedAt: Timestamp(epochSeconds: issuedAt),
            expiresAt: Timestamp(epochSeconds: expiresAt), scope: scope)
        kept.isEndGuessed = isEndGuessed
        return kept
    }

    /// A key in the form that it has in the name of an entry.
    package static func text(of key: TokenRequestKey) -> String { JSONValue.object(key.json).text() }

    /// Keeps a token until it ends. The caller holds the account's lock, and the record is written already.
    package func keep(_ token: AccessToken, of account: String, in group: KeychainGroup, now: Timestamp) {
        let ties = CacheValidators(answers.record(of: account, in: group.name), files)
        let left = token.expiresAt.seconds(since: now)
        let seconds = limit(group).map { min($0, left) } ?? left
        guard seconds > 0, ties.areThere else { return }
        var writer = CacheEntryEncoder()
        ties.write(to: &writer)
        writer.put(token.token.reveal())
        writer.put(token.tokenType)
        writer.put(token.issuedAt.epochSeconds)
        writer.put(token.expiresAt.epochSeconds)
        writer.put(Int64(token.scope.count))
        for word in token.scope { writer.put(word) }
        if token.isEndGuessed { writer.put(1 as Int64) }
        cache.write(writer.bytes, name: name(Self.text(of: token.key), account, group.name), seconds: seconds)
    }

    /// Drops every token of an account.
    package func drop(_ account: String, in group: KeychainGroup) {
        cache.removeAll(ofOwner: name("", account, group.name))
    }

    private func name(_ key: String, _ account: String, _ group: String) -> CacheKey {
        .token(dataFolder: answers.dataFolder, group: group, account: account, key: key)
    }
}
