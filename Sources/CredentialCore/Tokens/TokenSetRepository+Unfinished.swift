extension TokenSetRepository {
    /// Finishes first sign-ins that ended before their record was written: the process was killed, or a store
    /// reported a failure. The journal still has them.
    ///
    /// An account whose secrets are in the keyring, or in the journal itself, gets its record; useless entries are
    /// removed. An account whose state cannot be found out now is left to the next run.
    /// - Returns: whether one was finished.
    @discardableResult
    package func finishSignIns(in group: KeychainGroup, locks: any AccountLocks) -> Bool {
        guard let journaled = try? journal.accounts(in: group), !journaled.isEmpty,
            let index = try? records.index(of: group, .none)
        else { return false }
        let known = Set(index.ids),
            unfinished = journaled.filter { !known.contains(Self.account(ofLogin: $0) ?? $0) }
        // A process that is adding an account now looks at the existing accounts itself.
        guard !unfinished.isEmpty, let newcomers = try? locks.tryLock(Self.newAccountLock, in: group) else {
            return false
        }
        defer { newcomers.release() }
        var isNewsThere = false
        for id in unfinished {
            // The process that holds the lock is still at work.
            guard let lock = try? locks.tryLock(id, in: group) else { continue }
            defer { lock.release() }
            if (try? finishSignIn(id, in: group, locks)) == true { isNewsThere = true }
        }
        return isNewsThere
    }

    /// The accounts of first sign-ins that a store has not taken yet.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func signInsWaiting(in group: KeychainGroup, of store: StoreKind) throws(CredentialError) -> [String] {
        try accountsWaiting(in: group).filter { $0.store == store }.map(\.id)
    }

    /// The accounts whose first sign-ins wait for their store to take them.
    ///
    /// - Throws: the errors of the journal.
    package func accountsWaiting(in group: KeychainGroup) throws(CredentialError) -> [Account] {
        var waiting: [Account] = []
        try journal.eachRecord(in: group) { (id, sealed) throws(CredentialError) in
            if let record = Self.signIn(sealed, of: id, in: group) { waiting.append(record.account) }
        }
        return waiting
    }

    /// The first sign-ins in the journal that no key opens any more, and why: those of accounts of which no store
    /// has secrets.
    ///
    /// A locked or an absent store is no evidence about the key.
    ///
    /// - Throws: the errors of the journal.
    package func undecryptableSignIns(in group: KeychainGroup) throws(CredentialError) -> [(
        account: Account, error: CredentialError
    )] {
        var found: [(account: Account, error: CredentialError)] = []
        try journal.eachRecord(in: group) { (id, bytes) throws(CredentialError) in
            guard let record = Self.signIn(bytes, of: id, in: group),
                let error = try undecryptable(record, in: group)
            else { return }
            found.append((record.account, error))
        }
        return found
    }

    private func undecryptable(_ record: AccountRecord, in group: KeychainGroup) throws(CredentialError)
        -> CredentialError?
    {
        let account = record.account
        guard let sealed = record.sealed else { return nil }
        do throws(CredentialError) {
            _ = try vault(account.store).open(sealed, of: account.id, in: group)
            return nil
        } catch {
            guard error.code == .storeDamaged else { return nil }
            // A secret that the keyring has by now needs no journal.
            if account.store == .secretService {
                let item = SecretItem(group: group, owner: account.id, kind: .tokenSet)
                do throws(CredentialError) {
                    if try stores.store(.secretService).read(item) != nil { return nil }
                } catch { return nil }
            }
            return error
        }
    }

    /// Sets the first sign-in of an account aside if no key opens it, and marks the account, if there is one. The
    /// caller holds the account's lock.
    ///
    /// - Returns: its place; `nil` if the fault is gone.
    /// - Throws: the errors of the journal and the records.
    func setAsideShutOut(_ id: String, in group: KeychainGroup) throws(CredentialError) -> String? {
        guard let bytes = try journal.read(id, in: group), let record = Self.signIn(bytes, of: id, in: group),
            try undecryptable(record, in: group) != nil
        else { return nil }
        let place = try journal.setAsideUnopened(id, in: group)
        if try records.read(id, in: group) != nil {
            try records.update(id, in: group) {
                $0.status = .needsLogin(reason: "no key opened its sign-in any more")
            }
        }
        return place
    }

    /// The reason to sign in again if the first sign-in cannot be decrypted.
    package static let undecryptableReason =
        "its first sign-in is in the journal and cannot be decrypted: the key is lost"

    /// Whether the journal has a whole sign-in of an account, not a generation that only its token set opens.
    func isSignInWaiting(_ id: String, in group: KeychainGroup) throws(CredentialError) -> Bool {
        try journal.read(id, in: group).flatMap { Self.signIn($0, of: id, in: group) } != nil
    }

    /// The whole sign-in that a record of the journal is; `nil` for another.
    private static func signIn(_ sealed: [UInt8], of id: String, in group: KeychainGroup) -> AccountRecord? {
        try? AccountRecord(sealed, of: id, in: group)
    }

    /// The name of the lock that is held while an account is added; no account has it, as their ids are of
    /// hexadecimal digits.
    static let newAccountLock = "new-account"

    /// Gives a first sign-in that had to wait to the account that its person has got meanwhile, here or on another
    /// host.
    ///
    /// - Returns: whether there is such an account; the sign-in waits on if that is in use.
    private func joinKnown(
        _ login: TokenSet, in group: KeychainGroup, _ locks: any AccountLocks
    ) throws(CredentialError) -> Bool {
        let account = login.account
        // A sign-in for an additional account has no mark.
        guard !login.mergedSignIns.isEmpty else { return false }
        try sharing.beginNewAccount(to: group)
        try sharing.catchUp(group, unlessWithin: 0)
        let index = try records.index(of: group, .ids)
        var known = index.entries(of: account.registration, subject: account.subject)
        if known.isEmpty {
            // One that waits since before an update names its registration in the earlier form.
            known = index.entries.filter {
                $0.subject == account.subject && $0.registration.earlier == account.registration
            }
        }
        guard let other = known.first(where: { $0.id != account.id }) else { return false }
        guard let lock = try locks.tryLock(other.id, in: group) else { return true }
        defer { lock.release() }
        guard let record = try records.read(other.id, in: group), var set = try read(record, isLocked: true) else {
            return true
        }
        if takeUp(login, into: &set, in: group) {
            guard case .stored = try save(&set, in: group) else { return true }
        }
        try journal.remove(account.id, in: group)
        return true
    }

    /// - Returns: whether the account has its record now.
    private func finishSignIn(
        _ id: String, in group: KeychainGroup, _ locks: any AccountLocks
    ) throws(CredentialError) -> Bool {
        // The index may have been behind.
        guard try records.read(id, in: group) == nil else { return true }
        // The mark of a pending sign-in is no sealed record, but a byte.
        guard let kept = try journal.read(id, in: group), kept.count > 1 else { return false }
        let item = SecretItem(group: group, owner: id, kind: .tokenSet)
        if var record = try? AccountRecord(kept, of: id, in: group), let sealed = record.sealed {
            // Of an account of the keyring the token set stays in the journal until the keyring has it.
            let isInRecord = record.account.store.isInRecord
            var bytes: [UInt8]?
            do throws(CredentialError) {
                bytes = try vault(record.account.store).open(sealed, of: id, in: group)
            } catch {
                // An account in the keyring is still listed: a request for its token then reports the locked store.
                guard !isInRecord, error.code == .storeLocked else { throw error }
            }
            if let bytes, try joinKnown(try TokenSet(decoding: bytes), in: group, locks) { return false }
            guard isInRecord, let bytes else {
                record.sealed = nil
                guard case .done = try records.write(record, expecting: nil) else { return false }
                return true
            }
            var standing: Int64?
            let outcome = try sealing(
                bytes, of: id, generation: sealed.generation, by: record.account.store, in: group
            ) { (sealed) throws(CredentialError) in
                record.sealed = sealed
                let outcome = try records.write(record, expecting: standing)
                standing = (standing ?? 0) + 1
                return outcome
            }
            guard case .done = outcome else { return false }
            try journal.remove(id, in: group)
            return true
        }
        guard let bytes = try stores.store(.secretService).read(item) else {
            try journal.remove(id, in: group)
            return false
        }
        var account = try TokenSet(decoding: bytes).account
        guard account.id == id else { return false }
        account.store = .secretService
        guard case .done = try records.write(AccountRecord(group: group, account: account), expecting: nil) else {
            return false
        }
        return true
    }
}
