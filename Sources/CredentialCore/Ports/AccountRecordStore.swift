/// Keeps the accounts of each keychain group, one record each, and an index of their names.
///
/// The index is kept by who keeps the records: a write that changes no name leaves it alone.
public protocol AccountRecordStore: Sendable {
    /// The groups that have accounts, or had some, sorted by name.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func groups() throws(CredentialError) -> [KeychainGroup]

    /// The names of a group's accounts.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/unsupported`` for a group that a newer version of this
    ///   program or an older one has kept.
    func index(of group: KeychainGroup, _ check: IndexVerification) throws(CredentialError) -> AccountIndex

    /// The names of a group's accounts as this machine last saw them, for a look through several groups. For a
    /// group that hosts share, it asks no cluster, and unreadable entries have no names.
    ///
    /// - Parameters:
    ///   - group: the group.
    ///   - check: how far the index is believed.
    /// - Throws: as ``index(of:_:)`` for a group of this machine alone.
    func seenIndex(of group: KeychainGroup, _ check: IndexVerification) throws(CredentialError) -> AccountIndex

    /// An index that was read before, as far as `check` believes it, else the one that is made again.
    ///
    /// - Throws: as ``index(of:_:)``.
    func confirmed(
        _ index: AccountIndex, of group: KeychainGroup, _ check: IndexVerification
    ) throws(CredentialError) -> AccountIndex

    /// The record of an account; `nil` if it has no record.
    ///
    /// - Throws: as ``index(of:_:)``; ``ErrorCode/storeDamaged``, naming the record, if it is damaged;
    ///   ``ErrorCode/storeUnavailable`` if access is refused or it cannot be read, because the record is the store
    ///   of its content.
    func read(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord?

    /// The record of an account as this machine has seen it last: of a group that hosts share no cluster is asked.
    ///
    /// - Parameters:
    ///   - id: the account's id.
    ///   - group: its group.
    /// - Throws: as ``read(_:in:)``.
    func lastSeen(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord?

    /// The record of an account of a shared group that this process, or its caller, read a moment ago, if this
    /// machine has not changed it since. It serves to give out its content, or to refresh it, which reports an
    /// overtaken reader; never to change it otherwise. It is given once.
    ///
    /// - Parameters:
    ///   - id: the account's id.
    ///   - group: its group.
    /// - Throws: as ``read(_:in:)``.
    func loadRecent(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord?

    /// Every account of a group that can be read, in the order they were added.
    ///
    /// - Parameters:
    ///   - group: the group.
    ///   - damaged: takes the id and the error of a record that cannot be read.
    /// - Throws: as ``index(of:_:)``.
    func registry(
        of group: KeychainGroup, damaged: (String, CredentialError) -> Void
    ) throws(CredentialError) -> AccountList

    /// Puts a record into the place of the generation that was read; the record's own number is counted up.
    ///
    /// - Parameters:
    ///   - record: the new one.
    ///   - expected: the generation that it replaces; `nil` for a record that must not be there yet.
    /// - Throws: as ``read(_:in:)``; then the store is unchanged.
    func write(_ record: AccountRecord, expecting expected: Int64?) throws(CredentialError) -> WriteResult

    /// Removes the record of the generation that was read.
    ///
    /// - Throws: as ``write(_:expecting:)``.
    func remove(_ id: String, in group: KeychainGroup, expecting expected: Int64) throws(CredentialError)
        -> WriteResult

    /// Moves a damaged record out of the way.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - group: the group.
    ///   - keepsName: whether its name stays in the index, for who puts another record in its place: until then it
    ///     counts as lost.
    /// - Returns: its present place.
    /// - Throws: ``ErrorCode/inputOutput``.
    func setAside(_ id: String, in group: KeychainGroup, keepsName: Bool) throws(CredentialError) -> String

    /// The generations of an account's record that lie beside its place, newest first. On NFS and FUSE a file that
    /// is replaced while open briefly gets another name, and a fault then leaves both files under their own names.
    ///
    /// - Parameters:
    ///   - id: the account's id.
    ///   - group: its group.
    /// - Returns: those that can be read.
    /// - Throws: ``ErrorCode/inputOutput``.
    func strayRecords(of id: String, in group: KeychainGroup) throws(CredentialError) -> [AccountRecord]

    /// Removes the records that ``strayRecords(of:in:)`` gives.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func removeStrayRecords(of id: String, in group: KeychainGroup) throws(CredentialError)

    /// Returns the data that an older version of this program has kept of a group; `nil` if it kept no data.
    ///
    /// - Parameter group: the group.
    /// - Throws: ``ErrorCode/inputOutput``.
    func older(_ group: KeychainGroup) throws(CredentialError) -> [UInt8]?

    /// Moves the data that an older version of this program has kept of a group out of the way.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func setAsideOlder(_ group: KeychainGroup) throws(CredentialError)
}

extension AccountRecordStore {
    /// Moves a damaged record out of the way, and its name out of the index.
    ///
    /// - Returns: its present place.
    /// - Throws: ``ErrorCode/inputOutput``.
    package func setAside(_ id: String, in group: KeychainGroup) throws(CredentialError) -> String {
        try setAside(id, in: group, keepsName: false)
    }
}

/// How far an index is believed.
public enum IndexVerification: Sendable {
    /// As it stands.
    case none
    /// Only if it names the accounts that have a record; else it is made again.
    case ids
    /// Only if every record agrees with it; else it is made again.
    case everything
}

/// The result of writing a record.
public enum WriteResult: Sendable {
    /// It is in its place, and stays there.
    case done
    /// The store has another generation than was expected and is unchanged.
    case overtaken
    /// It may be in its place, and may not be after a power cut.
    case unknown(CredentialError)
}

extension AccountRecordStore {
    /// Always `nil`: records on this machine are read again.
    ///
    /// - Parameters:
    ///   - id: the account's id.
    ///   - group: its group.
    /// - Throws: nothing.
    public func loadRecent(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? { nil }

    /// None.
    ///
    /// - Parameters:
    ///   - id: the account's id.
    ///   - group: its group.
    /// - Throws: nothing.
    public func strayRecords(
        of id: String, in group: KeychainGroup
    ) throws(CredentialError) -> [AccountRecord] { [] }

    /// Does nothing.
    ///
    /// - Parameters:
    ///   - id: the account's id.
    ///   - group: its group.
    /// - Throws: nothing.
    public func removeStrayRecords(of id: String, in group: KeychainGroup) throws(CredentialError) {}

    /// Nothing.
    ///
    /// - Parameter group: the group.
    /// - Throws: nothing.
    public func older(_ group: KeychainGroup) throws(CredentialError) -> [UInt8]? { nil }

    /// Reads the record: reading shows the present state of this machine.
    ///
    /// - Parameters:
    ///   - id: the account's id.
    ///   - group: its group.
    /// - Throws: as ``read(_:in:)``.
    public func lastSeen(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        try read(id, in: group)
    }

    /// Reads the index: reading shows the present state of this machine.
    ///
    /// - Parameters:
    ///   - group: the group.
    ///   - check: how far the index is believed.
    /// - Throws: as ``index(of:_:)``.
    public func seenIndex(of group: KeychainGroup, _ check: IndexVerification) throws(CredentialError)
        -> AccountIndex
    {
        try index(of: group, check)
    }

    /// Reads the index again.
    ///
    /// - Throws: as ``index(of:_:)``.
    public func confirmed(
        _ index: AccountIndex, of group: KeychainGroup, _ check: IndexVerification
    ) throws(CredentialError) -> AccountIndex {
        try self.index(of: group, check)
    }

    /// Every account of a group that can be read; unreadable ones are passed over.
    ///
    /// - Throws: as ``index(of:_:)``.
    public func registry(of group: KeychainGroup) throws(CredentialError) -> AccountList {
        try registry(of: group) { _, _ in }
    }

    /// The account with this id.
    ///
    /// - Throws: as ``read(_:in:)``.
    public func account(_ id: String, in group: KeychainGroup) throws(CredentialError) -> Account? {
        try read(id, in: group)?.account
    }

    /// Changes the facts of an account: reads, changes, writes, and repeats that if it was overtaken.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - group: its group.
    ///   - isWrittenAnyway: whether the record is written even without a change, as to give it its present form.
    ///   - change: changes the facts.
    /// - Returns: whether there is such an account.
    /// - Throws: as ``write(_:expecting:)``; the errors of `change`.
    @discardableResult
    public func update(
        _ id: String, in group: KeychainGroup, isWrittenAnyway: Bool = false,
        _ change: (inout Account) throws(CredentialError) -> Void
    ) throws(CredentialError) -> Bool {
        for _ in 0..<Self.attempts {
            guard var record = try read(id, in: group) else { return false }
            let before = record.account
            try change(&record.account)
            if record.account == before, !isWrittenAnyway { return true }
            switch try write(record, expecting: record.generation) {
            case .done: return true
            case .overtaken: continue
            case .unknown(let error): throw error
            }
        }
        throw CredentialError(
            .temporary, "cannot change the record of \(id): other processes keep changing it", hint: "try again")
    }

    static var attempts: Int { 16 }
}

extension CredentialError {
    /// A record that the index names and that is missing, though the account was not signed out.
    package static func recordIsMissing(_ id: String) -> CredentialError {
        CredentialError(
            .storeDamaged, "the record of account \(id) is missing, although the account was not signed out",
            hint: "credmgr doctor --fix")
    }
}
