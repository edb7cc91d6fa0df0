import CredentialCore

/// The fast path: a token from the kernel's keyring, without D-Bus, libsecret, libcurl or libcrypto.
enum CachedToken {
    /// The token that answers a query, if the cache has a fresh one.
    static func read(
        _ query: TokenQuery, group: String?, _ place: FastPlace
    ) -> (token: AccessToken, memo: TokenMemo)? {
        guard !query.forceRefresh, !query.wantsIDToken, place.variable("CREDMGR_CACHE") != "off",
            let name = TokenMemo.name(query, group: group, place),
            let memo = TokenMemo.read(name, place),
            let token = TokenCache(place.tokenCache, home: place.dataHome).token(named: memo.entry),
            Freshness(minimumValidity: query.freshness.minimumValidity ?? memo.minimumValidity)
                .allows(token, now: place.clock.now)
        else { return nil }
        return (token, memo)
    }

    /// Keeps what a slower call found out, for the next one. The token itself is in the cache already, if it is to be:
    /// it is put there under the account's lock only.
    static func remember(
        _ token: AccessToken, _ target: Target, _ query: TokenQuery, _ session: Session
    ) {
        let context = session.context
        // A memo knows no rules, and no validity but that of the options. Without a type, an account of any other
        // group could come between.
        guard session.isCaching, session.configuration.rules.isEmpty,
            session.configuration.minimumValidity == nil,
            query.target.type ?? GlobalOptions.set("CREDMGR_TYPE", context.environment) != nil,
            let name = TokenMemo.name(query, group: session.options.group?.name, context.fastPlace)
        else { return }
        let entry = session.cache.name(of: token.key, account: target.account.id, group: target.group)
        TokenMemo.write(
            name,
            TokenMemo(
                entry: entry, group: target.group.name,
                account: (target.account.id, target.type.name, target.account.username), policy: token.key.policy,
                minimumValidity: session.configuration.minimumValidity),
            files: session.catalog.candidates(of: target.type.name)
                + [context.configurationFile, "\(context.dataHome)/groups/\(target.group.name)/accounts.json"],
            context.fastPlace)
    }
}
