package import CredentialCore

// A record that anybody with the group's role has overwritten, or a disk has lost bytes of.
extension ClusterSharing {
    private static let steps = 8
    private static let lostReason =
        "its record in the cluster was damaged, and nobody knows whether this host has seen the newest tokens"

    package func restore(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool {
        let link = try sharedLink(group), key = link.keys(account).set
        let (standing, epoch) = try link.standing([account])
        guard let record = standing[0] else { return false }
        // Without the group's key nothing opens, and that is not a matter of this account.
        _ = try link.key(ofEpoch: try GroupMembership.epoch(epoch))
        // Somebody may have mended it since it was found damaged, and gone on from there.
        if try opened(record, account, link) != nil {
            try takeOne(account, link, tells: false)
            return true
        }
        guard let set = try known(before: record, account, link) else { return false }
        var transaction = ClusterTransaction()
        // Its intent stays: what is under way is settled by what the set holds then.
        transaction.expect(record, at: key)
        transaction.expect(epoch, at: link.keys(account).epoch)
        transaction.changes = [
            .put(link.damagedPlace(account), record.value),
            .put(key, try link.seal.seal(set.encoded(), at: key, epoch: try GroupMembership.epoch(epoch))),
        ]
        guard try link.cluster.commit(transaction) else { throw SharedAccountRecords.changed(account) }
        try takeOne(account, link, tells: false)
        return true
    }

    /// What an account's record held before it was damaged; `nil` where nobody had the account then, or this host has not seen it.
    private func known(
        before record: ClusterRecord, _ id: String, _ link: GroupLink
    ) throws(CredentialError) -> TokenSet? {
        var earlier = record
        for _ in 0..<Self.steps {
            let found: ClusterRecord?
            do throws(CredentialError) {
                found = try link.cluster.read(record.key, before: earlier.revision)
            } catch {
                guard error.code == .unsupported else { throw error }
                break
            }
            guard let found else { return nil }
            if let set = try opened(found, id, link) { return set }
            earlier = found
        }
        guard let copied = try sealedCopy(of: id, link.group), var set = opened(copied, id, link) else {
            return nil
        }
        for policy in set.grants.keys where set.grants[policy]?.isRefreshable == true {
            set.grants[policy]?.lostReason = Self.lostReason
        }
        // Another host may have signed it out since.
        set.accessTokens = []
        set.account.status = .needsLogin(reason: Self.lostReason)
        return set
    }

    /// What a record holds; `nil` for one that is damaged. One that this host has no key for now, or that a newer version has
    /// written, is none.
    private func opened(
        _ record: ClusterRecord, _ id: String, _ link: GroupLink
    ) throws(CredentialError) -> TokenSet? {
        do throws(CredentialError) {
            let set = try TokenSet(decoding: try link.seal.open(record))
            return set.account.id == id ? set : nil
        } catch {
            guard error.code == .storeDamaged else { throw error }
            return nil
        }
    }
}
