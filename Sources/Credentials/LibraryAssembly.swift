import CredentialCore
import LocalMachine
import OAuth
import Platform

/// The parts that the library adds to the machine: its options, and silence in place of output.
struct LibraryAssembly: Sendable {
    let machine: MachinePorts
    let redirects: any RedirectReceivers
    let browser: SystemBrowser
    let configuration: Configuration
    let types: ConfiguredTypes
    private let worker: WorkerExecutable
    private let options: AccountStore.Options

    init(_ options: AccountStore.Options, environment: [String: String]) throws(CredentialError) {
        let program = options.program ?? InstalledProgram.find()
        var environment = environment
        // So that a worker that refreshes has it, too.
        if let id = options.correlationID { environment["CREDMGR_CORRELATION_ID"] = id }
        let local = try LocalMachine(
            environment: environment, userAgent: "credmgr-library/\(ProductVersion.current)", supervisor: program,
            worker: program ?? ExecutablePath.itself, adapters: options.adapters)
        var ports = local.ports
        let types = ConfiguredTypes(ports.catalog)
        ports.ownType = { types.own($0) }
        self.types = types
        machine = ports
        configuration = try machine.configuration()
        try AccountServices.checkCacheSwitch(machine.environment)
        redirects = local.redirects(in: NoTranslations())
        browser = SystemBrowser(
            local.programs, environment: environment, configured: configuration.browser,
            translations: NoTranslations())
        worker = WorkerExecutable(program, programs: local.programs, warn: { options.warn($0.description) })
        self.options = options
    }

    /// The operations on accounts.
    var accounts: AccountServices { AccountServices(machine, policy, configuration) }

    /// The same for calls that do not wait: there is no prompt to unlock a keyring, which may take minutes.
    var accountsAtOnce: AccountServices {
        var policy = policy
        policy.mayPrompt = false
        return AccountServices(machine, policy, configuration)
    }

    /// Returns the operations on accounts of a type, refreshes included: by a worker if one can refresh it.
    func accounts(refreshing account: Account, under type: AccountType) throws(CredentialError) -> AccountServices {
        var policy = policy
        let isLinked = options.adapters.contains { $0.name == type.adapter }
        // A worker knows neither the program's own adapters nor its own passphrase, and of types those of files.
        let isOpenedHere = account.store == .file ? try options.passphrase() != nil : false
        let isVouchedForHere = type.identityProvider.map(types.isOnlyHere) ?? false
        if !isLinked, !isOpenedHere, !isVouchedForHere, worker.isThere() { policy.refreshes = .worker }
        return AccountServices(machine, policy, configuration)
    }

    private var policy: AccountPolicy {
        var policy = AccountPolicy(
            mayPrompt: options.mayPrompt, promptSeconds: 120, lockWait: options.lockWait,
            warn: { [options] in options.warn($0.description) },
            note: options.note)
        // A program that has no passphrase of its own uses the user's.
        let configured = machine.passphrase
        policy.passphrase = { [options] () throws(CredentialError) in
            if let passphrase = try options.passphrase() { return passphrase }
            return try configured.read()
        }
        policy.vouch = { (provider, type, request) throws(CredentialError) in
            try vouch(by: provider, for: type, request)
        }
        return policy
    }

    /// Has the default account of one type vouch for another type's (``AccountType/identityProvider``).
    private func vouch(
        by provider: String, for type: AccountType, _ request: IdentityAssertionRequest
    ) throws(CredentialError) -> Secret {
        let idp = try types.definition(of: provider), adapter = try machine.adapters.adapter(of: idp)
        try IdentityAssertionProvider.check(idp, for: type)
        let group = options.group ?? idp.keychainGroup
        let registration = try ClientIdentity(of: idp, machine.adapters)
        let index = try machine.records.index(of: group, .ids)
        guard let entry = index.defaultEntry(of: registration),
            let account = try machine.records.account(entry.id, in: group)
        else {
            throw CredentialError(
                .signInRequired,
                "account type \(type.name): its identity provider '\(idp.name)' has no account or no default "
                    + "account",
                hint: LoginHint(type: idp.name, group: nil).hint)
        }
        return try IdentityAssertionProvider(accounts(refreshing: account, under: idp)).assertion(
            by: account, in: group, (idp, adapter), request)
    }

    /// The type as its API has it now, if that defined it: it may have moved to another authorization server. A
    /// type that only this program has stays as it is.
    ///
    /// - Throws: as ``ResourceTypeDiscovery/current(_:for:clientID:)``.
    func current(_ type: AccountType, _ accounts: AccountServices) throws(CredentialError) -> AccountType {
        guard !types.isOnlyHere(type.name) else { return type }
        let desk = DefinitionContext(
            accounts: accounts, redirects: redirects, group: options.group,
            store: { () throws(CredentialError) in try storeOfNewAccounts(accounts) },
            warn: { [options] in options.warn($0.description) },
            note: { [options] in options.note($0.description) },
            detail: options.note)
        let current = try ResourceTypeDiscovery(desk).current(type, for: nil, clientID: nil)
        if current != type { types.follow(current) }
        return current
    }

    /// The authority that says which origins may receive tokens.
    var authority: TokenDestinationPolicy {
        let folders = WorkingDirectory.paths(machine.environment), home = machine.environment["HOME"] ?? "/"
        return TokenDestinationPolicy(
            rules: configuration.rules.filter { rule in
                folders.contains { rule.fits(workingDirectory: $0, home: home) }
            }, on: machine)
    }

    /// The store of new accounts: that of the options, of `CREDMGR_STORE`, of `config.json`, else the one to be
    /// had.
    func storeOfNewAccounts(_ accounts: AccountServices) throws(CredentialError) -> StoreChoice {
        let named = try StoreKind.wished(machine.environment["CREDMGR_STORE"], else: configuration.store)
        let choice = try accounts.storeOfNewAccounts(options.store ?? named)
        if let reason = choice.reason { options.warn("secrets are kept in the encrypted file: \(reason)") }
        return choice
    }
}
