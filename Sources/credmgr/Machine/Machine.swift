import AzureB2CAdapter
import CredentialCore
import CredmgrCommands
import CryptoSupport
import CurlTransport
import GenericOAuth2Adapter
import KernelKeyringCache
import LinuxPlatform
import LocalFiles
import QRCodes

/// This machine: the parts that the commands are given. Making them opens nothing.
struct Machine: Sendable {
    let environment: [String: String]
    let directories: BaseDirectories
    let cryptography = LibCryptography()
    let random = SystemRandom()
    let clock = SystemClock()
    let cache = KernelKeyringCache()

    /// Reads where things are from the environment.
    ///
    /// - Throws: ``ErrorCode/configuration`` without a home folder.
    init(environment: [String: String]) throws(CredentialError) {
        self.environment = environment
        directories = try BaseDirectories(environment: environment)
    }

    /// The adapters that are built in.
    static let adapters = AdapterRegistry([AzureB2CAdapter(), GenericOAuth2Adapter()])

    var context: CommandContext {
        let folders = GroupFolders(dataHome: directories.dataHome)
        let console = LinuxConsole()
        let warn: @Sendable (String) -> Void = { text in console.writeNotice(ErrorRenderer().warning(text)) }
        return CommandContext(
            environment: environment, workingDirectory: WorkingDirectory.path, dataHome: directories.dataFolder,
            typeFolders: (directories.configSearchPath + directories.dataSearchPath).map { $0 + "/types" },
            configurationFile: directories.configFolder + "/config.json", console: console, clock: clock,
            random: random, cryptography: cryptography,
            transport: CurlTransport(
                userAgent: "credmgr/\(Program.version)",
                certificateFile: environment["CURL_CA_BUNDLE"] ?? environment["SSL_CERT_FILE"]),
            registry: RegistryFile(folders, clock: clock, warn: warn), locks: AccountLockFiles(folders),
            journal: JournalFiles(folders), events: EventLogFile(folders), tokenCache: cache,
            metadataCache: MetadataFiles(cacheHome: directories.cacheHome),
            stores: { options in StoreShelf(self, options) }, typeFiles: files, settings: B2CSettings(),
            fileStates: LinuxFileStates(), adapters: Self.adapters, programs: programs,
            redirects: LoopbackReceivers(random: random), qrCodes: QRCodeEncoder())
    }

    /// The files of type definitions.
    var files: DefinitionFiles { DefinitionFiles(configHome: directories.configHome) }

    /// Other programs.
    var programs: LinuxPrograms { LinuxPrograms(environment: environment) }

    /// Where the passphrase of the encrypted file comes from.
    var passphrase: PassphraseSource {
        PassphraseSource(environment: environment, files: files, programs: programs)
    }
}

extension QRCodeEncoder: CredmgrCommands.QRCodes {}

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
