/// Refreshes a token in this process.
///
/// The store is opened and read before anything is sent: one that does not open then costs no refresh token.
package struct InProcessRefresher: TokenRefresher {
    /// The account services that it uses.
    let accounts: AccountServices

    private var operation: RefreshOperation { RefreshOperation(accounts: accounts) }

    package func refresh(
        _ request: TokenService.Request, holding lock: any HeldLock
    ) throws(CredentialError) -> TokenService.Answer {
        if let handed = request.handed {
            try accounts.machine.sharing.resume(request.account.id, of: request.group, with: handed)
        }
        // The account may have been signed out since the caller looked it up.
        guard let record = try accounts.repository.recordToRefresh(request.account.id, in: request.group) else {
            throw request.signInRequired("it has been signed out").asFinal
        }
        let account = record.account
        var request = request
        request.account = account
        guard var set = try accounts.repository.read(record, isLocked: true) else { throw request.secretsAreGone }
        if !request.forceRefresh, let answer = request.fresh(in: set, now: accounts.clock.now) {
            accounts.cache.keep(answer.token, of: account.id, in: request.group, now: accounts.clock.now)
            return answer
        }
        // Of several sign-ins it uses the newest one with the requested access.
        let wanted = request.subject?.scope ?? request.scope
        if account.store != .etcd, set.prefer(scope: wanted, of: request.key.policy, now: accounts.clock.now),
            case .overtaken = try accounts.repository.save(&set, in: request.group)
        {
            throw Self.changed(account)
        }
        guard let grant = set.grants[request.key.policy] else {
            throw request.signInRequired("no grant for policy \(request.key.policy)")
        }
        request.flow = grant.flow
        let isUsable = request.forceRefresh ? grant.isWorthATry : grant.isRefreshable
        guard isUsable || subjectToken(in: set, request) != nil else {
            let failure = try withoutRefresh(grant, request)
            if let answer = request.stillValid(in: set, now: accounts.clock.now, because: failure) {
                return answer
            }
            throw failure
        }
        guard try belongs(account, to: request.type) else {
            throw request.signInRequired(
                "it was signed in at \(UntrustedText.shown(account.registration.shownProvider)), but its account "
                    + "type now has another provider or client")
        }
        // From here on no other process refreshes the account, even if the file of its lock was removed. So the
        // check for used tokens comes after it.
        let looked = accounts.machine.bootClock.milliseconds
        if account.store != .etcd { try accounts.repository.reserve(for: set, in: request.group) }
        do throws(CredentialError) {
            if account.store != .etcd, try accounts.repository.isOvertaken(set, in: request.group) {
                throw Self.changed(account)
            }
        } catch {
            accounts.repository.releaseReserve(for: set, in: request.group)
            throw error
        }
        // A grant in a cluster may wait for the answer that this host has journaled: the journaled answer is
        // checked first.
        guard account.store == .etcd || !accounts.repository.isUsed(grant)
        else {
            accounts.repository.releaseReserve(for: set, in: request.group)
            // Another process may have refreshed it since it was read, if the file of the lock was removed.
            if try read(request).grants[request.key.policy]?.toSend != grant.toSend { throw Self.changed(account) }
            let failure = request.signInRequired(
                "its refresh token was already used: the store is older than this machine has seen")
            if let answer = request.stillValid(in: set, now: accounts.clock.now, because: failure) { return answer }
            throw failure
        }
        do throws(CredentialError) {
            return try refresh(set, request, holding: lock, lookedAt: looked)
        } catch {
            accounts.repository.releaseReserve(for: set, in: request.group)
            var error = error
            // The end of one sign-in is not that of the others: each time there is one less.
            if error.code == .signInRequired, account.store != .etcd, try hasAnother(grant, request) {
                return try refresh(request, holding: lock)
            }
            if error.refusesScope, !grant.includes(wanted) {
                error = CredentialError(
                    .signInRequired, "the grant does not include the requested scope: \(error.text)",
                    details: error.details)
            }
            // An adapter's hint does not know the account, its group or the request.
            if error.code == .signInRequired || error.hint?.hasPrefix("credmgr login ") == true {
                error.advice = request.login.hint
            }
            throw Self.advised(error, by: request)
        }
    }

    /// An error of a refresh with the remedy for its kind, if it has no hint: a refusal of the provider says how to
    /// go on.
    private static func advised(_ error: CredentialError, by request: TokenService.Request) -> CredentialError {
        switch error.code {
        // The new refresh token of a response that cannot be read is saved, and the next refresh sends it.
        case .malformedReply: error.withHint("try again")
        case .denied, .validationFailed:
            // A cluster's refusal is not the provider's: no sign-in helps.
            error.isClusterUnusable ? error : error.withHint(request.login.hint)
        default: error
        }
    }

    private static func changed(_ account: Account) -> CredentialError {
        CredentialError(.temporary, "another process has changed \(account.id)", hint: "try again")
    }

    /// That a grant cannot be refreshed. If it never could be refreshed, the same sign-in would end as soon: the
    /// hint first names the necessary change.
    private func withoutRefresh(
        _ grant: Grant, _ request: TokenService.Request
    ) throws(CredentialError) -> CredentialError {
        if let reason = grant.lostReason { return request.signInRequired(LocalizedMessage(kept: reason)) }
        let adapter = try accounts.machine.adapters.adapter(of: request.type)
        let advice = RefreshTokenAdvice(
            request.type, scope: adapter.effectiveScope(request.type.scope, of: request.type))
        var failure = request.signInRequired(advice.reason)
        failure.advice = advice.hint(request.login)
        return failure
    }

    /// Whether a grant was lost just now, and another one of its policy can be refreshed.
    private func hasAnother(_ grant: Grant, _ request: TokenService.Request) throws(CredentialError) -> Bool {
        let set = try read(request), policy = request.key.policy
        return set.grants[policy]?.lostReason != nil && grant.lostReason == nil
            && set.further.contains { $0.policy == policy && $0.grant.isRefreshable }
    }

    /// Whether an account is of the client and the provider that its type names now: no other is shown its refresh
    /// token.
    private func belongs(_ account: Account, to type: AccountType) throws(CredentialError) -> Bool {
        let own = try ClientIdentity(of: type, accounts.machine.adapters)
        // A type that only the calling program has defined is known to no catalog.
        guard account.type == type.name else { return account.registration == own }
        return account.registration.current { own } == own
    }

    /// For a token exchange, the token to exchange is refreshed first if it has ended.
    private func refresh(
        _ set: TokenSet, _ request: TokenService.Request, holding lock: any HeldLock, lookedAt: Int64
    ) throws(CredentialError) -> TokenService.Answer {
        var job = RefreshJob(
            group: request.group, type: request.type, key: request.key, scope: request.scope, tokenSet: set)
        (job.hasRoom, job.lock, job.lookedAt) = (true, lock, lookedAt)
        var warnings: [LocalizedMessage] = []
        if let subject = request.subject {
            job.subjectKey = subject.key
            if subjectToken(in: set, request) == nil {
                var first = RefreshJob(
                    group: request.group, type: request.type, key: subject.key, scope: subject.scope, tokenSet: set)
                (first.lock, first.lookedAt) = (lock, lookedAt)
                warnings += try perform(first, request).warnings
                (job.hasRoom, job.lookedAt) = (false, accounts.machine.bootClock.milliseconds)
                job.tokenSet = try read(request)
            }
        }
        let outcome = try perform(job, request)
        guard outcome.token.expiresAt > accounts.clock.now else {
            throw CredentialError(
                .malformedReply, "the provider returned an expired token",
                hint: "to check the clock: credmgr doctor --online")
        }
        return TokenService.Answer(
            token: outcome.token, idToken: outcome.idToken, refreshed: outcome.refreshed,
            warnings: warnings + outcome.warnings + request.shortLife(of: outcome.token, now: accounts.clock.now))
    }

    private func perform(
        _ job: RefreshJob, _ request: TokenService.Request
    ) throws(CredentialError) -> RefreshOutcome {
        guard request.account.store == .etcd else { return try operation.refresh(job) }
        return try operation.refreshShared(
            job, takesOver: request.takesOver, isDemanded: request.forceRefresh, waited: request.waited)
    }

    private func subjectToken(in set: TokenSet, _ request: TokenService.Request) -> AccessToken? {
        guard let key = request.subject?.key, let token = set.accessToken(for: key),
            Freshness().allows(token, now: accounts.clock.now)
        else { return nil }
        return token
    }

    private func read(_ request: TokenService.Request) throws(CredentialError) -> TokenSet {
        guard let set = try accounts.repository.read(request.account, in: request.group, isLocked: true) else {
            throw request.secretsAreGone
        }
        return set
    }
}
