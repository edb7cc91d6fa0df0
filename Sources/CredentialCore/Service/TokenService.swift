/// Gives valid access tokens: from the store while they are fresh, else by exactly one refresh.
///
/// The order of things is the product's promise: lock the account, read the store again, refresh, persist, and only
/// then give the token out. Without the lock, credmgr refreshes no token. If a peer holds the lock, a token that is
/// still valid is given at once; only a caller that needs a new token waits.
///
/// The cache is filled under the lock only: a sign-out, which holds it too, then leaves no token behind.
package struct TokenService: Sendable {
    /// The account services that it uses.
    let accounts: AccountServices
    /// The implementation that refreshes.
    let refresher: any TokenRefresher

    /// Gives a token.
    ///
    /// - Parameter waits: whether a peer that is at work is waited for; else that is ``ErrorCode/lockTimeout`` at
    ///   once.
    /// - Throws: ``ErrorCode/signInRequired`` when there is no usable grant; ``ErrorCode/temporary`` and
    ///   ``ErrorCode/lockTimeout`` when trying again may help; the errors of the store.
    package func token(_ request: Request, waits: Bool = true) throws(CredentialError) -> Answer {
        var request = request
        // A user who says that no host is at work any more wants the refresh settled, even if a token is still
        // valid.
        if request.takesOver, !request.forceRefresh {
            request.forceRefresh = try accounts.machine.sharing.isUnfinished(request.account.id, in: request.group)
        }
        if !request.account.store.isInRecord, !needsRefresh(request) { accounts.repository.begin(request.account) }
        let free: (any HeldLock)?
        do throws(CredentialError) {
            free = try accounts.locks.tryLock(request.account.id, in: request.group)
        } catch {
            // If locks do not work, credmgr does not refresh. A fresh token needs no lock.
            guard !request.forceRefresh, let set = try? read(request),
                let answer = request.fresh(in: set, now: accounts.clock.now)
            else { throw error }
            return answer
        }
        request.waited = accounts.machine.sharing.secondsSpent
        if let free { return try answer(request, holding: free, sinceSeeing: nil) }
        // A peer is at work. A token that is still valid does not have to wait for the peer.
        let seen = try read(request)
        if !request.forceRefresh, let answer = request.fresh(in: seen, now: accounts.clock.now) { return answer }
        guard waits else {
            throw CredentialError(
                .lockTimeout, "another process is refreshing \(request.account.id)", hint: "try again")
        }
        let lock: any HeldLock, began = accounts.machine.bootClock.milliseconds
        do throws(CredentialError) {
            lock = try accounts.lock(request.account.id, in: request.group)
        } catch {
            guard error.isTransient,
                let answer = request.stillValid(in: seen, now: accounts.clock.now, because: error)
            else { throw error }
            return answer
        }
        request.waited += (accounts.machine.bootClock.milliseconds - began) / 1_000
        return try answer(request, holding: lock, sinceSeeing: seen)
    }

    /// - Parameter seen: the token set as it was when the waiting for the lock began; `nil` if it was free.
    private func answer(
        _ request: Request, holding lock: any HeldLock, sinceSeeing seen: TokenSet?
    ) throws(CredentialError) -> Answer {
        defer { lock.release() }
        if seen != nil || !needsRefresh(request), let answer = try stored(request, sinceSeeing: seen) {
            return answer
        }
        do throws(CredentialError) {
            if let failure = accounts.machine.sharing.recentFailure(of: request.group) { throw failure }
            var request = request
            request.handed = accounts.machine.sharing.handOver(request.account.id, of: request.group)
            return try refresher.refresh(request, holding: lock)
        } catch {
            // The store is not read if that cannot help: it may take a passphrase, or a cluster that was waited for
            // in vain.
            guard request.allowsStaleToken(because: error),
                let set = try? accounts.repository.loadOffline(request.account, in: request.group),
                let answer = request.stillValid(in: set, now: accounts.clock.now, because: error)
            else { throw error }
            return answer
        }
    }

    /// Whether it is clear without a look into the store that a new token is needed. Opening a keyring takes longer
    /// than all else that is done here, and so does loading the library that opens a sealed record. The refresher,
    /// which may be another process, does it anyway. If a passphrase is needed, this process does it first.
    private func needsRefresh(_ request: Request) -> Bool {
        let end = request.account.expiresAt
        let hasEnded = end.map {
            $0.seconds(since: accounts.clock.now) < max(1, request.freshness.minimumValidity ?? 0)
        }
        return (request.forceRefresh || hasEnded == true)
            && accounts.repository.opensUnattended(request.account, in: request.group)
    }

    /// Returns the store's token for the request, read under the lock: a fresh token, or the one that a peer
    /// obtained while this process waited for the lock. That one is as new as a refresh of our own would be.
    private func stored(_ request: Request, sinceSeeing seen: TokenSet?) throws(CredentialError) -> Answer? {
        guard let set = try accounts.repository.loadFresh(request.account, in: request.group) else {
            return nil
        }
        if !request.forceRefresh, let answer = request.fresh(in: set, now: accounts.clock.now) {
            accounts.cache.keep(answer.token, of: request.account.id, in: request.group, now: accounts.clock.now)
            return answer
        }
        guard let seen, let token = set.accessToken(for: request.key), seen.accessToken(for: request.key) != token,
            Freshness().allows(token, now: accounts.clock.now)
        else { return nil }
        return Answer(
            token: token, idToken: set.idToken(of: request.key.policy), refreshed: false,
            warnings: request.shortLife(of: token, now: accounts.clock.now))
    }

    private func read(_ request: Request) throws(CredentialError) -> TokenSet {
        guard let set = try accounts.repository.read(request.account, in: request.group, isLocked: false) else {
            throw request.secretsAreGone
        }
        return set
    }
}
