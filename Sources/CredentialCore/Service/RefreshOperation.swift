/// One refresh: ask the adapter, persist, tell. Runs under the account's lock.
package struct RefreshOperation: Sendable {
    /// What it works on.
    let accounts: AccountServices

    /// Refreshes and persists. The caller holds the account's lock since before it read the job's token set.
    ///
    /// - Throws: as ``TokenRefresher/refresh(_:holding:)``.
    func refresh(_ job: RefreshJob) throws(CredentialError) -> RefreshOutcome {
        let adapter = try accounts.machine.adapters.adapter(of: job.type)
        guard let grant = job.tokenSet.grants[job.key.policy] else {
            throw CredentialError(.internalFault, "a refresh without a grant for policy '\(job.key.policy)'")
        }
        var request = RefreshRequest(
            type: job.type, key: job.key, scope: job.scope, grant: grant, subject: job.tokenSet.account.subject)
        if let key = job.subjectKey {
            guard let token = job.tokenSet.accessToken(for: key) else {
                throw CredentialError(.internalFault, "a token exchange without a token to exchange")
            }
            request.subjectToken = token
        }
        try accounts.repository.reserve(for: job.tokenSet, in: job.group)
        let issued: IssuedTokens
        do throws(CredentialError) {
            issued = try adapter.refresh(request, in: accounts.adapterContext)
        } catch {
            accounts.repository.releaseReserve(for: job.tokenSet, in: job.group)
            guard error.code == .signInRequired else { throw error }
            return try markLost(job, grant, error)
        }
        return try persist(issued, job)
    }

    private func persist(_ issued: IssuedTokens, _ job: RefreshJob) throws(CredentialError) -> RefreshOutcome {
        let now = accounts.clock.now
        var warnings: [Message] = []
        var set = refreshed(job.tokenSet, by: issued, job, now)
        var outcome = try keep(&set, job)
        if case .overtaken(let newer?) = outcome,
            newer.grants[job.key.policy] == job.tokenSet.grants[job.key.policy]
        {
            // Something else of the account was changed; the grant still is the one that was just used up.
            set = refreshed(newer, by: issued, job, now)
            outcome = try keep(&set, job)
        }
        switch outcome {
        case .stored: break
        case .unlisted(let failure): warnings.append("the account's record was not updated: \(failure)")
        case .journaled(let failure), .kept(let failure):
            warnings.append(
                "the \(set.account.store.shownName) did not take the new tokens (\(failure)); "
                    + "they are kept encrypted in the journal and will be put there by the next run")
        case .overtaken(let newer):
            guard newer != nil else { throw gone(set.account, job.group) }
            warnings.append("another process has signed \(set.account.id) in again meanwhile; its tokens are kept")
        }
        guard let token = issued.accessToken else {
            throw CredentialError(.malformedReply, "the provider's reply to the refresh holds no token")
        }
        if case .overtaken = outcome {
            return RefreshOutcome(token: token, idToken: issued.grant.idToken, warnings: warnings)
        }
        // The new tokens are safe.
        if let old = job.tokenSet.grants[job.key.policy] {
            accounts.repository.noteSpent(
                old.refreshToken, replacedBy: issued.grant, of: set.account.id, in: job.group)
        }
        do throws(CredentialError) { try accounts.tellEnding(of: set.account, in: job.group) } catch {
            warnings.append("the end of the sign-in was not noted: \(error)")
        }
        accounts.cache.keep(token, of: set.account.id, in: job.group, now: now)
        append(.tokenRefreshed, job, now)
        return RefreshOutcome(token: token, idToken: issued.grant.idToken, warnings: warnings)
    }

    /// Keeps what was issued. Where that fails the refresh token that is there is used up, and the new one is lost.
    private func keep(
        _ set: inout TokenSet, _ job: RefreshJob
    ) throws(CredentialError) -> TokenSetRepository.Outcome {
        do throws(CredentialError) { return try accounts.repository.save(&set, in: job.group) } catch {
            throw error.asFinal
        }
    }

    /// `set` with what was issued.
    func refreshed(
        _ set: TokenSet, by issued: IssuedTokens, _ job: RefreshJob, _ now: Instant
    ) -> TokenSet {
        var set = set
        set.grants[job.key.policy] = issued.grant
        set.account.status = .active
        set.account.refreshExpiresAt = issued.grant.refreshExpiresAt
        set.account.updatedAt = now
        if let token = issued.accessToken { set.keep(token, now: now) }
        // A token had by exchange is one for another API; the account's own is what it is listed with.
        if let token = issued.accessToken, job.subjectKey == nil {
            set.account.expiresAt = token.expiresAt
            set.account.scope = token.scope
        }
        return set
    }

    /// Notes that the provider takes the grant no more, unless the store holds another refresh token by now than the
    /// one that was sent: then nothing is changed, and a peer's fresh token is given out.
    private func markLost(
        _ job: RefreshJob, _ sent: Grant, _ error: CredentialError
    ) throws(CredentialError) -> RefreshOutcome {
        let account = job.tokenSet.account
        let now = accounts.clock.now
        guard var set = try accounts.repository.read(account, in: job.group, isLocked: true) else {
            throw gone(account, job.group)
        }
        guard var grant = set.grants[job.key.policy], grant.refreshToken == sent.refreshToken else {
            if let token = set.accessToken(for: job.key), Freshness().allows(token, now: now) {
                return RefreshOutcome(token: token, idToken: set.grants[job.key.policy]?.idToken)
            }
            throw replaced(account)
        }
        grant.lostReason = error.message
        set.grants[job.key.policy] = grant
        set.accessTokens.removeAll { $0.key.policy == job.key.policy && $0.expiresAt <= now }
        if !set.grants.values.contains(where: \.isRefreshable) {
            set.account.status = .needsLogin(reason: error.message)
        }
        set.account.updatedAt = now
        if case .overtaken = try accounts.repository.save(&set, in: job.group) { throw replaced(account) }
        append(.tokenLost, job, now, reason: error.message)
        throw error
    }

    func append(_ kind: AccountEvent.Kind, _ job: RefreshJob, _ now: Instant, reason: String? = nil) {
        accounts.events.append(
            AccountEvent(
                kind: kind, time: now, group: job.group, type: job.type.name, account: job.tokenSet.account.id,
                policy: job.key.policy.isEmpty ? nil : job.key.policy, reason: reason))
    }

    private func gone(_ account: Account, _ group: KeychainGroup) -> CredentialError {
        CredentialError(
            .signInRequired, "\(account.id) has to sign in again: its secrets were removed during the refresh",
            hint: LoginCommandLine(for: account, in: group).hint)
    }

    private func replaced(_ account: Account) -> CredentialError {
        CredentialError(
            .temporary, "another process has replaced the tokens of \(account.id) meanwhile", hint: "try again")
    }
}
