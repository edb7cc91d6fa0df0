/// Moves the accounts of a group of this machine into a cluster, and the remaining ones back.
package struct GroupMigration: Sendable {
    /// The account services that it uses.
    let accounts: AccountServices

    /// Shares a group: puts every account into the cluster, and forgets this machine's data of it.
    ///
    /// No account can be refreshed meanwhile. If this ends at any moment, the group is either of this machine
    /// alone, and its accounts are here, or shared, and they are there.
    ///
    /// - Returns: this host, and how many accounts it was.
    /// - Throws: ``ErrorCode/usage`` for one that is shared already; ``ErrorCode/lockTimeout``; the errors of the
    ///   stores and the cluster.
    package func share(
        _ group: KeychainGroup, by backend: ClusterConfiguration, passphrase: Secret?
    ) throws(CredentialError) -> (host: GroupMember, accounts: Int) {
        try checkLocal(group)
        var locks: [any HeldLock] = []
        defer { for lock in locks { lock.release() } }
        var sets: [TokenSet] = []
        for account in try accounts.records.registry(of: group).accounts {
            locks.append(try accounts.lock(account.id, in: group))
            if let set = try accounts.repository.read(account, in: group, isLocked: true) { sets.append(set) }
        }
        // The hosts of a group tell each other's refreshes apart by the one grant of a policy (decision 22).
        if let account = sets.first(where: { !$0.further.isEmpty })?.account {
            throw CredentialError(
                .usage,
                "\(UntrustedText.shown(account.shownName)) (\(account.id)) has several grants, but hosts of a "
                    + "shared group share only one for each account",
                hint: "to end them all: credmgr login --account \(account.id) --replace")
        }
        let host = try accounts.machine.sharing.membership.share(group, backend, sets, passphrase: passphrase)
        for set in sets {
            accounts.cache.drop(set.account.id, in: group)
            if set.account.store == .secretService || set.account.staleKeyringCopy == .secretService {
                try accounts.stores.store(.secretService).remove(
                    SecretItem(group: group, owner: set.account.id, kind: .tokenSet))
            }
            try accounts.machine.journal.remove(set.account.id, in: group)
        }
        try accounts.machine.sharing.catchUp(group, unlessWithin: 0)
        return (host, sets.count)
    }

    /// Asks to be let into a shared group. If the file that describes the group's sharing is damaged, this host is
    /// let in as the host that it was, and the file is written again.
    ///
    /// A host that waits to be let in may say it again.
    ///
    /// - Throws: ``ErrorCode/usage`` if this machine has accounts of its own in a group of that name, or belongs to
    ///   it already; ``ErrorCode/denied`` if the group has another fingerprint than `backend` expects.
    package func join(
        _ group: KeychainGroup, by backend: ClusterConfiguration, passphrase: Secret?
    ) throws(CredentialError) -> GroupMember {
        let membership = accounts.machine.sharing.membership
        var backend = backend
        if try hasDamagedFile(group) {
            // It is let in as the host that it was.
        } else if let standing = try accounts.machine.sharing.backend(of: group),
            try membership.waits(group, as: backend)
        {
            backend.keyStore = standing.keyStore
            backend.groupFingerprint = backend.groupFingerprint ?? standing.groupFingerprint
        } else {
            try checkLocal(group)
            let own = try accounts.records.index(of: group, .ids).count
            guard own == 0 else {
                throw CredentialError(
                    .usage,
                    "cannot share the group \(group): this would hide its "
                        + "\(own, one: "\(own) account", other: "\(own) accounts") on this machine",
                    hint: "credmgr accounts --group \(group)")
            }
        }
        var host = try membership.join(group, backend, passphrase: passphrase)
        if host.isAdmitted {
            try accounts.machine.sharing.catchUp(group, unlessWithin: 0)
            host.groupFingerprint = try membership.fingerprint(of: group)
        }
        return host
    }

    /// Whether the file is damaged that describes a group's sharing: then credmgr knows no more of the group.
    private func hasDamagedFile(_ group: KeychainGroup) throws(CredentialError) -> Bool {
        do throws(CredentialError) { _ = try accounts.machine.sharing.backend(of: group) } catch {
            guard error.code == .storeDamaged else { throw error }
            return true
        }
        return false
    }

    private func checkLocal(_ group: KeychainGroup) throws(CredentialError) {
        guard let standing = try accounts.machine.sharing.backend(of: group) else { return }
        throw CredentialError(
            .usage,
            "the group \(group) is already shared, through \(standing.endpoints.joined(separator: ", ")) as "
                + "\(standing.host)",
            hint: "credmgr groups hosts \(group)")
    }

    /// Leaves a shared group.
    ///
    /// - Parameter keep: the store of this machine that takes the accounts; `nil` to leave the accounts. Grants
    ///   that the group goes on using stay with it: those accounts have to sign in again once their access tokens
    ///   have expired.
    /// - Returns: how many accounts are kept, whether this was the last host, and the messages to report.
    /// - Throws: ``ErrorCode/usage`` for the last host if sign-ins would be gone with it.
    package func leave(
        _ group: KeychainGroup, keepingIn store: StoreKind?
    ) throws(CredentialError) -> (kept: Int, wasLast: Bool, departure: LeaveResult) {
        var kept = 0
        var wasLast = false
        // Answers and sign-ins that this host owes the group belong to the group.
        _ = accounts.takeUpSignIns(in: group)
        if try accounts.machine.sharing.isShared(group) {
            try takeUpLogins(group)
            try checkSignIns(group)
        }
        let membership = accounts.machine.sharing.membership
        let departure = try membership.leave(group) { (sets, isLast) throws(CredentialError) in
            guard store != nil || !isLast || sets.isEmpty else {
                throw CredentialError(
                    .usage,
                    "this is the last host of the group \(group): its "
                        + "\(sets.count, one: "\(sets.count) sign-in", other: "\(sets.count) sign-ins") would be "
                        + "lost",
                    hint: "credmgr groups leave \(group) --keep")
            }
            wasLast = isLast
        } take: { (sets, isLast) throws(CredentialError) in
            if let store {
                for set in sets {
                    if try keep(isLast ? set : withoutGrants(set), in: store, group) { kept += 1 }
                    // An account that is signed out here before the leave has ended does not come back with it.
                    try membership.noteTaken(set.account.id, of: group)
                }
            }
            try dropCopies(of: group)
        }
        return (kept, wasLast, departure)
    }

    /// Keeps an account of the group that is left, in the place of this machine's copy of it: one record takes the
    /// place of the other, and a record is always present. If another cluster answers, the copy is all that there
    /// is.
    ///
    /// - Returns: whether it was not kept yet: an earlier run may have ended when it was, and not yet noted.
    private func keep(
        _ set: TokenSet, in store: StoreKind, _ group: KeychainGroup
    ) throws(CredentialError) -> Bool {
        let copy = try accounts.records.read(set.account.id, in: group)
        guard copy == nil || copy?.account.store == .etcd else { return false }
        var set = set
        set.generation = copy.map { max(set.generation, $0.sealed?.generation ?? 0) } ?? 0
        accounts.cache.drop(set.account.id, in: group)
        try take(set, into: store, group)
        return true
    }

    /// Keeps an account of the group that is left as one of this machine alone.
    private func take(_ set: TokenSet, into store: StoreKind, _ group: KeychainGroup) throws(CredentialError) {
        var set = set
        set.account.store = store
        switch try accounts.repository.save(&set, in: group) {
        case .stored, .kept: break
        // No record leads to the data in the keyring: the record is that of the copy.
        case .unlisted(let failure): throw failure
        case .journaled(let failure):
            // A token set that no process could open is not kept. The cluster has it still, and only here it would
            // lead nowhere.
            try accounts.machine.journal.remove(set.account.id, in: group)
            throw CredentialError(
                failure.code,
                "the \(store.shownName) did not store \(set.account.id) (\(failure)); the account is still in the "
                    + "cluster, and this host has not left the group",
                hint: "credmgr groups leave \(group) --keep", details: failure.details)
        case .overtaken:
            throw CredentialError(
                .temporary, "another process has changed \(set.account.id)", hint: "try again")
        }
    }

    /// Forgets a shared group on this host, and asks no cluster.
    ///
    /// - Returns: the name by which the others know this host, and the number of accounts that lose a sign-in, or
    ///   new tokens, that only this host had.
    /// - Throws: as ``GroupMembershipService/forget(_:_:)``.
    package func forget(_ group: KeychainGroup) throws(CredentialError) -> (host: String, lost: Int) {
        let own = Set(
            try accounts.machine.sharing.unsettled(in: group)
                + accounts.repository.signInsWaiting(in: group, of: .etcd)
                + accounts.repository.accountsOfWaitingLogins(in: group))
        let host = try accounts.machine.sharing.membership.forget(group) { () throws(CredentialError) in
            try dropCopies(of: group)
            for name in try accounts.machine.journal.accounts(in: group)
            where own.contains(TokenSetRepository.account(ofLogin: name) ?? name) {
                try accounts.machine.journal.remove(name, in: group)
            }
        }
        return (host, own.count)
    }

    /// Drops this machine's copies of the cluster's data. An account that an earlier run has kept here may have
    /// been refreshed since.
    private func dropCopies(of group: KeychainGroup) throws(CredentialError) {
        for id in try accounts.records.index(of: group, .ids).ids { try dropCopy(of: id, in: group) }
    }

    private func dropCopy(of id: String, in group: KeychainGroup) throws(CredentialError) {
        accounts.cache.drop(id, in: group)
        while let copy = try accounts.records.read(id, in: group), copy.account.store == .etcd {
            if case .done = try accounts.records.remove(id, in: group, expecting: copy.generation) { break }
        }
    }

    /// Puts sign-ins of known accounts into the cluster that it did not take when they came. A sign-in that the
    /// cluster does not accept now, either, keeps waiting.
    private func takeUpLogins(_ group: KeychainGroup) throws(CredentialError) {
        for id in try accounts.repository.accountsOfWaitingLogins(in: group) {
            guard let lock = try accounts.locks.tryLock(id, in: group) else { continue }
            defer { lock.release() }
            guard let record = try accounts.records.read(id, in: group) else { continue }
            _ = try accounts.repository.read(record, isLocked: true)
        }
    }

    /// No host leaves with sign-ins that the cluster has not taken yet: with the group's key they would be lost.
    private func checkSignIns(_ group: KeychainGroup) throws(CredentialError) {
        guard try accounts.repository.signInsWaiting(in: group, of: .etcd).isEmpty,
            try accounts.repository.accountsOfWaitingLogins(in: group).isEmpty
        else {
            throw CredentialError(
                .temporary,
                "cannot leave the group: a grant of this host is not in the cluster yet and would be lost",
                hint:
                    "try again when the cluster accepts the grants: credmgr accounts --group \(group); or discard the grants: credmgr groups leave \(group) --forget"
            )
        }
    }

    /// A token set without the grants that the group goes on using.
    private func withoutGrants(_ set: TokenSet) -> TokenSet {
        let reason = "this host has left the shared group, which goes on using the sign-in"
        var set = set
        for policy in set.grants.keys where set.grants[policy]?.refreshToken != nil {
            set.grants[policy]?.refreshToken = nil
            set.grants[policy]?.pending = nil
            set.grants[policy]?.lostReason = reason
        }
        set.further.removeAll()
        let now = accounts.clock.now
        set.accessTokens.removeAll { $0.expiresAt <= now }
        if !set.isRefreshable { set.account.status = .needsLogin(reason: reason) }
        set.account.updatedAt = now
        return set
    }
}
