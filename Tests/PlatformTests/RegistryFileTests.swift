import CredentialCore
import Foundation
import LinuxPlatform
import LocalFiles
import StrictJSON
import TestSupport
import Testing

@Suite struct RegistryFileTests {
    private let temporary: TemporaryFolder
    private let folders: GroupFolders
    private let registry: RegistryFile
    private let warnings = Warnings()
    private let group = KeychainGroup.standard
    private let path: String

    init() throws {
        temporary = try TemporaryFolder()
        folders = GroupFolders(dataHome: temporary.path)
        registry = RegistryFile(folders, clock: FixedClock(), warn: { [warnings] in warnings.add($0) })
        path = temporary.path + "/credmgr/groups/default/accounts.json"
    }

    static func account(_ number: Int) -> Account {
        var account = Account(
            id: String(format: "%016x", number), type: "B2C_Acccount", adapter: "azure-b2c",
            registration: Registration(provider: "https://login.example/tenant", clientID: "client"),
            subject: "subject-\(number)", store: .secretService, now: Instant(epochSeconds: 1_700_000_000))
        account.issuer = "https://login.example/tenant/v2.0/"
        account.username = "user\(number)@example.org"
        account.displayName = "Zoë \u{1F469}\u{200D}\u{1F4BB}"
        account.label = "work"
        account.policies = ["b2c_1_signin"]
        account.scope = ["openid", "offline_access"]
        account.expiresAt = Instant(epochSeconds: 1_700_003_600)
        account.refreshExpiresAt = Instant(epochSeconds: 1_701_000_000)
        return account
    }

    private func plant(_ text: String) throws {
        _ = try folders.create(of: group)
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        chmod(path, 0o600)
    }

    @Test func `a group without a registry has no accounts and nothing is made`() throws {
        #expect(try registry.read(group) == AccountRegistry())
        #expect(try registry.groups() == [])
        #expect(!FileManager.default.fileExists(atPath: temporary.path + "/credmgr"))
    }

    @Test func `what was written is read again`() throws {
        var other = Self.account(2)
        other.status = .needsLogin(reason: "the grant was revoked")
        other.label = nil
        let minimal = Account(
            id: "3", type: "T", adapter: "oauth2", registration: Registration(provider: "p", clientID: "c"),
            subject: "s", store: .file, now: Instant(epochSeconds: -1))
        try registry.update(group) { registry throws(CredentialError) in
            registry.accounts = [Self.account(1), other, minimal]
            registry.defaults = ["B2C_Acccount": Self.account(1).id]
        }
        let read = try registry.read(group)
        #expect(read.accounts == [Self.account(1), other, minimal])
        #expect(read.defaults == ["B2C_Acccount": Self.account(1).id])
        #expect(!read.needsRebuild)
        #expect(try registry.groups() == [group])
    }

    @Test func `an update that changes nothing or throws writes nothing`() throws {
        try registry.update(group) { registry throws(CredentialError) in registry.accounts = [Self.account(1)] }
        let before = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
        let count = try registry.update(group) { registry throws(CredentialError) in registry.accounts.count }
        #expect(count == 1)
        #expect(throws: CredentialError.self) {
            try registry.update(group) { registry throws(CredentialError) in
                registry.accounts = []
                throw CredentialError(.denied, "no")
            }
        }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int == before)
        #expect(try registry.read(group).accounts.count == 1)
    }

    @Test func `members of a later minor version are passed over`() throws {
        let account = Self.account(1).json
        var grown = account
        grown["future"] = true
        let document: JSONValue = [
            "version": 1, "accounts": [.object(grown)], "defaults": [:], "extra": ["a": 1],
        ]
        try plant(document.text())
        #expect(try registry.read(group).accounts == [Self.account(1)])
    }

    @Test func `a registry of a newer version is neither read nor touched`() throws {
        let text = #"{"version":2,"people":[]}"#
        try plant(text)
        let error = #expect(throws: CredentialError.self) { try registry.read(group) }
        #expect(error?.message == "a newer credmgr wrote the registry (version 2): \(path)")
        #expect(throws: CredentialError.self) {
            try registry.update(group) { registry throws(CredentialError) in registry.accounts = [] }
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
    }

    @Test(arguments: [
        "", "not JSON", "[]", "{}", #"{"version":"1","accounts":[],"defaults":{}}"#,
        #"{"version":1,"accounts":{},"defaults":{}}"#, #"{"version":1,"accounts":[{"id":"a"}],"defaults":{}}"#,
        #"{"version":1,"version":1,"accounts":[],"defaults":{}}"#,
        #"{"version":1,"accounts":[],"defaults":{"T":1}}"#,
        #"{"version":0,"accounts":[],"defaults":{}}"#,
    ])
    func `a damaged registry is set aside, reported, and waits to be rebuilt`(text: String) throws {
        try plant(text)
        let read = try registry.read(group)
        #expect(read.accounts == [] && read.needsRebuild)
        let aside = path + ".corrupt-2023-11-14T22:13:20Z"
        #expect(try String(contentsOfFile: aside, encoding: .utf8) == text)
        #expect(
            warnings.texts == [
                "the registry \(path) is damaged; it was set aside as accounts.json.corrupt-2023-11-14T22:13:20Z"
            ])
        // A sign-in that comes first does not make the rest be forgotten.
        try registry.update(group) { registry throws(CredentialError) in registry.accounts = [Self.account(1)] }
        #expect(try registry.read(group).needsRebuild)
        try registry.update(group) { registry throws(CredentialError) in registry.needsRebuild = false }
        #expect(try !registry.read(group).needsRebuild)
        #expect(warnings.texts.count == 1)
    }

    @Test func `an account id that is a path, or comes twice, is damage`() throws {
        for ids in [["../../x"], ["a/b"], ["a", "a"]] {
            let accounts = ids.map { id in
                var json = Self.account(1).json
                json["id"] = .string(id)
                return JSONValue.object(json)
            }
            try plant((["version": 1, "accounts": .array(accounts), "defaults": [:]] as JSONValue).text())
            #expect(try registry.read(group).needsRebuild)
        }
    }

    @Test func `concurrent updates lose nothing`() throws {
        DispatchQueue.concurrentPerform(iterations: 40) { number in
            try? registry.update(group) { registry throws(CredentialError) in
                registry[id: Self.account(number).id] = Self.account(number)
            }
        }
        #expect(try Set(registry.read(group).accounts) == Set((0..<40).map(Self.account)))
    }

    @Test func `readers beside writers always see a whole registry`() throws {
        try registry.update(group) { registry throws(CredentialError) in registry.accounts = [Self.account(0)] }
        DispatchQueue.concurrentPerform(iterations: 4) { number in
            for round in 0..<25 {
                if number == 0 {
                    try? registry.update(group) { registry throws(CredentialError) in
                        registry.accounts = (0...round).map(Self.account)
                    }
                } else {
                    #expect((try? registry.read(group))?.accounts.isEmpty == false)
                }
            }
        }
        #expect(warnings.texts == [])
    }

    @Test func `a thousand accounts are read in no time`() throws {
        try registry.update(group) { registry throws(CredentialError) in
            registry.accounts = (0..<1000).map(Self.account)
        }
        let start = ContinuousClock.now
        #expect(try registry.read(group).accounts.count == 1000)
        // Unoptimized code beside other tests; a release build takes milliseconds.
        #expect(ContinuousClock.now - start < .seconds(2))
    }

    private struct FixedClock: WallClock { var now: Instant { Instant(epochSeconds: 1_700_000_000) } }

    private final class Warnings: @unchecked Sendable {
        private let lock = NSLock()
        private var list: [String] = []
        var texts: [String] { lock.withLock { list } }
        func add(_ text: String) { lock.withLock { list.append(text) } }
    }
}
