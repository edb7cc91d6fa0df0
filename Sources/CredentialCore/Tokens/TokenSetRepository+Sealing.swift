// The code that seals and writes, except for the code that replaces the key (KeyReplacement).
extension TokenSetRepository {
    /// Seals a token set with the group file's present key, and has it written to the place that later reads look
    /// in.
    ///
    /// Until it is written no process may forget the key, though no record names it yet. So all who seal share a
    /// lock, and who forgets keys has had it alone before. The key may be replaced meanwhile: then the token set is
    /// sealed and written again.
    ///
    /// - Parameters:
    ///   - write: writes the sealed token set; it is called again with another seal to replace its earlier output.
    /// - Returns: the last result of `write`.
    /// - Throws: the errors of the store; ``ErrorCode/lockTimeout``; the errors of `write`.
    func sealing<Result>(
        _ tokenSet: [UInt8], of account: String, generation: Int64, by store: StoreKind, in group: KeychainGroup,
        _ write: (SealedTokenSet) throws(CredentialError) -> Result
    ) throws(CredentialError) -> Result {
        let vault = try vault(store)
        guard store != .etcd else {
            return try write(try vault.seal(tokenSet, of: account, generation: generation, in: group))
        }
        let lock = try lockOfSeals(group)
        defer { lock?.release() }
        for _ in 0..<Self.seals {
            let sealed = try vault.seal(tokenSet, of: account, generation: generation, in: group)
            let result = try write(sealed)
            if try vault.currentKey(of: group) == sealed.key { return result }
        }
        throw CredentialError(
            .temporary, "cannot encrypt the tokens: other processes keep replacing the key of group \(group)",
            hint: "try again")
    }

    /// The lock that is shared by those who seal and write; `nil` if locks do not work. In that case no key is
    /// forgotten, either: tokens that a provider has just given have to be kept anyway.
    private func lockOfSeals(_ group: KeychainGroup) throws(CredentialError) -> (any HeldLock)? {
        do throws(CredentialError) {
            return try KeyReplacement.naming(group) { () throws(CredentialError) in
                try locks.share(Self.lockOfSeals, in: group, seconds: Self.sealPatience)
            }
        } catch {
            guard error.code == .storeUnavailable else { throw error }
            return nil
        }
    }

    /// The name of that lock; no account has it, as their ids are of hexadecimal digits.
    static let lockOfSeals = "store-seal"
    /// How long to wait for who is about to forget keys, and has that lock for a moment, or for all who seal, in
    /// seconds.
    static let sealPatience = 10
    private static let seals = 16

    /// Seals a record's token set again if its key was replaced. The caller holds the account's lock.
    ///
    /// - Throws: the errors of the store.
    func renewSeal(of id: String, in group: KeychainGroup) throws(CredentialError) {
        for _ in 0..<16 {
            let vault = try stores.vault()
            guard var record = try records.read(id, in: group), record.account.store != .etcd,
                let sealed = record.sealed, try vault.currentKey(of: group) != sealed.key
            else { return }
            let bytes = try vault.open(sealed, of: id, in: group)
            let outcome = try sealing(bytes, of: id, generation: sealed.generation, by: .file, in: group) {
                (sealed) throws(CredentialError) in
                record.sealed = sealed
                let outcome = try records.write(record, expecting: record.generation)
                record.generation += 1
                return outcome
            }
            switch outcome {
            case .done: return
            case .unknown(let error): throw error
            case .overtaken: continue
            }
        }
        throw CredentialError(
            .temporary, "cannot change the record of \(id): other processes keep changing it", hint: "try again")
    }

    /// Seals a first sign-in again that waits in the journal, if its key was replaced. The caller holds the
    /// account's lock.
    ///
    /// - Throws: the errors of the store and the journal.
    func renewKeptSignIn(_ id: String, in group: KeychainGroup) throws(CredentialError) {
        let vault = try stores.vault()
        guard let kept = try journal.read(id, in: group), var record = try? AccountRecord(kept, of: id, in: group),
            record.account.store != .etcd, let sealed = record.sealed,
            try vault.currentKey(of: group) != sealed.key
        else { return }
        let bytes: [UInt8]
        do throws(CredentialError) { bytes = try vault.open(sealed, of: id, in: group) } catch {
            // One that no key opens stays as it is.
            guard error.code == .storeDamaged else { throw error }
            return
        }
        try sealing(bytes, of: id, generation: sealed.generation, by: .file, in: group) {
            (sealed) throws(CredentialError) in
            record.sealed = sealed
            try journal.write(record.bytes, for: id, in: group)
        }
    }
}
