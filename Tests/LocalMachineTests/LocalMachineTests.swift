import CredentialCore
import Foundation
import LocalMachine
import Platform
import TestSupport
import Testing

/// This machine as it is put together for the command and the library.
@Suite struct LocalMachineTests {
    private let folder: TestSupport.TemporaryFolder
    private let home: ProgramHome

    init() throws {
        folder = try TestSupport.TemporaryFolder()
        home = try ProgramHome(
            folder.path, ["XDG_STATE_HOME": folder.path + "/state", "XDG_CACHE_HOME": folder.path + "/cache"])
    }

    private func machine(
        _ variables: [String: String] = [:], supervisor: String? = BuiltProgram.path,
        adapters: [any CredentialAdapter] = []
    ) throws -> LocalMachine {
        try LocalMachine(
            environment: home.environment.merging(variables) { $1 }, userAgent: "test", supervisor: supervisor,
            worker: BuiltProgram.path, adapters: adapters)
    }

    private func files() -> [String] {
        (FileManager.default.enumerator(atPath: folder.path)?.allObjects as? [String] ?? []).sorted()
    }

    @Test func `making it opens nothing and leaves nothing`() throws {
        let before = files()
        let machine = try machine()
        let ports = machine.ports
        #expect(ports.dataHome == folder.path + "/data/credmgr")
        #expect(ports.configurationFile == folder.path + "/config/credmgr/config.json")
        #expect(ports.typeFolders.first == folder.path + "/config/credmgr/types")
        #expect(try ports.records.groups().isEmpty)
        #expect(try machine.providers.provider(named: "none") == nil)
        #expect(files() == before)
    }

    @Test func `the built-in adapters are there, and no plugin takes their place`() throws {
        for name in ["oauth2", "azure-b2c"] {
            try install(plugin: name)
            let adapter = try #require(try machine().ports.adapters.adapter(named: name))
            #expect("\(type(of: adapter))".hasSuffix("Adapter") && !"\(type(of: adapter))".hasPrefix("Plugin"))
        }
        #expect(throws: CredentialError.self) {
            try machine().ports.adapters.adapter(
                of: AccountType(name: "T", adapter: "oauth3", clientID: "c"))
        }
    }

    @Test func `a short passphrase that is configured makes no file, and the hint is of its group`() throws {
        let passphrase = try home.write("short\n", to: "passphrase")
        let item = SecretItem(group: try KeychainGroup("work"), owner: "T", kind: .clientSecret)
        let store = try machine(["CREDMGR_PASSPHRASE_FILE": passphrase]).ports.stores(AccountPolicy()).store(.file)
        let error = #expect(throws: CredentialError.self) { try store.write([1], for: item, label: "x") }
        #expect(error?.code == .usage)
        #expect(error?.hint == "credmgr store rekey --group work --weak-passphrase")
        #expect(try store.read(item) == nil)
        #expect(!files().contains { $0.hasSuffix("store.v1") })
    }

    @Test func `a program's own passphrase is asked before the configured one`() throws {
        let item = SecretItem(group: .standard, owner: "T", kind: .clientSecret)
        let own = AccountPolicy(passphrase: { () throws(CredentialError) in Secret("a passphrase of its own") })
        try machine().ports.stores(own).store(.file).write([1, 2], for: item, label: "x")
        let other = try home.write("another passphrase\n", to: "passphrase")
        let configured = ["CREDMGR_PASSPHRASE_FILE": other]
        let refused = #expect(throws: CredentialError.self) {
            try machine(configured).ports.stores(AccountPolicy()).store(.file).read(item)
        }
        #expect(refused?.code == .storeLocked)
        #expect(try machine(configured).ports.stores(own).store(.file).read(item) == [1, 2])
    }

    @Test func `without a program that confines it no plugin is run`() throws {
        try install(plugin: "canned")
        let error = #expect(throws: CredentialError.self) { try begin(machine(supervisor: nil)) }
        #expect(error?.code == .configuration)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/seen/begun"))
    }

    /// Each of credmgr's directories, in the user's variables and at its place without them.
    private static let own = ["data", "config", "state", "cache", "run"]

    @Test(.needs(.walls), arguments: own)
    func `a plugin gets none of credmgr's folders, whatever its manifest names`(name: String) throws {
        let path = folder.path + "/" + name
        try FileManager.default.createDirectory(
            atPath: path + "/credmgr/below", withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        for needed in ["/credmgr", "/credmgr/below", ""] {
            for right in ["read", "write"] {
                try install(plugin: "canned", needs: "\"\(right)\": [\"\(path)\(needed)\"]")
                let error = #expect(throws: CredentialError.self, "\(needed)") { try begin(machine()) }
                #expect(error?.code == .configuration, "\(String(describing: error))")
                #expect(error?.message.contains("credmgr keeps its own files there") == true)
            }
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/seen/begun"))
        // The plugin may have a folder beside it.
        try install(plugin: "canned", needs: "\"read\": [\"\(path)/beside\"]")
        try begin(machine())
        #expect(FileManager.default.fileExists(atPath: folder.path + "/seen/begun"))
    }

    // MARK: A plugin

    private func begin(_ machine: LocalMachine) throws {
        let services = AccountServices(machine.ports, AccountPolicy(), Configuration())
        let type = AccountType(name: "Test", adapter: "canned", clientID: "client")
        let adapter = try machine.ports.adapters.adapter(of: type)
        _ = try adapter.begin(
            SignInRequest(type: type, flow: .code, policy: "", scope: [], redirectURI: "http://127.0.0.1:1"),
            in: services.adapterContext)
    }

    /// Installs a plugin that says that it was run. Another process puts the program in place: one that is still
    /// open for writing anywhere cannot be started.
    private func install(plugin name: String, needs: String = "") throws {
        let seen = folder.path + "/seen", base = "data/credmgr/providers/" + name
        try FileManager.default.createDirectory(atPath: seen, withIntermediateDirectories: true)
        let rights =
            needs.contains("\"write\"")
            ? needs
            : ([needs, "\"write\": [\"\(seen)\"]"].filter { !$0.isEmpty })
                .joined(separator: ", ")
        try home.write(
            #"{"name": "\#(name)", "version": "1", "protocol_versions": [1], "summary": "a test", "#
                + #""executable": "run", "flows": ["code"], "needs": {\#(rights)}}"#,
            to: base + "/manifest.json", mode: 0o644)
        let script = try home.write(
            """
            #!/bin/sh
            case $(cat) in
            *'"operation":"describe"'*)
                echo '{"version":1,"reply":"description","name":"\(name)","plugin_version":"1","protocol_versions":[1]}' ;;
            *)
                echo > '\(seen)/begun'
                echo '{"version":1,"reply":"done","identity":{"subject":"a"},"tokens":{"access_token":"t","expires_in":9}}' ;;
            esac

            """, to: base + "/run.txt")
        let installed = try ChildProcess("install", ["-m", "755", script, String(script.dropLast(4))]).run()
        try #require(installed.exitStatus == 0)
    }
}
