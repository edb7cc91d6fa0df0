import AzureB2CAdapter
import Commands
import CredentialCore
import LocalMachine
import Platform
import QRCodes

/// The parts that the command adds to the machine: the terminal, programs, listeners. Making it opens no file.
struct Machine: Sendable {
    /// The parts that the library has, too.
    let local: LocalMachine
    private let console: LinuxConsole

    /// Reads the paths from the environment.
    ///
    /// - Parameter translations: the person's language.
    /// - Throws: ``ErrorCode/configuration`` without a home folder.
    init(
        environment: [String: String], caller: InheritedSettings, translations: any Translations
    ) throws(CredentialError) {
        let console = LinuxConsole(environment: environment, translations: translations)
        self.console = console
        local = try LocalMachine(
            environment: environment, caller: caller, userAgent: "credmgr/\(Program.version)",
            supervisor: ExecutablePath.itself)
    }

    /// The context that commands are given.
    var context: CommandContext {
        let searchPath = local.directories.configSearchPath + local.directories.dataSearchPath
        let ports = local.ports
        var context = CommandContext(
            machine: ports, workingDirectories: WorkingDirectory.paths(local.environment),
            console: console, settings: B2CSettings(),
            dataFolder: LinuxDataDirectoryInspector(
                path: local.directories.dataFolder, clock: local.clock, locks: ports.locks, journal: ports.journal),
            providers: local.providers,
            presets: PresetCatalog(folders: searchPath.map { $0 + "/presets" }, files: local.files),
            programs: local.programs, redirects: local.redirects(in: console.translations, answersAfterwards: true),
            qrCodes: QRCodeEncoder(),
            demonstration: DemoWalkthrough(machine: self),
            brokers: LinuxBrokerHost(environment: local.environment))
        context.brokerRecords = LocalBrokerRecords(local)
        return context
    }
}

extension QRCodeEncoder: Commands.QRCodes {}

/// The settings of the seeds' iOS apps, which are all for Azure AD B2C.
private struct B2CSettings: SettingsImporter {
    func importSettings(
        _ bytes: [UInt8], name: String?, fix: Bool, exact: Bool, place: String
    ) throws(CredentialError) -> Outcome {
        try LocalMachine.importSettings(bytes, name: name, fix: fix, exact: exact, place: place)
    }
}
