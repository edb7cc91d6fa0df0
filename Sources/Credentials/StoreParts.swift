import AzureB2CAdapter
import CredentialCore
import CryptoSupport
import CurlTransport
import EncryptedFileStore
import GenericOAuth2Adapter
import KernelKeyringCache
import LinuxPlatform
import LocalFiles
import ProviderHost
import SecretServiceStore

/// The parts of this machine that an account store is made of. Making them opens nothing.
struct StoreParts: Sendable {
    let folders: GroupFolders
    let registry: any RegistryStore
    let catalog: AccountTypeCatalog
    let adapters: AdapterRegistry
    let transport: any HTTPTransport
    let events: any EventLog
    let clock = SystemClock()
    private let cryptography = LibCryptography()
    private let random = SystemRandom()
    private let stores: LibraryStores
    private let locks: any AccountLocks
    private let cache: TokenCache
    private let metadata: MetadataFiles
    private let options: AccountStore.Options
    private let environment: [String: String]

    init(_ options: AccountStore.Options, environment: [String: String]) throws(CredentialError) {
        let directories = try BaseDirectories(environment: environment)
        folders = GroupFolders(dataHome: directories.dataHome)
        registry = RegistryFile(folders, clock: clock, warn: options.warn)
        catalog = AccountTypeCatalog(
            folders: (directories.configSearchPath + directories.dataSearchPath).map { $0 + "/types" },
            files: DefinitionFiles(configHome: directories.configHome), readSettings: SettingsPlist.definition)
        let linked: [any CredentialAdapter] = [AzureB2CAdapter(), GenericOAuth2Adapter()] + options.adapters
        let installed = ProviderCatalog(
            places: ProviderPlace.standard(dataHome: directories.dataHome), reserved: linked.map(\.name),
            environment: environment)
        adapters = AdapterRegistry(linked) { (name) throws(CredentialError) in try installed.adapter(named: name) }
        transport = CurlTransport(
            userAgent: "credmgr-library",
            certificateFile: environment["CURL_CA_BUNDLE"] ?? environment["SSL_CERT_FILE"])
        events = EventLogFile(folders)
        stores = LibraryStores(
            file: EncryptedFileStore(
                dataHome: directories.dataHome,
                keys: KeySources(passphrase: options.passphrase, unlockedKeys: KernelKeyringCache()),
                cryptography: cryptography, random: random, clock: clock, report: options.warn),
            secretService: SecretServiceStore(
                busAddress: SessionBus.address(environment: environment), canPrompt: options.mayPrompt,
                warn: options.warn))
        locks = AccountLockFiles(folders)
        cache = TokenCache(KernelKeyringCache(), home: directories.dataFolder)
        metadata = MetadataFiles(cacheHome: directories.cacheHome)
        self.options = options
        self.environment = environment
    }

    private var repository: TokenSetRepository {
        TokenSetRepository(
            stores: stores, journal: JournalFiles(folders), registry: registry, cryptography: cryptography,
            random: random)
    }

    var adapterContext: AdapterContext {
        AdapterContext(
            transport: transport, clock: clock, random: random, cryptography: cryptography,
            clientSecrets: LibraryClientSecrets(stores: stores, environment: environment), metadataCache: metadata)
    }

    var tokens: TokenService {
        TokenService(
            repository: repository, locks: locks,
            renewer: TokenRenewal(
                repository: repository, registry: registry,
                operation: RefreshOperation(
                    adapters: adapters, context: adapterContext, repository: repository, registry: registry,
                    cache: cache, events: events),
                cache: cache, clock: clock),
            cache: cache, clock: clock, lockWait: options.lockWait)
    }

    var signIn: SignInService {
        SignInService(
            repository: repository, registry: registry, locks: locks, cache: cache, events: events, clock: clock,
            random: random, lockWait: options.lockWait)
    }

    var signOut: SignOutService {
        SignOutService(
            repository: repository, registry: registry, locks: locks, cache: cache, events: events, clock: clock,
            lockWait: options.lockWait)
    }

    /// Where a new account goes: the store of the options, else the Secret Service if it answers, else the file.
    func storeOfNewAccounts() throws(CredentialError) -> StoreKind {
        if let store = options.store { return store }
        do throws(CredentialError) {
            try stores.store(.secretService).probe()
            return .secretService
        } catch {
            guard error.code == .storeUnavailable || error.code == .internalFault else { throw error }
            options.warn("secrets are kept in the encrypted file: \(error.message)")
            return .file
        }
    }
}

/// Both stores.
private struct LibraryStores: SecretStores {
    let file: EncryptedFileStore
    let secretService: SecretServiceStore

    func store(_ kind: StoreKind) throws(CredentialError) -> any SecretStore {
        switch kind {
        case .file: file
        case .secretService: secretService
        }
    }
}

/// Client secrets of a program: in the definition it configured, its environment, a private file, or the store. A
/// program that wants a command run runs it itself.
private struct LibraryClientSecrets: ClientSecrets {
    let stores: LibraryStores
    let environment: [String: String]

    func clientSecret(of type: AccountType) throws(CredentialError) -> Secret? {
        try type.clientSecret.flatMap { (source) throws(CredentialError) in try read(source, type, .clientSecret) }
    }

    func privateKey(of type: AccountType) throws(CredentialError) -> Secret? {
        try type.privateKey.flatMap { (source) throws(CredentialError) in try read(source, type, .privateKey) }
    }

    private func read(
        _ source: ClientSecretSource, _ type: AccountType, _ kind: SecretItem.Kind
    ) throws(CredentialError) -> Secret? {
        switch source {
        case .literal(let secret): return secret.isEmpty ? nil : secret
        case .environment(let name):
            guard let value = environment[name] else { throw missing(type, "the variable \(name) is not set") }
            return Secret(value)
        case .file(let path):
            guard let file = try PlainFile.read(path, limit: 1 << 20), file.isPrivate else {
                throw missing(type, "\(ForeignText.shown(path)) is not there, or others can read it")
            }
            var text = String(decoding: file.content, as: UTF8.self)[...]
            while let last = text.last, last.isNewline { text.removeLast() }
            return Secret(String(text))
        case .store:
            let item = SecretItem(group: type.keychainGroup, owner: type.name, kind: kind)
            for store in StoreKind.allCases {
                if let bytes = try? stores.store(store).read(item) {
                    return Secret(String(decoding: bytes, as: UTF8.self))
                }
            }
            throw missing(type, "no store that can be used holds it")
        case .command:
            throw missing(type, "a command is run by the credmgr command only")
        }
    }

    private func missing(_ type: AccountType, _ reason: String) -> CredentialError {
        CredentialError(.configuration, "the client's secret of account type \(type.name): \(reason)")
    }
}
