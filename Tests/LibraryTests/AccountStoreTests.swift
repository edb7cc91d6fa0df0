import CredentialCore
import Credentials
import CryptoSupport
import DemoProvider
import Foundation
import LinuxPlatform
import TestSupport
import Testing

/// The account store of a Swift program, against the demo provider over real HTTP, with the encrypted file.
@Suite struct AccountStoreTests {
    private let home: TemporaryFolder
    private let provider: DemoProvider
    private let base: String
    private let type: AccountType

    init() throws {
        home = try TemporaryFolder()
        let cryptography = LibCryptography()
        var configuration = DemoConfiguration()
        configuration.switches.rotation = .revokesOld
        provider = try DemoProvider(
            configuration: configuration, keys: [try .generate(cryptography)], cryptography: cryptography,
            clock: SystemClock(), random: SystemRandom())
        base = try provider.start()
        var type = AccountType(name: "TaskList", adapter: "azure-b2c", clientID: DemoClient.standard[0].id)
        type.authority = "\(base)/exampleb2c.onmicrosoft.com/"
        type.policies = ["sign-in": "b2c_1_sign_in"]
        type.redirectURI = "urn:ietf:wg:oauth:2.0:oob"
        type.apiBase = base
        self.type = type
    }

    private func store() throws -> AccountStore {
        var options = AccountStore.Options()
        options.store = .file
        let store = try AccountStore(options, environment: ["HOME": home.path])
        try store.configure(type)
        return store
    }

    private func signIn(_ store: AccountStore, _ user: DemoUser = DemoUser.standard[0]) throws -> Account {
        let authorization = try store.prepareAuthorization(ofType: "TaskList")
        var robot = DemoSignIn(username: user.email, password: user.password)
        return try store.handleRedirect(try robot.run(authorization.url))
    }

    private func tasks(_ method: String = "GET", _ body: HTTPBody = .none) throws -> HTTPRequest {
        let address = try #require(WebAddress(base + "/api/tasks"))
        return HTTPRequest(
            method: method, address: address, headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: body)
    }

    @Test func `signs in, enumerates, asks as either user and forgets`() throws {
        let store = try store()
        let alice = try signIn(store)
        let bob = try signIn(store, DemoUser.standard[1])
        #expect(try store.accounts(ofType: "TaskList").map(\.username) == ["alice@example.com", "bob@example.com"])

        let added = try store.send(
            tasks("POST", .bytes(Array("Text=buy+milk".utf8))), as: alice, ofType: "TaskList")
        #expect(added.status == 204)
        let hers = try store.send(tasks(), as: alice, ofType: "TaskList")
        #expect(String(decoding: hers.body, as: UTF8.self).contains("buy milk"))
        #expect(try store.send(tasks(), as: bob, ofType: "TaskList").body == Array("[]".utf8))

        try store.remove(bob, ofType: "TaskList")
        #expect(try self.store().accounts().map(\.id) == [alice.id])
    }

    @Test func `a token is shared by stores and renewed once where it is refused`() throws {
        let alice = try signIn(try store())
        let other = try store()
        let token = try other.accessToken(of: alice, ofType: "TaskList")
        #expect(try store().accessToken(of: alice, ofType: "TaskList").token == token.token)
        provider.expireTokens()
        #expect(try other.send(tasks(), as: alice, ofType: "TaskList").status == 200)
        #expect(provider.counters.refreshes == 1)
    }

    @Test func `a redirect is taken once, and only by the store that waits for it`() throws {
        let store = try store()
        let authorization = try store.prepareAuthorization(ofType: "TaskList")
        var robot = DemoSignIn(username: "alice@example.com", password: Secret("alice's password"))
        let redirect = try robot.run(authorization.url)
        #expect(throws: CredentialError.self) { try self.store().handleRedirect(redirect) }
        _ = try store.handleRedirect(redirect)
        let error = #expect(throws: CredentialError.self) { try store.handleRedirect(redirect) }
        #expect(error?.code == .denied)
        let cancelled = try store.prepareAuthorization(ofType: "TaskList")
        store.cancel(cancelled)
        #expect(throws: CredentialError.self) { try store.handleRedirect("x:y?code=a&state=\(cancelled.state)") }
    }

    @Test func `a forgotten password goes on to its reset, and back`() throws {
        var type = type
        type.passwordResetPolicy = "b2c_1_reset"
        let store = try store()
        try store.configure(type)
        let first = try store.prepareAuthorization(ofType: "TaskList")
        var robot = DemoSignIn(username: "alice@example.com", password: Secret("alice's password"))
        let forgotten = try robot.run(first.url, act: .forgotPassword)
        guard case .continues(let reset) = try store.resume(with: forgotten) else {
            Issue.record("the reset was not asked for")
            return
        }
        #expect(reset.url.lowercased().contains("b2c_1_reset"))
        guard case .continues(let again) = try store.resume(with: try robot.run(reset.url)) else {
            Issue.record("the sign-in was not asked for again")
            return
        }
        guard case .signedIn(let account) = try store.resume(with: try robot.run(again.url)) else {
            Issue.record("nobody is signed in")
            return
        }
        #expect(account.username == "alice@example.com")
    }

    @Test func `a token goes to the type's own origin only`() throws {
        let store = try store()
        let alice = try signIn(store)
        let elsewhere = try #require(WebAddress("http://127.0.0.1:1/tasks"))
        let error = #expect(throws: CredentialError.self) {
            try store.send(HTTPRequest(address: elsewhere), as: alice, ofType: "TaskList")
        }
        #expect(error?.code == .denied)
    }

    @Test(.timeLimit(.minutes(1))) func `changes made by anybody are observed`() async throws {
        let store = try store()
        var changes = try store.changes().makeAsyncIterator()
        let alice = try signIn(try self.store())
        #expect(await changes.next()?.kind == .accountAdded)
        _ = try store.accessToken(of: alice, ofType: "TaskList", forceRefresh: true)
        #expect(await changes.next()?.kind == .tokenRefreshed)
        try store.remove(alice, ofType: "TaskList")
        let removed = await changes.next()
        #expect(removed?.kind == .accountRemoved)
        #expect(removed?.account == alice.id)
    }

    @Test func `the example runs to its end`() throws {
        // The account is there already, so that the example needs no person.
        var options = AccountStore.Options()
        options.store = .file
        let store = try AccountStore(options, environment: ["HOME": home.path])
        try store.configure(type)
        _ = try signIn(store)
        let example = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent("example-task-list").path
        let outcome = try ChildProcess(example, [base], environment: ["HOME": home.path]).run()
        #expect(outcome.exitStatus == 0, "\(outcome.standardError)")
        #expect(outcome.standardOutput.contains("added: 204"))
        #expect(outcome.standardOutput.contains("buy milk"))
    }

    @Test func `an external adapter that is installed serves like a built-in one`() throws {
        let source = String(#filePath.split(separator: "/Tests/")[0]) + "/Plugins/example-provider/oauth-example"
        let folder = home.path + "/.local/share/credmgr/providers"
        let copied = try ChildProcess(
            "/bin/sh", ["-c", "umask 022; mkdir -p '\(folder)' && cp -r '\(source)' '\(folder)/'"],
            environment: ["PATH": "/usr/bin:/bin"]
        ).run()
        try #require(copied.exitStatus == 0)
        let store = try store()
        var type = AccountType(name: "External", adapter: "oauth-example", clientID: self.type.clientID)
        let endpoint = "\(base)/exampleb2c.onmicrosoft.com/b2c_1_sign_in/oauth2/v2.0"
        type.endpoints = [.authorization: endpoint + "/authorize", .token: endpoint + "/token"]
        type.scope = ["openid", "offline_access", type.clientID]
        type.redirectURI = "urn:ietf:wg:oauth:2.0:oob"
        try store.configure(type)
        let user = DemoUser.standard[0]
        let authorization = try store.prepareAuthorization(ofType: "External")
        var robot = DemoSignIn(username: user.email, password: user.password)
        let account = try store.handleRedirect(try robot.run(authorization.url))
        let token = try store.accessToken(of: account, ofType: "External").token.reveal()
        #expect(token.hasPrefix("ey"))
        try store.remove(account, ofType: "External")
        #expect(try store.accounts(ofType: "External") == [])
        // One that is not there is none.
        let missing = AccountType(name: "Missing", adapter: "no-such-adapter", clientID: "c")
        #expect(throws: CredentialError.self) { try store.configure(missing) }
    }
}
