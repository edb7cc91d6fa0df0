package import Broker
package import CredentialCore
import FastToken
package import PluginHost

/// Everything outside the commands: each effect they can have, made by the composition root, or by a test.
package struct CommandContext: Sendable {
    /// The ports of the machine that accounts need.
    package var machine: MachinePorts
    /// The folder the command was called in, by each of its names.
    package var workingDirectories: [String]
    /// Streams and terminal.
    package var console: any Console
    /// Reads the settings of iOS apps as definitions.
    package var settings: any SettingsImporter
    /// The folder with all that is kept.
    package var dataFolder: any DataDirectoryInspector
    /// The plugins that are installed.
    package var providers: PluginCatalog
    /// The presets of providers.
    package var presets: PresetCatalog
    /// Programs.
    package var programs: any ProcessPort
    /// Listens for redirects.
    package var redirects: any RedirectReceivers
    /// Makes QR codes.
    package var qrCodes: any QRCodes
    /// The demonstration that `demo` shows.
    package var demonstration: any DemoRunner
    /// The sockets of brokers.
    package var brokers: any BrokerHost
    /// The audit logs and consents of brokers, and the parts of a server that this machine keeps or asks.
    package var brokerRecords: any BrokerRecords = NoBrokerRecords()

    /// Makes a context.
    package init(
        machine: MachinePorts, workingDirectories: [String], console: any Console, settings: any SettingsImporter,
        dataFolder: any DataDirectoryInspector, providers: PluginCatalog, presets: PresetCatalog,
        programs: any ProcessPort, redirects: any RedirectReceivers, qrCodes: any QRCodes,
        demonstration: any DemoRunner, brokers: any BrokerHost = NoBrokerHost()
    ) {
        self.machine = machine
        self.workingDirectories = workingDirectories
        self.console = console
        self.settings = settings
        self.dataFolder = dataFolder
        self.providers = providers
        self.presets = presets
        self.programs = programs
        self.redirects = redirects
        self.qrCodes = qrCodes
        self.demonstration = demonstration
        self.brokers = brokers
    }
}

/// The machine's, by their names.
extension CommandContext {
    var environment: [String: String] { machine.environment }
    var dataHome: String { machine.dataHome }
    var typeFolders: [String] { machine.typeFolders }
    var configurationFile: String { machine.configurationFile }
    var clock: any WallClock { machine.clock }
    var random: any RandomSource { machine.random }
    var cryptography: any Cryptography { machine.cryptography }
    var transport: any HTTPTransport { machine.transport }
    var records: any AccountRecordStore { machine.records }
    var locks: any AccountLocks { machine.locks }
    var journal: any TokenSetJournal { machine.journal }
    var events: any EventLog { machine.events }
    var tokenCache: any AccessTokenCache { machine.tokenCache }
    var fileStates: any FileStamps { machine.fileStates }
    var typeFiles: any DefinitionStore { machine.typeFiles }
    var adapters: AdapterRegistry { machine.adapters }

    /// The places that the fast path reads, as the slower path has them.
    var fastPlace: FastPathEnvironment {
        FastPathEnvironment(
            dataHome: dataHome, typeFolders: typeFolders, configurationFile: configurationFile,
            variable: { [environment] in environment[$0] }, tokenCache: tokenCache, fileStates: fileStates,
            clock: clock)
    }
}
