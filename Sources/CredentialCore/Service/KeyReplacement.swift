/// Gives the encrypted file of a group another key, and has everything sealed with it that the one before has
/// sealed.
///
/// The file keeps a key that was replaced as long as a record, or a first sign-in that waits in the journal, names
/// it. This is checked after all was sealed again, and after every process that sealed earlier has written
/// (``TokenSetRepository/lockOfSeals``). So no process is about to write data that a forgotten key has sealed. A
/// record that cannot be read may name any key, and then no key is forgotten. An extra key costs only the secrecy
/// of its sealed data.
package struct KeyReplacement: Sendable {
    /// The account services that it uses.
    let accounts: AccountServices

    /// The result of a replacement.
    package struct Outcome: Sendable {
        /// The key that opens the file.
        package var opener: Opener
        /// The error; `nil` if all is done.
        package var failure: CredentialError?
    }

    /// The key that opens the file of a group.
    package enum Opener: Sendable {
        /// The key that opened it before.
        case before
        /// The new key.
        case new
        /// Not known: the file cannot be read now.
        case unknown
    }

    /// The name of the lock of those who replace the key of a group.
    private static let lockName = "store-rekey"
    /// How often data that others have sealed meanwhile is sealed again.
    private static let rounds = 4

    /// Checks that all sealed data can be sealed again: before the key is replaced, a failure costs no data.
    ///
    /// - Throws: the error of the first record or sign-in that cannot be read or opened; ``ErrorCode/lockTimeout``
    ///   if another process has an account's lock for too long.
    package func look(_ group: KeychainGroup) throws(CredentialError) {
        let vault = try accounts.stores.vault()
        let ids = try sealed(of: group) { (error) throws(CredentialError) in throw error }.map(\.id)
        for id in Set(ids).sorted() {
            let lock = try accounts.lock(id, in: group)
            defer { lock.release() }
            if let sealed = try accounts.records.lastSeen(id, in: group).flatMap(Self.sealed) {
                _ = try vault.open(sealed, of: id, in: group)
            }
        }
    }

    /// Replaces the key of a group's file; makes the file if it is missing.
    ///
    /// - Parameter key: the only key that opens the file from then on.
    package func run(_ group: KeychainGroup, with key: StoreKey) -> Outcome {
        let lock: any HeldLock
        let standing: String?
        do throws(CredentialError) {
            lock = try Self.naming(group) { () throws(CredentialError) in
                try accounts.lock(Self.lockName, in: group)
            }
        } catch { return Outcome(opener: .before, failure: error) }
        defer { lock.release() }
        do throws(CredentialError) {
            try look(group)
            standing = try accounts.stores.vault().currentKey(of: group)
        } catch { return Outcome(opener: .before, failure: error) }
        do throws(CredentialError) { try accounts.stores.store(.file).setKey(key, of: group) } catch {
            return Outcome(opener: opener(of: group, before: standing), failure: error)
        }
        do throws(CredentialError) { try renewAndForget(group) } catch {
            return Outcome(opener: .new, failure: error)
        }
        return Outcome(opener: .new)
    }

    /// Returns the key that opens a file if an error occurred while its key was about to be replaced: the error may
    /// have come after the write.
    private func opener(of group: KeychainGroup, before key: String?) -> Opener {
        do throws(CredentialError) {
            return try accounts.stores.vault().currentKey(of: group) == key ? .before : .new
        } catch { return .unknown }
    }

    /// Reports a timeout of the group's lock, which is no account's, with the group and the lock's holder.
    static func naming<Result>(
        _ group: KeychainGroup, _ body: () throws(CredentialError) -> Result
    ) throws(CredentialError) -> Result {
        do throws(CredentialError) { return try body() } catch {
            guard error.code == .lockTimeout else { throw error }
            throw CredentialError(
                .lockTimeout, "timed out while another process replaces the key of group \(group)",
                hint: error.advice, details: [error.message] + error.details)
        }
    }

    /// - Throws: the first error of one of the accounts. The key that has sealed its token set is kept.
    private func renewAndForget(_ group: KeychainGroup) throws(CredentialError) {
        for _ in 0..<Self.rounds {
            let failure = try renew(group)
            let kept = try forget(group)
            // An account that another process has held for long is still held.
            if let failure { throw failure }
            if kept == 0 { return }
        }
        throw CredentialError(
            .temporary, "cannot replace the key: other processes keep writing the accounts of group \(group)",
            hint: "try again")
    }

    /// Seals again the data of any key other than the current one, one account at a time and under its lock.
    ///
    /// - Returns: the first account's error; the others are still tried.
    private func renew(_ group: KeychainGroup) throws(CredentialError) -> CredentialError? {
        var failure: CredentialError?
        let current = try accounts.stores.vault().currentKey(of: group)
        let outdated = try sealed(of: group) { failure = failure ?? $0 }.filter { $0.key != current }
        for id in Set(outdated.map(\.id)).sorted() {
            do throws(CredentialError) {
                let lock = try accounts.lock(id, in: group)
                defer { lock.release() }
                try accounts.repository.renewSeal(of: id, in: group)
                try accounts.repository.renewKeptSignIn(id, in: group)
            } catch { failure = failure ?? error }
        }
        return failure
    }

    /// Forgets the keys that are no longer named.
    ///
    /// - Returns: how many keys are kept that were replaced.
    private func forget(_ group: KeychainGroup) throws(CredentialError) -> Int {
        // A process that sealed a token set before this moment has written it; a process that seals from here on
        // first reads which key is the current one. So the check of all accounts makes no process wait.
        do throws(CredentialError) {
            let seals = try accounts.locks.lock(
                TokenSetRepository.lockOfSeals, in: group, seconds: TokenSetRepository.sealPatience)
            seals.release()
        } catch {
            guard error.code == .lockTimeout else { throw error }
            throw CredentialError(
                .lockTimeout, "timed out while another process writes an account of group \(group)",
                hint: "try again", details: [error.message])
        }
        let needed = try sealed(of: group) { (error) throws(CredentialError) in throw error }.map(\.key)
        return try accounts.stores.vault().forgetReplacedKeys(of: group, but: Set(needed))
    }

    // MARK: What names a key

    /// Everything of a group that was sealed with a key of its file: token sets in records, and first sign-ins in
    /// the journal.
    ///
    /// - Parameter unreadable: takes unreadable entries, which may name any key.
    private func sealed(
        of group: KeychainGroup, unreadable: (CredentialError) throws(CredentialError) -> Void
    ) throws(CredentialError) -> [(id: String, key: String)] {
        var found: [(id: String, key: String)] = []
        var damaged: [CredentialError] = []
        // A token set on its way from the journal into a record is in one of the two, whichever is read first: it
        // is written to the record before it is removed from the journal.
        try accounts.machine.journal.eachRecord(in: group) { (id, bytes) throws(CredentialError) in
            do throws(CredentialError) {
                if let sealed = try Self.kept(bytes, of: id, in: group), try isOpenable(sealed, of: id, in: group) {
                    found.append((id, sealed.key))
                }
            } catch { damaged.append(error) }
        }
        let registry = try accounts.records.registry(of: group) { damaged.append($1) }
        for account in registry.accounts {
            do throws(CredentialError) {
                let record = try accounts.records.lastSeen(account.id, in: group)
                if let sealed = record.flatMap(Self.sealed) { found.append((account.id, sealed.key)) }
            } catch { damaged.append(error) }
        }
        for error in damaged { try unreadable(error) }
        return found
    }

    /// Whether a first sign-in that waits in the journal can still be opened. One that no key opens is lost
    /// already, and needs no key.
    private func isOpenable(
        _ sealed: SealedTokenSet, of id: String, in group: KeychainGroup
    ) throws(CredentialError) -> Bool {
        do throws(CredentialError) {
            _ = try accounts.stores.vault().open(sealed, of: id, in: group)
            return true
        } catch {
            guard error.code == .storeDamaged else { throw error }
            return false
        }
    }

    /// Returns the token set that a record has sealed with a key of this machine.
    private static func sealed(_ record: AccountRecord) -> SealedTokenSet? {
        record.account.store == .etcd ? nil : record.sealed
    }

    /// Returns the token set that a journal entry has sealed in that way; `nil` for an entry that the token set of
    /// an account opens.
    ///
    /// - Throws: ``ErrorCode/unsupported`` for data of a newer version.
    private static func kept(
        _ bytes: [UInt8], of id: String, in group: KeychainGroup
    ) throws(CredentialError) -> SealedTokenSet? {
        do throws(CredentialError) { return sealed(try AccountRecord(bytes, of: id, in: group)) } catch {
            // No key can read an entry that is damaged or is no record.
            guard error.code == .unsupported else { return nil }
            throw error
        }
    }
}
