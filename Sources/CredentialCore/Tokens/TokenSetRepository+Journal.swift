extension TokenSetRepository {
    // MARK: Room

    /// Reserves room for the next generation of a token set in the journal, so that a full disk is noticed before a
    /// refresh token is sent, not after. Unused room is given back by ``save(_:in:)``.
    ///
    /// It also marks that this process has a refresh token of the account on its way.
    ///
    /// - Throws: ``ErrorCode/storeUnavailable``; ``ErrorCode/lockTimeout`` if another process has one on its way.
    package func reserve(for set: TokenSet, in group: KeychainGroup) throws(CredentialError) {
        do throws(CredentialError) {
            // Tokens may grow, by new claims for example.
            try journal.reserveForSending(2 * set.encoded().count + 16_384, of: set.account.id, in: group)
        } catch let error where error.code == .lockTimeout {
            throw error
        } catch {
            throw CredentialError(
                .storeUnavailable, "cannot refresh: not enough space for new tokens: \(error)",
                hint: error.advice, details: error.details)
        }
    }

    /// Gives back the room that ``reserve(for:in:)`` has reserved.
    package func releaseReserve(for set: TokenSet, in group: KeychainGroup) {
        journal.releaseReserve(for: set.account.id, in: group)
    }

    /// Whether the journal or the record has a later generation of a token set: another process has refreshed it
    /// since it was read.
    ///
    /// The caller has the mark of ``reserve(for:in:)``. So a process that had the mark before has written its
    /// tokens, or has ended; if it was killed just after the write, the used refresh token is not recorded.
    ///
    /// - Throws: ``ErrorCode/inputOutput``; ``ErrorCode/storeDamaged``; the errors of the records.
    func isOvertaken(_ set: TokenSet, in group: KeychainGroup) throws(CredentialError) -> Bool {
        let id = set.account.id
        // The record comes second: a generation is in the record before it leaves the journal.
        if let sealed = try journal.read(id, in: group), try newer(sealed, than: set, group) != nil { return true }
        guard let sealed = try records.read(id, in: group)?.sealed else { return false }
        return sealed.generation > set.generation
    }

    // MARK: Records

    func writeJournal(_ set: TokenSet, _ group: KeychainGroup) throws(CredentialError) {
        try journal.write(try sealed(set, set.account.id, group), for: set.account.id, in: group)
    }

    func sealed(
        _ set: TokenSet, _ name: String, _ group: KeychainGroup
    ) throws(CredentialError) -> [UInt8] {
        Self.journalMark
            + (try Self.journalSeal.seal(
                set.encoded(), key: set.journalKey, context: context(Self.journalMark, name, group), random,
                cryptography))
    }

    /// Keeps the record of a first sign-in that its store has not taken, sealed with the key of the group's file:
    /// there is no older token set yet that could open it.
    func keepSignIn(_ set: TokenSet, _ group: KeychainGroup) throws(CredentialError) {
        let id = set.account.id
        try sealing(set.encoded(), of: id, generation: set.generation, by: set.account.store, in: group) {
            (sealed) throws(CredentialError) in
            var record = AccountRecord(group: group, account: set.account, sealed: sealed)
            record.generation = 1
            try journal.write(record.bytes, for: id, in: group)
        }
    }

    /// Keeps the sign-in of a known account if the account's lock was not available: the next process that has the
    /// lock completes it.
    ///
    /// - Parameter replacing: whether it ends every other grant of its policy.
    /// - Throws: the errors of the store, which has the key to it; ``ErrorCode/inputOutput``;
    ///   ``ErrorCode/usage`` if the stored grants leave no room for it.
    func keepLogin(
        _ grant: Grant, policy: String, token: AccessToken?, of account: Account, replacing: Bool,
        in group: KeychainGroup
    ) throws(CredentialError) {
        guard var set = try read(account, in: group, isLocked: false) else {
            throw CredentialError(.storeDamaged, "\(account.id) has no token set")
        }
        // A sign-in that could not be merged later is refused while its user is here.
        var merged = set
        _ = try merged.add(grant, of: policy, replacing: replacing, now: grant.signedInAt)
        set.grants[policy] = grant
        set.account.flows[policy] = account.flows[policy]
        set.accessTokens = token.map { [$0] } ?? []
        try keepLogin(policy, of: set, replacing: replacing, mark: random.bytes(TokenSet.markSize), group)
    }

    /// Keeps the sign-in of one policy of a token set for the process that merges it, beside all others that wait.
    ///
    /// - Parameters:
    ///   - replacing: whether it ends every other grant of its policy.
    ///   - mark: the unique identifier by which it is known once it was merged.
    func keepLogin(
        _ policy: String, of set: TokenSet, replacing: Bool, mark: [UInt8], _ group: KeychainGroup
    ) throws(CredentialError) {
        var login = set
        login.grants = set.grants.filter { $0.key == policy }
        login.further = []
        login.accessTokens.removeAll { $0.key.policy != policy }
        login.mergedSignIns = [mark]
        login.replacesOthers = replacing
        let sign = Self.loginPrefix + set.account.id, name = sign + "-" + Base64URL.encode(mark)
        try journal.write(try sealed(login, name, group), for: name, in: group)
        // This comes after it: a process that removes the sign has seen the sign-in, or leaves the sign to be made
        // again.
        if try journal.read(sign, in: group) == nil { try journal.write([1], for: sign, in: group) }
    }

    /// Merges the sign-ins that came when the lock, or a cluster, was not available; never one twice, even if it
    /// has changed since.
    func takeUpLogins(_ set: TokenSet, in group: KeychainGroup) throws(CredentialError) -> TokenSet {
        let id = set.account.id, names = try waitingLogins(of: id, in: group)
        guard !names.isEmpty else { return set }
        let sign = Self.loginPrefix + id
        var new: [(name: String, login: TokenSet)] = []
        // First those that an earlier run has merged, but could not remove before it ended: their marks are not
        // kept for ever.
        for name in names where name != sign {
            if let sealed = try journal.read(name, in: group),
                let login = try open(sealed, key: set.journalKey, name, group),
                let mark = login.mergedSignIns.first, !set.mergedSignIns.contains(mark)
            {
                new.append((name, login))
            } else {
                try journal.remove(name, in: group)
            }
        }
        // One by one, for the same reason.
        var merged = set
        for (name, login) in new {
            if takeUp(login, into: &merged, in: group) {
                do throws(CredentialError) {
                    guard case .stored = try save(&merged, in: group) else { return merged }
                } catch {
                    // It waits on, and so do the others.
                    return merged
                }
            }
            try journal.remove(name, in: group)
        }
        // The sign last, as it tells that there are any; one that has come meanwhile needs it.
        try journal.remove(sign, in: group)
        if try !logins(of: id, in: group).isEmpty { try journal.write([1], for: sign, in: group) }
        return merged
    }

    /// Returns the journal's names for the waiting sign-ins of an account. Each has a name of its own: who comes
    /// meanwhile, and needs no lock for it, takes no other's place. A sign beside them, which comes first, shows
    /// that there are any: no other reader lists the journal of all accounts.
    func waitingLogins(of account: String, in group: KeychainGroup) throws(CredentialError) -> [String] {
        guard try journal.read(Self.loginPrefix + account, in: group) != nil else { return [] }
        return try logins(of: account, in: group)
    }

    private func logins(of account: String, in group: KeychainGroup) throws(CredentialError) -> [String] {
        try journal.accounts(in: group).filter { Self.account(ofLogin: $0) == account }.sorted()
    }

    /// Whether a sign-in of an account waits: it is merged first, with any record.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func hasWaitingLogin(of account: String, in group: KeychainGroup) throws(CredentialError) -> Bool {
        try !waitingLogins(of: account, in: group).isEmpty
    }

    /// The accounts of which sign-ins wait.
    func accountsOfWaitingLogins(in group: KeychainGroup) throws(CredentialError) -> [String] {
        Set(try journal.accounts(in: group).compactMap(Self.account(ofLogin:))).sorted()
    }

    private static let loginPrefix = "login-"

    /// The account of such a name; `nil` for another. Earlier versions had one name for each account, which ends
    /// with that.
    static func account(ofLogin name: String) -> String? {
        name.hasPrefix(loginPrefix) ? String(name.dropFirst(loginPrefix.count).prefix { $0 != "-" }) : nil
    }

    /// Returns the token set that the journal has for the account of a token set, if its generation is later.
    func newer(
        _ record: [UInt8], than set: TokenSet, _ group: KeychainGroup
    ) throws(CredentialError) -> TokenSet? {
        let journaled = try open(record, key: set.journalKey, set.account.id, group)
        return journaled.flatMap { $0.generation > set.generation ? $0 : nil }
    }

    /// Opens a journal record; `nil` when it is not of this token set, or damaged.
    func open(
        _ record: [UInt8], key: [UInt8], _ account: String, _ group: KeychainGroup
    ) throws(CredentialError) -> TokenSet? {
        var opened = try openThisForm(record, key, account, group)
        // A random nonce may look like the mark.
        if opened == nil { opened = try openFirstForm(record, key, account, group) }
        return try opened.map { (bytes) throws(CredentialError) in try TokenSet(decoding: bytes) }
    }

    private func openThisForm(
        _ record: [UInt8], _ key: [UInt8], _ account: String, _ group: KeychainGroup
    ) throws(CredentialError) -> [UInt8]? {
        guard record.starts(with: Self.journalMark) else { return nil }
        return try Self.journalSeal.open(
            Array(record[Self.journalMark.count...]), key: key, context: context(Self.journalMark, account, group),
            cryptography)
    }

    /// The first form was sealed by the journal's key itself, and begins with a random nonce.
    private func openFirstForm(
        _ record: [UInt8], _ key: [UInt8], _ account: String, _ group: KeychainGroup
    ) throws(CredentialError) -> [UInt8]? {
        guard record.count > 12 else { return nil }
        return try cryptography.open(
            Array(record[12...]), key: key, nonce: Array(record[..<12]),
            authenticating: context(Array("credmgr journal 1".utf8), account, group))
    }

    private static let journalSeal = SaltedSeal(for: "credmgr journal 2")
    /// How an entry begins.
    private static let journalMark = Array("credmgr journal 2".utf8)

    private func context(_ mark: [UInt8], _ account: String, _ group: KeychainGroup) -> [UInt8] {
        mark + Array("\n\(group.name)\n\(account)".utf8)
    }
}

extension TokenSet {
    /// The size of the identifier of a merged sign-in, in bytes.
    static let markSize = 8
    /// How many of them are remembered.
    private static let marks = 8

    /// Remembers that a sign-in was merged.
    mutating func noteTakenUp(_ mark: [UInt8]) { mergedSignIns = (mergedSignIns + [mark]).suffix(Self.marks) }

    /// Adds the grant of a sign-in that had to wait. If there would be one too many, the oldest goes, except in a
    /// shared group.
    ///
    /// - Throws: ``ErrorCode/usage`` if the one of a shared group can do something that it cannot.
    private mutating func addWaiting(
        _ grant: Grant, of policy: String, replacing: Bool
    ) throws(CredentialError) {
        while true {
            do throws(CredentialError) {
                _ = try add(grant, of: policy, replacing: replacing, now: grant.signedInAt)
                return
            } catch {
                guard account.store != .etcd,
                    let oldest = further.indices.filter({ further[$0].policy == policy })
                        .min(by: { further[$0].grant.signedInAt < further[$1].grant.signedInAt })
                else { throw error }
                further.remove(at: oldest)
            }
        }
    }

    /// Takes over the grant of a sign-in that had to wait, with its access tokens, unless the set already has a
    /// later one.
    ///
    /// - Returns: whether it was merged; also `false` for one that was merged before.
    /// - Throws: ``ErrorCode/usage`` if the stored grant of a shared group can do something that it cannot.
    mutating func takeUp(_ login: TokenSet) throws(CredentialError) -> Bool {
        guard let mark = login.mergedSignIns.first, !mergedSignIns.contains(mark) else { return false }
        var took = false
        // A refresh of the one before, by any holder of the lock, is no later sign-in.
        for (policy, grant) in login.grants where grant.signedInAt >= grants[policy]?.signedInAt ?? grant.signedInAt
        {
            try addWaiting(grant, of: policy, replacing: login.replacesOthers)
            took = true
            account.flows[policy] = login.account.flows[policy]
            accessTokens += login.accessTokens
            account.status = .active
            account.expiresAt = login.accessTokens.first?.expiresAt
            account.refreshExpiresAt = grant.refreshExpiresAt
        }
        account.policies = grants.keys.filter { !$0.isEmpty }.sorted()
        noteTakenUp(mark)
        return took
    }
}
