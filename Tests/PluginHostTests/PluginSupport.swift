import CredentialCore
import CryptoSupport
import CurlTransport
import DemoProvider
import Foundation
import Platform
import PluginHost
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// A home with plugins in it.
struct PluginHome {
    let folder: TestSupport.TemporaryFolder
    var base: String { folder.path }
    var providers: String { base + "/credmgr/providers" }
    /// The folder in which the plugins of tests may write their requests and results.
    var seen: String { base + "/seen" }

    init() throws {
        folder = try TestSupport.TemporaryFolder()
        for path in [providers, seen] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }
        for path in [base + "/credmgr", base + "/credmgr/providers"] { chmod(path, 0o755) }
    }

    /// The environment of plugins: the mark of this home is in it.
    var environment: [String: String] {
        standardEnvironment.merging([MarkedProcesses.variable: base]) { $1 }
    }

    /// The supervisor, the plugin and all that it started.
    var processes: MarkedProcesses { MarkedProcesses(base) }

    func catalog(reserved: [String] = ["oauth2"], walls: SandboxPolicy? = nil) -> PluginCatalog {
        PluginCatalog(
            places: [PluginSearchPath(base: base)], reserved: reserved, environment: environment,
            walls: walls ?? self.walls())
    }

    /// The walls of the program, which keep out of this home.
    func walls(trusting trusted: [String] = [], without denied: Set<ContainmentWay> = []) -> SandboxPolicy {
        SandboxPolicy(supervisor: BuiltProgram.path, keptOut: [base + "/credmgr"], without: denied) {
            () throws(CredentialError) in trusted
        }
    }

    /// Installs an example of the project by copying its folder.
    @discardableResult
    func install(example name: String) throws -> String {
        let target = "\(providers)/\(name)"
        try Self.run("/bin/cp", ["-r", "\(projectFolder)/Plugins/examples/\(name)", target])
        for path in [target, "\(target)/manifest.json"] { chmod(path, path == target ? 0o755 : 0o644) }
        chmod("\(target)/\(name)", 0o755)
        return target
    }

    /// Installs a plugin of a test: a shell script that answers each operation as told.
    @discardableResult
    func install(_ plugin: CannedPlugin) throws -> String {
        let folder = "\(providers)/\(plugin.name)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        chmod(folder, 0o755)
        for (name, text) in plugin.replies { try write(text, "\(folder)/\(name).reply") }
        try write(manifest(plugin).text(), "\(folder)/manifest.json")
        try install(plugin.script(folder, seen: seen), "\(folder)/run")
        return folder
    }

    private func manifest(_ plugin: CannedPlugin) -> JSONValue {
        guard var manifest = plugin.manifest.object, manifest["needs"] == nil else { return plugin.manifest }
        var needs = plugin.needs
        if needs["pages"] == nil { needs["pages"] = ["https://p.example", "https://login.example.com"] }
        needs["write"] = .array([.string(seen)] + (needs["write"]?.array ?? []))
        manifest["needs"] = .object(needs)
        return .object(manifest)
    }

    /// Puts a program in place by another process: a program that any process has open for writing, if only in the
    /// moment between its fork and its exec, cannot be started.
    func install(_ script: String, _ path: String) throws {
        try write(script, path + ".txt")
        try Self.run("/usr/bin/install", ["-m", "755", path + ".txt", path])
    }

    private static func run(_ program: String, _ arguments: [String]) throws {
        try #require(try ChildProcess(program, arguments).run().exitStatus == 0)
    }

    func write(_ text: String, _ path: String, mode: mode_t = 0o644) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        chmod(path, mode)
    }

    /// The adapter of an installed plugin.
    func adapter(_ name: String, seconds: Int = 20) throws -> PluginAdapter {
        let provider = try #require(try catalog().provider(named: name))
        return PluginAdapter(
            provider,
            launcher: PluginLauncher(environment: environment, walls: walls(), seconds: seconds))
    }
}

/// A plugin of a test.
struct CannedPlugin {
    var name = "canned"
    var manifest: JSONValue = [
        "name": "canned", "version": "1.0", "protocol_versions": [1], "summary": "a plugin of a test",
        "executable": "run", "flows": ["code", "device"],
    ]
    /// The access that it needs, except to the directory in which it writes down its observations.
    var needs = JSONObject()
    /// The output of the plugin, by operation.
    var replies: [String: String] = [
        "describe":
            #"{"version":1,"reply":"description","name":"canned","plugin_version":"1.0","protocol_versions":[1]}"#
    ]
    /// Shell that runs before the reply of an operation other than `describe`.
    var before = ""
    /// Shell that runs after it.
    var after = ""

    /// Answers `begin` with one reply.
    init(begin: String? = nil, before: String = "", after: String = "") {
        replies["begin"] = begin
        self.before = before
        self.after = after
    }

    func script(_ folder: String, seen: String) -> String {
        """
        #!/bin/sh
        request=$(cat)
        operation=${request#*'"operation":"'}
        operation=${operation%%'"'*}
        printf '%s\\n' "$request" > '\(seen)/'"$operation.request"
        if [ "$operation" = describe ]; then cat '\(folder)/describe.reply'; exit 0; fi
        \(before)
        [ -f '\(folder)/'"$operation.reply" ] && cat '\(folder)/'"$operation.reply"
        \(after)
        exit 0
        """
    }
}

/// The project's folder.
let projectFolder = String(#filePath.split(separator: "/Tests/")[0])

let standardEnvironment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "SECRET_OF_HOST": "no"]

/// The parts that adapters get from the machine, with notes to look at.
struct World {
    let notes = Notes()
    var secret: Secret?

    var context: AdapterContext {
        let notes = notes
        return AdapterContext(
            transport: CurlTransport(userAgent: "test"), clock: SystemClock(), random: SystemRandom(),
            cryptography: LibCryptography(), clientSecrets: Secrets(secret: secret), note: { notes.add($0) })
    }

    final class Notes: Sendable {
        private let texts = Mutex<[String]>([])
        func add(_ text: String) { texts.withLock { $0.append(text) } }
        var all: [String] { texts.withLock { $0 } }
    }

    private struct Secrets: ClientSecrets {
        let secret: Secret?
        func clientSecret(of type: AccountType) throws(CredentialError) -> Secret? { secret }
        func privateKey(of type: AccountType) throws(CredentialError) -> Secret? { nil }
    }
}

extension AccountType {
    static func canned(_ adapter: String = "canned") -> AccountType {
        AccountType(name: "Test", adapter: adapter, clientID: "client")
    }
}

extension SignInRequest {
    static func canned(_ flow: SignInFlow = .code, scope: [String] = ["read"]) -> SignInRequest {
        SignInRequest(type: .canned(), flow: flow, policy: "", scope: scope, redirectURI: "http://127.0.0.1:1")
    }
}

/// The code of the error that `body` throws; `nil` without an error.
func code(of body: () throws(CredentialError) -> Void) -> ErrorCode? { failure(of: body)?.code }

/// The error that `body` throws.
func failure(of body: () throws(CredentialError) -> Void) -> CredentialError? {
    do throws(CredentialError) {
        try body()
        return nil
    } catch { return error }
}

/// The message of a plugin that has finished a sign-in.
let doneReply =
    #"{"version":1,"reply":"done","identity":{"subject":"ada"},"tokens":{"access_token":"tok-1","expires_in":60}}"#

/// Runs `shell` in a plugin and gives the lines that it printed, on both streams.
func says(
    _ shell: String, needs: JSONObject = JSONObject(), in home: PluginHome, trusting: [String] = [],
    without denied: Set<ContainmentWay> = []
) throws -> [String] {
    var plugin = CannedPlugin(begin: doneReply, before: "{ \(shell)\n} > '\(home.seen)/said' 2>&1")
    plugin.needs = needs
    try home.install(plugin)
    let provider = try #require(try home.catalog().provider(named: "canned"))
    let launcher = PluginLauncher(
        environment: home.environment, walls: home.walls(trusting: trusting, without: denied), seconds: 20)
    _ = try PluginAdapter(provider, launcher: launcher).begin(.canned(), in: World().context)
    return try String(contentsOfFile: home.seen + "/said", encoding: .utf8).split(separator: "\n").map(String.init)
}
