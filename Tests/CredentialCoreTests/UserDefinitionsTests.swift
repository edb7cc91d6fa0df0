import CredentialCore
import CryptoSupport
import Synchronization
import TestPorts
import Testing

/// The secrets that a store keeps of a type's client, when the type's definition changes.
@Suite struct UserDefinitionsTests {
    private let machine = MemoryMachine(cryptography: LibCryptography())
    private let told = Told()

    private final class Told: Sendable {
        private let all = Mutex<[String]>([])
        var texts: [String] { all.withLock { $0 } }
        func add(_ message: LocalizedMessage) { all.withLock { $0.append(message.description) } }
    }

    private var definitions: UserDefinitions {
        var ports = machine.process()
        ports.typeFolders = ["/memory/types", "/memory/system"]
        return AccountServices(ports, AccountPolicy(warn: told.add), Configuration()).ownDefinitions
    }

    private static let kinds: [SecretItem.Kind] = [.clientSecret, .privateKey, .registrationToken]

    private func item(_ kind: SecretItem.Kind, _ group: String = "default") throws -> SecretItem {
        SecretItem(
            group: try KeychainGroup(group), owner: "\(MemoryProvider.issuer) client_id=c", kind: kind)
    }

    private func keep(_ group: String = "default", in store: StoreKind = .file) throws {
        for kind in Self.kinds { try machine.set(Array("\(kind.rawValue)".utf8), item(kind, group), in: store) }
    }

    private func kept(_ group: String = "default", in store: StoreKind = .file) throws -> [SecretItem.Kind] {
        try Self.kinds.filter { try machine.item(item($0, group), in: store) == Array($0.rawValue.utf8) }
    }

    /// A definition that has everything in a store.
    private func type(_ group: String = "default", hasSecrets: Bool = true) throws -> AccountType {
        var type = AccountType(name: "Work", adapter: "memory", clientID: "c")
        type.keychainGroup = try KeychainGroup(group)
        guard hasSecrets else { return type }
        type.clientSecret = .store
        type.privateKey = .store
        type.registrationClientURI = "https://memory.example/register/c"
        return type
    }

    @Test(arguments: StoreKind.allCases.filter { $0 != .etcd })
    func `secrets that the new definition no longer uses are removed`(store: StoreKind) throws {
        _ = try definitions.put(type(), force: false, by: .change)
        try keep(in: store)
        _ = try definitions.put(type(), force: true, by: .change)
        #expect(try kept(in: store) == Self.kinds)
        var keyOnly = try type(hasSecrets: false)
        keyOnly.privateKey = .store
        _ = try definitions.put(keyOnly, force: true, by: .change)
        #expect(try kept(in: store) == [.privateKey])
        _ = try definitions.put(type(hasSecrets: false), force: true, by: .change)
        #expect(try kept(in: store).isEmpty && told.texts.isEmpty)
    }

    @Test func `it goes along to another group, but over nothing that is there`() throws {
        _ = try definitions.put(type(), force: false, by: .change)
        try keep()
        let newer = Array("newer".utf8)
        try machine.set(newer, item(.clientSecret, "other"), in: .secretService)
        _ = try definitions.put(type("other"), force: true, by: .change)
        #expect(try kept().isEmpty)
        #expect(try kept("other") == [.privateKey, .registrationToken])
        #expect(try machine.item(item(.clientSecret, "other"), in: .secretService) == newer)
        // Secrets that the type does not want are in neither store.
        _ = try definitions.put(type("third", hasSecrets: false), force: true, by: .change)
        #expect(try kept("other").isEmpty && kept("third").isEmpty)
        #expect(try machine.item(item(.clientSecret, "other"), in: .secretService) == nil)
    }

    @Test func `secrets of a definition in another directory stay`() throws {
        machine.setFile(
            "/memory/system/Work.json",
            #"{"adapter": "memory", "client_id": "c", "client_secret": {"store": true}}"#)
        try keep()
        _ = try definitions.put(type(hasSecrets: false), force: true, by: .change)
        #expect(try kept() == Self.kinds)
        // That counts again once the user's own is gone.
        machine.setFile("/memory/types/Work.json", nil)
        try definitions.forget(type(), ownsEarlier: true)
        #expect(try kept() == [.clientSecret])
    }

    @Test func `a definition that is gone leaves nothing`() throws {
        try keep()
        try definitions.forget(type(), ownsEarlier: true)
        #expect(try kept().isEmpty)
    }

    @Test func `a store that cannot be asked is reported once, unless the other store has the secrets`() throws {
        try keep()
        machine.breakStore(.secretService, with: CredentialError(.storeUnavailable, "no bus"))
        try definitions.forget(type(), ownsEarlier: true)
        #expect(try kept().isEmpty && told.texts.isEmpty)
        try definitions.forget(type(), ownsEarlier: true)
        #expect(told.texts == ["cannot delete the secrets of the type Work from the Secret Service: no bus"])
    }
}
