import StrictJSON

/// Everything outside that accounts need, as one bundle: made by `LocalMachine`, or by a test. Making it opens no
/// file.
package struct MachinePorts: Sendable {
    /// The environment variables.
    package var environment: [String: String]
    /// The folder that accounts and locks are kept under.
    package var dataHome: String
    /// The folders that type definitions are looked up in, the user's own first.
    package var typeFolders: [String]
    /// The file `config.json`.
    package var configurationFile: String

    /// The clock.
    package var clock: any WallClock
    /// The clock that waiting is measured by.
    package var bootClock: any BootClock
    /// Unpredictable bytes.
    package var random: any RandomSource
    /// Cryptography.
    package var cryptography: any Cryptography
    /// HTTP.
    package var transport: any HTTPTransport
    /// The accounts as they are kept.
    private var keptRecords: any AccountRecordStore
    /// Defines types that no file defines, as a program does for itself; `nil` for any other type.
    package var ownType: @Sendable (_ name: String) -> AccountType? = { _ in nil }
    /// Which refresh tokens are already used.
    package var usedTokens: any UsedRefreshTokens
    /// Locks of accounts.
    package var locks: any AccountLocks
    /// The journal of generations in flight.
    package var journal: any TokenSetJournal
    /// The event log.
    package var events: any EventLog
    /// The cache of access tokens.
    package var tokenCache: any AccessTokenCache
    /// The state of files, which decides how long cached data is valid.
    package var fileStates: any FileStamps
    /// The documents that providers publish, kept from one call to the next.
    package var metadataCache: any MetadataCache
    /// The stores, opened as a policy says.
    package var stores: @Sendable (AccountPolicy) -> any SecretStores
    /// The files of type definitions, `config.json`, and secrets in files.
    package var typeFiles: any DefinitionStore
    /// Reads the settings of iOS apps as definitions.
    package var readSettings: AccountTypeCatalog.SettingsReader
    /// The adapters.
    package var adapters: AdapterRegistry
    /// Other programs.
    package var programs: any ProcessRunner
    /// The groups that are shared with other hosts.
    package var sharing: any SharedGroupService

    /// Makes the bundle.
    package init(
        environment: [String: String], dataHome: String, typeFolders: [String], configurationFile: String,
        clock: any WallClock, bootClock: any BootClock, random: any RandomSource, cryptography: any Cryptography,
        transport: any HTTPTransport, records: any AccountRecordStore, usedTokens: any UsedRefreshTokens,
        locks: any AccountLocks,
        journal: any TokenSetJournal, events: any EventLog, tokenCache: any AccessTokenCache,
        fileStates: any FileStamps,
        metadataCache: any MetadataCache, stores: @escaping @Sendable (AccountPolicy) -> any SecretStores,
        typeFiles: any DefinitionStore, readSettings: @escaping AccountTypeCatalog.SettingsReader,
        adapters: AdapterRegistry, programs: any ProcessRunner, sharing: any SharedGroupService = NoSharedGroups()
    ) {
        self.environment = environment
        self.dataHome = dataHome
        self.typeFolders = typeFolders
        self.configurationFile = configurationFile
        self.clock = clock
        self.bootClock = bootClock
        self.random = random
        self.cryptography = cryptography
        self.transport = transport
        keptRecords = records
        self.usedTokens = usedTokens
        self.locks = locks
        self.journal = journal
        self.events = events
        self.tokenCache = tokenCache
        self.fileStates = fileStates
        self.metadataCache = metadataCache
        self.stores = stores
        self.typeFiles = typeFiles
        self.readSettings = readSettings
        self.adapters = adapters
        self.programs = programs
        self.sharing = sharing
    }

    /// The accounts, each of the registration as definitions have it now.
    package var records: any AccountRecordStore {
        get {
            CurrentRecords(base: keptRecords) { [definition, adapters, trust] name in
                guard let type = definition(name), let registration = try? ClientIdentity(of: type, adapters) else {
                    return nil
                }
                // Accounts of before follow a definition to other places only if the user has confirmed it.
                return registration.namesPlaces && !trust.isConfirmed(name) ? nil : registration
            }
        }
        set { keptRecords = newValue }
    }

    /// The registration that the record of an account has, in the form in which it was written; `nil` if there is
    /// no record.
    ///
    /// - Throws: as ``AccountRecordStore/read(_:in:)``.
    func keptRegistration(of id: String, in group: KeychainGroup) throws(CredentialError) -> ClientIdentity? {
        try keptRecords.read(id, in: group)?.account.registration
    }

    /// Gives the definition of a name, a program's own first; `nil` if there is no usable definition.
    var definition: @Sendable (_ name: String) -> AccountType? {
        { [ownType, catalog] in ownType($0) ?? (try? catalog.definition(of: $0).type) }
    }

    /// Which definitions the user has confirmed.
    package var trust: DefinitionTrust { DefinitionTrust(self) }

    /// The definitions of account types.
    package var catalog: AccountTypeCatalog {
        AccountTypeCatalog(folders: typeFolders, files: typeFiles, readSettings: readSettings)
    }

    /// Reads secrets from the user's places for them.
    ///
    /// - Parameter timeout: how long the caller waits for a command, in seconds.
    package func secrets(timeout: Int?) -> SecretReader {
        SecretReader(environment: environment, files: typeFiles, programs: programs, timeout: timeout)
    }

    /// The place in which the user keeps the passphrase of the encrypted file.
    package var passphrase: PassphraseSource {
        PassphraseSource(environment: environment, files: typeFiles, programs: programs)
    }

    /// Returns the settings of `config.json`; no settings if the file does not exist.
    ///
    /// - Throws: ``ErrorCode/configuration``, naming the key; ``ErrorCode/inputOutput``.
    package func configuration() throws(CredentialError) -> Configuration {
        try Configuration(at: configurationFile, in: typeFiles)
    }
}
