public import CredentialCore
import Synchronization

extension BrokerService: TokenReleaser {
    /// The entries that callers may use now.
    public func entries() -> [BrokerEntry] {
        readAgain()
        return hasEnded ? [] : configuration.entries
    }

    /// Returns the issuer of an entry's account type or account; `nil` if both are unknown.
    public func issuer(of entry: BrokerEntry) -> String? { (try? parts.issuer.account(of: entry))?.issuer }

    /// Returns the account that an entry means now; `nil` if the entry has no account.
    public func account(of entry: BrokerEntry) -> (any EntryAccount)? { try? parts.issuer.account(of: entry) }

    /// Returns a token that the configuration and the user allow.
    ///
    /// - Throws: ``BrokerFailure``.
    public func release(_ ask: TokenAsk, to caller: Caller) throws(BrokerFailure) -> ReleasedToken {
        try release(ask, to: caller, isAdmitted: false)
    }

    /// Returns a token, as ``release(_:to:)``.
    ///
    /// - Parameter isAdmitted: whether ``admit()`` was called for the request.
    func release(
        _ ask: TokenAsk, to caller: Caller, isAdmitted: Bool
    ) throws(BrokerFailure) -> ReleasedToken {
        var name = ask.entry, accountID: String?
        do throws(BrokerFailure) {
            if !isAdmitted { try admit() }
            if let issuer = ask.issuer { name = try self.entry(ofIssuer: issuer).name }
            let entry = try entry(name: name, type: ask.type, account: ask.account)
            name = entry.name
            let account = try account(entry)
            accountID = account.id
            let order = try order(ask, of: entry, account)
            try obtainConsent(ask, order, entry, account, caller)
            return try released(try issue(order, account, entry, ask, caller), entry, account, ask, caller)
        } catch {
            throw refused(error, name, ask.origin, ask.why, caller, account: accountID)
        }
    }

    /// Returns the entry whose type has an issuer; a final slash does not count.
    private func entry(ofIssuer issuer: String) throws(BrokerFailure) -> BrokerEntry {
        func withoutSlash(_ text: String) -> Substring { text.hasSuffix("/") ? text.dropLast() : text[...] }
        let found = configuration.entries.filter { entry in
            self.issuer(of: entry).map { withoutSlash($0) == withoutSlash(issuer) } ?? false
        }
        guard let first = found.first else { throw .denied(.notInBroker) }
        guard found.count == 1 else { throw BrokerFailure(.ambiguous) }
        return first
    }

    func account(_ entry: BrokerEntry) throws(BrokerFailure) -> any EntryAccount {
        do throws(CredentialError) { return try parts.issuer.account(of: entry) } catch {
            throw BrokerFailure(error)
        }
    }

    /// Gets a token. A refresh has its line of the log even if the token is then not released.
    func issue(
        _ order: TokenOrder, _ account: any EntryAccount, _ entry: BrokerEntry, _ ask: TokenAsk, _ caller: Caller
    ) throws(BrokerFailure) -> IssuedToken {
        var order = order
        let key = OrderHistory.Key(order, entry: entry.name, account: account.id), now = parts.clock.now
        let (isKnown, isRecent) = state.withLock { state in
            (state.history.has(key), state.history.isRecent(key, at: now))
        }
        let revokesAtEnd = configuration.revokesAtEnd
        // The cache may have a token that an earlier run has revoked.
        if revokesAtEnd, !isKnown { order.forceRefresh = true }
        // The provider has just issued its longest token: another refresh would give no longer one.
        if isRecent { order.minValid = nil }
        let isForMinValid = order.minValid != nil && !order.forceRefresh
        let issued: IssuedToken
        do throws(CredentialError) { issued = try account.token(order) } catch { throw BrokerFailure(error) }
        let wasRefreshed = issued.wasRefreshed
        state.withLock { state in
            if revokesAtEnd { state.history.add(key) }
            if wasRefreshed, isForMinValid { state.history.addRefresh(key, at: now) }
        }
        if wasRefreshed {
            try record(
                AuditEvent(
                    .refresh, entry: entry.name, account: account.id, origin: ask.origin, caller: caller,
                    why: ask.why))
        }
        return issued
    }

    /// Returns the order for a request, within the entry's bounds.
    func order(
        _ ask: TokenAsk, of entry: BrokerEntry, _ account: any EntryAccount
    ) throws(BrokerFailure) -> TokenOrder {
        if entry.release == .proxyOnly { throw .denied(.proxyOnly) }
        if ask.wantsIDToken, entry.release != .idToken { throw .denied(.idToken) }
        if let name = ask.account, name != entry.account, !account.isCalled(name) { throw .denied(.notInBroker) }
        if let policy = ask.policy, !account.isSamePolicy(policy, entry.policy) { throw .denied(.notInBroker) }
        if let origin = ask.origin { try check(origin, for: entry) }
        var order = TokenOrder()
        order.policy = entry.policy
        let scope = entry.scope ?? account.ownScope
        if let wanted = ask.scope {
            // An order without scopes means all of the type's.
            if wanted.isEmpty { throw BrokerFailure(.malformed) }
            guard wanted.allSatisfy(scope.contains) else { throw .denied(.tooBroad) }
        }
        order.scope = Self.unique(ask.scope ?? entry.scope ?? [])
        order.resource = try Self.one(ask.resource, of: entry.resource, own: account.ownResource)
        order.audience = try Self.one(ask.audience, of: entry.audience, own: account.ownAudience)
        order.minValid = ask.minValid.map(Int64.init)
        order.wantsIDToken = ask.wantsIDToken
        if start.ownToken { order.owner = name }
        return order
    }

    /// Checks the origin that a caller names. Without origins of the entry, the host's check decides.
    private func check(_ origin: String, for entry: BrokerEntry) throws(BrokerFailure) {
        guard let wanted = BrokerOrigin(origin), let address = URI(origin) else { throw .denied(.origin) }
        guard entry.origins.isEmpty else {
            guard entry.origins.compactMap(BrokerOrigin.init).contains(wanted) else { throw .denied(.origin) }
            return
        }
        let permission: HelperPermission?
        do throws(CredentialError) {
            permission = try parts.issuer.permission(for: entry, at: HelperDestination(address))
        } catch { throw BrokerFailure(error) }
        if permission == nil { throw .denied(.origin) }
    }

    /// The scopes in their order, each once: repeated ones would hide others in a prompt.
    private static func unique(_ scope: [String]) -> [String] {
        var seen: Set<String> = []
        return scope.filter { seen.insert($0).inserted }
    }

    private static func one(
        _ wanted: String?, of list: [String], own: String?
    ) throws(BrokerFailure) -> String? {
        guard let wanted else { return list.first }
        guard list.contains(wanted) || list.isEmpty && wanted == own else { throw .denied(.tooBroad) }
        return wanted
    }

    /// Asks the user, if the configuration requires it.
    func obtainConsent(
        _ ask: TokenAsk, _ order: TokenOrder, _ entry: BrokerEntry, _ account: any EntryAccount, _ caller: Caller
    ) throws(BrokerFailure) {
        let rule = configuration.ask
        if rule == .never { return }
        let question = ConsentQuestion(
            caller: caller, entry: entry.name, account: account.shownName, accountID: account.id,
            type: entry.type,
            scope: order.scope.isEmpty ? account.ownScope : order.scope, origin: ask.origin,
            resource: order.resource ?? account.ownResource, audience: order.audience ?? account.ownAudience,
            wantsIDToken: order.wantsIDToken, broker: name, always: rule == .always)
        // The user cannot consent to a part that no prompt shows.
        guard ConsentText.isShownWhole(question) else { throw .denied(.noPrompt) }
        switch parts.consent.decide(question) {
        case .granted: break
        case .refused, .refusedForNow: throw .denied(.userRefused)
        case .noPrompt: throw .denied(.noPrompt)
        case .closeBroker:
            finish()
            throw .denied(.userRefused)
        }
    }

    /// Checks a token, and writes its line of the log.
    func released(
        _ issued: IssuedToken, _ entry: BrokerEntry, _ account: any EntryAccount, _ ask: TokenAsk,
        _ caller: Caller
    ) throws(BrokerFailure) -> ReleasedToken {
        let idToken = try checked(issued, entry, account, ask)
        try recordIssue(of: issued, entry, account, ask, caller)
        let token = issued.token
        state.withLock { $0.orders.keep(ask, of: token.token, entry: entry.name) }
        return ReleasedToken(
            accessToken: token.token, tokenType: token.tokenType,
            expiresOn: token.hasKnownEnd ? token.expiresAt.epochSeconds : nil, scope: token.scope,
            idToken: idToken, issuer: account.issuer, accountID: account.id, accountType: entry.type,
            username: account.username, origins: entry.origins)
    }

    /// Writes the line that precedes a reply with a token or credentials.
    func recordIssue(
        of issued: IssuedToken, _ entry: BrokerEntry, _ account: any EntryAccount, _ ask: TokenAsk,
        _ caller: Caller
    ) throws(BrokerFailure) {
        // The user may have signed out while the token was issued.
        guard try self.account(entry).id == account.id else { throw BrokerFailure(.signInRequired) }
        if hasEnded { throw BrokerFailure(.ended) }
        let token = issued.token, now = parts.clock.now
        // A token that is released after the end would not be revoked.
        let isInTime: Bool = state.withLock { state in
            if state.hasEnded { return false }
            if state.current.revokesAtEnd { state.released.add(token, of: entry, account, at: now) }
            return true
        }
        if !isInTime { throw BrokerFailure(.ended) }
        var event = AuditEvent(
            .issue, entry: entry.name, account: account.id, origin: ask.origin, caller: caller, why: ask.why)
        event.token = token.token
        try record(event)
    }

    /// The released access tokens that have not ended, by entry and account; empty without `revoke_at_end`. After
    /// ``finish()`` no token is added.
    public func released() -> [(entry: BrokerEntry, account: any EntryAccount, tokens: [AccessToken])] {
        let now = parts.clock.now
        return state.withLock { $0.released.valid(at: now) }
    }

    /// Refuses an end that is unknown or later than `token_life_at_most` allows.
    func checkLife(until end: Timestamp?) throws(BrokerFailure) {
        guard let most = configuration.tokenLifeAtMost else { return }
        guard let end, end.seconds(since: parts.clock.now) <= most else { throw .denied(.tooLong) }
    }

    /// Checks a token against the entry and the limits of the broker.
    ///
    /// - Returns: the ID token, if the caller wants it.
    func checked(
        _ issued: IssuedToken, _ entry: BrokerEntry, _ account: any EntryAccount, _ ask: TokenAsk
    ) throws(BrokerFailure) -> Secret? {
        let token = issued.token, now = parts.clock.now
        if entry.broader == .refuse {
            let bound = entry.scope ?? account.ownScope
            let allowed = bound + account.effectiveScope(bound)
            // A type without scopes leaves them to the provider.
            guard bound.isEmpty || token.scope.allSatisfy(allowed.contains) else { throw .denied(.tooBroad) }
        }
        let left = token.expiresAt.seconds(since: now)
        guard left > 0 else { throw BrokerFailure(.temporary, retryAfter: 1) }
        // The server revokes access tokens at its end. It cannot revoke ID tokens and credentials of roles.
        if !configuration.revokesAtEnd { try checkLife(until: token.hasKnownEnd ? token.expiresAt : nil) }
        var idToken: Secret?
        if ask.wantsIDToken {
            guard let issuedID = issued.idToken else { throw .denied(.idToken) }
            if let audience = ask.idTokenAudience, !IDTokenAudience.contains(audience, in: issuedID) {
                throw .denied(.idToken)
            }
            if let end = issued.idTokenExpiresAt, end <= now { throw BrokerFailure(.temporary, retryAfter: 1) }
            try checkLife(until: issued.idTokenExpiresAt)
            idToken = issuedID
        }
        return idToken
    }

    // MARK: Refusals and proofs

    /// Returns another token after the API has refused one (`refused`): a token for the same scope, resource and
    /// audience.
    ///
    /// - Parameters:
    ///   - entryName: the entry; `nil` for the broker's only one.
    ///   - refusedToken: the token that the API refused.
    /// - Throws: `rate` for the second refresh of an entry in a minute; `denied` with `not_in_broker` for a token
    ///   that is neither released nor current; as ``release(_:to:)``.
    public func replacement(
        of refusedToken: Secret, entry entryName: String?, to caller: Caller
    ) throws(BrokerFailure) -> ReleasedToken {
        try replacement(of: refusedToken, entry: entryName, to: caller, isAdmitted: false)
    }

    /// Returns another token, as ``replacement(of:entry:to:)``.
    ///
    /// - Parameter isAdmitted: whether ``admit()`` was called for the request.
    func replacement(
        of refusedToken: Secret, entry entryName: String?, to caller: Caller, isAdmitted: Bool
    ) throws(BrokerFailure) -> ReleasedToken {
        var name = entryName, accountID: String?
        let why = "refused"
        do throws(BrokerFailure) {
            if !isAdmitted { try admit() }
            let entry = try entry(name: entryName, type: nil)
            name = entry.name
            let account = try account(entry)
            accountID = account.id
            let known = state.withLock { $0.orders.ask(of: refusedToken, entry: entry.name) }
            var ask = known ?? TokenAsk(entry: entry.name)
            ask.why = why
            // The reply has no ID token.
            ask.wantsIDToken = false
            ask.idTokenAudience = nil
            var order = try order(ask, of: entry, account)
            try obtainConsent(ask, order, entry, account, caller)
            var issued = try issue(order, account, entry, ask, caller)
            if issued.token.token == refusedToken {
                state.withLock { [ask] in $0.orders.keep(ask, of: refusedToken, entry: entry.name) }
                try noteRefusal(of: entry.name)
                order.forceRefresh = true
                issued = try issue(order, account, entry, ask, caller)
            } else if known == nil {
                // The caller would send the entry's default token to the server of another one.
                throw BrokerFailure.denied(.notInBroker)
            }
            return try released(issued, entry, account, ask, caller)
        } catch {
            throw refused(error, name, nil, why, caller, account: accountID)
        }
    }

    private func noteRefusal(of entry: String) throws(BrokerFailure) {
        let now = parts.clock.now
        let wait: Int64? = state.withLock { state in
            if let last = state.refusals[entry] {
                let passed = now.seconds(since: last)
                if (0..<60).contains(passed) { return 60 - passed }
            }
            state.refusals[entry] = now
            return nil
        }
        if let wait { throw BrokerFailure(.rate, retryAfter: Int(wait)) }
    }

    /// Returns a DPoP proof for a request with an entry's token (`sign`, RFC 9449).
    ///
    /// - Throws: `malformed` without a line of the log for a URL that is not valid; `failed` with `no_key` for a
    ///   token without a key; as ``release(_:to:)``.
    public func proof(
        entry entryName: String?, method: String, url: String, nonce: String?, to caller: Caller
    ) throws(BrokerFailure) -> String {
        var name = entryName, accountID: String?
        do throws(BrokerFailure) {
            try admit()
            let entry = try entry(name: entryName, type: nil)
            name = entry.name
            let account = try account(entry)
            accountID = account.id
            let ask = TokenAsk(entry: entry.name)
            let order = try order(ask, of: entry, account)
            try obtainConsent(ask, order, entry, account, caller)
            let issued = try issue(order, account, entry, ask, caller)
            let proof: String?
            do throws(CredentialError) {
                proof = try account.proof(for: issued, method: method, url: url, nonce: nonce)
            } catch { throw error.code == .usage ? BrokerFailure(.malformed) : BrokerFailure(error) }
            if hasEnded { throw BrokerFailure(.ended) }
            guard let proof else { throw BrokerFailure(.failed, reason: "no_key") }
            return proof
        } catch {
            // The connection ends with a malformed request, and its language writes the line.
            if error.error == .malformed { throw error }
            throw refused(error, name, nil, nil, caller, account: accountID)
        }
    }
}
