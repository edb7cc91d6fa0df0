import Synchronization

/// One refresh: ask the adapter, persist, tell. Runs under the account's lock.
package struct RefreshOperation: Sendable {
    /// The account services that it uses.
    let accounts: AccountServices

    /// Refreshes and persists. The caller holds the account's lock since before it read the job's token set.
    ///
    /// - Throws: as ``TokenRefresher/refresh(_:holding:)``.
    func refresh(_ job: RefreshJob) throws(CredentialError) -> RefreshOutcome {
        let adapter = try accounts.machine.adapters.adapter(of: job.type)
        guard let grant = job.tokenSet.grants[job.key.policy] else {
            throw CredentialError(.internalFault, "a refresh without a grant for policy '\(job.key.policy)'")
        }
        var request = request(of: job, grant, job.tokenSet.account)
        if let key = job.subjectKey {
            guard let token = job.tokenSet.accessToken(for: key) else {
                throw CredentialError(.internalFault, "a token exchange without a token to exchange")
            }
            request.subjectToken = token
        }
        if !job.hasRoom { try accounts.repository.reserve(for: job.tokenSet, in: job.group) }
        // A response may be saved in the midst of its judgement.
        let saved = Mutex<TokenSet?>(nil)
        let boot = accounts.machine.bootClock, expected = job
        let check = SendCheck(boot, lookedAt: job.lookedAt ?? boot.milliseconds) { () throws(CredentialError) in
            try checkIsOurs(expected, saved.withLock { $0 } ?? expected.tokenSet)
        }
        var context = accounts.adapterContext(
            of: job.type, over: CheckedTransport(base: accounts.machine.transport, check: check))
        context.saveFirst = { (finding) throws(CredentialError) in
            var latest = job
            if let set = saved.withLock({ $0 }) { latest.tokenSet = set }
            let set = try save(finding, latest)
            saved.withLock { $0 = set }
            // The saving took the room and the mark, and the adapter may send once more.
            try accounts.repository.reserve(for: set, in: job.group)
        }
        var job = job
        let issued: IssuedTokens
        do throws(CredentialError) {
            // Some adapters send by themselves.
            try check.run()
            issued = try adapter.refresh(request, in: context)
        } catch {
            accounts.repository.releaseReserve(for: job.tokenSet, in: job.group)
            if saved.withLock({ $0 }) != nil { throw error }
            guard error.code == .signInRequired else { throw error }
            if let older = grant.withoutRefusedPending(under: job.type) {
                return try refresh(with: older, job)
            }
            return try markLost(job, grant, error)
        }
        if let set = saved.withLock({ $0 }) { job.tokenSet = set }
        return try persist(issued, job, sent: request.grant)
    }

    /// The ID of a grant that has no ID yet.
    var newID: String { Grant.newID(accounts.machine.random) }

    /// The request to the adapter.
    func request(of job: RefreshJob, _ grant: Grant, _ account: Account) -> RefreshRequest {
        var request = RefreshRequest(
            type: job.type, key: job.key, scope: job.scope, grant: grant.toSend, subject: account.subject)
        request.needsIDToken = grant.awaitsIDToken
        return request
    }

    /// Checks again that this process alone has the account: its lock is the one that others wait for, its mark is
    /// there, and the account has the same refresh token, which is unused.
    ///
    /// - Throws: ``ErrorCode/temporary`` if another process has had the account; the errors of the store.
    private func checkIsOurs(_ job: RefreshJob, _ expected: TokenSet) throws(CredentialError) {
        let account = expected.account, policy = job.key.policy
        if try isOurs(job, account),
            let set = try accounts.repository.read(account, in: job.group, isLocked: false),
            let grant = set.grants[policy],
            grant.toSend.refreshToken == expected.grants[policy]?.toSend.refreshToken,
            !accounts.repository.isUsed(grant)
        {
            return
        }
        throw CredentialError(
            .temporary,
            "this process was stopped, and another process has locked account \(account.id): credmgr sent nothing",
            hint: "try again")
    }

    private func isOurs(_ job: RefreshJob, _ account: Account) throws(CredentialError) -> Bool {
        if let lock = job.lock, !accounts.locks.isCurrent(lock, of: account.id, in: job.group) { return false }
        return try accounts.machine.journal.isMarkedForSending(account.id, in: job.group)
    }

    /// Refreshes with the older token of a provider that takes it though it has given a newer one, which it
    /// refused.
    private func refresh(with older: Grant, _ job: RefreshJob) throws(CredentialError) -> RefreshOutcome {
        var job = job
        job.tokenSet.grants[job.key.policy] = older
        (job.hasRoom, job.lookedAt) = (false, nil)
        if case .overtaken = try accounts.repository.save(&job.tokenSet, in: job.group) {
            throw replaced(job.tokenSet.account)
        }
        return try refresh(job)
    }

    // MARK: A response that is not used

    /// Saves the tokens of a response that is refused, or not judged yet, before any other step.
    ///
    /// - Returns: the account's token set from now on.
    /// - Throws: the errors of the store, if neither the store nor the journal took it; ``ErrorCode/temporary``.
    private func save(_ finding: RefreshFinding, _ job: RefreshJob) throws(CredentialError) -> TokenSet {
        let account = job.tokenSet.account
        let policy = job.key.policy
        let before = job.tokenSet.grants[policy]
        var set = noted(finding, in: job.tokenSet, job)
        // The provider has answered: no copy brings the token back that it was asked with.
        defer {
            if let before, !before.takesOlder(under: job.type) {
                accounts.repository.recordUsed(
                    before.toSend.refreshToken, replacedBy: finding.refreshToken, grant: set.grants[policy])
            }
            accounts.repository.releaseReserve(for: set, in: job.group)
        }
        var outcome = try keep(&set, job)
        if case .overtaken(let newer?) = outcome, newer.grants[policy] == before {
            set = noted(finding, in: newer, job)
            outcome = try keep(&set, job)
        }
        if case .overtaken = outcome { throw replaced(account) }
        if finding.isForeign {
            append(.tokenLost, job, accounts.clock.now, reason: set.grants[policy]?.lostReason)
        }
        return set
    }

    /// `set` with the unused tokens of a response.
    func noted(_ finding: RefreshFinding, in set: TokenSet, _ job: RefreshJob) -> TokenSet {
        var set = set
        guard var grant = set.grants[job.key.policy] else { return set }
        if let token = finding.refreshToken {
            // A pending token that the provider has answered takes the place of the older one.
            if grant.pending?.token != token {
                grant.refreshToken = grant.toSend.refreshToken
                grant.rotation += 1
                grant.id = grant.id ?? newID
            }
            grant.pending = PendingToken(token: token, isQuarantined: finding.isForeign)
        }
        if finding.refusesIDToken { grant.awaitsIDToken = true }
        if finding.isForeign {
            let reason: LocalizedMessage = "a response to a refresh named another subject or issuer"
            (grant.lostReason, grant.isDoubtful) = (reason.description, false)
        }
        set.grants[job.key.policy] = grant
        if finding.isForeign, let reason = grant.lostReason, !set.isRefreshable {
            set.account.status = .needsLogin(reason: reason)
        }
        set.account.updatedAt = accounts.clock.now
        return set
    }

    // MARK: A response that is used

    private func persist(
        _ issued: IssuedTokens, _ job: RefreshJob, sent: Grant
    ) throws(CredentialError) -> RefreshOutcome {
        let now = accounts.clock.now
        var warnings = issued.warnings
        var issued = issued
        // A token that was saved before validation counts as a rotation of its own.
        let latest = job.tokenSet.grants[job.key.policy] ?? sent
        if job.isRefresh(issued, of: sent) {
            issued.grant.noteRotation(after: sent, newID: latest.id ?? newID)
            if latest.rotation > sent.rotation {
                let isSaved = latest.toSend.refreshToken == issued.grant.refreshToken
                issued.grant.rotation = latest.rotation + (isSaved ? 0 : 1)
            }
        }
        // The provider has answered: no copy brings the token back that it was asked with, whether the new one is
        // kept or not.
        defer {
            for old in Set([sent.refreshToken, latest.toSend.refreshToken]) {
                accounts.repository.recordUsed(
                    old, replacedBy: issued.grant.refreshToken, grant: issued.grant)
            }
            accounts.repository.releaseReserve(for: job.tokenSet, in: job.group)
        }
        var set = refreshed(job.tokenSet, by: issued, job, now)
        var outcome = try keep(&set, job)
        if case .overtaken(let newer?) = outcome,
            newer.grants[job.key.policy] == job.tokenSet.grants[job.key.policy]
        {
            // Other data of the account was changed; the grant still is the one that was just used.
            set = refreshed(newer, by: issued, job, now)
            outcome = try keep(&set, job)
        }
        switch outcome {
        case .stored: break
        case .unlisted(let failure): warnings.append("the account's record was not updated: \(failure)")
        case .journaled(let failure), .kept(let failure):
            warnings.append(
                "the \(set.account.store.shownName) did not store the new tokens (\(failure)); they are encrypted "
                    + "in the journal, and the next run stores them")
        case .overtaken(let newer):
            guard newer != nil else { throw gone(set.account, job.group) }
            warnings.append(
                "another process has signed \(set.account.id) in again; credmgr keeps the tokens of that sign-in")
        }
        guard let token = issued.accessToken else {
            throw CredentialError(.malformedReply, "the provider's response to the refresh contains no token")
        }
        if case .overtaken = outcome {
            return RefreshOutcome(token: token, idToken: issued.grant.idToken, warnings: warnings)
        }
        do throws(CredentialError) { try accounts.tellEnding(of: set.account, in: job.group) } catch {
            warnings.append("cannot record that the grant has ended: \(error)")
        }
        accounts.cache.keep(token, of: set.account.id, in: job.group, now: now)
        append(.tokenRefreshed, job, now)
        return RefreshOutcome(token: token, idToken: issued.grant.idToken, warnings: warnings)
    }

    /// Keeps the issued tokens. If neither the store nor the journal takes it, and the provider has replaced the
    /// refresh token, the sign-in is lost, and the record notes the loss as far as it can be written.
    private func keep(
        _ set: inout TokenSet, _ job: RefreshJob
    ) throws(CredentialError) -> TokenSetRepository.Outcome {
        do throws(CredentialError) {
            return try accounts.repository.save(&set, in: job.group, keepsMark: true)
        } catch {
            var error = error.asFinal
            let policy = job.key.policy, account = set.account.id
            let old = job.tokenSet.grants[policy]?.toSend.refreshToken
            guard let old, let new = set.grants[policy]?.toSend.refreshToken, new != old else { throw error }
            var others = job.tokenSet
            others.grants[policy] = nil
            if !others.isRefreshable {
                let reason: LocalizedMessage = "cannot save the new refresh token: \(error.text)"
                do throws(CredentialError) {
                    try accounts.records.update(account, in: job.group) {
                        $0.status = .needsLogin(reason: reason.description)
                    }
                } catch let failure {
                    error.details.append("the account's record was not updated: \(failure)")
                }
            }
            throw error
        }
    }

    /// `set` with the issued tokens.
    func refreshed(
        _ set: TokenSet, by issued: IssuedTokens, _ job: RefreshJob, _ now: Timestamp
    ) -> TokenSet {
        var set = set
        if job.isRefresh(issued, of: set.grants[job.key.policy]?.toSend) {
            set.grants[job.key.policy] = issued.grant
            set.account.status = .active
            set.account.refreshExpiresAt = issued.grant.refreshExpiresAt
            set.account.endsWithToken = issued.endWithToken
        } else {
            // An exchange has no news of the grant.
            set.grants[job.key.policy]?.adapterState = issued.grant.adapterState
        }
        set.account.updatedAt = now
        if let token = issued.accessToken { set.keep(token, now: now) }
        // A token from an exchange is one for another API; the account is listed with its own token.
        if let token = issued.accessToken, job.subjectKey == nil {
            set.account.expiresAt = token.expiresAt
            set.account.scope = token.scope
        }
        return set
    }

    /// Notes that the provider takes the grant no more. If the store holds another refresh token by now than the
    /// sent one, it changes no data and gives out a peer's fresh token.
    private func markLost(
        _ job: RefreshJob, _ sent: Grant, _ error: CredentialError
    ) throws(CredentialError) -> RefreshOutcome {
        let account = job.tokenSet.account
        let now = accounts.clock.now
        guard var set = try accounts.repository.read(account, in: job.group, isLocked: true) else {
            throw gone(account, job.group)
        }
        guard var grant = set.grants[job.key.policy], grant.toSend.refreshToken == sent.toSend.refreshToken else {
            if let token = set.accessToken(for: job.key), Freshness().allows(token, now: now) {
                return RefreshOutcome(token: token, idToken: set.grants[job.key.policy]?.idToken)
            }
            throw replaced(account)
        }
        grant.lostReason = error.message
        grant.isDoubtful = error.keepsGrant
        set.grants[job.key.policy] = grant
        set.accessTokens.removeAll { $0.key.policy == job.key.policy && $0.expiresAt <= now }
        if !set.isRefreshable {
            set.account.status = .needsLogin(reason: error.message)
        }
        set.account.updatedAt = now
        if case .overtaken = try accounts.repository.save(&set, in: job.group) { throw replaced(account) }
        append(.tokenLost, job, now, reason: error.message)
        throw error
    }

    func append(_ kind: AccountEvent.Kind, _ job: RefreshJob, _ now: Timestamp, reason: String? = nil) {
        accounts.events.append(
            AccountEvent(
                kind: kind, time: now, group: job.group, type: job.type.name, account: job.tokenSet.account.id,
                policy: job.key.policy.isEmpty ? nil : job.key.policy, reason: reason))
    }

    private func gone(_ account: Account, _ group: KeychainGroup) -> CredentialError {
        CredentialError(
            .signInRequired, "\(account.id) must sign in again: its secrets were removed during the refresh",
            hint: LoginHint(for: account, in: group).hint)
    }

    private func replaced(_ account: Account) -> CredentialError {
        CredentialError(
            .temporary, "another process has replaced the tokens of \(account.id)", hint: "try again")
    }
}

extension RefreshJob {
    /// Whether the issued tokens are news of the grant that was sent: they always are, except after a token
    /// exchange, which may leave the grant alone. A plugin may refresh the grant for an exchange.
    func isRefresh(_ issued: IssuedTokens, of sent: Grant?) -> Bool {
        subjectKey == nil || issued.grant.refreshToken != sent?.refreshToken
    }
}

extension Grant {
    /// A new value for ``id``.
    static func newID(_ random: any RandomSource) -> String { Base64URL.encode(random.bytes(16)) }

    /// Whether the provider takes a refresh token though it has given a newer one: an earlier refresh, or the type,
    /// shows it.
    func takesOlder(under type: AccountType) -> Bool { rotates == false || type.refreshReuse == .tolerated }

    /// The grant with its older refresh token alone, after the provider has refused the pending one; `nil` without
    /// an older one, or if it must not be sent again.
    func withoutRefusedPending(under type: AccountType) -> Grant? {
        guard let pending, !pending.isQuarantined, takesOlder(under: type) else { return nil }
        var grant = self
        grant.pending = nil
        return grant
    }

    /// Notes that a refresh succeeded, and its evidence of the provider's rotation.
    ///
    /// - Parameters:
    ///   - sent: the grant as it was sent. An adapter may give another one back.
    ///   - newID: the ID of a grant that has no ID yet.
    mutating func noteRotation(after sent: Grant, newID: String) {
        awaitsIDToken = false
        pending = nil
        (lostReason, isDoubtful) = (nil, false)
        id = sent.id ?? newID
        rotation = sent.rotation
        guard let old = sent.refreshToken, let new = refreshToken else { return }
        rotates = old != new
        if old != new { rotation += 1 }
    }
}
