package import CredentialCore

// A record that anybody with the group's role has overwritten, or a disk has lost bytes of.
extension ClusterGroupService {
    /// How far back a history is followed: each step is one question.
    private static let steps = 1_000
    private static let lostReason =
        "its record in the cluster was damaged, and nobody knows whether this host has seen the newest tokens"
    private static let forgottenReason =
        "what tells of its refreshes in the cluster was damaged, and nobody knows whether its refresh token is used up"

    package func restore(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool {
        let link = try sharedLink(group), keys = link.keys(account), reading = try link.account(account)
        guard let record = reading.set, let epoch = reading.epoch else { return false }
        let number = try GroupMembership.epoch(epoch)
        // Without the group's key no record opens, and that is not a matter of this account.
        _ = try link.key(ofEpoch: number)
        var transaction = ClusterTransaction()
        let beside = [reading.intent, reading.aside].compactMap(\.self)
        let isForgotten = try mend(beside, of: account, number, in: &transaction, link)
        // Another process may have fixed it since it was found damaged, and gone on from there.
        let standing = try opened(record, account, link)
        var restored = standing
        if standing == nil {
            // The set's content then settles a refresh that is under way. If it is unknown whether one is, a copy
            // older than the token that was sent would let another host send that token again.
            restored = try known(before: record, account, link, trustsCopy: !isForgotten)
            transaction.changes.append(.put(link.damagedPlace(keys.set, account), record.value))
        }
        guard var set = restored else { return false }
        if isForgotten { Self.giveUp(&set, Self.forgottenReason) }
        if standing == nil || isForgotten {
            let sealed = try link.seal.seal(set.encoded(), at: keys.set, epoch: number)
            transaction.changes.append(.put(keys.set, sealed))
        }
        if !transaction.changes.isEmpty {
            transaction.expect(record, at: keys.set)
            transaction.expect(reading.intent, at: keys.intent)
            transaction.expect(reading.aside, at: keys.aside)
            transaction.expect(epoch, at: keys.epoch)
            guard try link.cluster.commit(transaction) else { throw SharedAccountRecords.changed(account) }
        }
        try takeOne(account, link, tells: false)
        return true
    }

    /// Has a transaction restore the records beside an account's set, the refreshing host and the late answers,
    /// under the newest key.
    ///
    /// - Returns: whether some of it is damaged, with unknown content: a refresh token may have been sent already.
    private func mend(
        _ records: [ClusterRecord], of id: String, _ epoch: Int64, in transaction: inout ClusterTransaction,
        _ link: GroupConnection
    ) throws(CredentialError) -> Bool {
        var isForgotten = false
        for record in records {
            var sound: ClusterRecord? = record
            if try damage(of: record, link) != nil {
                transaction.changes.append(.put(link.damagedPlace(record.key, id), record.value))
                let past = try past(of: record, link) { (earlier) throws(CredentialError) in
                    try damage(of: earlier, link) == nil
                }
                sound = if case .held(let before) = past { before } else { nil }
                if case .forgotten = past { isForgotten = true }
            } else if try GroupCipher.epoch(of: record) == epoch, GroupCipher.isOfThisForm(record) {
                continue
            }
            if let sound {
                let sealed = try link.seal.seal(try link.seal.open(sound), at: record.key, epoch: epoch)
                transaction.changes.append(.put(record.key, sealed))
            } else {
                transaction.changes.append(.remove(record.key))
            }
        }
        return isForgotten
    }

    /// Lets no refresh token of a set be sent: the person has to sign in again, unless a host that has the answer
    /// puts it there.
    private static func giveUp(_ set: inout TokenSet, _ reason: String) {
        for policy in set.grants.keys where set.grants[policy]?.isRefreshable == true {
            set.grants[policy]?.lostReason = reason
        }
        set.account.status = .needsLogin(reason: reason)
        set.generation += 1
    }

    /// The fault of a record beside an account's set; `nil` if the record opens.
    func damage(of record: ClusterRecord, _ link: GroupConnection) throws(CredentialError) -> CredentialError? {
        do throws(CredentialError) {
            let bytes = try link.seal.open(record)
            if record.key.hasSuffix("/intent") {
                _ = try Intent(decoding: bytes)
            } else {
                _ = try SupersededIntents(decoding: bytes)
            }
            return nil
        } catch {
            guard error.code == .storeDamaged else { throw error }
            return error
        }
    }

    /// The state of a record before it was damaged.
    private enum RecordHistory {
        case held(ClusterRecord)
        case absent
        /// The history does not reach back to that.
        case forgotten
    }

    private func past(
        of record: ClusterRecord, _ link: GroupConnection,
        _ isSound: (ClusterRecord) throws(CredentialError) -> Bool
    ) throws(CredentialError) -> RecordHistory {
        var earlier = record
        for _ in 0..<Self.steps {
            do throws(CredentialError) {
                let found = try link.cluster.read(record.key, before: earlier.revision)
                guard let found else { return .absent }
                earlier = found
            } catch {
                guard error.code == .unsupported else { throw error }
                return .forgotten
            }
            if try isSound(earlier) { return .held(earlier) }
        }
        return .forgotten
    }

    /// The content of an account's record before it was damaged; `nil` if no host had the account then, or this
    /// host has not seen it.
    private func known(
        before record: ClusterRecord, _ id: String, _ link: GroupConnection, trustsCopy: Bool
    ) throws(CredentialError) -> TokenSet? {
        let past = try past(of: record, link) { (earlier) throws(CredentialError) in
            try opened(earlier, id, link) != nil
        }
        switch past {
        case .held(let before): return try opened(before, id, link)
        case .absent: return nil
        case .forgotten: break
        }
        // A record that was created after this host made its copy is another sign-in: the copied one was signed
        // out.
        guard trustsCopy, let copied = try sealedCopy(of: id, link.group),
            record.created <= Int64(copied.key) ?? 0, var set = opened(copied, id, link)
        else { return nil }
        Self.giveUp(&set, Self.lostReason)
        // Another host may have signed it out since.
        set.accessTokens = []
        return set
    }

    /// The content of a record; `nil` for a damaged record. A record that this host has no key for now, or that a
    /// newer version has written, is not damaged.
    private func opened(
        _ record: ClusterRecord, _ id: String, _ link: GroupConnection
    ) throws(CredentialError) -> TokenSet? {
        do throws(CredentialError) {
            let set = try link.seal.tokenSet(in: record)
            return set.account.id == id ? set : nil
        } catch {
            guard error.code == .storeDamaged else { throw error }
            return nil
        }
    }
}
