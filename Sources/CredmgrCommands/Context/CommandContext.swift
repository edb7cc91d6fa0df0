package import CredentialCore
package import ProviderHost

/// Everything outside the commands: each effect they can have, made by the composition root, or by a test.
package struct CommandContext: Sendable {
    /// The environment variables.
    package var environment: [String: String]
    /// The folder the command was called in, by each of its names.
    package var workingDirectories: [String]
    /// The folder that accounts and locks are kept under.
    package var dataHome: String
    /// The folders that type definitions are looked up in, the user's own first.
    package var typeFolders: [String]
    /// The file `config.json`.
    package var configurationFile: String

    /// Streams and terminal.
    package var console: any Console
    /// The clock.
    package var clock: any WallClock
    /// Unpredictable bytes.
    package var random: any RandomSource
    /// Cryptography.
    package var cryptography: any Cryptography
    /// HTTP.
    package var transport: any HTTPTransport
    /// The registries of accounts; warnings of damage go to the closure.
    package var registry: any RegistryStore
    /// Locks of accounts.
    package var locks: any AccountLocks
    /// The journal of generations in flight.
    package var journal: any GenerationJournal
    /// The event log.
    package var events: any EventLog
    /// The cache of access tokens.
    package var tokenCache: any AccessTokenCache
    /// What providers publish, kept from one call to the next.
    package var metadataCache: any MetadataCache
    /// The stores, opened as told.
    package var stores: @Sendable (StoreOptions) -> any SecretStores
    /// The files of type definitions.
    package var typeFiles: any TypeFiles
    /// Reads the settings of iOS apps as definitions.
    package var settings: any SettingsImporter
    /// The state of files, for the fast path.
    package var fileStates: any FileStates
    /// The folder with all that is kept.
    package var dataFolder: any DataFolder
    /// The adapters.
    package var adapters: AdapterRegistry
    /// The external adapters that are installed.
    package var providers: ProviderCatalog
    /// The presets of providers.
    package var presets: PresetCatalog
    /// Programs.
    package var programs: any Programs
    /// Listens for redirects.
    package var redirects: any RedirectReceivers
    /// Makes QR codes.
    package var qrCodes: any QRCodes

    /// Makes a context.
    package init(
        environment: [String: String], workingDirectories: [String], dataHome: String, typeFolders: [String],
        configurationFile: String, console: any Console, clock: any WallClock, random: any RandomSource,
        cryptography: any Cryptography, transport: any HTTPTransport, registry: any RegistryStore,
        locks: any AccountLocks, journal: any GenerationJournal, events: any EventLog,
        tokenCache: any AccessTokenCache, metadataCache: any MetadataCache,
        stores: @escaping @Sendable (StoreOptions) -> any SecretStores,
        typeFiles: any TypeFiles, settings: any SettingsImporter, fileStates: any FileStates,
        dataFolder: any DataFolder, adapters: AdapterRegistry, providers: ProviderCatalog, presets: PresetCatalog,
        programs: any Programs,
        redirects: any RedirectReceivers, qrCodes: any QRCodes
    ) {
        self.environment = environment
        self.workingDirectories = workingDirectories
        self.dataHome = dataHome
        self.typeFolders = typeFolders
        self.configurationFile = configurationFile
        self.console = console
        self.clock = clock
        self.random = random
        self.cryptography = cryptography
        self.transport = transport
        self.registry = registry
        self.locks = locks
        self.journal = journal
        self.events = events
        self.tokenCache = tokenCache
        self.metadataCache = metadataCache
        self.stores = stores
        self.typeFiles = typeFiles
        self.settings = settings
        self.fileStates = fileStates
        self.dataFolder = dataFolder
        self.adapters = adapters
        self.providers = providers
        self.presets = presets
        self.programs = programs
        self.redirects = redirects
        self.qrCodes = qrCodes
    }
}

/// How stores are opened.
package struct StoreOptions: Sendable {
    /// Whether the desktop may ask the user to unlock.
    package var mayPrompt: Bool
    /// Whether a passphrase may be asked for on the terminal.
    package var mayAsk: Bool
    /// Whether the key of an encrypted file that a passphrase has opened may be kept for later calls.
    package var keepsKeys: Bool
    /// How long the desktop's question is waited for, in seconds.
    package var promptSeconds: Int
    /// Called when a store waits for another program's answer and this one has time for something else.
    package var whileWaiting: @Sendable () -> Void
    /// Takes what the user should know.
    package var warn: @Sendable (String) -> Void

    /// Makes options.
    package init(
        mayPrompt: Bool, mayAsk: Bool, keepsKeys: Bool, promptSeconds: Int,
        whileWaiting: @escaping @Sendable () -> Void = {}, warn: @escaping @Sendable (String) -> Void
    ) {
        self.mayPrompt = mayPrompt
        self.mayAsk = mayAsk
        self.keepsKeys = keepsKeys
        self.promptSeconds = promptSeconds
        self.whileWaiting = whileWaiting
        self.warn = warn
    }
}
