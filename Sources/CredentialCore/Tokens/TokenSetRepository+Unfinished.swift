extension TokenSetRepository {
    /// Finishes first sign-ins that ended between the store and the registry: killed there, or told of a failure by a
    /// store that had taken the secrets all the same. The journal still has their records.
    ///
    /// An account whose secrets are in a store is listed; the record of one whose secrets are in none goes. Whatever
    /// cannot be found out now is left to the next sign-in.
    func finishSignIns(in group: KeychainGroup, locks: any AccountLocks) {
        guard let recorded = try? journal.accounts(in: group), !recorded.isEmpty,
            let registry = try? registry.read(group)
        else { return }
        for id in recorded where registry[id: id] == nil {
            // Whoever holds the lock is still at it.
            guard let lock = try? locks.tryLock(id, in: group) else { continue }
            defer { lock.release() }
            try? finishSignIn(id, in: group)
        }
    }

    private func finishSignIn(_ id: String, in group: KeychainGroup) throws(CredentialError) {
        // The mark of a pending sign-in is no sealed record, but a byte.
        guard let record = try journal.read(id, in: group), record.count > 1 else { return }
        for kind in StoreKind.allCases {
            let item = SecretItem(group: group, owner: id, kind: .tokenSet)
            guard let bytes = try stores.store(kind).read(item) else { continue }
            var account = try TokenSet(decoding: bytes).account
            guard account.id == id else { return }
            account.store = kind
            return try registry.update(group) { (registry) throws(CredentialError) in
                if registry[id: id] == nil { registry.accounts.append(account) }
            }
        }
        try journal.remove(id, in: group)
    }
}
