/// A sign-in that stays beside the newest one of its policy, because it can do more.
package struct FurtherGrant: Sendable, Hashable {
    /// The policy; empty if the provider has no policies.
    package let policy: String
    /// The grant.
    package var grant: Grant
}

extension TokenSet {
    /// How many grants of a policy there may be, the newest one included.
    static let grantLimit = 4

    /// Every grant with its policy: those of each policy in the order of their sign-ins, the oldest first.
    package var allGrants: [(policy: String, grant: Grant)] {
        let all = further.map { ($0.policy, $0.grant) } + grants.map { ($0.key, $0.value) }
        return all.sorted { ($0.0, $0.1.signedInAt) < ($1.0, $1.1.signedInAt) }.map { (policy: $0.0, grant: $0.1) }
    }

    /// Whether any of the sign-ins can be refreshed without a person.
    package var isRefreshable: Bool { allGrants.contains { $0.grant.isRefreshable } }

    /// The ID token of a policy: that of the grant in use, else the newest one.
    package func idToken(of policy: String) -> Secret? {
        grants[policy]?.idToken ?? allGrants.last { $0.policy == policy && $0.grant.idToken != nil }?.grant.idToken
    }

    /// The grant that an access token was issued to: of several of its policy the one that was obtained at that
    /// time. It has the key that the token may be bound to.
    package func grant(of token: AccessToken) -> Grant? {
        allGrants.filter { $0.policy == token.key.policy }.min { first, second in
            abs(token.issuedAt.seconds(since: first.grant.obtainedAt))
                < abs(token.issuedAt.seconds(since: second.grant.obtainedAt))
        }?.grant
    }

    /// Adds the result of a sign-in as the newest grant of its policy.
    ///
    /// A stored grant goes if it is lost or has ended, if the new one includes its scopes and can be refreshed, or
    /// if `replacing` is set. Any other stays: a sign-in never removes a grant that can do more. Access tokens of
    /// scopes that the new grant includes go, too.
    ///
    /// Hosts of a shared group tell each other's refreshes apart by the one grant of a policy. If a grant of such a
    /// group stays, there is no room for the new one.
    ///
    /// - Parameter replacing: whether all grants of the policy go.
    /// - Returns: the grants that stay beside it, the newest first, and those that could be refreshed and went.
    /// - Throws: ``ErrorCode/usage`` for one grant more than there may be; then the set is unchanged.
    mutating func add(
        _ grant: Grant, of policy: String, replacing: Bool, now: Timestamp
    ) throws(CredentialError) -> (kept: [Grant], removed: [Grant]) {
        let stored = ([grants[policy]].compactMap(\.self) + further.filter { $0.policy == policy }.map(\.grant))
            .filter(\.isRefreshable)
        var kept = stored.filter { old in
            let isOver = old.refreshExpiresAt.map { $0 <= now } ?? false
            return !replacing && !isOver && !(grant.isRefreshable && grant.includes(old.scope))
        }
        kept.sort { $0.signedInAt > $1.signedInAt }
        if account.store == .etcd, let standing = kept.first { throw Self.keeping(standing, of: account) }
        if kept.count >= Self.grantLimit {
            guard
                let spare = kept.indices.last(where: { place in
                    kept.indices.contains { $0 != place && kept[$0].includes(kept[place].scope) }
                })
            else {
                throw CredentialError(
                    .usage, "\(account.id) already has \(Self.grantLimit) grants with different scopes",
                    hint: "to end them all: credmgr login --account \(account.id) --replace")
            }
            kept.remove(at: spare)
        }
        let isAlone = kept.isEmpty
        grants[policy] = grant
        further.removeAll { $0.policy == policy }
        further += kept.map { FurtherGrant(policy: policy, grant: $0) }
        accessTokens.removeAll { $0.key.policy == policy && (isAlone || grant.includes($0.scope)) }
        let removed = stored.filter { old in !kept.contains(old) && old.refreshToken != grant.refreshToken }
        return (kept, removed)
    }

    /// The error for a sign-in that a shared group does not take, as its grant cannot do all that the stored one
    /// can.
    private static func keeping(_ grant: Grant, of account: Account) -> CredentialError {
        CredentialError(
            .usage,
            "keeps the sign-in of \(grant.shownDay) with scope \(grant.shownScope): a shared group has one grant "
                + "for each account, and the new one can do less",
            hint: "to end it: credmgr login --account \(account.id) --replace")
    }

    /// Makes the newest grant that has `scope`, and can be refreshed, that of its policy. If no grant has it, and
    /// the present one cannot be refreshed, the newest refreshable grant takes its place.
    ///
    /// - Returns: whether another one took its place.
    mutating func prefer(scope: [String], of policy: String, now: Timestamp) -> Bool {
        func isUsable(_ grant: Grant) -> Bool {
            grant.isRefreshable && grant.refreshExpiresAt.map { $0 > now } ?? true
        }
        func fits(_ grant: Grant) -> Bool { isUsable(grant) && grant.includes(scope) }
        func newest(_ isWanted: (Grant) -> Bool) -> Int? {
            further.indices.filter { further[$0].policy == policy && isWanted(further[$0].grant) }
                .max { further[$0].grant.signedInAt < further[$1].grant.signedInAt }
        }
        guard let present = grants[policy] else { return false }
        let fitting = newest(fits)
        if fits(present), fitting.map({ further[$0].grant.signedInAt <= present.signedInAt }) ?? true {
            return false
        }
        guard let place = fitting ?? (isUsable(present) ? nil : newest(isUsable)) else { return false }
        grants[policy] = further[place].grant
        // A grant that is lost for good is not worth a return.
        if present.isWorthATry {
            further[place].grant = present
        } else {
            further.remove(at: place)
        }
        return true
    }
}

extension Grant {
    /// Scopes of OpenID Connect: they are no part of an access token, and many providers leave them out of the
    /// granted scopes.
    private static let ofIdentity: Set<String> = [
        "openid", "profile", "email", "address", "phone", "offline_access",
    ]

    /// The day of its sign-in, as messages name it.
    package var shownDay: String { String(signedInAt.rfc3339.prefix(10)) }
    /// Its scopes, as messages name them.
    package var shownScope: String { UntrustedText.shown(scope.joined(separator: " ")) }

    /// Whether the scopes granted are these, or more.
    package func includes(_ scope: [String]) -> Bool {
        Set(scope).subtracting(Self.ofIdentity).isSubset(of: self.scope)
    }
}
