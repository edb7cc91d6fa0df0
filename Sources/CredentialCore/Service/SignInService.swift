/// Turns a finished sign-in into an account: a new one, or a known one refreshed.
package struct SignInService: Sendable {
    /// The account services that it uses.
    let accounts: AccountServices

    /// The outcome of a sign-in.
    package struct Outcome: Sendable {
        /// The account.
        package let account: Account
        /// Whether it is new.
        package let isNew: Bool
        /// The warnings for the user.
        package let warnings: [LocalizedMessage]
        /// Facts worth knowing that need no action.
        package var notes: [LocalizedMessage] = []
        /// Grants that could be refreshed, and went: the provider still honours them.
        package var removed: [Grant] = []
    }

    /// Keeps the result of a sign-in.
    ///
    /// An account of the same registration and subject is refreshed, in the store that has its secrets; else a new
    /// one is made in `store`.
    ///
    /// - Parameters:
    ///   - forceNew: makes a new account even for a known subject.
    ///   - replaces: whether every other grant of the policy goes, though it can do more.
    ///   - person: the user whose sign-in it has to be; `nil` if any user's will do.
    ///   - again: the command that signs in again, in such a way that a different user does not come back once
    ///     more.
    /// - Throws: ``ErrorCode/denied`` if a different user has signed in than was expected; ``ErrorCode/usage`` if
    ///   the stored grants leave no room for this one; the errors of the store. Then the account is unchanged.
    package func keep(
        _ result: SignInResult, of type: AccountType, registration: ClientIdentity, policy: String,
        in group: KeychainGroup, store: StoreKind, forceNew: Bool, replaces: Bool = false,
        for person: ExpectedIdentity? = nil, again: LoginHint? = nil
    ) throws(CredentialError) -> Outcome {
        releaseRoom(in: group)
        // Accounts of a shared group are kept in the group's cluster.
        let store = try accounts.machine.sharing.isShared(group) ? .etcd : store
        try person?.check(result.identity, of: type, registration, in: group, again: again)
        accounts.repository.finishSignIns(in: group, locks: accounts.locks)
        var failure = CredentialError(
            .lockTimeout, "cannot save the account: other processes keep changing the group \(group)")
        do throws(CredentialError) {
            for _ in 0..<Self.attempts {
                let kept = try keepOnce(
                    result, of: type, registration: registration, policy: policy, in: group, store: store,
                    forceNew: forceNew, replaces: replaces, for: person)
                if let kept { return kept }
            }
        } catch {
            // The cluster was not to be reached any more when the person came back from signing in.
            guard store == .etcd, error.allowsLocalCopy else { throw error }
            failure = error
        }
        let known = forceNew ? nil : try self.known(result, registration, group, person, asOfLast: true).account
        return try keepForLater(
            result, under: type, policy: policy, of: known ?? newAccount(result, type, registration, store),
            isNew: known == nil, forceNew: forceNew, replaces: replaces, in: group, because: failure)
    }

    /// How often a sign-in is written again because of others' changes meanwhile.
    private static let attempts = 16

    /// - Returns: `nil` if its account was changed meanwhile. It was signed out, and another may have come in its
    ///   place; or another host refreshed it, and the sign-in replaces the one before in that host's tokens.
    private func keepOnce(
        _ result: SignInResult, of type: AccountType, registration: ClientIdentity, policy: String,
        in group: KeychainGroup, store: StoreKind, forceNew: Bool, replaces: Bool, for person: ExpectedIdentity?
    ) throws(CredentialError) -> Outcome? {
        var (known, former): (Account?, AccountIndex.Entry?) =
            forceNew ? (nil, nil) : try self.known(result, registration, group, person)
        var newcomers: (any HeldLock)?
        defer { newcomers?.release() }
        if known == nil {
            // Two first sign-ins of one person may meet. The second sign-in looks again, and finds the account of
            // the first.
            do throws(CredentialError) {
                newcomers = try accounts.lock(TokenSetRepository.newAccountLock, in: group)
            } catch {
                guard error.code == .lockTimeout else { throw error }
                let account = newAccount(result, type, registration, store)
                return try keepForLater(
                    result, under: type, policy: policy, of: account, isNew: true, forceNew: forceNew,
                    replaces: replaces, in: group, because: error)
            }
            if !forceNew { try accounts.machine.sharing.beginNewAccount(to: group) }
            if !forceNew { (known, former) = try self.known(result, registration, group, person) }
        }
        let now = accounts.clock.now
        let isNew = known == nil
        var account = known ?? newAccount(result, type, registration, store, inPlaceOf: former)
        let lock: any HeldLock
        do throws(CredentialError) {
            lock = try accounts.lock(account.id, in: group)
        } catch {
            return try keepForLater(
                result, under: type, policy: policy, of: account, isNew: isNew, forceNew: forceNew,
                replaces: replaces, in: group, because: error)
        }
        defer { lock.release() }

        var set = TokenSet(account: account, journalKey: accounts.machine.random.bytes(32))
        // The names in its record until now; `nil` if no record can be read.
        var recorded: Account.Names?
        if isNew, let former {
            // Its person has come back: a new record takes the place of the one that cannot be read.
            _ = try accounts.records.setAside(former.id, in: group)
            set.grants = try accounts.repository.grantsWithoutRecord(of: account, in: group)
        }
        if !isNew {
            // Between the look at the names and the lock the account may have been moved or labelled.
            guard let record = try accounts.records.read(account.id, in: group) else { return nil }
            account.adoptRecord(record.account)
            if let stored = try accounts.repository.loadIntact(account, in: group) {
                set = stored
                recorded = record.account.names
            } else {
                // A damaged token set is replaced in any case.
                set.generation = record.sealed?.generation ?? 0
            }
        }
        // A grant of another machine has an ID already, which identifies its copies here.
        var grant = result.tokens.grant
        grant.id = grant.id ?? Grant.newID(accounts.machine.random)
        let (kept, removed) = try set.add(grant, of: policy, replacing: replaces, now: now)
        if let token = result.tokens.accessToken { set.keep(token, now: now) }

        account.issuer = result.identity.issuer ?? account.issuer
        account.username = result.identity.username ?? account.username
        account.displayName = result.identity.displayName ?? account.displayName
        account.formerRegistration = nil
        // Data in a single file changes at once.
        account.previousNames = account.store == .secretService && recorded != account.names ? recorded : nil
        account.policies = set.grants.keys.filter { !$0.isEmpty }.sorted()
        account.noteFlow(result.tokens.grant.flow, of: policy, under: type)
        // A policy without a refresh token, as one that resets passwords, does not limit how long the sign-in lasts
        // if another policy's grant can be refreshed.
        let isLasting = set.allGrants.allSatisfy {
            $0.policy == policy && $0.grant == grant || !$0.grant.isRefreshable
        }
        if result.tokens.grant.isRefreshable || isLasting {
            account.status = .active
            account.scope = result.tokens.grant.scope
            account.expiresAt = result.tokens.accessToken?.expiresAt
            account.refreshExpiresAt = result.tokens.grant.refreshExpiresAt
            account.endsWithToken = result.tokens.endWithToken
        }
        // An ending that is known from the beginning is no news.
        _ = account.recordExpiryNotice(now: now)
        account.updatedAt = now
        set.account = account

        if isNew, former == nil { try choose(&set.account, in: group) }
        // A user who requests another account gets it, however long it has to wait.
        let signIn = isNew && forceNew ? nil : policy
        guard let warnings = try save(&set, signIn, replaces: replaces, isNew: isNew, in: group) else {
            return nil
        }
        account = set.account
        accounts.cache.drop(account.id, in: group)
        accounts.events.append(
            AccountEvent(
                kind: isNew ? .accountAdded : .accountUpdated, time: now, group: group, type: type.name,
                account: account.id, policy: policy.isEmpty ? nil : policy))
        var outcome = Outcome(account: account, isNew: isNew, warnings: warnings)
        outcome.notes = kept.map { Self.staying($0, account) }
        // One that was used is sent nowhere, not even to be revoked.
        outcome.removed = removed.filter { !accounts.repository.isUsed($0) }
        return outcome
    }

    /// That an earlier sign-in stays beside a new one.
    private static func staying(_ grant: Grant, _ account: Account) -> LocalizedMessage {
        "keeps the sign-in of \(grant.shownDay) with scope \(grant.shownScope); --replace ends it: "
            + "credmgr login --account \(account.id) --replace"
    }

    /// Reserves room for the result of a sign-in, before the user is sent to it.
    ///
    /// - Parameter store: the store that will keep a new account, if that is known: it must be one that takes it.
    /// - Throws: ``ErrorCode/storeUnavailable``; as ``SecretStore/checkFirst(of:)``.
    package func reserveRoom(in group: KeychainGroup, of store: StoreKind? = nil) throws(CredentialError) {
        try accounts.machine.sharing.check(group)
        if let store, try !accounts.machine.sharing.isShared(group) {
            try accounts.stores.store(store).checkFirst(of: group)
        }
        do {
            try accounts.machine.journal.reserve(Self.room, for: TokenSetRepository.newAccountLock, in: group)
        } catch {
            throw CredentialError(
                .storeUnavailable, "cannot start a sign-in: not enough space: \(error)",
                hint: error.advice, details: error.details)
        }
    }

    /// Obtains a sign-in with reserved room: a full disk is noticed before a code or a refresh token is used.
    ///
    /// - Throws: as ``reserveRoom(in:of:)``; the errors of `obtain`.
    package func withReservedSpace<Value>(
        in group: KeychainGroup, of store: StoreKind? = nil, _ obtain: () throws(CredentialError) -> Value
    ) throws(CredentialError) -> Value {
        try reserveRoom(in: group, of: store)
        defer { releaseRoom(in: group) }
        return try obtain()
    }

    /// Gives back the room that ``reserveRoom(in:of:)`` has reserved.
    package func releaseRoom(in group: KeychainGroup) {
        accounts.machine.journal.releaseReserve(for: TokenSetRepository.newAccountLock, in: group)
    }

    /// How much room that is, in bytes: more than a token set with large tokens takes.
    private static let room = 256 << 10

    /// Makes the first account of a registration its default, so that it stays that when a second one signs in.
    private func choose(_ account: inout Account, in group: KeychainGroup) throws(CredentialError) {
        let index = try accounts.records.index(of: group, .none)
        switch index.count(of: account.registration, atMost: 2) {
        case 0: account.madeDefaultAt = accounts.clock.now
        case 1:
            guard index.chosen(of: account.registration) == nil,
                let only = index.entries(of: account.registration, atMost: 1).first
            else { return }
            let now = accounts.clock.now
            try accounts.records.update(only.id, in: group) { $0.madeDefaultAt = now }
        default: return
        }
    }

    /// Puts the token set into its store.
    ///
    /// - Returns: the messages for the user; `nil` if another process was faster.
    private func save(
        _ set: inout TokenSet, _ policy: String?, replaces: Bool, isNew: Bool, in group: KeychainGroup
    ) throws(CredentialError) -> [LocalizedMessage]? {
        let account = set.account
        switch try accounts.repository.save(&set, in: group, signIn: policy, replacing: replaces) {
        case .stored: return []
        case .unlisted(let failure): return ["the account's record was not updated: \(failure)"]
        case .journaled(let failure):
            // If the user refuses the keyring's prompt, or no user can unlock the keyring, the token set is not
            // kept in another store. The keyring may still have taken it: if it cannot be removed now, the journal
            // leads the next sign-in there.
            if isNew, account.store == .secretService {
                _ = try? accounts.repository.remove(account, in: group)
                throw failure
            }
            return [Self.waiting(account, failure)]
        case .kept(let failure): return [Self.waiting(account, failure)]
        case .overtaken: return nil
        }
    }

    private static func waiting(_ account: Account, _ failure: CredentialError) -> LocalizedMessage {
        "the \(account.store.shownName) did not store the new tokens (\(failure)); they are encrypted in the "
            + "journal, and the next run stores them"
    }

    /// Keeps a sign-in whose account another process holds for too long, or whose cluster cannot be reached; the
    /// next process that gets the lock completes it.
    private func keepForLater(
        _ result: SignInResult, under type: AccountType, policy: String, of account: Account, isNew: Bool,
        forceNew: Bool, replaces: Bool, in group: KeychainGroup, because failure: CredentialError
    ) throws(CredentialError) -> Outcome {
        guard failure.code == .lockTimeout || failure.code == .temporary && account.store == .etcd else {
            throw failure
        }
        var account = account
        account.noteFlow(result.tokens.grant.flow, of: policy, under: type)
        if isNew {
            var set = TokenSet(account: account, journalKey: accounts.machine.random.bytes(32))
            set.generation = 1
            set.grants[policy] = result.tokens.grant
            set.accessTokens = result.tokens.accessToken.map { [$0] } ?? []
            set.account.policies = policy.isEmpty ? [] : [policy]
            set.account.scope = result.tokens.grant.scope
            set.account.expiresAt = result.tokens.accessToken?.expiresAt
            set.account.refreshExpiresAt = result.tokens.grant.refreshExpiresAt
            set.account.endsWithToken = result.tokens.endWithToken
            set.replacesOthers = replaces
            // By then its person may have an account.
            if !forceNew { set.noteTakenUp(accounts.machine.random.bytes(TokenSet.markSize)) }
            try accounts.repository.keepSignIn(set, group)
        } else {
            try accounts.repository.keepLogin(
                result.tokens.grant, policy: policy, token: result.tokens.accessToken, of: account,
                replacing: replaces, in: group)
        }
        return Outcome(
            account: account, isNew: isNew,
            warnings: ["\(failure); credmgr saved the sign-in, and the next run completes it"])
    }

    private func newAccount(
        _ result: SignInResult, _ type: AccountType, _ registration: ClientIdentity, _ store: StoreKind,
        inPlaceOf former: AccountIndex.Entry? = nil
    ) -> Account {
        var account = Account(
            id: former?.id ?? accounts.machine.random.accountID(), type: type.name, adapter: type.adapter,
            registration: registration, subject: result.identity.subject, store: store, now: accounts.clock.now)
        account.label = former?.label
        account.madeDefaultAt = former?.madeDefaultAt
        account.issuer = result.identity.issuer
        account.username = result.identity.username
        account.displayName = result.identity.displayName
        return account
    }

    /// The account of the person who has signed in. Its absence is believed only if the index names every account.
    ///
    /// - Parameter asOfLast: whether the last seen state will do.
    /// - Returns: the account; else the remaining facts of the one whose record is damaged or missing.
    private func known(
        _ result: SignInResult, _ registration: ClientIdentity, _ group: KeychainGroup, _ person: ExpectedIdentity?,
        asOfLast: Bool = false
    ) throws(CredentialError) -> (account: Account?, former: AccountIndex.Entry?) {
        var former: AccountIndex.Entry?
        for check in asOfLast ? [IndexVerification.none] : [.none, .ids] {
            // Nor is it believed of a shared group while only this machine's copies can be asked.
            if check == .ids { try accounts.machine.sharing.catchUp(group, unlessWithin: 0) }
            let index = try accounts.records.index(of: group, check)
            let candidates = index.withUnreadable.entries(of: registration, subject: result.identity.subject)
            former = nil
            guard let entry = candidates.first(where: { $0.id == person?.accountID }) ?? candidates.first else {
                continue
            }
            do throws(CredentialError) {
                if let account = try accounts.records.account(entry.id, in: group) { return (account, nil) }
                // Another that is gone was signed out meanwhile.
                if index.unreadable.contains(entry.id) { former = entry }
            } catch {
                guard error.code == .storeDamaged else { throw error }
                former = entry
            }
        }
        return (nil, former)
    }
}
