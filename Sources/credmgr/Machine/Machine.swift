import AzureB2CAdapter
import CredentialCore
import CredmgrCommands
import CryptoSupport
import CurlTransport
import GenericOAuth2Adapter
import KernelKeyringCache
import LinuxPlatform
import LocalFiles
import ProviderHost
import QRCodes

/// This machine: the parts that the commands are given. Making them opens nothing.
struct Machine: Sendable {
    let environment: [String: String]
    let caller: CallerSettings
    let directories: BaseDirectories
    let cryptography = LibCryptography()
    let random = SystemRandom()
    let clock = SystemClock()
    let cache = KernelKeyringCache()

    /// Reads where things are from the environment.
    ///
    /// - Throws: ``ErrorCode/configuration`` without a home folder.
    init(environment: [String: String], caller: CallerSettings) throws(CredentialError) {
        self.environment = environment
        self.caller = caller
        directories = try BaseDirectories(environment: environment)
    }

    /// What the fast path needs of the machine; `nil` without a home folder.
    static func fastPlace() -> FastPlace? {
        guard let directories = try? BaseDirectories(variable: ProcessEnvironment.variable) else { return nil }
        return FastPlace(
            dataHome: directories.dataFolder, typeFolders: directories.typeFolders,
            configurationFile: directories.configurationFile, variable: { ProcessEnvironment.variable($0) },
            tokenCache: KernelKeyringCache(), fileStates: LinuxFileStates(), clock: SystemClock())
    }

    /// The adapters that are built in.
    private static let builtIn: [any CredentialAdapter] = [AzureB2CAdapter(), GenericOAuth2Adapter()]

    /// The external adapters: the user's own, then those of packages. Nothing is looked for before it is asked for.
    private var providers: ProviderCatalog {
        ProviderCatalog(
            places: ProviderPlace.standard(dataHome: directories.dataHome), reserved: Self.builtIn.map(\.name),
            environment: environment)
    }

    var context: CommandContext {
        let folders = GroupFolders(dataHome: directories.dataHome)
        let console = LinuxConsole()
        let providers = providers
        let searchPath = directories.configSearchPath + directories.dataSearchPath
        let warn: @Sendable (String) -> Void = { text in console.writeNotice(ErrorRenderer().warning(text)) }
        return CommandContext(
            environment: environment, workingDirectories: WorkingDirectory.paths(environment),
            dataHome: directories.dataFolder, typeFolders: directories.typeFolders,
            configurationFile: directories.configurationFile, console: console, clock: clock,
            random: random, cryptography: cryptography,
            transport: CurlTransport(
                userAgent: "credmgr/\(Program.version)",
                certificateFile: environment["CURL_CA_BUNDLE"] ?? environment["SSL_CERT_FILE"]),
            registry: RegistryFile(folders, clock: clock, warn: warn), locks: AccountLockFiles(folders),
            journal: JournalFiles(folders), events: EventLogFile(folders), tokenCache: cache,
            metadataCache: MetadataFiles(cacheHome: directories.cacheHome),
            stores: { options in StoreShelf(self, options) }, typeFiles: files, settings: B2CSettings(),
            fileStates: LinuxFileStates(),
            dataFolder: LinuxDataFolder(path: directories.dataFolder, clock: clock),
            adapters: AdapterRegistry(Self.builtIn) { (name) throws(CredentialError) in
                try providers.adapter(named: name)
            }, providers: providers,
            presets: PresetCatalog(folders: searchPath.map { $0 + "/presets" }, files: files), programs: programs,
            redirects: LoopbackReceivers(random: random), qrCodes: QRCodeEncoder())
    }

    /// The files of type definitions.
    var files: DefinitionFiles { DefinitionFiles(configHome: directories.configHome) }

    /// Other programs.
    var programs: LinuxPrograms {
        LinuxPrograms(environment: environment, caller: caller, runtimeFallback: directories.dataHome)
    }

    /// Where the passphrase of the encrypted file comes from.
    var passphrase: PassphraseSource {
        PassphraseSource(environment: environment, files: files, programs: programs)
    }
}

extension QRCodeEncoder: CredmgrCommands.QRCodes {}

extension BaseDirectories {
    /// Where type definitions are looked up, the user's own folder first.
    fileprivate var typeFolders: [String] { (configSearchPath + dataSearchPath).map { $0 + "/types" } }
    /// The user's configuration.
    fileprivate var configurationFile: String { configFolder + "/config.json" }
}

/// The states of files of this machine.
private struct LinuxFileStates: FileStates {
    func state(of path: String) -> FileState? { FileStatus.numbers(of: path).map(FileState.init(numbers:)) }
}

/// The settings of the seeds' iOS apps, which are all for Azure AD B2C.
private struct B2CSettings: SettingsImporter {
    func importSettings(
        _ bytes: [UInt8], name: String?, fix: Bool, exact: Bool, place: String
    ) throws(CredentialError) -> Outcome {
        let (type, report) = try SettingsPlist.import(bytes, name: name, fix: fix, exact: exact, place: place)
        return (type, report.map(\.description))
    }

    var readDefinition: AccountTypeCatalog.SettingsReader { SettingsPlist.definition }
}
