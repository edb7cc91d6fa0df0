import CredentialCore
import Credentials
import DemoProvider
import Foundation
import StrictJSON
import Synchronization
import Testing

/// Accounts, the data kept with them, and their end.
@Suite struct AccountTests {
    @Test func `signs in, enumerates, asks as either user and forgets`() async throws {
        let world = try LibraryWorld(), store = try world.store()
        let alice = try await world.signIn(store)
        let bob = try await world.signIn(store, LibraryWorld.bob)
        #expect(
            try store.accounts(ofType: "TaskList").map(\.username) == ["alice@example.com", "bob@example.com"])
        let added = try await store.send(world.tasks("POST", .bytes(Array("Text=buy+milk".utf8))), as: alice)
        #expect(added.status == 204)
        let hers = try await store.send(world.tasks(), as: alice)
        #expect(String(decoding: hers.body, as: UTF8.self).contains("buy milk"))
        #expect(try await store.send(world.tasks(), as: bob).body == Array("[]".utf8))
        try await store.signOut(bob)
        #expect(try world.store().accounts().map(\.id) == [alice.id])
        #expect(try store.account(withID: alice.id, ofType: "TaskList").subject == alice.subject)
    }

    @Test func `the default is the only account until the user chooses`() async throws {
        let world = try LibraryWorld(), store = try world.store()
        #expect(try store.defaultAccount(ofType: "TaskList") == nil)
        let alice = try await world.signIn(store)
        #expect(try store.defaultAccount(ofType: "TaskList")?.id == alice.id)
        let bob = try await world.signIn(store, LibraryWorld.bob)
        try store.setDefault(bob)
        #expect(try world.store().defaultAccount(ofType: "TaskList")?.id == bob.id)
        try store.setLabel("work", of: alice)
        #expect(try store.accounts().first?.label == "work")
    }

    @Test func `a fault of a shared group keeps no account of another from being found`() async throws {
        let world = try LibraryWorld(), alice = try await world.signIn(try world.store())
        let broken = world.path + "/.local/share/credmgr/groups/a-group/shared", files = FileManager.default
        try files.createDirectory(
            atPath: broken, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try #require(
            files.createFile(
                atPath: broken + "/backend", contents: Data("{}".utf8), attributes: [.posixPermissions: 0o600]))
        // A program that does not know her type has no group to look into first.
        let stranger = try world.store(configuring: false)
        try stranger.setLabel("work", of: alice)
        #expect(try world.store().accounts(ofType: LibraryWorld.typeName).map(\.label) == ["work"])
        let told = Mutex<[String]>([])
        let listing = try world.store { options in options.warn = { said in told.withLock { $0.append(said) } } }
        #expect(try listing.accounts().map(\.id) == [alice.id])
        #expect(told.withLock { $0.contains { $0.hasPrefix("the accounts of group a-group are left out: ") } })
        // An account that no other group has may be in that group.
        try await world.store().signOut(alice)
        let unknown = #expect(throws: CredentialError.self) { try stranger.setLabel("play", of: alice) }
        #expect(unknown?.code == .storeDamaged)
    }

    @Test func `any JSON is kept with an account, through refreshes and sign-ins`() async throws {
        let world = try LibraryWorld(), store = try world.store()
        let alice = try await world.signIn(store)
        #expect(store.userData(of: alice).isEmpty)
        let data: [String: JSONValue] = [
            "lists": ["home", "work"], "page": ["number": 3, "open": true], "none": .null,
        ]
        try store.setUserData(data, of: alice)
        _ = try await store.token(of: alice, forceRefresh: true)
        try await world.signIn(store)
        let kept = try world.store().userData(of: alice)
        #expect(kept["lists"] == ["home", "work"])
        #expect(kept["page"]?.object?["number"]?.integer == 3)
        #expect(kept["none"] == .null)
        try store.setUserData(["colour": "green"], of: alice)
        #expect(store.userData(of: alice)["lists"] == nil)
        #expect(store.userData(of: alice)["colour"] == "green")
        let long = String(repeating: "x", count: 70_000)
        #expect(throws: CredentialError.self) { try store.setUserData(["long": long], of: alice) }
        try await store.signOut(alice)
        #expect(throws: CredentialError.self) { try store.setUserData(["colour": "red"], of: alice) }
        #expect(store.userData(of: alice).isEmpty)
    }

    @Test func `claims, and other members of the response`() async throws {
        let world = try LibraryWorld(), store = try world.store()
        let alice = try await world.signIn(store)
        let claims = try store.claims(of: alice)
        #expect(claims["name"] == "Alice Example")
        #expect(throws: CredentialError.self) { try store.claims(of: alice, policy: "edit") }

        let held = try HeldProvider()
        try store.configure(held.type)
        let account = try await store.signIn(toType: "Held", interaction: LibraryWorld.browser())
        let fields = try store.replyFields(of: account)
        #expect(fields["instance_url"] == "https://eu7.example.com")
        #expect(fields["team"]?.object?["id"] == "T0001")
        #expect(fields["access_token"] == nil && fields["refresh_token"] == nil)
        _ = try await store.token(of: account, forceRefresh: true)
        #expect(try store.replyFields(of: account)["instance_url"] == "https://eu7.example.com")
    }

    @Test func `user data of an account does not wait for the account's provider`() async throws {
        let held = try HeldProvider(), world = try LibraryWorld()
        // A caller that waits for a token is more patient than the provider is slow.
        let store = try world.store(configuring: false) { $0.lockWait = 600 }
        try store.configure(held.type)
        let account = try await store.signIn(toType: "Held", interaction: LibraryWorld.browser())
        try store.setUserData(["a": "b"], of: account)
        held.hold("/token")
        let refresh = Task { try await store.token(of: account, forceRefresh: true) }
        try await held.reached("/token", count: 2)
        let busy = await failure { try await offPool { try store.setUserData(["a": "c"], of: account) } }
        #expect(busy?.code == .lockTimeout)
        #expect(store.userData(of: account)["a"] == "b")
        held.release()
        _ = try await refresh.value
        try store.setUserData(["a": "c"], of: account)
        #expect(store.userData(of: account)["a"] == "c")
    }

    @Test func `a policy, an account, a type: each sign-out forgets its own and no more`() async throws {
        let world = try LibraryWorld(), store = try world.store()
        let alice = try await world.signIn(store)
        _ = try await store.signIn(
            toType: "TaskList", as: alice, policy: "edit", interaction: LibraryWorld.browser())
        let bob = try await world.signIn(store, LibraryWorld.bob)
        #expect(try store.accounts().first?.policies.count == 2)
        try await store.signOut(alice, policy: "edit")
        #expect(try store.accounts().first?.policies == ["b2c_1_sign_in"])
        #expect(await failure { try await store.signOut(alice, policy: "edit") }?.code == .noSuchAccount)
        let page = try await store.endSessionURL(of: bob)
        #expect(page?.contains("/logout") == true)
        // B2C has no revocation, so no account is forgotten.
        #expect(await failure { try await store.signOut(bob, revoking: true) }?.code == .unsupported)
        #expect(try store.accounts().count == 2)
        try await store.signOutAll(ofType: "TaskList")
        #expect(try store.accounts() == [])

        let held = try HeldProvider()
        try store.configure(held.type)
        let account = try await store.signIn(toType: "Held", interaction: LibraryWorld.browser())
        try await store.signOut(account, policy: nil, revoking: true)
        #expect(held.received.contains { $0.path == "/revoke" && $0.text.contains("token=rt-") })
    }

    @Test func `the article's own header line is taken, as the importer takes it`() throws {
        let world = try LibraryWorld(), store = try world.store()
        var type = world.type
        type.headers = ["Content-Type": "application/x-www-form-urlencoded", "X-App": "1"]
        try store.configure(type)
        #expect(try store.type(named: "TaskList").headers == ["X-App": "1"])
        type.headers = ["Content-Type": "application/json"]
        #expect(throws: CredentialError.self) { try store.configure(type) }
        type.headers = [:]
        type.redirectURI = "not a URI"
        #expect(throws: CredentialError.self) { try store.configure(type) }
    }
}
