/// Token sets of accounts: sealed in the account's record, or in the keyring beside it, with the journal that
/// carries a generation over a store that fails.
///
/// The record says which of both counts. The Secret Service acknowledges writes that it may still lose (KWallet for
/// seconds, any of them at a power cut). So a generation on its way there is also kept sealed in the journal until
/// a later run has read it back. A record is durable by itself, so a generation is journaled only when its record
/// could not be written.
package struct TokenSetRepository: Sendable {
    let stores: any SecretStores
    let journal: any TokenSetJournal
    let records: any AccountRecordStore
    let usedTokens: any UsedRefreshTokens
    let cryptography: any Cryptography
    let random: any RandomSource
    let sharing: any SharedGroupService
    let locks: any AccountLocks
    private let events: any EventLog
    private let clock: any WallClock

    /// Makes a repository of the token sets in `stores`.
    init(_ machine: MachinePorts, _ stores: any SecretStores) {
        self.stores = stores
        journal = machine.journal
        records = machine.records
        usedTokens = machine.usedTokens
        sharing = machine.sharing
        locks = machine.locks
        events = machine.events
        clock = machine.clock
        cryptography = machine.cryptography
        random = machine.random
    }

    /// How a token set was kept.
    package enum Outcome: Sendable {
        /// In its store, read back, and its facts in the record.
        case stored
        /// In its store, read back; the record still has the facts of before.
        case unlisted(CredentialError)
        /// Sealed in the journal, because the store failed as told; the next run puts it into the store. Of a first
        /// sign-in that a keyring has refused, the journal keeps only the data that the keyring can open.
        case journaled(CredentialError)
        /// A first sign-in, sealed in the journal with the key of the group's file and listed, because the keyring
        /// was not to be had as told; the next run puts it there.
        case kept(CredentialError)
        /// Not saved: the store holds this newer generation by now, or no token set any more.
        case overtaken(TokenSet?)
    }

    // MARK: Reading

    /// The newest generation of an account's token set: the store's, or the journal's if the store fell behind.
    ///
    /// - Parameter isLocked: whether the caller holds the account's lock. Only then is anything tidied up.
    /// - Returns: `nil` when the store has no such item.
    /// - Throws: the errors of ``SecretStore/read(_:)`` and ``AccountRecordStore/read(_:in:)``.
    package func read(
        _ account: Account, in group: KeychainGroup, isLocked: Bool
    ) throws(CredentialError) -> TokenSet? {
        guard var record = try records.read(account.id, in: group) else { return nil }
        for _ in 0..<Self.looks {
            do throws(CredentialError) {
                if let set = try read(record, isLocked: isLocked) { return set }
                guard !isLocked, let now = try moved(record) else { return nil }
                record = now
            } catch {
                // If a migration moves a token set away while it is read, the store that it was in reports an
                // error: the other store has it. And a token set that is sealed again while it is read may be
                // opened by a key that was just forgotten.
                guard !isLocked, let now = try moved(record) else { throw error }
                record = now
            }
        }
        return try read(record, isLocked: isLocked)
    }

    /// How often to look for a token set that others move, or seal again, meanwhile.
    private static let looks = 4

    /// The record that has taken a record's place with its token set in another store, or sealed with another key.
    private func moved(_ record: AccountRecord) throws(CredentialError) -> AccountRecord? {
        guard let now = try records.read(record.account.id, in: record.group),
            now.account.store != record.account.store || now.sealed?.key != record.sealed?.key
        else { return nil }
        return now
    }

    /// As ``read(_:in:isLocked:)`` under the lock, to give out the present token set; data that this process has
    /// read of a cluster a moment ago, for the choice of the account, is not read again.
    ///
    /// - Throws: as ``read(_:in:isLocked:)``.
    func loadFresh(_ account: Account, in group: KeychainGroup) throws(CredentialError) -> TokenSet? {
        if let seen = try loadRecent(account.id, in: group) { return try read(seen, isLocked: false) }
        return try read(account, in: group, isLocked: true)
    }

    /// The record of an account that is to be refreshed; data that was read of a cluster a moment ago is not read
    /// again, for the cluster reports an overtaken reader. The caller holds the account's lock.
    ///
    /// - Throws: as ``read(_:in:isLocked:)``.
    func recordToRefresh(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        if let seen = try loadRecent(id, in: group) { return seen }
        return try records.read(id, in: group)
    }

    /// A waiting sign-in is merged first, over the present content of the record.
    private func loadRecent(_ id: String, in group: KeychainGroup) throws(CredentialError) -> AccountRecord? {
        guard try waitingLogins(of: id, in: group).isEmpty else { return nil }
        return try records.loadRecent(id, in: group)
    }

    /// The token set as this machine has seen it last: no cluster is asked.
    ///
    /// - Throws: as ``read(_:in:isLocked:)``.
    func loadOffline(_ account: Account, in group: KeychainGroup) throws(CredentialError) -> TokenSet? {
        try records.lastSeen(account.id, in: group).flatMap { (record) throws(CredentialError) in
            try read(record, isLocked: false)
        }
    }

    /// As ``read(_:in:isLocked:)``, by a record that was just read.
    func read(_ record: AccountRecord, isLocked: Bool) throws(CredentialError) -> TokenSet? {
        guard let set = try readJournaled(record, isLocked: isLocked) else { return nil }
        return isLocked ? try takeUpLogins(set, in: record.group) : set
    }

    private func readJournaled(_ record: AccountRecord, isLocked: Bool) throws(CredentialError) -> TokenSet? {
        let id = record.account.id, group = record.group
        guard let set = try stored(record) else { return try keptSignIn(record, isLocked: isLocked) }
        guard let sealed = try journal.read(id, in: group) else { return set }
        guard var journaled = try newer(sealed, than: set, group) else {
            if isLocked { try journal.remove(id, in: group) }
            return set
        }
        journaled.account.adoptRecord(record.account)
        journaled.account.registration = record.account.registration
        // The journal stays until a later run has read this generation from the store.
        if isLocked { _ = try? put(journaled, over: record) }
        return journaled
    }

    /// The first sign-in of an account of the keyring that the keyring has not got yet.
    private func keptSignIn(_ record: AccountRecord, isLocked: Bool) throws(CredentialError) -> TokenSet? {
        let id = record.account.id, group = record.group
        guard record.account.store == .secretService, let kept = try journal.read(id, in: group),
            let sealed = (try? AccountRecord(kept, of: id, in: group))?.sealed
        else { return nil }
        var set = try TokenSet(decoding: try vault(.secretService).open(sealed, of: id, in: group))
        try Self.check(record, has: set.account)
        set.account.adoptRecord(record.account)
        set.account.registration = record.account.registration
        // As above: the journal stays until a later run has read this from the keyring.
        if isLocked { _ = try? put(set, over: record) }
        return set
    }

    /// Returns the token set in the store of a record, without the journal.
    private func stored(_ record: AccountRecord) throws(CredentialError) -> TokenSet? {
        let id = record.account.id, group = record.group
        let bytes: [UInt8]
        switch record.account.store {
        case .file, .etcd:
            guard let sealed = record.sealed else { return nil }
            do throws(CredentialError) {
                bytes = try vault(record.account.store).open(sealed, of: id, in: group)
            } catch {
                guard error.code == .storeDamaged, error.advice == nil else { throw error }
                let login = LoginHint(for: record.account, in: group).description
                throw CredentialError(
                    .storeDamaged, error.text, hint: "restore it from a backup, or sign in again: \(login)",
                    details: error.details)
            }
        case .secretService:
            guard let item = try stores.store(.secretService).read(item(id, group)) else { return nil }
            bytes = item
        }
        var set = try TokenSet(decoding: bytes)
        guard set.account.id == id, record.sealed == nil || record.sealed?.generation == set.generation else {
            throw CredentialError(.storeDamaged, "the token set of \(id) belongs to \(set.account.id)")
        }
        // The facts are in clear, and an editor may exchange those of two accounts.
        try Self.check(record, has: set.account)
        set.account.adoptRecord(record.account)
        set.account.registration = record.account.registration
        return set
    }

    /// - Throws: ``ErrorCode/storeDamaged`` for a record whose facts are not those that are sealed with its tokens.
    private static func check(_ record: AccountRecord, has own: Account) throws(CredentialError) {
        guard own.fits(record.account) else {
            throw CredentialError(
                .storeDamaged, "the record of account \(own.id) has the metadata of another account",
                hint: "credmgr doctor --fix")
        }
    }

    /// Whether every process of the user's reads the token set of an account as well as this one, without a
    /// passphrase that only this one may have.
    package func opensUnattended(_ account: Account, in group: KeychainGroup) -> Bool {
        account.store == .secretService
            || account.store == .file && (try? vault(.file))?.opensByItself(group) == true
    }

    /// Begins to open the store of an account whose token set is soon to be read, if that takes long.
    package func begin(_ account: Account) {
        if account.store == .secretService { try? stores.store(.secretService).begin() }
    }

    /// Returns the vault that seals the token sets in records of a store.
    func vault(_ store: StoreKind) throws(CredentialError) -> any TokenSetCipher {
        store == .etcd ? sharing.vault : try stores.vault()
    }

    /// As ``read(_:in:isLocked:)`` under the lock, for callers that replace or remove the token set: a damaged item
    /// counts as missing.
    package func loadIntact(
        _ account: Account, in group: KeychainGroup
    ) throws(CredentialError) -> TokenSet? {
        do throws(CredentialError) { return try read(account, in: group, isLocked: true) } catch {
            if error.code == .storeDamaged { return nil }
            throw error
        }
    }

    /// Returns the grants that the keyring still has of an account whose record is lost, for a caller that makes a
    /// new record; the record had the grants of the other stores.
    ///
    /// - Throws: the errors of the keyring; ``ErrorCode/unsupported`` for data of a newer version.
    package func grantsWithoutRecord(
        of account: Account, in group: KeychainGroup
    ) throws(CredentialError) -> [String: Grant] {
        guard account.store == .secretService else { return [:] }
        do throws(CredentialError) {
            let set = try stores.store(.secretService).read(item(account.id, group)).map {
                (bytes) throws(CredentialError) in try TokenSet(decoding: bytes)
            }
            guard let set, set.account.id == account.id, set.account.hasRegistration(of: account),
                set.account.subject == account.subject
            else { return [:] }
            return set.grants
        } catch {
            guard error.code == .storeDamaged else { throw error }
            return [:]
        }
    }

    // MARK: Writing

    /// Keeps the next generation of a token set and the facts in its record, unless the store holds another
    /// generation than `set` was made from. The caller holds the account's lock: that check is for the day when a
    /// lock did not work.
    ///
    /// - Parameters:
    ///   - signIn: the policy whose sign-in the set has just got. In a shared group no other set waits in the
    ///     journal: the generations of two hosts do not tell which is the newer one.
    ///   - replacing: whether that sign-in ends every other grant of the policy.
    ///   - keepsMark: whether the mark of ``reserve(for:in:)`` stays, as far as the journal does not take the room:
    ///     the used refresh token is recorded first. The caller gives it back then.
    /// - Throws: ``ErrorCode/storeUnavailable`` when neither the store nor the journal took it; in a shared group
    ///   the errors of the cluster, too.
    package func save(
        _ set: inout TokenSet, in group: KeychainGroup, signIn: String? = nil, replacing: Bool = false,
        keepsMark: Bool = false
    ) throws(CredentialError) -> Outcome {
        let id = set.account.id
        // It is not known whether the cluster has taken it; if it is kept as well, it is not to be merged once
        // more.
        let mark = random.bytes(TokenSet.markSize)
        if signIn != nil, set.account.store == .etcd { set.noteTakenUp(mark) }
        defer { if !keepsMark { journal.releaseReserve(for: id, in: group) } }
        var record: AccountRecord?
        do throws(CredentialError) {
            record = try records.read(id, in: group)
            if let record {
                let newest = try storedGeneration(record)
                if newest > set.generation { return .overtaken(try newer(record, newest)) }
            } else if set.generation > 0 {
                return .overtaken(nil)
            }
        } catch {
            // Data that a newer version has written stays. A store that cannot be read now will not take a write
            // either; then the journal gets it.
            if error.code == .unsupported { throw error }
        }
        set.generation += 1
        try set.fit()
        set.account.tokenTimes = set.times
        set.account.tokenDigests = digests(of: set)
        let isNew = set.generation == 1 && record == nil
        var journalFailure: CredentialError?
        if set.account.store == .secretService {
            do throws(CredentialError) { try writeJournal(set, group) } catch { journalFailure = error }
        }
        do throws(CredentialError) {
            guard let before = record ?? (isNew ? AccountRecord(group: group, account: set.account) : nil) else {
                throw CredentialError(.storeUnavailable, "the record of \(id) cannot be read")
            }
            switch try put(set, over: before) {
            case .overtaken: return .overtaken(nil)
            case let outcome: return outcome
            }
        } catch {
            if isNew, set.account.store == .secretService, Self.isAbsence(error),
                (try? keepAndList(set, group)) == true
            {
                return .kept(error)
            }
            if !isNew, set.account.store == .etcd, signIn == nil { throw error }
            do throws(CredentialError) {
                if isNew, set.account.store.isInRecord {
                    var waiting = set
                    waiting.replacesOthers = replacing
                    try keepSignIn(waiting, group)
                } else if set.account.store == .etcd {
                    try keepLogin(signIn ?? "", of: set, replacing: replacing, mark: mark, group)
                } else if set.account.store.isInRecord {
                    try writeJournal(set, group)
                }
            } catch { journalFailure = error }
            guard let journalFailure else { return .journaled(error) }
            // A process that takes too long to replace the key of the file will have finished later.
            throw CredentialError(
                journalFailure.code == .lockTimeout ? .lockTimeout : .storeUnavailable,
                "cannot save the new tokens of \(id): \(error)",
                hint: error.advice ?? "credmgr doctor", details: error.details + [journalFailure.message])
        }
    }

    /// Whether a keyring has not said no, but was not to be had.
    private static func isAbsence(_ error: CredentialError) -> Bool {
        error.code == .storeUnavailable || error.code == .storeLocked
    }

    /// Keeps a first sign-in beside the record that leads to it.
    ///
    /// - Returns: whether the record was written.
    private func keepAndList(_ set: TokenSet, _ group: KeychainGroup) throws(CredentialError) -> Bool {
        try keepSignIn(set, group)
        guard case .done = try records.write(AccountRecord(group: group, account: set.account), expecting: nil)
        else { return false }
        return true
    }

    /// Puts a token set into the store that its record names, and its facts into the record.
    ///
    /// - Throws: the errors of the store.
    private func put(_ set: TokenSet, over before: AccountRecord) throws(CredentialError) -> Outcome {
        let id = set.account.id, group = before.group
        guard set.account.store == .secretService else {
            var record = before
            let outcome = try sealing(
                set.encoded(), of: id, generation: set.generation, by: set.account.store, in: group
            ) { (sealed) throws(CredentialError) in try put(set, in: &record, sealed, isNew: before.generation == 0)
            }
            if case .stored = outcome, record.account.staleKeyringCopy == .secretService,
                before.account.staleKeyringCopy == nil
            {
                // A copy that cannot be removed now stays noted.
                try? removeCopy(of: record.account, in: group)
            }
            return outcome
        }
        try stores.store(.secretService).write(
            set.encoded(), for: item(id, group), label: label(set.account))
        var record = before
        do throws(CredentialError) { return try put(set, in: &record, nil, isNew: before.generation == 0) } catch {
            // The tokens are safe in the keyring; the record only mirrors their facts. Of a new account it is all
            // that leads to them.
            if before.generation > 0 { return .unlisted(error) }
            throw error
        }
    }

    /// Writes the facts of a token set into its record, with the sealed data. In the same step, the data of the
    /// account in another store ceases to count.
    ///
    /// - Parameters:
    ///   - record: the record that was read; then the one that was written.
    ///   - isNew: whether there was no record.
    private func put(
        _ set: TokenSet, in record: inout AccountRecord, _ sealed: SealedTokenSet?, isNew: Bool
    ) throws(CredentialError) -> Outcome {
        let id = set.account.id
        for _ in 0..<16 {
            let listed = record.account, standing = record.generation, before = record.sealed
            record.account = set.account
            if standing > 0 { record.account.adoptNames(listed) }
            if set.account.store == .secretService {
                record.account.staleKeyringCopy = nil
            } else if standing > 0, listed.store == .secretService, set.account.store == .file {
                record.account.staleKeyringCopy = .secretService
            }
            record.sealed = sealed
            switch try records.write(record, expecting: standing > 0 ? standing : nil) {
            case .done:
                record.generation = standing + 1
                return .stored
            case .unknown(let error): throw error
            case .overtaken:
                // A label, or the choice of the default, has changed the record meanwhile.
                guard !isNew, let now = try records.read(id, in: record.group),
                    now.sealed?.generation ?? 0 < set.generation || now.sealed == before
                else { return .overtaken(nil) }
                record = now
            }
        }
        throw CredentialError(
            .temporary, "cannot change the record of \(id): other processes keep changing it", hint: "try again")
    }

    /// The generation that the store of a record has; 0 for a damaged one, which is replaced. A record says it
    /// without being opened.
    private func storedGeneration(_ record: AccountRecord) throws(CredentialError) -> Int64 {
        if record.account.store.isInRecord { return record.sealed?.generation ?? 0 }
        do throws(CredentialError) { return try stored(record)?.generation ?? 0 } catch {
            if error.code == .storeDamaged { return 0 }
            throw error
        }
    }

    /// Returns the token set that has overtaken a writer; if it cannot be read, a token set that has only its
    /// generation.
    private func newer(_ record: AccountRecord, _ generation: Int64) throws(CredentialError) -> TokenSet {
        do throws(CredentialError) { if let set = try stored(record) { return set } } catch {
            guard error.code == .storeDamaged || error.code == .storeLocked else { throw error }
        }
        var set = TokenSet(account: record.account, journalKey: [])
        set.generation = generation
        return set
    }

    /// Merges a sign-in that had to wait into a token set. If the set has no room for it, an event reports the
    /// failure to every process of the group.
    ///
    /// - Returns: whether it was merged; also `false` for one that was merged before.
    func takeUp(_ login: TokenSet, into set: inout TokenSet, in group: KeychainGroup) -> Bool {
        do throws(CredentialError) { return try set.takeUp(login) } catch {
            events.append(
                AccountEvent(
                    kind: .loginFailed, time: clock.now, group: group, type: set.account.type,
                    account: set.account.id, policy: login.grants.keys.first { !$0.isEmpty },
                    reason: error.message))
            return false
        }
    }

    func item(_ id: String, _ group: KeychainGroup) -> SecretItem {
        SecretItem(group: group, owner: id, kind: .tokenSet)
    }

    /// Returns the label that users see in their keyring's own program.
    func label(_ account: Account) -> String {
        let name = account.username ?? account.displayName ?? account.id
        return UntrustedText.shown("credmgr: \(account.type) \(name)").split(separator: "/").joined(separator: "-")
    }
}

extension Account {
    /// Takes over the data that others may change while the account's lock is held: the user's own choices.
    fileprivate mutating func adoptNames(_ record: Account) {
        staleKeyringCopy = record.staleKeyringCopy
        label = record.label
        madeDefaultAt = record.madeDefaultAt
    }
}
