import CredentialCore

/// Records that report the result of each write; `nil` for an error.
struct WatchedRecords: AccountRecordStore {
    let base: any AccountRecordStore
    let begins: @Sendable () -> Void
    let written: @Sendable (AccountRecord, WriteResult?) -> Void
    /// Gets each read of this machine's copies.
    var seen: @Sendable (AccountRecord) -> Void = { _ in }
    /// Is given the id of an account that is removed.
    var removed: @Sendable (String) -> Void = { _ in }

    func write(_ record: AccountRecord, expecting expected: Int64?) throws(CredentialError) -> WriteResult {
        begins()
        let outcome: WriteResult
        do throws(CredentialError) { outcome = try base.write(record, expecting: expected) } catch {
            written(record, nil)
            throw error
        }
        written(record, outcome)
        return outcome
    }
    func groups() throws(CredentialError) -> [KeychainGroup] { try base.groups() }
    func index(of group: KeychainGroup, _ check: IndexVerification) throws(CredentialError) -> AccountIndex {
        try base.index(of: group, check)
    }
    func read(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        try base.read(id, in: group)
    }
    func lastSeen(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        let record = try base.lastSeen(id, in: group)
        if let record { seen(record) }
        return record
    }
    func loadRecent(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        let record = try base.loadRecent(id, in: group)
        if let record { seen(record) }
        return record
    }
    func registry(
        of group: KeychainGroup, damaged: (String, CredentialError) -> Void
    ) throws(CredentialError) -> AccountList { try base.registry(of: group, damaged: damaged) }
    func remove(
        _ id: String, in group: KeychainGroup, expecting expected: Int64
    ) throws(CredentialError) -> WriteResult {
        removed(id)
        return try base.remove(id, in: group, expecting: expected)
    }
    func setAside(_ id: String, in group: KeychainGroup, keepsName: Bool) throws(CredentialError) -> String {
        try base.setAside(id, in: group, keepsName: keepsName)
    }
    func setAsideOlder(_ group: KeychainGroup) throws(CredentialError) { try base.setAsideOlder(group) }
    func confirmed(
        _ index: AccountIndex, of group: KeychainGroup, _ check: IndexVerification
    ) throws(CredentialError) -> AccountIndex { try base.confirmed(index, of: group, check) }
}

struct SafeJournal: TokenSetJournal {
    let base: any TokenSetJournal
    let process: SimulatedProcess

    func write(_ sealed: [UInt8], for account: String, in group: KeychainGroup) throws(CredentialError) {
        try base.write(sealed, for: account, in: group)
        process.isSafe()
        process.host.marks[account] = nil
    }
    func accounts(in group: KeychainGroup) throws(CredentialError) -> [String] { try base.accounts(in: group) }
    func eachRecord(
        in group: KeychainGroup, _ body: (String, [UInt8]) throws(CredentialError) -> Void
    ) throws(CredentialError) { try base.eachRecord(in: group, body) }
    func read(_ account: String, in group: KeychainGroup) throws(CredentialError) -> [UInt8]? {
        try base.read(account, in: group)
    }
    func reserve(_ size: Int, for account: String, in group: KeychainGroup) throws(CredentialError) {
        try base.reserve(size, for: account, in: group)
    }
    func reserveForSending(_ size: Int, of account: String, in group: KeychainGroup) throws(CredentialError) {
        if let holder = process.host.marks[account], holder !== process, !holder.trace.isEnded, !holder.hasEnded {
            throw CredentialError(.lockTimeout, "\(holder.name) is refreshing \(account)")
        }
        // No other process comes in between: the file is made only if it does not exist.
        process.host.marks[account] = process
        try base.reserveForSending(size, of: account, in: group)
    }
    func isMarkedForSending(_ account: String, in group: KeychainGroup) throws(CredentialError) -> Bool {
        _ = try base.isMarkedForSending(account, in: group)
        return process.host.marks[account] === process
    }
    func releaseReserve(for account: String, in group: KeychainGroup) {
        base.releaseReserve(for: account, in: group)
        if process.host.marks[account] === process { process.host.marks[account] = nil }
    }
    func setAsideUnopened(_ account: String, in group: KeychainGroup) throws(CredentialError) -> String {
        try base.setAsideUnopened(account, in: group)
    }
    func remove(_ account: String, in group: KeychainGroup) throws(CredentialError) {
        try base.remove(account, in: group)
        if process.host.marks[account]?.hasEnded == true { process.host.marks[account] = nil }
    }
}
