import Synchronization

// A refresh in a group that several hosts share: credmgr informs the cluster before it asks the provider.
extension RefreshOperation {
    /// Refreshes and persists, exactly once among all hosts.
    ///
    /// - Parameters:
    ///   - isDemanded: whether a new token is wanted in any case.
    ///   - waited: for how many seconds was waited so far: for a peer on this host, which may have waited for
    ///     another host itself, or for nodes of the cluster.
    /// - Throws: as ``SharedGroupService/refresh(_:in:)``; ``ErrorCode/temporary`` if the present token was issued
    ///   in the future by this host's clock: hosts whose clocks differ would refresh each other's tokens again and
    ///   again.
    func refreshShared(
        _ job: RefreshJob, takesOver: Bool, isDemanded: Bool, waited: Int64
    ) throws(CredentialError) -> RefreshOutcome {
        let adapter = try accounts.machine.adapters.adapter(of: job.type)
        let id = job.tokenSet.account.id
        let seen = job.tokenSet.accessToken(for: job.key)
        if !isDemanded, let seen { try checkClock(seen, job) }
        let told = Mutex(ProviderOutcome())
        let takingOver = ShellQuoting.line([
            "credmgr", "token", "--type", job.type.name, "--account", id, "--group", job.group.name, "--take-over",
        ])
        var shared = SharedRefreshJob(
            account: id, policy: job.key.policy, toleratesReuse: job.type.refreshReuse == .tolerated,
            takesOver: takesOver,
            patience: max(0, min(accounts.lockWait, AccountServices.sharedLockWait) - Int(clamping: waited)),
            hint: "when no other host refreshes the account any more: \(takingOver)",
            // A token that another host has obtained meanwhile is as new as one from our own refresh.
            isFresh: { [clock = accounts.clock] set in
                guard let token = set.accessToken(for: job.key), token != seen else { return false }
                return Freshness().allows(token, now: clock.now)
                    || Freshness.isAhead(token.issuedAt, now: clock.now)
            },
            send: { (set, check) in
                told.withLock { $0 = ProviderOutcome() }
                guard let grant = set.grants[job.key.policy] else {
                    return .unsent(CredentialError(.internalFault, "a refresh without a grant"))
                }
                if grant.toSend.refreshToken.map(accounts.machine.usedTokens.contains) ?? false {
                    return .unsent(
                        CredentialError(
                            .signInRequired,
                            "the refresh token of \(id) was already used: the cluster is older than this machine has "
                                + "seen"
                        ))
                }
                var request = request(of: job, grant, set.account)
                request.subjectToken = job.subjectKey.flatMap { set.accessToken(for: $0) }
                let watch = SentRequestTracker(accounts.machine.transport)
                // Some adapters send by themselves.
                do throws(CredentialError) { try check.run() } catch { return .unsent(error) }
                // The watch follows the check, so that a request which the check refuses counts as not sent.
                var context = accounts.adapterContext(
                    of: job.type, over: CheckedTransport(base: watch, check: check))
                context.saveFirst = { (finding) throws(CredentialError) in told.withLock { $0.finding = finding } }
                do throws(CredentialError) {
                    var issued = try adapter.refresh(request, in: context)
                    if job.isRefresh(issued, of: request.grant) {
                        issued.grant.noteRotation(after: request.grant, newID: newID)
                    }
                    told.withLock { $0.issued = (issued, request.grant) }
                    return .issued(refreshed(set, by: issued, job, accounts.clock.now))
                } catch {
                    // The response is refused, and its tokens are the account's from now on.
                    if let finding = told.withLock({ $0.finding }) {
                        told.withLock { ($0.refusal, $0.sent) = (error, request.grant) }
                        return .issued(noted(finding, in: set, job))
                    }
                    if error.code == .signInRequired, let older = grant.withoutRefusedPending(under: job.type) {
                        var changed = set
                        changed.grants[job.key.policy] = older
                        told.withLock {
                            $0.finding = RefreshFinding(refreshToken: nil)
                            $0.refusal = CredentialError(
                                .temporary,
                                "the provider refused the newest refresh token; credmgr tries the "
                                    + "older refresh token next",
                                hint: "try again", details: error.details)
                            $0.sent = request.grant
                        }
                        return .issued(changed)
                    }
                    if error.code == .signInRequired {
                        told.withLock { $0.wasRefused = true }
                        return .refused(error)
                    }
                    let isKnown = adapter.sendsThroughContext && !watch.mayHaveSent
                    return grant.refreshToken == nil || isKnown ? .unsent(error) : .unknown(error)
                }
            })
        shared.waited = waited
        shared.triesDoubtful = isDemanded
        let now = accounts.clock.now
        let outcome: SharedRefreshOutcome
        do throws(CredentialError) {
            outcome = try accounts.machine.sharing.refresh(shared, in: job.group)
        } catch {
            if told.withLock({ $0.wasRefused }) { append(.tokenLost, job, now, reason: error.message) }
            throw error
        }
        if outcome.refreshed, let (refusal, finding, sent) = told.withLock({ $0.refused }) {
            if !sent.takesOlder(under: job.type) {
                accounts.repository.recordUsed(
                    sent.refreshToken, replacedBy: finding.refreshToken, grant: nil, until: sent.refreshExpiresAt)
            }
            if finding.isForeign { append(.tokenLost, job, now, reason: refusal.message) }
            throw refusal
        }
        guard outcome.refreshed, let (issued, old) = told.withLock({ $0.issued }) else {
            guard let token = outcome.tokenSet.accessToken(for: job.key) else {
                throw CredentialError(.temporary, "another host has changed \(id)", hint: "try again")
            }
            try checkClock(token, job)
            accounts.cache.keep(token, of: id, in: job.group, now: now)
            var given = RefreshOutcome(
                token: token, idToken: outcome.tokenSet.grants[job.key.policy]?.idToken, warnings: outcome.warnings)
            given.refreshed = false
            return given
        }
        accounts.repository.recordUsed(
            old.refreshToken, replacedBy: issued.grant.refreshToken, grant: nil,
            until: issued.grant.refreshExpiresAt)
        guard let token = issued.accessToken else {
            throw CredentialError(.malformedReply, "the provider's response to the refresh contains no token")
        }
        var warnings = outcome.warnings + issued.warnings
        do throws(CredentialError) { try accounts.tellEnding(of: outcome.tokenSet.account, in: job.group) } catch {
            warnings.append("cannot record that the grant has ended: \(error)")
        }
        accounts.cache.keep(token, of: id, in: job.group, now: accounts.clock.now)
        append(.tokenRefreshed, job, now)
        return RefreshOutcome(token: token, idToken: issued.grant.idToken, warnings: warnings)
    }

    /// Whether the token was issued by a clock that agrees with this host's.
    private func checkClock(_ token: AccessToken, _ job: RefreshJob) throws(CredentialError) {
        let now = accounts.clock.now
        guard Freshness.isAhead(token.issuedAt, now: now) else { return }
        let minutes = Int(token.issuedAt.seconds(since: now) / 60)
        throw CredentialError(
            .temporary,
            "the access token of \(job.tokenSet.account.id) was issued "
                + "\(minutes, one: "\(minutes) minute", other: "\(minutes) minutes") in the future by this host's "
                + "clock: this clock or the clock of another host in group \(job.group) is wrong",
            hint: "to check this host's clock: credmgr doctor --online")
    }

    /// The facts that became known while the provider was asked.
    private struct ProviderOutcome {
        var issued: (IssuedTokens, Grant)?
        var wasRefused = false
        /// The finding of a refused response, and why it was refused.
        var finding: RefreshFinding?
        var refusal: CredentialError?
        var sent: Grant?

        var refused: (CredentialError, RefreshFinding, Grant)? {
            guard let refusal, let finding, let sent else { return nil }
            return (refusal, finding, sent)
        }
    }
}

/// Notes whether a request may have reached the provider without a response that reports it as refused.
private final class SentRequestTracker: HTTPTransport {
    private let base: any HTTPTransport
    private let sent = Mutex(false)

    init(_ base: any HTTPTransport) { self.base = base }

    var mayHaveSent: Bool { sent.withLock { $0 } }

    func send(_ request: HTTPRequest, observer: TransferObserver) throws(CredentialError) -> HTTPResponse {
        guard request.method != "GET" else { return try base.send(request, observer: observer) }
        do throws(CredentialError) {
            let response = try base.send(request, observer: observer)
            // 4xx and 503 are refusals; any other failure may have come after the token was used.
            if !(400..<500).contains(response.status), response.status != 503 { sent.withLock { $0 = true } }
            return response
        } catch {
            if !error.isBeforeRequest { sent.withLock { $0 = true } }
            throw error
        }
    }

    func prepare() { base.prepare() }
}
