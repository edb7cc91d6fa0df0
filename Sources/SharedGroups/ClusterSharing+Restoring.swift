package import CredentialCore

// A record that anybody with the group's role has overwritten, or a disk has lost bytes of.
extension ClusterSharing {
    /// How far back a history is followed: each step is one question.
    private static let steps = 1_000
    private static let lostReason =
        "its record in the cluster was damaged, and nobody knows whether this host has seen the newest tokens"

    package func restore(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool {
        let link = try sharedLink(group)
        guard try restoreSet(account, link) else { return false }
        try restoreBeside(account, link)
        try takeOne(account, link, tells: false)
        return true
    }

    private func restoreSet(_ id: String, _ link: GroupLink) throws(CredentialError) -> Bool {
        let key = link.keys(id).set
        let (standing, epoch) = try link.standing([id])
        guard let record = standing[0] else { return false }
        // Without the group's key nothing opens, and that is not a matter of this account.
        _ = try link.key(ofEpoch: try GroupMembership.epoch(epoch))
        // Somebody may have mended it since it was found damaged, and gone on from there.
        if try opened(record, id, link) != nil { return true }
        guard let set = try known(before: record, id, link) else { return false }
        var transaction = ClusterTransaction()
        // Its intent stays: what is under way is settled by what the set holds then.
        transaction.expect(record, at: key)
        transaction.expect(epoch, at: link.keys(id).epoch)
        transaction.changes = [
            .put(link.damagedPlace(key, id), record.value),
            .put(key, try link.seal.seal(set.encoded(), at: key, epoch: try GroupMembership.epoch(epoch))),
        ]
        guard try link.cluster.commit(transaction) else { throw SharedAccountRecords.changed(id) }
        return true
    }

    /// Mends the intent of who refreshes an account, and the late answers. Where nobody knows what they held, the refresh token
    /// may be used up: an intent says so that nobody settles, until a person has it taken over or signs in.
    private func restoreBeside(_ id: String, _ link: GroupLink) throws(CredentialError) {
        let keys = link.keys(id), reading = try link.account(id)
        guard let record = reading.set, let epoch = reading.epoch, let set = try opened(record, id, link) else {
            throw SharedAccountRecords.changed(id)
        }
        let number = try GroupMembership.epoch(epoch)
        var transaction = ClusterTransaction(), isKnown = true
        for damaged in [reading.intent, reading.aside].compactMap(\.self) {
            guard try damage(of: damaged, link) != nil else { continue }
            transaction.changes.append(.put(link.damagedPlace(damaged.key, id), damaged.value))
            let past = try past(of: damaged, link) { (earlier) throws(CredentialError) in
                try damage(of: earlier, link) == nil
            }
            if case .held(let before) = past {
                let sealed = try link.seal.seal(try link.seal.open(before), at: before.key, epoch: number)
                transaction.changes.append(.put(before.key, sealed))
            } else {
                transaction.changes.append(.remove(damaged.key))
            }
            if case .forgotten = past { isKnown = false }
        }
        guard !transaction.changes.isEmpty else { return }
        if !isKnown, let grant = set.grants.min(by: { $0.key < $1.key })?.value {
            let intent = Intent(
                nonce: IntentNonce(parts.random), host: link.backend.host, publicKey: link.backend.publicKey,
                token: try TokenDigest(of: grant, parts.cryptography), time: parts.clock.now)
            transaction.changes.removeAll { $0.key == keys.intent }
            transaction.changes.append(
                .put(keys.intent, try link.seal.seal(intent.encoded, at: keys.intent, epoch: number)))
        }
        transaction.expect(record, at: keys.set)
        transaction.expect(reading.intent, at: keys.intent)
        transaction.expect(reading.aside, at: keys.aside)
        transaction.expect(epoch, at: keys.epoch)
        guard try link.cluster.commit(transaction) else { throw SharedAccountRecords.changed(id) }
    }

    /// What is wrong with a record that stands beside an account's set; `nil` where it opens.
    func damage(of record: ClusterRecord, _ link: GroupLink) throws(CredentialError) -> CredentialError? {
        do throws(CredentialError) {
            let bytes = try link.seal.open(record)
            if record.key.hasSuffix("/intent") {
                _ = try Intent(decoding: bytes)
            } else {
                _ = try AsideAnswers(decoding: bytes)
            }
            return nil
        } catch {
            guard error.code == .storeDamaged else { throw error }
            return error
        }
    }

    /// What a record was before it was damaged.
    private enum Past {
        case held(ClusterRecord)
        case absent
        /// The history does not reach back to that.
        case forgotten
    }

    private func past(
        of record: ClusterRecord, _ link: GroupLink,
        _ isSound: (ClusterRecord) throws(CredentialError) -> Bool
    ) throws(CredentialError) -> Past {
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

    /// What an account's record held before it was damaged; `nil` where nobody had the account then, or this host has not seen it.
    private func known(
        before record: ClusterRecord, _ id: String, _ link: GroupLink
    ) throws(CredentialError) -> TokenSet? {
        let past = try past(of: record, link) { (earlier) throws(CredentialError) in
            try opened(earlier, id, link) != nil
        }
        switch past {
        case .held(let before): return try opened(before, id, link)
        case .absent: return nil
        case .forgotten: break
        }
        // What came to be after this host has copied it is another sign-in: that one was signed out.
        guard let copied = try sealedCopy(of: id, link.group), record.created <= Int64(copied.key) ?? 0,
            var set = opened(copied, id, link)
        else { return nil }
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
            let set = try link.seal.tokenSet(in: record)
            return set.account.id == id ? set : nil
        } catch {
            guard error.code == .storeDamaged else { throw error }
            return nil
        }
    }
}
