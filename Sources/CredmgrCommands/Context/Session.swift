package import CredentialCore
import StrictJSON

/// One call of the program: the context, the options of every command, and what is built from both.
package struct Session: Sendable {
    /// The outside.
    package let context: CommandContext
    /// The options of every command.
    package let options: GlobalOptions
    /// `config.json`.
    package let configuration: ProductConfiguration
    /// Notes, warnings and errors.
    package let notices: Notices

    /// Reads the configuration and prepares the call.
    ///
    /// - Throws: ``ErrorCode/configuration``.
    package init(
        context: CommandContext, options: GlobalOptions, notices: Notices
    ) throws(CredentialError) {
        var context = context
        context.registry = RebuildingRegistry(context.registry, stores: context.stores, clock: context.clock) {
            notices.warning($0)
        }
        self.context = context
        self.options = options
        self.notices = notices
        configuration = try Self.configuration(context)
    }

    private static func configuration(_ context: CommandContext) throws(CredentialError) -> ProductConfiguration {
        let path = context.configurationFile
        guard let file = try context.typeFiles.read(path) else { return ProductConfiguration() }
        let members: JSONObject?
        do {
            members = try JSONValue.parse(file.bytes, dialect: .commented).object
        } catch {
            throw CredentialError(.configuration, "\(path) is not JSON: \(error)")
        }
        guard let members else { throw CredentialError(.configuration, "\(path) must hold an object") }
        return try ProductConfiguration(json: members, place: path)
    }

    /// The groups to look at: the one asked for, else all that have a registry.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    package func groups() throws(CredentialError) -> [KeychainGroup] {
        if let group = options.group { return [group] }
        return try context.registry.groups()
    }

    /// The definitions of types.
    package var catalog: AccountTypeCatalog {
        AccountTypeCatalog(
            folders: context.typeFolders, files: context.typeFiles, readSettings: context.settings.readDefinition)
    }

    /// The command that signs in where no type is named, for hints.
    var loginHint: String {
        let names = ((try? catalog.entries()) ?? []).map(\.name)
        guard let only = names.first else { return "define an account type first: credmgr types add --help" }
        return "credmgr login --type \(names.count == 1 ? only : "TYPE, one of those that credmgr types lists")"
    }

    /// Whether a person can be asked.
    package var mayAsk: Bool { !options.noInput && context.console.hasPerson }

    /// How long to wait for a peer's refresh, in seconds.
    package var lockWait: Int { options.timeout ?? configuration.timeout.map(Int.init) ?? 60 }

    /// The token cache, or one that keeps nothing where the user wants none.
    package var cache: TokenCache {
        TokenCache(isCaching ? context.tokenCache : NoCache(), home: context.dataHome)
    }

    /// Whether access tokens may be kept in the kernel's keyring.
    package var isCaching: Bool {
        switch context.environment["CREDMGR_CACHE"] {
        case "on": true
        case "off": false
        default: configuration.usesCache
        }
    }

    /// The stores.
    ///
    /// - Parameters:
    ///   - mayPrompt: whether the user may be asked to unlock, by the desktop or on the terminal, besides that a person is
    ///     there.
    ///   - whileWaiting: called when a store waits for another program's answer; it must not block.
    package func stores(
        mayPrompt: Bool = true, whileWaiting: @escaping @Sendable () -> Void = {}
    ) -> any SecretStores {
        let hasDisplay = context.environment["DISPLAY"] != nil || context.environment["WAYLAND_DISPLAY"] != nil
        return context.stores(
            StoreOptions(
                mayPrompt: mayPrompt && !options.noInput && (context.console.hasPerson || hasDisplay),
                mayAsk: mayPrompt && mayAsk, keepsKeys: isCaching,
                promptSeconds: options.timeout ?? Self.promptSeconds, whileWaiting: whileWaiting,
                warn: { [notices] in notices.warning($0) }))
    }

    /// How long a person has to answer the desktop's question, in seconds.
    private static let promptSeconds = 120

    /// Token sets in the stores.
    package func repository(_ stores: any SecretStores) -> TokenSetRepository {
        TokenSetRepository(
            stores: stores, journal: context.journal, registry: context.registry,
            cryptography: context.cryptography, random: context.random)
    }

    /// What adapters may use.
    package func adapterContext(_ stores: any SecretStores) -> AdapterContext {
        AdapterContext(
            transport: context.transport, clock: context.clock, random: context.random,
            cryptography: context.cryptography,
            clientSecrets: ClientSecretResolver(stores: stores, context: context),
            metadataCache: context.metadataCache, timeout: options.timeout,
            note: { [notices] in notices.detail($0) })
    }

    /// Renews tokens in this process.
    package func tokenRenewal(_ stores: any SecretStores) -> TokenRenewal {
        let repository = repository(stores)
        return TokenRenewal(
            repository: repository, registry: context.registry,
            operation: RefreshOperation(
                adapters: context.adapters, context: adapterContext(stores), repository: repository,
                registry: context.registry, cache: cache, events: context.events),
            cache: cache, clock: context.clock)
    }

    /// Gives tokens.
    package func tokenService(_ stores: any SecretStores) -> TokenService {
        TokenService(
            repository: repository(stores), locks: context.locks,
            renewer: DetachedRenewer(programs: context.programs, seconds: lockWait), cache: cache,
            clock: context.clock, lockWait: lockWait)
    }

    /// Keeps what sign-ins give.
    package func signInService(_ stores: any SecretStores) -> SignInService {
        SignInService(
            repository: repository(stores), registry: context.registry, locks: context.locks, cache: cache,
            events: context.events, clock: context.clock, random: context.random, lockWait: lockWait)
    }

    /// Moves sign-ins between the stores.
    package func migration(_ stores: any SecretStores) -> StoreMigration {
        StoreMigration(
            repository: repository(stores), stores: stores, registry: context.registry, locks: context.locks,
            lockWait: lockWait)
    }

    /// Takes accounts up from the stores.
    package func rebuild(_ stores: any SecretStores) -> RegistryRebuild {
        RegistryRebuild(stores: stores, registry: context.registry)
    }

    /// Forgets accounts.
    package func signOutService(_ stores: any SecretStores) -> SignOutService {
        SignOutService(
            repository: repository(stores), registry: context.registry, locks: context.locks, cache: cache,
            events: context.events, clock: context.clock, lockWait: lockWait)
    }
}

/// A cache that keeps nothing.
private struct NoCache: AccessTokenCache {
    func read(_ name: String) -> [UInt8]? { nil }
    func write(_ entry: [UInt8], name: String, seconds: Int64) {}
    func remove(_ name: String) {}
    func removeAll(prefix: String) {}
}
