/// The operations on accounts, made from one machine under one policy: the command and the library have the same.
package struct AccountServices: Sendable {
    /// The machine.
    package let machine: MachinePorts
    /// The policy for questions to the user and for reports.
    package let policy: AccountPolicy
    /// `config.json`.
    package let configuration: Configuration
    /// The stores.
    package let stores: any SecretStores
    /// Token sets in the stores.
    package let repository: TokenSetRepository
    /// Access tokens in memory; always empty if the user wants no cache.
    package let cache: TokenCache

    /// Makes the services.
    ///
    /// - Parameter configuration: the content of the machine's `config.json`.
    package init(_ machine: MachinePorts, _ policy: AccountPolicy, _ configuration: Configuration) {
        var policy = policy
        policy.keepsKeys = Self.isCaching(machine, configuration)
        self.init(machine, policy, configuration, stores: machine.stores(policy))
    }

    /// Makes the services on stores that are open already.
    package init(
        _ machine: MachinePorts, _ policy: AccountPolicy, _ configuration: Configuration,
        stores: any SecretStores
    ) {
        self.machine = machine
        self.policy = policy
        self.configuration = configuration
        self.stores = stores
        repository = TokenSetRepository(machine, stores)
        cache = Self.cache(of: machine, configuration)
    }

    /// The cache of access tokens; an always empty one if the user wants no cache.
    package static func cache(of machine: MachinePorts, _ configuration: Configuration) -> TokenCache {
        TokenCache(
            isCaching(machine, configuration) ? machine.tokenCache : NoTokenCache(), files: machine.fileStates,
            dataFolder: machine.dataHome, limit: { [sharing = machine.sharing] in sharing.cacheSeconds(of: $0) })
    }

    /// Whether access tokens may be kept in memory: `CREDMGR_CACHE`, else `config.json`.
    package static func isCaching(_ machine: MachinePorts, _ configuration: Configuration) -> Bool {
        switch machine.environment["CREDMGR_CACHE"] {
        case "on": true
        case "off": false
        default: configuration.usesCache
        }
    }

    /// Refuses an invalid `CREDMGR_CACHE`: a slip must not keep tokens against the user's intent.
    ///
    /// - Throws: ``ErrorCode/usage``.
    package static func checkCacheSwitch(_ environment: [String: String]) throws(CredentialError) {
        guard let word = environment["CREDMGR_CACHE"], !["", "on", "off"].contains(word) else { return }
        throw CredentialError(
            .usage, "CREDMGR_CACHE must be 'on' or 'off', not '\(UntrustedText.shown(word, limit: 40))'")
    }

    /// The machine's, by their names.
    var records: any AccountRecordStore { machine.records }
    var locks: any AccountLocks { machine.locks }
    var events: any EventLog { machine.events }
    var clock: any WallClock { machine.clock }

    /// How long to wait for a peer's refresh, in seconds.
    package var lockWait: Int { givenLockWait ?? 60 }

    /// The same in a group that hosts share, for a peer on this host or another host: longer than a request may
    /// take, and short enough that everybody has an answer within 15 s.
    static let sharedLockWait = 12

    private var givenLockWait: Int? { policy.lockWait ?? configuration.timeout.map(Int.init) }

    /// Completes first sign-ins that their store did not accept at once, and saves responses that a cluster did not
    /// accept.
    ///
    /// - Returns: whether there is an account more now.
    package func takeUpSignIns(in group: KeychainGroup) -> Bool {
        takeUpAnswers(in: group)
        return repository.finishSignIns(in: group, locks: locks)
    }

    /// Puts answers of providers into the cluster that could not be reached when they came. An account that a
    /// process is using now is left to that process.
    package func takeUpAnswers(in group: KeychainGroup) {
        // A response that cannot be saved now stays in its place: the next process tries again.
        for id in (try? machine.sharing.unsettled(in: group)) ?? [] {
            guard let lock = try? locks.tryLock(id, in: group) else { continue }
            try? machine.sharing.settle(id, in: group)
            lock.release()
        }
    }

    /// The lock of an account, waiting for who has it as long as is usual, and telling so.
    ///
    /// - Throws: as ``AccountLocks/lock(_:in:seconds:)`` and ``SharedGroupService/backend(of:)``.
    func lock(_ account: String, in group: KeychainGroup) throws(CredentialError) -> any HeldLock {
        let who: @Sendable () -> LocalizedMessage = { [locks] in
            guard let holder = locks.holder(of: account, in: group) else { return "the account's lock" }
            return holder.isStopped
                ? "process \(holder.processID), which is stopped and has the account's lock"
                : "process \(holder.processID), which has the account's lock"
        }
        let isShared = givenLockWait == nil ? try machine.sharing.isShared(group) : false
        return try policy.waiting.during(who) { () throws(CredentialError) in
            try locks.lock(account, in: group, seconds: isShared ? Self.sharedLockWait : lockWait)
        }
    }

    /// The context of adapters if no account type is known: requests have no settings of a type.
    package var adapterContext: AdapterContext { adapterContext(over: machine.transport) }

    /// The context of adapters for a type.
    package func adapterContext(of type: AccountType) -> AdapterContext { adapterContext.connected(as: type) }

    /// The same with another transport.
    func adapterContext(of type: AccountType, over transport: any HTTPTransport) -> AdapterContext {
        adapterContext(over: transport).connected(as: type)
    }

    private func adapterContext(over transport: any HTTPTransport) -> AdapterContext {
        var context = AdapterContext(
            transport: transport, clock: machine.clock, random: machine.random,
            cryptography: machine.cryptography,
            clientSecrets: ClientSecretResolver(
                stores: stores, secrets: machine.secrets(timeout: policy.timeout),
                bindings: ClientBindings(machine),
                vouch: policy.vouch),
            metadataCache: machine.metadataCache, timeout: policy.timeout,
            correlationID: machine.environment["CREDMGR_CORRELATION_ID"].flatMap { $0.isEmpty ? nil : $0 },
            note: policy.note)
        context.connection = { [trust = machine.trust] type throws(CredentialError) in
            try trust.connection(of: type)
        }
        return context
    }

    /// Refreshes in this process.
    package var refresh: InProcessRefresher { InProcessRefresher(accounts: self) }

    /// Gives tokens.
    package var tokens: TokenService {
        switch policy.refreshes {
        case .here: TokenService(accounts: self, refresher: refresh)
        case .worker:
            TokenService(
                accounts: self,
                refresher: WorkerRefresher(
                    programs: machine.programs, seconds: lockWait, waiting: policy.waiting, note: policy.note,
                    warn: policy.warn))
        }
    }

    /// Keeps the results of sign-ins.
    package var signIn: SignInService { SignInService(accounts: self) }

    /// Makes an account the default.
    package var choice: DefaultAccount { DefaultAccount(accounts: self) }

    /// Forgets accounts.
    package var signOut: SignOutService { SignOutService(accounts: self) }

    /// The data that programs keep of their own beside an account.
    package var userData: UserDataService { UserDataService(accounts: self) }

    /// Changes the user's own definitions of types.
    package var ownDefinitions: UserDefinitions { UserDefinitions(accounts: self) }

    /// Moves accounts along with their types.
    package var registrationMove: RegistrationMove { RegistrationMove(accounts: self) }

    /// Moves sign-ins between the stores.
    package var migration: StoreMigration { StoreMigration(accounts: self) }

    /// Replaces the key of a group's encrypted file.
    package var keyReplacement: KeyReplacement { KeyReplacement(accounts: self) }

    /// Shares groups with other hosts.
    package var groupMove: GroupMigration { GroupMigration(accounts: self) }

    /// Takes accounts up from the stores.
    package var rebuild: RegistryRecovery { RegistryRecovery(accounts: self) }

    /// Repairs accounts.
    package var repair: AccountRepair { AccountRepair(accounts: self) }

    /// Tells those who watch that a sign-in ends soon, once for each step (``ExpiryNotice``).
    ///
    /// - Throws: the errors of the records.
    package func tellEnding(of account: Account, in group: KeychainGroup) throws(CredentialError) {
        let now = clock.now, id = account.id
        guard account.needsExpiryNotice(now: now) else { return }
        var news: Account?
        try machine.records.update(id, in: group) { account in
            news = nil
            guard account.needsExpiryNotice(now: now) else { return }
            if account.recordExpiryNotice(now: now) { news = account }
        }
        guard let news, let end = news.refreshExpiresAt else { return }
        events.append(
            AccountEvent(
                kind: .grantExpiring, time: now, group: group, type: news.type, account: id,
                reason: "the sign-in ends at \(end.rfc3339)"))
    }

    /// The store of a sign-in: that of its account, in any configuration, else that of a new account.
    ///
    /// - Throws: the errors of `new`.
    package func storeOfSignIn(
        for account: Account?, new: () throws(CredentialError) -> StoreChoice
    ) throws(CredentialError) -> StoreChoice {
        guard let account, account.store != .etcd else { return try new() }
        return StoreChoice(kind: account.store, reason: nil)
    }

    /// The store of something new: the one wished for, else the Secret Service if it answers, else the encrypted
    /// file.
    ///
    /// - Throws: the named store's own error when it cannot be used; ``ErrorCode/storeLocked`` when the Secret
    ///   Service is there but locked: putting the account into another store would surprise later.
    package func storeOfNewAccounts(_ wished: StoreKind?) throws(CredentialError) -> StoreChoice {
        if let wished {
            try stores.store(wished).probe()
            return StoreChoice(kind: wished, reason: nil)
        }
        do throws(CredentialError) {
            try stores.store(.secretService).probe()
            return StoreChoice(kind: .secretService, reason: nil)
        } catch {
            guard error.code == .storeUnavailable || error.code == .internalFault else { throw error }
            try stores.store(.file).probe()
            return StoreChoice(kind: .file, reason: error.text)
        }
    }
}

/// The store for new data (docs/explanation/credential-stores.md).
package struct StoreChoice: Sendable {
    /// The kind of the store.
    package let kind: StoreKind
    /// Why that is not the Secret Service, if the user did not ask for another; to be reported once the store keeps
    /// data.
    package let reason: LocalizedMessage?

    /// A choice that was made.
    package init(kind: StoreKind, reason: LocalizedMessage?) {
        self.kind = kind
        self.reason = reason
    }
}
