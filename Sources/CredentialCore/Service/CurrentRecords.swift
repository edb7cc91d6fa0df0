/// The records of accounts, with each registration in the form that definitions have now.
///
/// A record that credmgr wrote before names its registration in the earlier form (``ClientIdentity/earlier``). It
/// is read as the registration of the account's own type if that type has this earlier form, and as it is if the
/// type has no definition. So every other part compares registrations of one form, and the next write of a record
/// stores it.
struct CurrentRecords: AccountRecordStore {
    let base: any AccountRecordStore
    /// The registration that the type of a name has; `nil` if it has no definition, or the definition cannot be
    /// used.
    let registration: @Sendable (_ type: String) -> ClientIdentity?

    private func current(_ account: Account) -> Account {
        var account = account
        account.registration = account.registration.current { registration(account.type) }
        return account
    }

    private func current(_ record: AccountRecord?) -> AccountRecord? {
        guard var record else { return nil }
        record.account = current(record.account)
        return record
    }

    private func current(_ index: AccountIndex) -> AccountIndex {
        var known: [String: ClientIdentity?] = [:]
        return index.withRegistrations { entry in
            entry.registration.current {
                if let registration = known[entry.type] { return registration }
                let registration = registration(entry.type)
                known[entry.type] = registration
                return registration
            }
        }
    }

    func groups() throws(CredentialError) -> [KeychainGroup] { try base.groups() }

    func index(of group: KeychainGroup, _ check: IndexVerification) throws(CredentialError) -> AccountIndex {
        current(try base.index(of: group, check))
    }

    func seenIndex(of group: KeychainGroup, _ check: IndexVerification) throws(CredentialError) -> AccountIndex {
        current(try base.seenIndex(of: group, check))
    }

    func confirmed(
        _ index: AccountIndex, of group: KeychainGroup, _ check: IndexVerification
    ) throws(CredentialError) -> AccountIndex {
        current(try base.confirmed(index, of: group, check))
    }

    func read(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        current(try base.read(id, in: group))
    }

    func lastSeen(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        current(try base.lastSeen(id, in: group))
    }

    func loadRecent(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        current(try base.loadRecent(id, in: group))
    }

    func registry(
        of group: KeychainGroup, damaged: (String, CredentialError) -> Void
    ) throws(CredentialError) -> AccountList {
        var registry = try base.registry(of: group, damaged: damaged)
        for place in registry.accounts.indices { registry.accounts[place] = current(registry.accounts[place]) }
        return registry
    }

    func write(_ record: AccountRecord, expecting expected: Int64?) throws(CredentialError) -> WriteResult {
        try base.write(record, expecting: expected)
    }

    func remove(
        _ id: String, in group: KeychainGroup, expecting expected: Int64
    ) throws(CredentialError) -> WriteResult { try base.remove(id, in: group, expecting: expected) }

    func setAside(_ id: String, in group: KeychainGroup, keepsName: Bool) throws(CredentialError) -> String {
        try base.setAside(id, in: group, keepsName: keepsName)
    }

    func strayRecords(of id: String, in group: KeychainGroup) throws(CredentialError) -> [AccountRecord] {
        try base.strayRecords(of: id, in: group)
    }

    func removeStrayRecords(of id: String, in group: KeychainGroup) throws(CredentialError) {
        try base.removeStrayRecords(of: id, in: group)
    }

    func older(_ group: KeychainGroup) throws(CredentialError) -> [UInt8]? { try base.older(group) }

    func setAsideOlder(_ group: KeychainGroup) throws(CredentialError) { try base.setAsideOlder(group) }
}

extension AccountIndex {
    /// The same index with the registrations that `registration` gives for entries that may be in the earlier form.
    func withRegistrations(_ registration: (Entry) -> ClientIdentity) -> AccountIndex {
        guard hasEarlierForms else { return self }
        func changed(_ entries: [Entry]) -> [Entry] {
            entries.map { entry in
                var entry = entry
                entry.registration = registration(entry)
                return entry
            }
        }
        let before = entries, known = unreadableEntries
        let after = changed(before), knownAfter = changed(known)
        if before == after, known == knownAfter { return self }
        return AccountIndex(Self.file(after, unreadable: unreadable, known: knownAfter)) ?? self
    }

    /// Whether a provider begins as those of the earlier form do.
    private var hasEarlierForms: Bool {
        let beginnings = RegistrationText.earlierBeginnings.map { Array($0.utf8) }
        let span = bytes.span
        func isEarlier(_ line: Line) -> Bool {
            let start = Self.place(ofTab: 2, in: line, span) + 1
            for beginning in beginnings where Self.has(beginning, span, at: start) { return true }
            return false
        }
        for line in lines where isEarlier(line) { return true }
        for line in unreadableLines where isEarlier(line) { return true }
        return false
    }
}
