import CredentialCore
import Credentials
import DemoProvider
import Foundation
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// No feature exists on one side alone: a program can do everything that the command does, and the other way round.
@Suite struct ParityTests {
    private let world: LibraryWorld
    private let store: AccountStore

    init() throws {
        world = try LibraryWorld()
        store = try world.store()
    }

    @Test func `a known user gets another account if a new one is requested`() async throws {
        let alice = try await world.signIn(store)
        #expect(try await world.signIn(store).id == alice.id)
        let other = try await store.signIn(
            toType: "TaskList", makingNew: true, interaction: LibraryWorld.browser())
        #expect(other.id != alice.id && other.subject == alice.subject)
        #expect(try store.accounts(ofType: "TaskList").count == 2)
        let prepared = try await store.prepareAuthorization(ofType: "TaskList", makingNew: true)
        _ = try await store.handleRedirect(try await world.redirect(from: prepared.url))
        #expect(try store.accounts(ofType: "TaskList").count == 3)
        let error = await failure {
            try await store.signIn(toType: "TaskList", as: alice, makingNew: true) { _ in }
        }
        #expect(error?.code == .usage)
    }

    private static func fixture(_ name: String) throws -> [UInt8] {
        Array(
            try Data(
                contentsOf: URL(fileURLWithPath: OutsideCompiler.checkout + "/Tests/Fixtures/settings/" + name)))
    }

    @Test(arguments: ["form-a.plist", "form-a-binary.plist", "form-b.plist", "form-c.plist"])
    func `the articles' settings become a type, as the command makes it`(file: String) async throws {
        let imported = try store.importType(from: Self.fixture(file), name: "Imported", persisting: true)
        #expect(imported.type.name == "Imported" && imported.type.adapter == "azure-b2c")
        #expect(imported.report.count > 2)
        let shown = try await world.command(["types", "show", "Imported", "--json"])
        #expect(shown.standardOutput.contains("client_id"), "\(shown.standardError)")
        let path = OutsideCompiler.checkout + "/Tests/Fixtures/settings/" + file
        let theirs = try await world.command(["types", "import", path, "--name", "Imported", "--force"])
        #expect(theirs.exitStatus == 0, "\(theirs.standardError)")
        #expect(theirs.standardOutput.split(separator: "\n").map(String.init) == imported.report)
        #expect(
            try await world.command(["types", "show", "Imported", "--json"]).standardOutput == shown.standardOutput)
    }

    @Test func `a JSON definition becomes a type, and other content is refused`() throws {
        let definition = Array(#"{"adapter": "oauth2", "issuer": "https://a.example.com", "client_id": "c"}"#.utf8)
        let imported = try store.importType(from: definition, name: "Work")
        #expect(imported.type.issuer == "https://a.example.com")
        #expect(try store.type(named: "Work").clientID == "c")
        for (bytes, name) in [(definition, String?.none), (Array("nothing".utf8), "Work2"), ([], "Work3")] {
            #expect(throws: CredentialError.self) { try store.importType(from: bytes, name: name) }
        }
    }

    @Test func `the cache is on or off here, too`() async throws {
        func open(_ word: String) throws -> AccountStore {
            try AccountStore(environment: world.environment.merging(["CREDMGR_CACHE": word]) { $1 })
        }
        for word in ["no", "OFF"] { #expect(await failure { try open(word) }?.code == .usage) }
        for word in ["on", "off", ""] { #expect(try open(word).accounts().isEmpty) }
    }

    @Test func `a refresh with an unknown outcome is settled by the user's decision`() async throws {
        let nodes = try EtcdNodes.shared(), names = nodes.certificate(of: "host")
        try store.configure(world.type, persisting: true)
        let alice = try await world.signIn(store)
        let shared = try await world.command([
            "groups", "share", world.type.keychainGroup.name, "--etcd", nodes.endpoints[0], "--ca",
            nodes.authorities, "--cert", names.certificate, "--key", names.key, "--prefix", "/credmgr/library",
            "--name",
            "one",
        ])
        try #require(shared.exitStatus == 0, "\(shared.standardError)")
        let old = try await store.token(of: alice)
        world.provider.change {
            $0.failures = 1
            $0.failureStatus = 500
        }
        _ = await failure { try await store.token(of: alice, forceRefresh: true) }
        let refused = await failure { try await store.token(of: alice, forceRefresh: true) }
        #expect(refused?.code == .temporary)
        #expect(refused?.hint?.hasSuffix("token(of: account, takesOver: true)") == true, "\(refused?.hint ?? "")")
        #expect(try await store.token(of: alice).token.reveal() == old.token.reveal())
        // The provider has not used it up, so it takes it once more.
        let taken = try await store.token(of: alice, takesOver: true)
        #expect(taken.token.reveal() != old.token.reveal())
        #expect(try await store.token(of: alice, takesOver: true).token.reveal() == taken.token.reveal())
    }

    @Test func `a group that was never looked into is not empty while its cluster is silent`() async throws {
        let nodes = try EtcdNodes(1), names = nodes.certificate(of: "host"), other = try LibraryWorld()
        defer { nodes.stop() }
        let cluster = [
            world.type.keychainGroup.name, "--etcd", nodes.endpoints[0], "--ca", nodes.authorities, "--cert",
            names.certificate, "--key", names.key, "--prefix", "/credmgr/never-seen", "--name",
        ]
        try store.configure(world.type, persisting: true)
        let alice = try await world.signIn(store)
        let shared = try await world.command(["groups", "share"] + cluster + ["one"])
        try #require(shared.exitStatus == 0, "\(shared.standardError)")
        let joined = try await other.command(["groups", "join"] + cluster + ["two", "--json"])
        let shown = try JSONValue.parse(Array(joined.standardOutput.utf8), limits: .ownFile).object?["fingerprint"]
        let admitted = try await world.command([
            "groups", "admit", cluster[0], "two", "--fingerprint", try #require(shown?.string),
        ])
        try #require(admitted.exitStatus == 0, "\(admitted.standardError)")
        nodes.stop()
        let theirs = try other.store()
        let unknown = await failure { try theirs.accounts(ofType: LibraryWorld.typeName) }
        #expect(unknown?.code == .temporary)
        #expect(await failure { try theirs.defaultAccount(ofType: LibraryWorld.typeName) }?.code == .temporary)
        // A host that already has an account keeps it, and reports it as unchanged.
        let warnings = Mutex<[String]>([])
        let here = try world.store { options in options.warn = { said in warnings.withLock { $0.append(said) } } }
        #expect(try here.accounts(ofType: LibraryWorld.typeName).map(\.id) == [alice.id])
        #expect(warnings.withLock { $0.contains { $0.contains("as this host has last seen it") } })
        #expect(try here.defaultAccount(ofType: LibraryWorld.typeName)?.id == alice.id)
    }

    @Test func `sign-ins go to another machine and come from one, with a program or the command at either end`()
        async throws
    {
        try store.configure(world.type, persisting: true)
        let alice = try await world.signIn(store), bob = try await world.signIn(store, LibraryWorld.bob)
        try store.setLabel("work", of: alice)
        try store.setUserData(["theme": "dark"], of: alice)
        let passphrase = Secret("correct horse battery"), file = world.path + "/sign-ins"
        let sealed = try await store.exportAccounts(passphrase: passphrase)
        let text = String(decoding: sealed, as: UTF8.self)
        #expect(!text.contains("alice@example.com") && !text.contains("580e250c"))

        // A program takes them over.
        let home = try TemporaryFolder()
        defer { withExtendedLifetime(home) {} }
        var options = AccountStore.Options()
        options.store = .file
        options.program = BuiltProgram.path
        let there = try AccountStore(options, environment: world.environment.merging(["HOME": home.path]) { $1 })
        #expect(await failure { try await there.importAccounts(from: sealed) }?.code == .usage)
        let wrong = await failure {
            try await there.importAccounts(from: sealed, passphrase: Secret("another one"))
        }
        #expect(wrong?.code == .denied)
        #expect(try there.accounts().isEmpty)
        let taken = try await there.importAccounts(from: sealed, passphrase: passphrase)
        #expect(taken.map(\.username) == ["alice@example.com", "bob@example.com"])
        #expect(try there.accounts(ofType: "TaskList").map(\.subject) == [alice.subject, bob.subject])
        #expect(try there.accounts(ofType: "TaskList").first?.label == "work")
        #expect(try await there.send(world.tasks(), as: taken[0]).status == 200)
        // An account that exists already stays as it is.
        #expect(try await there.importAccounts(from: sealed, passphrase: passphrase).isEmpty)

        // The command reads a program's files, and a program reads the command's.
        try Data(sealed).write(to: URL(fileURLWithPath: file))
        let elsewhere = try TemporaryFolder()
        defer { withExtendedLifetime(elsewhere) {} }
        let environment = world.environment.merging(["HOME": elsewhere.path, "CREDMGR_STORE": "file"]) { $1 }
        func command(_ words: [String]) async throws -> ChildProcess.Outcome {
            let child = ChildProcess(BuiltProgram.path, words, environment: environment)
            return try await offPool { try child.run(input: "correct horse battery\n") }
        }
        let imported = try await command(["accounts", "import", file, "--passphrase-file", "-"])
        #expect(imported.exitStatus == 0, "\(imported.standardError)")
        #expect(imported.standardOutput.split(separator: "\n").count == 2)
        let exported = try await command([
            "accounts", "export", file + ".2", "--account", "bob@example.com", "--passphrase-file", "-",
        ])
        #expect(exported.exitStatus == 0, "\(exported.standardError)")
        try await store.signOut(bob)
        let back = try await store.importAccounts(
            from: Array(Data(contentsOf: URL(fileURLWithPath: file + ".2"))), passphrase: passphrase)
        #expect(back.map(\.username) == ["bob@example.com"])
        // One account alone, and no account.
        let one = try await there.exportAccounts([taken[1]], passphrase: passphrase)
        #expect(one.count < sealed.count)
        try await there.signOutAll()
        #expect(await failure { try await there.exportAccounts(passphrase: passphrase) }?.code == .noSuchAccount)
    }

    @Test func `introspection of a token and other response members are shown, on either side`() async throws {
        let held = try HeldProvider()
        try store.configure(held.type, persisting: true)
        let account = try await store.signIn(toType: "Held", interaction: LibraryWorld.browser())
        let token = try await store.token(of: account)
        let told = try await store.introspectToken(of: account)
        #expect(told["active"] == true && told["token"]?.string == token.token.reveal())
        let theirs = try await world.command(["token", "--type", "Held", "--introspect"])
        #expect(try JSONValue.parse(theirs.standardOutput).object == told)
        #expect(await failure { try await store.accessTokenClaims(of: account) }?.code == .unsupported)
        let alice = try await world.signIn(store)
        #expect(await failure { try await store.introspectToken(of: alice) }?.code == .unsupported)

        let fields = try await world.command(["claims", "--type", "Held", "--reply-fields", "--json"])
        #expect(fields.exitStatus == 0, "\(fields.standardError)")
        #expect(try JSONValue.parse(fields.standardOutput).object == store.replyFields(of: account))
        #expect(try store.replyFields(of: account)["team"]?.object?["id"] == "T0001")
        let both = try await world.command(["claims", "--type", "Held", "--reply-fields", "--access-token"])
        #expect(both.exitStatus == 2)
    }

    @Test func `the command shows and replaces user data of programs`() async throws {
        let alice = try await world.signIn(store)
        var changes = try store.changes().makeAsyncIterator()
        try store.setUserData(["theme": "dark", "lists": ["home"]] as [String: JSONValue], of: alice)
        #expect(await changes.next()?.kind == .accountUpdated)
        let shown = try await world.command(["accounts", "data", "alice@example.com"])
        #expect(shown.exitStatus == 0, "\(shown.standardError)")
        #expect(try JSONValue.parse(shown.standardOutput).object == store.userData(of: alice))
        let set = try await world.command(
            ["accounts", "data", alice.id, "--set", "@-"], input: #"{"theme": "light"}"#)
        #expect(set.exitStatus == 0 && set.standardOutput.isEmpty, "\(set.standardError)")
        #expect(await changes.next()?.kind == .accountUpdated)
        #expect(JSONValue.object(store.userData(of: alice)) == ["theme": "light"])
        for wrong in ["[1]", "{", "@/nonexistent"] {
            #expect(try await world.command(["accounts", "data", alice.id, "--set", wrong]).exitStatus == 2)
        }
        #expect(try await world.command(["accounts", "data", "nobody"]).exitStatus == 3)
        #expect(JSONValue.object(store.userData(of: alice)) == ["theme": "light"])
    }
}
