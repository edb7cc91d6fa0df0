package import CredentialCore

// The copies that this machine has of the records in a cluster: they serve to find names, and they serve while the
// cluster is silent.
extension ClusterGroupService {
    private static let stampFile = "looked"
    /// How many records are read in one call.
    private static let batch = 64

    @discardableResult
    package func catchUp(_ group: KeychainGroup, unlessWithin seconds: Int64) throws(CredentialError) -> Bool {
        try look(group, unlessWithin: seconds) != nil
    }

    /// Takes over the changes of the other hosts.
    ///
    /// - Returns: the accounts that this host has never been able to read, of which it has no copy; `nil` if the
    ///   cluster was asked moments ago.
    func look(_ group: KeychainGroup, unlessWithin seconds: Int64) throws(CredentialError) -> [String]? {
        if seconds > 0, let last = try parts.files.read(Self.stampFile, of: group),
            let time = Int64(String(decoding: last, as: UTF8.self)),
            (0..<seconds).contains(parts.clock.now.epochSeconds - time)
        {
            return nil
        }
        guard let link = try link(group) else { return nil }
        return try takeAll(link).unseen
    }

    /// Copies every account that another host has changed, and forgets the accounts that are gone.
    ///
    /// - Returns: the accounts whose records do not open; those of them of which there is no copy either; and the
    ///   moment of which all is.
    func takeAll(_ link: GroupConnection) throws(CredentialError) -> (
        damaged: [(id: String, error: CredentialError)], unseen: [String], revision: Int64
    ) {
        // First, so that no account that comes to be meanwhile is taken for one that is gone.
        let known = try parts.local.index(of: link.group, .ids).ids
        let (listing, epoch) = try link.listing()
        var changed: [String] = []
        var there: Set<String> = []
        for record in listing.listed {
            guard let id = link.account(ofSet: record.key) else { continue }
            there.insert(id)
            if try revision(ofCopy: id, link.group) != record.revision { changed.append(id) }
        }
        var damaged: [(id: String, error: CredentialError)] = []
        for start in stride(from: 0, to: changed.count, by: Self.batch) {
            let ids = Array(changed[start..<min(start + Self.batch, changed.count)])
            let found = try link.standing(ids).sets
            for (id, record) in zip(ids, found) {
                do throws(CredentialError) {
                    if let record { try copy(record, id, link, tells: true) }
                } catch {
                    guard [.storeDamaged, .storeLocked, .unsupported].contains(error.code) else { throw error }
                    damaged.append((id, error))
                }
            }
        }
        // Without the group's key no record opens, and that is not a matter of those accounts.
        if damaged.contains(where: { $0.error.code == .storeLocked }) { _ = try link.key(ofEpoch: epoch) }
        for id in known where !there.contains(id) { try forgetCopy(id, link.group, tells: true) }
        let unseen = damaged.map(\.id).filter { !known.contains($0) }
        // No file here records that there are such accounts: the next command asks again, and takes no other for
        // the only one. This look at the cluster counts even so.
        if unseen.isEmpty {
            try noteLook(link.group)
        } else if try parts.files.read(Self.stampFile, of: link.group) == nil {
            try parts.files.write(Array("0".utf8), to: Self.stampFile, of: link.group)
        }
        return (damaged, unseen, listing.revision)
    }

    /// This machine's copy of an account that was seen a moment ago to be as the cluster has it, and is so still;
    /// `nil` if the cluster is to be asked.
    func seenCopy(of id: String, _ link: GroupConnection) throws(CredentialError) -> AccountRecord? {
        guard let seen = link.tellSeen(id)?.set, let copy = try parts.local.read(id, in: link.group),
            copy.sealed?.key == String(seen.revision)
        else { return nil }
        return copy
    }

    /// Notes that the cluster was tried just now. If the cluster has never answered, no copies could serve: it is
    /// tried again.
    func noteTry(_ group: KeychainGroup) throws(CredentialError) {
        if try parts.files.read(Self.stampFile, of: group) != nil { try noteLook(group) }
    }

    /// Notes that the cluster was asked just now.
    func noteLook(_ group: KeychainGroup) throws(CredentialError) {
        try parts.files.write(Array(String(parts.clock.now.epochSeconds).utf8), to: Self.stampFile, of: group)
    }

    /// Copies one account as it is now.
    ///
    /// - Returns: the record; `nil` if the account is gone.
    @discardableResult
    func takeOne(_ id: String, _ link: GroupConnection, tells: Bool) throws(CredentialError) -> AccountRecord? {
        let reading = try link.account(id)
        guard let record = reading.set else {
            link.noteSeen(id, nil)
            try forgetCopy(id, link.group, tells: tells)
            return nil
        }
        let copied = try copy(record, id, link, tells: tells)
        link.noteSeen(id, copied.generation == record.revision ? reading : nil)
        return copied
    }

    func revision(ofCopy id: String, _ group: KeychainGroup) throws(CredentialError) -> Int64? {
        try sealedCopy(of: id, group).flatMap { Int64($0.key) }
    }

    /// The copy of an account on this machine, under the revision that the cluster had then; a damaged copy counts
    /// as absent.
    func sealedCopy(of id: String, _ group: KeychainGroup) throws(CredentialError) -> SealedTokenSet? {
        do throws(CredentialError) { return try parts.local.read(id, in: group)?.sealed } catch {
            guard error.code == .storeDamaged else { throw error }
            _ = try parts.local.setAside(id, in: group)
            return nil
        }
    }

    /// Copies a record to this machine, and reports the other host's change to the watchers here.
    ///
    /// - Returns: the record.
    @discardableResult
    func copy(
        _ record: ClusterRecord, _ id: String, _ link: GroupConnection, tells: Bool
    ) throws(CredentialError) -> AccountRecord {
        var record = record
        var set = try link.seal.tokenSet(in: record)
        guard set.account.id == id else {
            throw CredentialError(
                .storeDamaged,
                "the record \(record.key) of the cluster belongs to \(UntrustedText.shown(set.account.id))",
                hint: "credmgr doctor --fix")
        }
        var result = Self.copied(set, record, link)
        for _ in 0..<Self.attempts {
            let before = try parts.local.read(id, in: link.group)
            // Asked of the very copy that is replaced, as another process of this host may have copied a newer
            // grant since the record was read. If the cluster was restored in between, no other place has that
            // grant.
            if let known = knownBetter(before?.sealed, id, than: set, record, link) {
                (record, set) = try putBack(known, over: (record, set), link)
                result = Self.copied(set, record, link)
            }
            guard before?.sealed != result.sealed else { break }
            guard case .done = try parts.local.write(result, expecting: before?.generation) else { continue }
            if tells { tell(before, set, link) }
            break
        }
        result.generation = record.revision
        return result
    }

    /// The copy of a record.
    private static func copied(_ set: TokenSet, _ record: ClusterRecord, _ link: GroupConnection) -> AccountRecord {
        var account = set.account
        account.store = .etcd
        account.staleKeyringCopy = nil
        let sealed = SealedTokenSet(generation: set.generation, key: String(record.revision), bytes: record.value)
        return AccountRecord(group: link.group, account: account, sealed: sealed)
    }

    /// The grant of an account that this host knows better than a cluster that was restored to an earlier state. It
    /// is a later step of the very line of grants in the cluster; `nil` if this host knows no such grant. A sign-in
    /// of meanwhile begins another line, and a sign-out leaves no record; both stay as they are.
    private func knownBetter(
        _ copied: SealedTokenSet?, _ id: String, than set: TokenSet, _ record: ClusterRecord,
        _ link: GroupConnection
    ) -> TokenSet? {
        guard let copied,
            // Not by its revision, which repeats if the cluster was restored.
            copied.bytes != record.value, let known = opened(copied, id, link)
        else { return nil }
        var newer = set
        return newer.takeNewer(of: known) ? known : nil
    }

    /// Restores the grants that this host knows better.
    ///
    /// - Returns: the record and the set after that; unchanged if the account is gone.
    private func putBack(
        _ known: TokenSet, over before: (ClusterRecord, TokenSet), _ link: GroupConnection
    ) throws(CredentialError) -> (ClusterRecord, TokenSet) {
        let id = known.account.id, keys = link.keys(id)
        for _ in 0..<Self.attempts {
            let (standing, epoch) = try link.standing([id])
            guard let record = standing[0] else { return before }
            var set = try link.seal.tokenSet(in: record)
            guard set.account.id == id, set.takeNewer(of: known) else { return (record, set) }
            var transaction = ClusterTransaction()
            transaction.expect(record, at: keys.set)
            transaction.expect(epoch, at: keys.epoch)
            transaction.changes = [
                .put(
                    keys.set,
                    try link.seal.seal(set.encoded(), at: keys.set, epoch: try GroupMembership.epoch(epoch)))
            ]
            // Whether it was applied is read again.
            do throws(CredentialError) { _ = try link.cluster.commit(transaction) } catch {
                guard error.code == .temporary else { throw error }
            }
        }
        throw CredentialError(.temporary, "timed out: other hosts keep changing \(id)", hint: "try again")
    }

    private static let attempts = 8

    /// The token set in a copy; `nil` if the copy no longer opens.
    func opened(_ copy: SealedTokenSet, _ id: String, _ link: GroupConnection) -> TokenSet? {
        let record = ClusterRecord(key: link.keys(id).set, value: copy.bytes, revision: 1)
        return (try? link.seal.open(record)).flatMap { try? TokenSet(decoding: $0) }
    }

    /// Forgets this machine's copy of an account that is gone.
    func forgetCopy(_ id: String, _ group: KeychainGroup, tells: Bool) throws(CredentialError) {
        while let copy = try parts.local.read(id, in: group) {
            if case .overtaken = try parts.local.remove(id, in: group, expecting: copy.generation) { continue }
            for name in [FileIntentLog.intentPrefix, FileIntentLog.answerPrefix] {
                try parts.files.remove(name + id, of: group)
            }
            try forgetOwn(id, group)
            if tells { append(.accountRemoved, copy.account, group) }
        }
    }

    private func tell(_ before: AccountRecord?, _ set: TokenSet, _ link: GroupConnection) {
        guard let before else { return append(.accountAdded, set.account, link.group) }
        let old = before.sealed.flatMap { opened($0, set.account.id, link) }
        guard let old else { return append(.accountUpdated, set.account, link.group) }
        // Sealed again, it has the same content.
        if old == set { return }
        let policy = Set(set.grants.keys).first { set.grants[$0] != old.grants[$0] }
        if let policy, let reason = set.grants[policy]?.lostReason, old.grants[policy]?.lostReason == nil {
            append(.tokenLost, set.account, link.group, policy: policy, reason: reason)
        } else if let policy, let grant = set.grants[policy], let earlier = old.grants[policy],
            grant.lostReason == nil, earlier.lostReason == nil, set.account.label == old.account.label
        {
            append(.tokenRefreshed, set.account, link.group, policy: policy)
        } else {
            append(.accountUpdated, set.account, link.group, policy: policy)
        }
    }

    private func append(
        _ kind: AccountEvent.Kind, _ account: Account, _ group: KeychainGroup, policy: String? = nil,
        reason: String? = nil
    ) {
        parts.events.append(
            AccountEvent(
                kind: kind, time: parts.clock.now, group: group, type: account.type, account: account.id,
                policy: policy.flatMap { $0.isEmpty ? nil : $0 }, reason: reason))
    }
}
