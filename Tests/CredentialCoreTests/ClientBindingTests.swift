import CredentialCore
import CryptoSupport
import TestPorts
import Testing

/// The client that a stored secret belongs to, and the files that may be read as a private key.
@Suite struct ClientBindingTests {
    private let scene = ServiceScene(cryptography: LibCryptography(), store: .file)
    private let secret = Array("s3cret-value".utf8)

    private func type(_ clientID: String = "c") -> AccountType {
        var type = AccountType(name: "Tasks", adapter: "memory", clientID: clientID)
        type.clientSecret = .store
        return type
    }

    private func item(_ owner: String) -> SecretItem {
        SecretItem(group: .standard, owner: owner, kind: .clientSecret)
    }

    private func read(_ type: AccountType) throws(CredentialError) -> String? {
        try scene.services().adapterContext.clientSecrets.clientSecret(of: type)?.reveal()
    }

    private static let owner = "\(MemoryProvider.issuer) client_id=c"

    @Test func `a stored secret is its client's under every name, and no other client's under the same`() throws {
        scene.machine.set(secret, item(Self.owner), in: .file)
        #expect(try read(type()) == "s3cret-value")
        var other = type()
        other.name = "Reports"
        #expect(try read(other) == "s3cret-value")
        let error = #expect(throws: CredentialError.self) { try read(type("other")) }
        #expect(error?.code == .configuration)
    }

    @Test(arguments: [StoreKind.file, .secretService])
    func `a secret under the type's name is moved to its client by the first command that reads it`(
        store: StoreKind
    ) throws {
        try scene.signIn()
        scene.machine.set(secret, item("Tasks"), in: store)
        #expect(try read(type()) == "s3cret-value")
        #expect(scene.machine.item(item("Tasks"), in: store) == nil)
        #expect(scene.machine.item(item(Self.owner), in: store) == secret)
        #expect(try read(type()) == "s3cret-value")
    }

    @Test func `a secret under the name of a type that was another client is kept, and not sent`() throws {
        try scene.signIn()
        scene.machine.set(secret, item("Tasks"), in: .file)
        let error = #expect(throws: CredentialError.self) { try read(type("other")) }
        #expect(error?.code == .configuration)
        #expect(error?.message.contains("another client") == true)
        #expect(scene.machine.item(item("Tasks"), in: .file) == secret)
        scene.machine.setFile(
            "/memory/types/Tasks.json",
            #"{"adapter": "memory", "client_id": "other", "client_secret": {"store": true}}"#)
        #expect(scene.services().ownDefinitions.unwanted(in: .standard).map(\.item) == [item("Tasks")])
    }

    @Test func `an imported definition gets no secret under its name`() throws {
        scene.machine.set(secret, item("Tasks"), in: .file)
        var imported = type()
        imported.apiBase = "https://evil.example/"
        _ = try scene.services().ownDefinitions.put(imported, force: false, by: .imported)
        #expect(throws: CredentialError.self) { try read(imported) }
        #expect(scene.machine.item(item("Tasks"), in: .file) == secret)
    }

    @Test func `a replaced definition leaves the secret with the client that it was of`() throws {
        _ = try scene.services().ownDefinitions.put(type(), force: false, by: .user)
        scene.machine.set(secret, item("Tasks"), in: .file)
        _ = try scene.services().ownDefinitions.put(type("other"), force: true, by: .imported)
        #expect(scene.machine.item(item("Tasks"), in: .file) == nil)
        #expect(scene.machine.item(item(Self.owner), in: .file) == secret)
        #expect(throws: CredentialError.self) { try read(type("other")) }
    }

    // MARK: Archives

    @Test(arguments: [
        #"{"command": ["leak"]}"#, #"{"file": "/home/ada/.netrc"}"#, #"{"env": "NPM_TOKEN"}"#,
    ])
    func `an archive brings no command, file or variable, and defines nothing then`(source: String) throws {
        try scene.signIn()
        let account = try #require(scene.account())
        scene.machine.setFile(
            "/memory/types/Tasks.json", #"{"adapter": "memory", "client_id": "c", "client_secret": \#(source)}"#)
        let archive = try transfer(scene).archive(of: [(.standard, account)]) { (error) throws(CredentialError) in
            throw error
        }
        let other = ServiceScene(cryptography: LibCryptography(), store: .file)
        let error = #expect(throws: CredentialError.self) {
            _ = try transfer(other).take(archive, into: .file) { (_) throws(CredentialError) in }
        }
        #expect(error?.code == .configuration && error?.message.contains("client_secret") == true)
        #expect(other.machine.file("/memory/types/Tasks.json") == nil && other.machine.accounts().isEmpty)
        // A definition that is there already is the user's.
        other.machine.setFile(
            "/memory/types/Tasks.json", #"{"adapter": "memory", "client_id": "c", "client_secret": \#(source)}"#)
        _ = try transfer(other).take(archive, into: .file) { (_) throws(CredentialError) in }
        #expect(other.machine.accounts().count == 1)
    }

    @Test func `a definition that an archive brings is not confirmed`() throws {
        try scene.signIn()
        let account = try #require(scene.account())
        scene.machine.setFile(
            "/memory/types/Tasks.json",
            #"{"adapter": "memory", "client_id": "c", "api_base": "https://evil.example/"}"#)
        let archive = try transfer(scene).archive(of: [(.standard, account)]) { (error) throws(CredentialError) in
            throw error
        }
        let other = ServiceScene(cryptography: LibCryptography(), store: .file)
        _ = try transfer(other).take(archive, into: .file) { (_) throws(CredentialError) in }
        #expect(!other.machine.process().trust.isConfirmed("Tasks"))
        #expect(scene.machine.process().trust.isConfirmed("Tasks"))
    }

    private func transfer(_ scene: ServiceScene) -> AccountTransfer {
        let catalog = scene.machine.process().catalog
        return AccountTransfer(
            scene.services(), group: nil,
            definition: { (name) throws(CredentialError) in try catalog.definition(of: name).type }, note: { _ in })
    }

    // MARK: Private keys

    @Test(arguments: [
        ("-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n", true),
        (
            "-----BEGIN EC PARAMETERS-----\nAA==\n-----END EC PARAMETERS-----\n-----BEGIN EC PRIVATE KEY-----\nMHc=\n-----END EC PRIVATE KEY-----\n",
            true
        ),
        (#"{"kty": "EC", "crv": "P-256", "d": "AA", "x": "AA", "y": "AA"}"#, true),
        (#"{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}"#, false),
        ("root:x:0:0:root:/root:/bin/bash\n", false), ("machine example.com login ada password secret\n", false),
        ("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", false),
    ])
    func `a file as private_key holds a PEM private key or a JWK, else nothing of it is used`(
        text: String, isKey: Bool
    ) throws {
        scene.machine.setFile("/memory/key", text)
        var type = type()
        type.privateKey = .file("/memory/key")
        let secrets = scene.services().adapterContext.clientSecrets
        do throws(CredentialError) {
            #expect(try secrets.privateKey(of: type) != nil && isKey)
        } catch {
            #expect(!isKey && error.code == .configuration, "\(error)")
        }
    }
}
