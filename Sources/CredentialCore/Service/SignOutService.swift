/// Forgets accounts: their secrets first, then their records, so that no secret is left without one.
package struct SignOutService: Sendable {
    /// The account services that it uses.
    let accounts: AccountServices

    /// Forgets an account, or one policy of it.
    ///
    /// - Parameters:
    ///   - policy: only the grant of this policy; the account goes with its last one.
    ///   - beforehand: is given the grants that are about to be forgotten, each with its policy, under the lock, to
    ///     revoke them.
    /// - Throws: ``ErrorCode/noSuchAccount`` for one that was forgotten already; the errors of the store. Then the
    ///   account is as it was.
    package func forget(
        _ account: Account, policy: String?, in group: KeychainGroup,
        beforehand: ([(policy: String, grant: RevocationRequest)]) throws(CredentialError) -> Void
    ) throws(CredentialError) {
        let lock = try accounts.lock(account.id, in: group)
        defer { lock.release() }
        guard try isThere(account, in: group) else {
            throw CredentialError(.noSuchAccount, "account \(account.id) has already been removed")
        }
        var set = try accounts.repository.loadIntact(account, in: group)
        let forgotten = set?.allGrants.filter { policy == nil || $0.policy == policy } ?? []
        if let policy, forgotten.isEmpty {
            throw CredentialError(.noSuchAccount, "account \(account.id) has no grant for policy \(policy)")
        }
        // A refresh token that is already used is never sent, not even to be revoked.
        let sendable = forgotten.map { policy, grant in
            var grant = grant.toSend
            if accounts.repository.isUsed(grant) { grant.refreshToken = nil }
            return (policy: policy, grant: grant)
        }
        try beforehand(revocable(sendable, set?.accessTokens ?? []))
        defer { accounts.cache.drop(account.id, in: group) }
        if let policy, set?.grants.count ?? 0 > 1 {
            set?.grants[policy] = nil
            set?.further.removeAll { $0.policy == policy }
            set?.accessTokens.removeAll { $0.key.policy == policy }
            set?.account.policies.removeAll { $0 == policy }
            set?.account.flows[policy] = nil
            if var remaining = set, case .overtaken = try accounts.repository.save(&remaining, in: group) {
                throw CredentialError(
                    .temporary, "another process has changed \(account.id)", hint: "try again")
            }
        } else {
            if let failure = try accounts.repository.remove(account, in: group) {
                accounts.policy.warn(
                    "cannot delete the unreadable journal entries of \(account.id): \(failure)")
            }
        }
        accounts.events.append(
            AccountEvent(
                kind: .accountRemoved, time: accounts.clock.now, group: group, type: account.type,
                account: account.id,
                policy: policy))
    }

    /// Grants with the access tokens that were had by each and have not ended; an id token that serves as bearer
    /// cannot be revoked.
    private func revocable(
        _ grants: [(policy: String, grant: Grant)], _ tokens: [AccessToken]
    ) -> [(policy: String, grant: RevocationRequest)] {
        let now = accounts.clock.now
        let alive = tokens.filter { $0.expiresAt > now && $0.key.bearer == .accessToken }
        var told: Set<String> = []
        // The access tokens of a policy go with its newest grant, which is the last.
        let result = grants.reversed().map { policy, grant in
            let own = told.insert(policy).inserted ? alive.filter { $0.key.policy == policy } : []
            return (policy: policy, grant: RevocationRequest(grant: grant, accessTokens: own))
        }
        return result.reversed()
    }

    /// Whether there is a record; one that cannot be read is one, too.
    private func isThere(_ account: Account, in group: KeychainGroup) throws(CredentialError) -> Bool {
        do throws(CredentialError) { return try accounts.records.read(account.id, in: group) != nil } catch {
            if error.code == .storeDamaged { return true }
            throw error
        }
    }
}
