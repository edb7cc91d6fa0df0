import AzureB2CAdapter
package import CredentialCore
package import CryptoSupport
import CurlTransport
import EtcdCluster
import GenericOAuth2Adapter
package import LocalFiles
package import Platform
package import PluginHost
import SealedCache
import SharedGroups

/// This machine, put together once for the command and the library. Making it opens no file.
package struct LocalMachine: Sendable {
    /// The environment variables.
    package let environment: [String: String]
    /// The settings that this process changed for itself and that the user's programs get back.
    package let caller: InheritedSettings?
    /// The base directories.
    package let directories: BaseDirectories
    /// Hashes, seals and signs.
    package let cryptography = LibCryptography()
    /// Unpredictable bytes.
    package let random = SystemRandom()
    /// The clock.
    package let clock = SystemClock()
    let cache: SealedCache
    private let userAgent: String
    private let supervisor: String?
    private let worker: String
    private let linked: [any CredentialAdapter]

    /// Reads the paths from the environment.
    ///
    /// - Parameters:
    ///   - caller: the caller's settings that this process changed for itself.
    ///   - userAgent: the name that the program sends to providers.
    ///   - supervisor: the path of a `credmgr` that confines plugins; without one no plugin is run.
    ///   - worker: the path of the `credmgr` that refreshes in a process of its own.
    ///   - adapters: those of the program itself, in addition to the built-in ones.
    /// - Throws: ``ErrorCode/configuration`` without a home folder.
    package init(
        environment: [String: String], caller: InheritedSettings? = nil, userAgent: String,
        supervisor: String?, worker: String = ExecutablePath.itself, adapters: [any CredentialAdapter] = []
    ) throws(CredentialError) {
        self.environment = environment
        self.caller = caller
        self.userAgent = userAgent
        self.supervisor = supervisor
        self.worker = worker
        directories = try BaseDirectories(environment: environment)
        cache = SealedCache(runtime: environment["XDG_RUNTIME_DIR"], clock: clock)
        linked = [AzureB2CAdapter(), GenericOAuth2Adapter()] + adapters
    }

    /// The accounts, locks, journals and events of each group.
    package var folders: GroupFolders { GroupFolders(dataHome: directories.dataHome) }

    /// The files of type definitions.
    package var files: DefinitionFiles { DefinitionFiles(configHome: directories.configHome) }

    /// Other programs.
    package var programs: LinuxPrograms {
        LinuxPrograms(
            environment: environment, caller: caller, runtimeFallback: directories.dataHome, worker: worker)
    }

    /// Listeners for redirects on this machine's loopback.
    ///
    /// - Parameters:
    ///   - translations: the language of the pages that a browser is shown.
    ///   - answersAfterwards: whether a process of this program's goes on to answer when a listener has gone.
    package func redirects(
        in translations: any Translations, answersAfterwards: Bool = false
    ) -> any RedirectReceivers {
        var receivers = LoopbackReceivers(random: random, translations: translations)
        if answersAfterwards { receivers.aftermath = (program: worker, environment: environment) }
        return receivers
    }

    /// The plugins: the user's own, then those of packages. No directory is searched before it is needed.
    package var providers: PluginCatalog {
        PluginCatalog(
            places: PluginSearchPath.standard(dataHome: directories.dataHome), reserved: linked.map(\.name),
            environment: environment, walls: walls)
    }

    /// How plugins are confined.
    private var walls: SandboxPolicy {
        let files = files, path = directories.configurationFile
        return SandboxPolicy(supervisor: supervisor, keptOut: directories.ownFolders { environment[$0] }) {
            () throws(CredentialError) in
            try Configuration(at: path, in: files).unconfinedPlugins
        }
    }

    /// The parts of the machine that accounts need.
    package var ports: MachinePorts {
        let folders = folders
        let providers = providers
        let files = files, configurationFile = directories.configurationFile
        let transport = CurlTransport(
            userAgent: userAgent, certificateFile: environment["CURL_CA_BUNDLE"] ?? environment["SSL_CERT_FILE"],
            environment: environment,
            defaults: {
                // A file that cannot be read stops no command that does not need it; each command reports it by
                // itself.
                (try? Configuration(at: configurationFile, in: files)).map {
                    ConnectionSettings(of: $0, at: configurationFile)
                }
            })
        let sharing = sharing(by: transport)
        return MachinePorts(
            environment: environment, dataHome: directories.dataFolder, typeFolders: directories.typeFolders,
            configurationFile: directories.configurationFile, clock: clock, bootClock: LocalBootClock(),
            random: random,
            cryptography: cryptography,
            transport: transport, records: SharedAccountRecords(sharing),
            usedTokens: UsedTokenFiles(stateHome: directories.stateHome, clock: clock, random: random),
            locks: AccountLockFiles(folders),
            journal: JournalFiles(folders), events: EventLogFile(folders), tokenCache: cache,
            fileStates: SystemFileStates(),
            metadataCache: MetadataFiles(
                cacheHome: directories.cacheHome, stateHome: directories.stateHome, random: random),
            stores: { policy in LocalStores(self, policy) }, typeFiles: files,
            readSettings: SettingsPlist.definition,
            adapters: AdapterRegistry(linked) { (name) throws(CredentialError) in
                try providers.adapter(named: name)
            }, programs: programs, sharing: sharing)
    }

    /// The time that clusters have cost this process, for all callers.
    private static let waiting = TimeoutBudget()

    /// The groups that are shared with other hosts, through etcd.
    private func sharing(by transport: CurlTransport) -> ClusterGroupService {
        let folders = folders, waiting = Self.waiting, clock = clock
        return ClusterGroupService(
            ClusterGroupService.Parts(
                files: SharedGroupFiles(folders), local: AccountRecordFiles(folders, clock: clock),
                events: EventLogFile(folders), clock: clock, bootClock: LocalBootClock(), random: random,
                cryptography: cryptography, stores: { LocalStores(self, AccountPolicy()) },
                connect: { backend, group throws(CredentialError) in
                    try EtcdCluster(backend, group, transport, waiting, clock)
                },
                pause: { SystemTime.pause(milliseconds: $0) }))
    }
}

private struct LocalBootClock: BootClock {
    var milliseconds: Int64 { SystemTime.sinceBoot }
}

extension EtcdCluster {
    /// The cluster that a group is shared through.
    ///
    /// - Throws: ``ErrorCode/usage`` for an invalid address.
    fileprivate convenience init(
        _ backend: ClusterConfiguration, _ group: KeychainGroup, _ transport: CurlTransport,
        _ waiting: TimeoutBudget,
        _ clock: any WallClock
    ) throws(CredentialError) {
        var endpoints: [(name: String, channel: any GRPCClient)] = []
        for endpoint in backend.endpoints {
            guard let address = URI(endpoint) else {
                throw CredentialError(
                    .usage, "'\(UntrustedText.shown(endpoint))' is not a valid address",
                    hint: "use a value such as --etcd https://HOST:2379")
            }
            let channel = GRPCChannel(
                GRPCChannel.Endpoint(
                    address: address, authorities: backend.authorities, certificate: backend.certificate),
                transport: transport)
            endpoints.append((endpoint, channel))
        }
        let certificate: @Sendable () -> ClientCertificateInfo? = {
            // Why a file cannot be read libcurl says.
            guard let file = backend.certificate?.certificateFile,
                let pem = (try? UserInputFile.read(file, limit: 1 << 20))?.content
            else { return nil }
            return ClientCertificateInfo(file: file, pem: pem)
        }
        self.init(
            endpoints, setup: backend.setup(of: group, user: certificate()?.commonName), waiting: waiting,
            certificate: certificate, now: { clock.now })
    }
}
