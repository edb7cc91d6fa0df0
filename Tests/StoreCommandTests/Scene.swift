import CredentialCore
import CryptoSupport
import EncryptedFileStore
import Foundation
import LinuxPlatform
import LocalFiles
import StrictJSON
import TestSupport

/// A home with accounts in it, the real program, and the parts to look behind its back with.
final class Scene: Sendable {
    let folder: TemporaryFolder
    let group = KeychainGroup.standard
    private let bus: [String: String]

    /// Makes an empty home on the bus of `keyring`, or on none.
    init(_ keyring: PrivateKeyring? = nil) throws {
        folder = try TemporaryFolder()
        bus = keyring?.environment ?? [:]
        try FileManager.default.createDirectory(atPath: folder.path + "/run", withIntermediateDirectories: true)
    }

    var dataHome: String { folder.path + "/data" }
    var groupFolder: String { dataHome + "/credmgr/groups/default" }

    // MARK: The program

    /// A call of the program.
    func command(_ words: [String], _ variables: [String: String] = [:]) -> ChildProcess {
        var environment = [
            "HOME": folder.path, "XDG_DATA_HOME": dataHome, "XDG_CONFIG_HOME": folder.path + "/config",
            "XDG_RUNTIME_DIR": folder.path + "/run", "XDG_CONFIG_DIRS": folder.path + "/etc",
            "XDG_DATA_DIRS": folder.path + "/share", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
            "CREDMGR_CACHE": "off",
        ]
        environment["DBUS_SESSION_BUS_ADDRESS"] = bus["DBUS_SESSION_BUS_ADDRESS"]
        return ChildProcess(Self.program, words, environment: environment.merging(variables) { $1 })
    }

    /// Runs the program.
    func run(
        _ words: [String], _ variables: [String: String] = [:], input: String = ""
    ) throws -> ChildProcess.Outcome { try command(words, variables).run(input: input) }

    /// The program that was built with the tests.
    static let program: String = {
        let itself = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let places = CommandLine.arguments.filter { $0.hasPrefix("/") } + [itself]
        let candidates = places.map { URL(fileURLWithPath: $0).deletingLastPathComponent().path + "/credmgr" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) } ?? "credmgr"
    }()

    // MARK: Behind its back

    /// The encrypted file.
    var file: EncryptedFileStore {
        EncryptedFileStore(
            dataHome: dataHome, keys: .keyFileOnly, cryptography: LibCryptography(), random: SystemRandom(),
            clock: SystemClock(), cost: ScryptCost(logarithm: 13, blockSize: 8, parallelism: 1), report: { _ in })
    }

    var registry: RegistryFile {
        RegistryFile(GroupFolders(dataHome: dataHome), clock: SystemClock(), warn: { _ in })
    }

    /// Makes accounts with token sets in a store and entries in the registry.
    func signIn(_ ids: [String], in store: any SecretStore) throws {
        Canary.watch { Set(ids.map { "refresh-" + $0 }) }
        for id in ids {
            let set = try Self.tokenSet(id, in: store.kind)
            try store.write(set.encoded(), for: item(id), label: "credmgr: Tasks \(id)")
            try registry.update(group) { (registry) throws(CredentialError) in registry[id: id] = set.account }
        }
    }

    /// A token set whose refresh token is `refresh-ID`.
    static func tokenSet(_ id: String, in store: StoreKind) throws -> TokenSet {
        let now = SystemClock().now
        var account = Account(
            id: id, type: "Tasks", adapter: "oauth2",
            registration: Registration(provider: "https://id.example", clientID: "c"), subject: "subject-" + id,
            store: store, now: now)
        account.username = "user-\(id)@example.com"
        var set = TokenSet(account: account, journalKey: [UInt8](repeating: 7, count: 32))
        set.generation = 3
        var grant = Grant(flow: .code, obtainedAt: now)
        grant.refreshToken = Secret("refresh-" + id)
        set.grants[""] = grant
        return set
    }

    func item(_ id: String) -> SecretItem { SecretItem(group: group, owner: id, kind: .tokenSet) }

    /// The accounts whose secrets a store has whole.
    func holders(_ store: any SecretStore) throws -> [String] {
        try store.items(of: group, kind: .tokenSet).filter { item in
            let set = try store.read(item).map { try TokenSet(decoding: $0) }
            return set?.grants[""]?.refreshToken == Secret("refresh-" + item.owner)
        }.map(\.owner).sorted()
    }

    /// The findings of `doctor --json` that are not as they should be.
    func problems(_ words: [String] = []) throws -> [String] {
        let outcome = try run(["doctor", "--json"] + words)
        let document = try JSONValue.parse(Array(outcome.standardOutput.utf8)).object
        let problems = document?["checks"]?.array?.compactMap(\.object).filter { $0["state"] == "problem" } ?? []
        if (outcome.exitStatus == 0) != problems.isEmpty { return ["exit status \(outcome.exitStatus)"] }
        return problems.compactMap { $0["message"]?.string }
    }
}
