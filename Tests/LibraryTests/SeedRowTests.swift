import CredentialCore
import Credentials
import DemoProvider
import Foundation
import LoopbackHTTP
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// The behaviour of the samples and their libraries, row by row of `docs/contributing/seed-coverage.md`, by a Swift
/// program.
@Suite struct SeedRowTests {
    private let held: HeldProvider
    private let world: LibraryWorld
    private let store: AccountStore

    init() throws {
        held = try HeldProvider()
        world = try LibraryWorld()
        store = try world.store()
        try store.configure(held.type)
    }

    private func signIn(_ change: (inout AccountType) -> Void = { _ in }) async throws -> Account {
        var type = held.type
        change(&type)
        try store.configure(type)
        return try await store.signIn(toType: type.name, interaction: LibraryWorld.browser())
    }

    private var tokenRequests: [HeldProvider.Received] { held.received.filter { $0.path == "/token" } }

    // MARK: Token requests

    @Test(arguments: [nil, "", "p:ä+"])
    func `a public client sends no secret, an empty one is none, and one that there is goes in the header`(
        secret: String?
    ) async throws {
        _ = try await signIn { $0.clientSecret = secret.map { .literal(Secret($0)) } }
        let sent = try #require(tokenRequests.last)
        let fields = FormFields(decoding: sent.body)
        #expect(fields["client_secret"] == nil)
        if secret?.isEmpty == false {
            let both = Data("client:p%3A%C3%A4%2B".utf8).base64EncodedString()
            #expect(sent.header("authorization") == "Basic " + both)
        } else {
            #expect(sent.header("authorization") == nil)
            #expect(fields["client_id"] == "client")
        }
    }

    @Test func `a token request is a form, and the query of its URL stays there`() async throws {
        let account = try await signIn { $0.endpoints[.token]? += "?p=b2c_1_sign_in" }
        _ = try await store.token(of: account, forceRefresh: true)
        #expect(tokenRequests.count == 2)
        for (sent, grant) in zip(tokenRequests, ["authorization_code", "refresh_token"]) {
            #expect(sent.method == "POST" && sent.query == "p=b2c_1_sign_in")
            #expect(sent.header("content-type")?.hasPrefix("application/x-www-form-urlencoded") == true)
            let fields = FormFields(decoding: sent.body)
            #expect(fields["grant_type"] == grant && fields["p"] == nil)
        }
    }

    @Test func `a refresh has the type's header fields and parameters, as the sign-in had`() async throws {
        let account = try await signIn {
            $0.headers = ["X-App": "tasks 1"]
            $0.tokenParameters = ["brand": "x&y"]
        }
        _ = try await store.token(of: account, forceRefresh: true)
        #expect(tokenRequests.count == 2)
        for sent in tokenRequests {
            #expect(sent.header("x-app") == "tasks 1")
            #expect(FormFields(decoding: sent.body)["brand"] == "x&y")
        }
    }

    @Test func `the scopes that B2C needs are asked for, once`() async throws {
        let needed = ["openid", "offline_access", world.type.clientID]
        for asked in [[], needed, needed + needed + [""]] {
            var type = world.type
            type.scope = asked
            try store.configure(type)
            let url = try await store.prepareAuthorization(ofType: type.name).url
            let scope = URLComponents(string: url)?.queryItems?.first { $0.name == "scope" }?.value ?? ""
            let words = scope.split(whereSeparator: { $0 == " " || $0 == "+" }).map(String.init)
            #expect(words.sorted() == needed.sorted())
        }
    }

    // MARK: Replies

    @Test(arguments: [
        ("token_type", JSONValue.string("mac")), ("access_token", "a\u{1}b"), ("access_token", 7),
        ("access_token", .null),
    ])
    func `an invalid token response signs no user in`(name: String, value: JSONValue) async throws {
        held.change([name: value])
        let error = await failure { try await signIn() }
        #expect(error?.code == .malformedReply)
        #expect(try store.accounts(ofType: "Held").isEmpty)
    }

    @Test func `the reply of B2C is read, with numbers that are texts`() async throws {
        world.provider.change {
            $0.numbersAsStrings = true
            $0.accessTokenLifetime = 1_800
        }
        let before = Int64(Date().timeIntervalSince1970)
        let token = try await store.token(of: try await world.signIn(store))
        #expect(token.expiresAt.epochSeconds >= before + 1_799)
        #expect(token.expiresAt.epochSeconds <= Int64(Date().timeIntervalSince1970) + 1_800)
        #expect(token.tokenType == "Bearer")
    }

    @Test(
        arguments: [
            (["expires_in": .integer(1_800), "ext_expires_in": 99_999, "id_token_expires_in": 300], 1_800),
            (["expires_in": "900"], 900),
            (["expires_in": JSONValue?.none, "expires_on": .integer(4_000_000_000)], nil),
        ] as [([String: JSONValue?], Int64?)])
    func `the lifetime that counts is the access token's`(members: [String: JSONValue?], seconds: Int64?)
        async throws
    {
        held.change(members)
        let before = Int64(Date().timeIntervalSince1970)
        let token = try await store.token(of: try await signIn())
        let after = Int64(Date().timeIntervalSince1970)
        if let seconds {
            #expect((before + seconds...after + seconds).contains(token.expiresAt.epochSeconds))
        } else {
            // Further than any token lives: it is not believed beyond a limit.
            #expect(token.expiresAt.epochSeconds > after + 3_600)
        }
    }

    @Test func `the ID token is sent if the type requires it`() async throws {
        var type = world.type
        type.bearer = .idToken
        try store.configure(type)
        let alice = try await world.signIn(store)
        for forced in [false, true] {
            let token = try await store.token(of: alice, forceRefresh: forced).token.reveal()
            let part = token.split(separator: ".").dropFirst().first.map(String.init) ?? ""
            let claims = try JSONValue.parse(try #require(Base64URL.decode(part))).object
            #expect(claims?["aud"]?.string == type.clientID)
            #expect(JSONValue.object(claims ?? JSONObject()) == .object(try store.claims(of: alice)))
        }
        #expect(try await store.send(world.tasks(), as: alice).status == 200)
    }

    @Test func `an error has the provider's own words, and its number`() async throws {
        let prepared = try await store.prepareAuthorization(ofType: "Held", redirectURI: "http://localhost:1/back")
        let refused = await failure {
            try await store.handleRedirect(
                "http://localhost:1/back?error=server_error&error_description=Back%20at%20nine&state="
                    + prepared.state)
        }
        #expect(refused?.message.contains("Back at nine") == true, "\(String(describing: refused))")
        let called = await failure {
            try await store.signIn(toType: "TaskList", interaction: LibraryWorld.browser(act: .cancel))
        }
        let said = ([called?.message ?? ""] + (called?.details ?? [])).joined(separator: "\n")
        #expect(called?.code == .cancelled && said.contains("AADB2C90091"), "\(said)")
    }

    @Test(arguments: DemoSwitches.IDTokenFault.allCases.filter { $0 != .none })
    func `an invalid ID token signs no user in, and refreshes no token`(
        fault: DemoSwitches.IDTokenFault
    ) async throws {
        world.provider.change { $0.idTokenFault = fault }
        let error = await failure { try await world.signIn(store) }
        #expect(error?.code.exitStatus == 7, "\(String(describing: error))")
        #expect(try store.accounts(ofType: "TaskList").isEmpty)
        world.provider.change { $0.idTokenFault = .none }
        let alice = try await world.signIn(store), token = try await store.token(of: alice)
        // A refresh has no nonce to be wrong.
        guard fault != .nonce else { return }
        world.provider.change { $0.idTokenFault = fault }
        #expect(await failure { try await store.token(of: alice, forceRefresh: true) }?.code.exitStatus == 7)
        #expect(try await store.token(of: alice).token == token.token)
        #expect(try store.claims(of: alice)["name"] == "Alice Example")
    }

    @Test func `two users with an unusable sub are two accounts, and a profile_info of nulls is accepted`()
        async throws
    {
        world.provider.change {
            $0.oldSubject = true
            $0.profileInfoHasNulls = true
        }
        let alice = try await world.signIn(store), bob = try await world.signIn(store, LibraryWorld.bob)
        #expect(try store.claims(of: alice)["sub"] == store.claims(of: bob)["sub"])
        #expect(alice.id != bob.id && alice.subject != bob.subject)
        #expect(try store.accounts(ofType: "TaskList").map(\.username) == ["alice@example.com", "bob@example.com"])
        #expect(try await world.signIn(store).id == alice.id)
    }

    // MARK: Grants

    @Test
    func `a new refresh token takes the place of the old one, for every program, and of none the old one stays`()
        async throws
    {
        let alice = try await world.signIn(store), other = try world.store()
        let before = world.provider.counters
        // The provider ends the grant on refresh token reuse.
        for program in [other, store, other] {
            _ = try await program.token(of: alice, forceRefresh: true)
        }
        #expect(world.provider.counters.refreshes == before.refreshes + 3)
        #expect(world.provider.counters.reusesDetected == 0)
        // The grant keeps the settings it was made with: credmgr sends no further discovery request.
        #expect(world.provider.counters.discoveryRequests == before.discoveryRequests)
        world.provider.change { $0.rotation = .none }
        for program in [other, store] { _ = try await program.token(of: alice, forceRefresh: true) }
        #expect(try store.accounts(ofType: "TaskList").first?.status == .active)
    }

    @Test func `a second program of the registration has its token without a sign-in`() async throws {
        let alice = try await world.signIn(store)
        let second = try world.store(configuring: false)
        var type = world.type
        type.name = "ToolB"
        type.scope = ["openid", "offline_access", type.clientID]
        try second.configure(type)
        let sent = world.provider.counters.authorizeRequests
        let found = try #require(try second.defaultAccount(ofType: "ToolB"))
        #expect(found.id == alice.id)
        #expect(!(try await second.token(of: found, ofType: "ToolB").token.isEmpty))
        #expect(try await second.send(world.tasks(), as: found, ofType: "ToolB").status == 200)
        #expect(world.provider.counters.authorizeRequests == sent)
        // A type of another client has no accounts.
        type.name = "ToolC"
        type.clientID = "c0ffee00-5b1d-4e55-8e7e-0d1e2f3a4b5c"
        try second.configure(type)
        #expect(try second.accounts(ofType: "ToolC").isEmpty)
    }

    @Test func `a dead token is never given out, and one that lives too short with a warning`() async throws {
        let told = Mutex<[String]>([])
        let store = try world.store { options in options.warn = { text in told.withLock { $0.append(text) } } }
        try store.configure(held.type)
        held.change(["expires_in": 30])
        let account = try await store.signIn(toType: "Held", interaction: LibraryWorld.browser())
        let count = tokenRequests.count
        // Less is left of it than is asked for, and of a new one, too.
        let short = try await store.token(of: account, minimumValidity: 600)
        #expect(tokenRequests.count == count + 1)
        #expect(short.expiresAt.epochSeconds > Int64(Date().timeIntervalSince1970) - 30)
        #expect(told.withLock { $0.count } == 1)
        let parts = [#"{"alg":"none"}"#, #"{"exp":1}"#].map { Base64URL.encode(Array($0.utf8)) }
        held.change(["expires_in": .null, "access_token": .string(parts.joined(separator: ".") + ".AA")])
        let ended = try await store.signIn(toType: "Held", as: account, interaction: LibraryWorld.browser())
        held.fail(503)
        let error = await failure { try await store.token(of: ended) }
        #expect(error?.code == .temporary)
        held.fail(nil)
        held.change(["expires_in": 3_600])
        let token = try await store.token(of: ended)
        #expect(token.expiresAt.epochSeconds > Int64(Date().timeIntervalSince1970) + 3_000)
    }

    // MARK: Where accounts are

    @Test func `another group sees nothing of an account, and a bad name is refused`() async throws {
        let alice = try await world.signIn(store)
        let other = try KeychainGroup("other")
        let elsewhere = try world.store { $0.group = other }
        #expect(try elsewhere.accounts().isEmpty && elsewhere.accounts(ofType: "TaskList").isEmpty)
        let again = try await world.signIn(elsewhere)
        #expect(again.id != alice.id)
        try await elsewhere.signOut(again)
        #expect(try store.accounts(ofType: "TaskList").map(\.id) == [alice.id])
        for name in ["a/b", "", "../x", "a b"] {
            #expect(throws: CredentialError.self) { try KeychainGroup(name) }
            let type = AccountType(name: name, adapter: "azure-b2c", clientID: "c")
            #expect(throws: CredentialError.self) { try store.configure(type) }
        }
    }

    @Test(.needs(.keyring))
    func `a program's accounts are items of the keyring, one each, and one that is locked or gone is no empty one`()
        async throws
    {
        let keyring = try PrivateKeyring()
        defer { keyring.stop() }
        var options = AccountStore.Options()
        options.program = BuiltProgram.path
        let environment = world.environment.merging(["DBUS_SESSION_BUS_ADDRESS": keyring.busAddress]) { $1 }
        let store = try AccountStore(options, environment: environment)
        try store.configure(world.type)
        let alice = try await world.signIn(store), bob = try await world.signIn(store, LibraryWorld.bob)
        #expect(alice.store == .secretService && bob.store == .secretService)
        try store.setUserData(["theme": "dark"], of: alice)
        let refreshed = try await store.token(of: alice, forceRefresh: true)
        let search = ChildProcess(
            "secret-tool", ["search", "--all", "kind", "token-set"], environment: keyring.environment)
        let found = try await offPool { try search.run() }
        let said = found.standardOutput + found.standardError
        for account in [alice, bob] {
            #expect(said.components(separatedBy: "attribute.account = \(account.id)").count == 2, "\(said)")
        }
        // No private data is in the attributes.
        for line in said.split(separator: "\n") where line.hasPrefix("attribute.") {
            #expect(!line.contains("example.com") && !line.contains(refreshed.token.reveal()))
        }
        #expect(try AccountStore(options, environment: environment).accounts().count == 2)
        #expect(store.userData(of: alice)["theme"] == "dark")

        try await offPool { try keyring.lock() }
        #expect(try store.accounts(ofType: "TaskList").map(\.id) == [alice.id, bob.id])
        #expect(await failure { try await store.token(of: alice, forceRefresh: true) }?.code == .storeLocked)
        let unread = await failure { try store.claims(of: alice) }
        #expect(unread?.code == .storeLocked, "\(String(describing: unread))")
        try await offPool { keyring.stopBus() }
        #expect(await failure { try await store.token(of: alice, forceRefresh: true) }?.code == .storeUnavailable)
        #expect(try store.accounts(ofType: "TaskList").map(\.id) == [alice.id, bob.id])
    }

    // MARK: Requests

    @Test func `a multipart body is sent whole, and whole again after a refresh`() async throws {
        let account = try await signIn(), file = world.path + "/photo"
        let content = String(repeating: "two\r\n--lines\n", count: 2_000)
        try content.write(toFile: file, atomically: true, encoding: .utf8)
        let body = HTTPBody.multipart([
            .init(name: "Text", content: .text("buy milk")),
            .init(name: "photo", content: .file(path: file)),
        ])
        let reply = try await store.send(
            HTTPRequest(method: "POST", address: try #require(URI(held.base + "/api/refused")), body: body),
            as: account)
        #expect(reply.status == 200)
        let sent = held.received.filter { $0.path == "/api/refused" }
        #expect(sent.count == 2)
        for one in sent {
            let type = one.header("content-type") ?? ""
            let boundary = type.components(separatedBy: "boundary=").last ?? ""
            #expect(type.hasPrefix("multipart/form-data; boundary=") && !boundary.isEmpty)
            let parts = one.text.components(separatedBy: "--\(boundary)")
            #expect(parts.count == 4 && parts[3] == "--\r\n")
            #expect(parts[1].contains(#"name="Text""#) && parts[1].hasSuffix("\r\n\r\nbuy milk\r\n"))
            #expect(parts[2].contains(#"name="photo""#) && parts[2].hasSuffix("\r\n\r\n" + content + "\r\n"))
        }
    }

    @Test func `an id for the provider's logs can be chosen, and is told`() async throws {
        let id = "0b5c2f0e-9d3c-4c67-8f6a-1f2e3d4c5b6a", told = Mutex<[String]>([])
        func store(_ id: String?) throws -> AccountStore {
            try world.store { options in
                options.correlationID = id
                options.note = { text in told.withLock { $0.append(text) } }
            }
        }
        let chosen = try store(id)
        let alice = try await world.signIn(chosen)
        #expect(told.withLock { $0.contains { $0.contains("client-request-id: \(id)") } })
        world.provider.change {
            $0.failures = 1
            $0.failureStatus = 503
        }
        let error = await failure { try await chosen.token(of: alice, forceRefresh: true) }
        let said = ([error?.message ?? ""] + (error?.details ?? [])).joined(separator: "\n")
        #expect(error?.code == .temporary && said.contains(id), "\(said)")
        told.withLock { $0 = [] }
        _ = try await world.signIn(try store(nil))
        #expect(told.withLock { $0.contains { $0.contains("client-request-id: ") && !$0.contains(id) } })
    }

    @Test func `an authority is taken in each of its forms, and one that is none is refused`() async throws {
        let tenant = "exampleb2c.onmicrosoft.com"
        for (number, path) in ["/\(tenant)", "/\(tenant)/", "/tfp/\(tenant)/b2c_1_sign_in/v2.0/"].enumerated() {
            var type = world.type
            type.name = "Form\(number)"
            type.authority = world.base + path
            try store.configure(type)
            let account = try await store.signIn(toType: type.name, interaction: LibraryWorld.browser())
            #expect(account.username == "alice@example.com")
            _ = try await store.token(of: account, ofType: type.name, forceRefresh: true)
        }
        for authority in ["http://contoso.b2clogin.com/contoso.onmicrosoft.com/", "contoso", "ftp://localhost/x"] {
            var type = world.type
            type.authority = authority
            let error = await failure { try store.configure(type) }
            #expect(error?.code == .configuration, "\(authority)")
        }
    }
}
