package import CredentialCore

/// The records of all groups. Those of a shared group are in its cluster, sealed. This machine keeps a copy of
/// each, by which names are found and cached tokens are tied to a record, and which serves while the cluster cannot
/// be reached.
///
/// In the cluster an account is one record, its token set, which carries its facts; the record's generation is the
/// cluster's revision of it (decision 11).
package struct SharedAccountRecords: AccountRecordStore {
    let sharing: ClusterGroupService
    private var local: any AccountRecordStore { sharing.parts.local }

    private static let attempts = 8

    /// Makes the records over those of this machine.
    package init(_ sharing: ClusterGroupService) { self.sharing = sharing }

    package func groups() throws(CredentialError) -> [KeychainGroup] {
        var groups = Set(try local.groups())
        for group in try sharing.parts.files.groups() where mayBeShared(group) { groups.insert(group) }
        return groups.sorted { $0.name < $1.name }
    }

    /// Whether a group is shared, or this cannot be decided: the command that opens its file reports the fault.
    private func mayBeShared(_ group: KeychainGroup) -> Bool {
        do throws(CredentialError) { return try sharing.backend(of: group) != nil } catch { return true }
    }

    package func index(of group: KeychainGroup, _ check: IndexVerification) throws(CredentialError) -> AccountIndex
    {
        var unseen: [String] = []
        if let backend = try sharing.backend(of: group) {
            do throws(CredentialError) {
                unseen = try sharing.look(group, unlessWithin: check == .none ? backend.cacheSeconds : 0) ?? []
            } catch {
                // The copies serve meanwhile. The cluster of one group does not stop a search for a name through
                // several groups; a search that finds no account, or an account of this group, reports the error.
                guard check == .none || error.allowsLocalCopy else { throw error }
                if error.allowsLocalCopy {
                    try sharing.noteTry(group)
                } else {
                    try sharing.link(group)?.note(error)
                }
            }
        }
        return try local.index(of: group, check).adding(unreadable: unseen)
    }

    package func seenIndex(of group: KeychainGroup, _ check: IndexVerification) throws(CredentialError)
        -> AccountIndex
    {
        guard mayBeShared(group) else { return try local.index(of: group, check) }
        // A group that this host cannot look into leaves the names of the others unchanged. If no such name is
        // meant, the group is asked for its own, and reports the fault.
        do throws(CredentialError) { return try local.index(of: group, check).readable } catch {
            return AccountIndex()
        }
    }

    package func confirmed(
        _ index: AccountIndex, of group: KeychainGroup, _ check: IndexVerification
    ) throws(CredentialError) -> AccountIndex {
        guard try sharing.backend(of: group) == nil else { return try self.index(of: group, check) }
        return try local.confirmed(index, of: group, check)
    }

    package func read(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        guard let link = try sharing.link(group) else { return try local.read(id, in: group) }
        guard Identifier.isValid(id) else { return nil }
        do throws(CredentialError) {
            return try sharing.takeOne(id, link, tells: true)
        } catch {
            guard error.allowsLocalCopy, let copy = try local.read(id, in: group) else { throw error }
            return Self.record(ofCopy: copy)
        }
    }

    package func loadRecent(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        guard let link = try sharing.link(group) else { return nil }
        return try sharing.seenCopy(of: id, link).map(Self.record(ofCopy:))
    }

    package func lastSeen(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        guard try sharing.backend(of: group) != nil else { return try local.read(id, in: group) }
        return try local.read(id, in: group).map(Self.record(ofCopy:))
    }

    package func registry(
        of group: KeychainGroup, damaged: (String, CredentialError) -> Void
    ) throws(CredentialError) -> AccountList {
        if let link = try sharing.link(group) {
            do throws(CredentialError) {
                for (id, error) in try sharing.takeAll(link).damaged { damaged(id, error) }
            } catch {
                guard error.allowsLocalCopy else { throw error }
            }
        }
        return try local.registry(of: group, damaged: damaged)
    }

    // MARK: Writing

    package func write(
        _ record: AccountRecord, expecting expected: Int64?
    ) throws(CredentialError) -> WriteResult {
        guard let link = try sharing.link(record.group) else { return try local.write(record, expecting: expected) }
        guard let sealed = record.sealed else {
            throw CredentialError(
                .unsupported, "the group \(record.group) is shared: its accounts are kept in the cluster",
                hint: "credmgr groups leave \(record.group) --keep")
        }
        let id = record.account.id, key = link.keys(id).set
        var set = try TokenSet(
            decoding: try link.seal.open(ClusterRecord(key: key, value: sealed.bytes, revision: 1)))
        set.account = record.account
        set.account.store = .etcd
        set.account.staleKeyringCopy = nil
        let newcomers = expected == nil ? link.takeNewcomers() : nil
        for _ in 0..<Self.attempts {
            let (standing, epoch) = try link.standing([id])
            guard try isExpected(standing[0], expected, link) else { return .overtaken }
            set.beginLines(after: try before(standing[0], link), sharing.parts.random)
            let value = try link.seal.seal(set.encoded(), at: key, epoch: try GroupMembership.epoch(epoch))
            var transaction = ClusterTransaction()
            transaction.expect(standing[0], at: key)
            transaction.expect(epoch, at: link.keys(id).epoch)
            transaction.changes = [.put(key, value)]
            if expected == nil { add(newcomers, in: &transaction, link.keys(id)) }
            sharing.noteOwn(value, of: id, record.group)
            if let outcome = try commit(transaction, key, value, link) {
                if case .done = outcome { _ = try? sharing.takeOne(id, link, tells: false) }
                return outcome
            }
        }
        throw Self.busy(record.group)
    }

    /// Has a transaction record that an account is added, and demand that no account was added since this host has
    /// listed them.
    private func add(_ newcomers: ClusterRecord??, in transaction: inout ClusterTransaction, _ keys: AccountKeys) {
        if let newcomers { transaction.expect(newcomers, at: keys.newcomers) }
        transaction.changes.append(.put(keys.newcomers, sharing.parts.random.bytes(Self.newcomerSize)))
    }

    /// The size of the value that distinguishes one newcomer from the next, in bytes.
    private static let newcomerSize = 16

    private static func busy(_ group: KeychainGroup) -> CredentialError {
        CredentialError(
            .temporary, "cannot save the account: other processes keep changing the group \(group)",
            hint: "try again")
    }

    /// Whether a record is the one that the caller has read. Revisions repeat if a cluster was restored, so it is
    /// also compared with this machine's copy of that revision.
    private func isExpected(
        _ record: ClusterRecord?, _ expected: Int64?, _ link: GroupConnection
    ) throws(CredentialError) -> Bool {
        guard let record else { return expected == nil }
        guard record.revision == expected else { return false }
        guard let id = link.account(ofSet: record.key), let copy = try sharing.sealedCopy(of: id, link.group),
            copy.key == String(record.revision)
        else { return true }
        return copy.bytes == record.value
    }

    /// The token set that is replaced; `nil` if it is damaged.
    private func before(_ record: ClusterRecord?, _ link: GroupConnection) throws(CredentialError) -> TokenSet? {
        guard let record else { return nil }
        do throws(CredentialError) { return try link.seal.tokenSet(in: record) } catch {
            guard error.code == .storeDamaged || error.code == .storeLocked else { throw error }
            return nil
        }
    }

    /// - Returns: `nil` if something else of the group has changed.
    private func commit(
        _ transaction: ClusterTransaction, _ key: String, _ value: [UInt8], _ link: GroupConnection
    ) throws(CredentialError) -> WriteResult? {
        var failure: CredentialError?
        do throws(CredentialError) { if try link.cluster.commit(transaction) { return .done } } catch {
            guard error.code == .temporary else { throw error }
            failure = error
        }
        // An error does not prove that it was not written: the record there does.
        let newcomers = link.keys("").newcomers
        let found: [ClusterRecord?]
        do throws(CredentialError) { found = try link.cluster.read([key, newcomers]) } catch {
            return .unknown(failure ?? error)
        }
        let now = found[0]
        if now?.value == value { return .done }
        // A record that is not there yet may still be on its way.
        if let failure { return .unknown(failure) }
        // Another sign-in has come first, maybe by the same user.
        if let expected = transaction.conditions[newcomers], found[1]?.revision ?? 0 != expected {
            return .overtaken
        }
        return now?.revision == transaction.conditions[key] || now == nil && transaction.conditions[key] == 0
            ? nil : .overtaken
    }

    package func remove(
        _ id: String, in group: KeychainGroup, expecting expected: Int64
    ) throws(CredentialError) -> WriteResult {
        guard let link = try sharing.link(group) else {
            return try local.remove(id, in: group, expecting: expected)
        }
        for _ in 0..<Self.attempts {
            guard let outcome = try removeThere(id, link, expected) else { continue }
            if case .done = outcome { try sharing.forgetCopy(id, group, tells: false) }
            return outcome
        }
        throw Self.busy(group)
    }

    /// - Returns: `nil` if something else of the group has changed.
    private func removeThere(
        _ id: String, _ link: GroupConnection, _ expected: Int64
    ) throws(CredentialError) -> WriteResult? {
        let keys = link.keys(id)
        let (standing, epoch) = try link.standing([id])
        guard let record = standing[0] else { return .done }
        guard try isExpected(record, expected, link) else { return .overtaken }
        var transaction = ClusterTransaction()
        transaction.expect(record, at: keys.set)
        // A host that is expelled meanwhile signs no account out any more.
        transaction.expect(epoch, at: keys.epoch)
        transaction.changes = Self.removal(of: keys)
        do throws(CredentialError) { return try link.cluster.commit(transaction) ? .done : nil } catch {
            // An error does not say that it is still there, nor that it stays there.
            guard error.code == .temporary else { throw error }
            return try link.cluster.read([keys.set])[0] == nil ? .done : .unknown(error)
        }
    }

    /// Takes all of an account away.
    private static func removal(of keys: AccountKeys) -> [ClusterTransaction.Change] {
        [keys.set, keys.intent, keys.live, keys.aside].map { .remove($0) }
    }

    package func setAside(
        _ id: String, in group: KeychainGroup, keepsName: Bool
    ) throws(CredentialError) -> String {
        guard let link = try sharing.link(group) else {
            return try local.setAside(id, in: group, keepsName: keepsName)
        }
        let keys = link.keys(id)
        let (standing, epoch) = try link.standing([id])
        guard let record = standing[0] else { return keys.set }
        // Another process may have fixed it, or signed in, since it was found damaged.
        guard try before(record, link) == nil else { throw Self.changed(id) }
        let name = link.damagedPlace(keys.set, id)
        var transaction = ClusterTransaction()
        transaction.expect(record, at: keys.set)
        transaction.expect(epoch, at: keys.epoch)
        transaction.changes = [.put(name, record.value)] + Self.removal(of: keys)
        guard try link.cluster.commit(transaction) else { throw Self.changed(id) }
        try sharing.forgetCopy(id, group, tells: false)
        return name
    }

    /// The error if the record to be replaced is not there any more.
    static func changed(_ id: String) -> CredentialError {
        CredentialError(.temporary, "another host has changed \(id)", hint: "try again")
    }

    package func strayRecords(
        of id: String, in group: KeychainGroup
    ) throws(CredentialError) -> [AccountRecord] { try local.strayRecords(of: id, in: group) }

    package func removeStrayRecords(of id: String, in group: KeychainGroup) throws(CredentialError) {
        try local.removeStrayRecords(of: id, in: group)
    }

    package func older(_ group: KeychainGroup) throws(CredentialError) -> [UInt8]? { try local.older(group) }

    package func setAsideOlder(_ group: KeychainGroup) throws(CredentialError) {
        try local.setAsideOlder(group)
    }

    // MARK: Copies

    /// A record as the cluster had it, by this machine's copy of it.
    static func record(ofCopy copy: AccountRecord) -> AccountRecord {
        var record = copy
        record.generation = copy.sealed.flatMap { Int64($0.key) } ?? 0
        return record
    }
}
