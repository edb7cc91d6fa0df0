import CredentialCore
import Credentials
import DemoProvider
import Foundation
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// Sign-ins of a Swift program, over real HTTP.
@Suite struct SignInTests {
    @Test func `one call signs a person in: page, listener, redirect, tokens`() async throws {
        let world = try LibraryWorld(), store = try world.store()
        let alice = try await world.signIn(store)
        #expect(alice.username == "alice@example.com")
        #expect(try store.accounts(ofType: "TaskList").map(\.id) == [alice.id])
        #expect(try await store.send(world.tasks(), as: alice).status == 200)
    }

    @Test
    func `a redirect URI that no browser returns to is replaced by localhost, if the provider accepts it`()
        async throws
    {
        let world = try LibraryWorld(redirectURI: "urn:ietf:wg:oauth:2.0:oob"), store = try world.store()
        let alice = try await world.signIn(store)
        #expect(alice.username == "alice@example.com")
    }

    @Test func `without an opener the user's browser is started`() async throws {
        let world = try LibraryWorld()
        let script = world.path + "/browser"
        try installProgram(
            "#!/bin/sh\nprintf '%s' \"$1\" > '\(world.path)/address.new' && mv '\(world.path)/address.new' '\(world.path)/address'\n",
            at: script)
        var options = AccountStore.Options()
        options.store = .file
        options.program = BuiltProgram.path
        let store = try AccountStore(options, environment: world.environment.merging(["BROWSER": script]) { $1 })
        try store.configure(world.type)
        async let account = store.signIn(toType: "TaskList")
        let path = world.path + "/address"
        let address = try await offPool {
            var text: String?
            // The sign-in begins once a thread of the pool is free, which other tests may have for long.
            for _ in 0..<60_000 where text == nil {
                text = try? String(contentsOfFile: path, encoding: .utf8)
                if text == nil { usleep(10_000) }
            }
            return text ?? ""
        }
        try await LibraryWorld.browser()(address)
        #expect(try await account.username == "alice@example.com")
        // No process of the browser is left: a host would keep it for its whole life.
        let isLeft = try await offPool {
            for _ in 0..<6_000 {
                if try !Self.hasChild(called: "browser") { return false }
                usleep(10_000)
            }
            return true
        }
        #expect(!isLeft)
    }

    /// Whether this process has a child of a name, one that has ended, too.
    private static func hasChild(called name: String) throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").contains { process in
            let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            let fields = status?.split(separator: " ") ?? []
            return fields.count > 3 && fields[1] == "(\(name))" && fields[3] == "\(getpid())"
        }
    }

    @Test func `a redirect to the program's own scheme is handed over, and the sign-in goes on`() async throws {
        let world = try LibraryWorld(redirectURI: "msal580e250c-8f26-49d0-bee8-1c078add1609://auth")
        let store = try world.store()
        let account = try await store.signIn(toType: "TaskList") { url in
            let redirect = try await world.redirect(from: url)
            // One that does not fit leaves the sign-in waiting.
            let other = redirect.replacingOccurrences(of: "://auth", with: "://elsewhere")
            let error = await failure {
                try await store.handleRedirect("https://example.com/?" + (other.split(separator: "?").last ?? ""))
            }
            #expect(error?.code == .validationFailed)
            _ = try await store.handleRedirect(redirect)
        }
        #expect(account.username == "alice@example.com")
    }

    @Test(arguments: [
        ("another type's redirect URI", "://auth", "://elsewhere"), ("no code", "code=", "cod="),
        ("another issuer", "state=", "iss=https%3A%2F%2Fevil.example.com&state="),
        ("an answer that is two", "state=", "error=access_denied&state="),
    ])
    func `a redirect on the program's own scheme that does not fit leaves the sign-in waiting`(
        kind: String, part: String, other: String
    ) async throws {
        let world = try LibraryWorld(redirectURI: "msal580e250c-8f26-49d0-bee8-1c078add1609://auth")
        let store = try world.store(), another = try world.store()
        var changes = try store.changes().makeAsyncIterator()
        let account = try await store.signIn(toType: "TaskList") { url in
            let redirect = try await world.redirect(from: url)
            let unfit = redirect.replacingOccurrences(of: part, with: other)
            #expect(unfit != redirect)
            for one in [store, another] {
                #expect(await failure { try await one.handleRedirect(unfit) }?.code == .validationFailed)
            }
            #expect(world.provider.counters.tokenRequests == 0)
            _ = try await store.handleRedirect(redirect)
        }
        #expect(account.username == "alice@example.com")
        // And no sign-in is said to have failed.
        #expect(await changes.next()?.kind == .accountAdded)
    }

    @Test func `a sign-in goes on after a forgotten password, however late its task gets to run`() async throws {
        let world = try LibraryWorld(redirectURI: "msal580e250c-8f26-49d0-bee8-1c078add1609://auth")
        let store = try world.store()
        var type = world.type
        type.passwordResetPolicy = "b2c_1_reset"
        try store.configure(type)
        let executor = HeldExecutor(), pages = Mutex(0)
        defer { executor.finish() }
        let task = Task(executorPreference: executor) {
            try await store.signIn(toType: "TaskList") { url in
                let page = pages.withLock { count in
                    count += 1
                    return count
                }
                let redirect = try await world.redirect(from: url, act: page == 1 ? .forgotPassword : .submit())
                guard page < 3 else {
                    _ = try await store.handleRedirect(redirect)
                    return
                }
                // The sign-in's own task does not run before the caller that brings the redirect has its response.
                executor.hold()
                defer { executor.release() }
                let error = await failure { try await store.handleRedirect(redirect) }
                #expect(error?.code == .signInRequired)
                // Otherwise no call waits, and the sign-in would wait for a quarter of an hour.
                if let error, error.code != .signInRequired { throw error }
            }
        }
        #expect(try await task.value.username == "alice@example.com")
        #expect(pages.withLock { $0 } == 3)
    }

    @Test func `only the account's person may come back`() async throws {
        let world = try LibraryWorld(), store = try world.store()
        let alice = try await world.signIn(store)
        let error = await failure {
            try await store.signIn(
                toType: "TaskList", as: alice, prompt: .always, interaction: LibraryWorld.browser(LibraryWorld.bob))
        }
        #expect(error?.code == .denied)
        #expect(error?.message.contains("bob@example.com") == true)
        #expect(error?.hint == #"signIn(toType: account.type, as: account, prompt: .always)"#)
        #expect(try store.accounts().map(\.id) == [alice.id])
        let again = try await store.signIn(
            toType: "TaskList", as: alice, prompt: .always, interaction: LibraryWorld.browser())
        #expect(again.id == alice.id)
    }

    @Test func `the prompt and extra parameters are set for each sign-in`() async throws {
        let held = try HeldProvider(), world = try LibraryWorld(), store = try world.store(configuring: false)
        try store.configure(held.type)
        func fields(_ prompt: AccountStore.Prompt) async throws -> [String: String] {
            let prepared = try await store.prepareAuthorization(
                ofType: "Held", parameters: ["nux": "1"], prompt: prompt)
            let items = URLComponents(string: prepared.url)?.queryItems ?? []
            return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
        }
        let sent = try await [fields(.auto), fields(.always), fields(.silent), fields(.raw("consent"))]
        #expect(sent.map { $0["prompt"] } == [nil, "login", "none", "consent"])
        #expect(sent.allSatisfy { $0["nux"] == "1" && $0["code_challenge_method"] == "S256" })
        let error = await failure {
            try await store.signIn(toType: "Held", parameters: ["state": "mine"]) { _ in }
        }
        #expect(error?.code == .usage)
        // Another sign-in has no such parameters.
        let plain = try await store.prepareAuthorization(ofType: "Held").url
        #expect(!plain.contains("nux"))
    }

    @Test func `a prepared sign-in is finished by any store with the redirect, once`() async throws {
        let world = try LibraryWorld(redirectURI: "urn:ietf:wg:oauth:2.0:oob")
        let store = try world.store(), other = try world.store()
        let prepared = try await store.prepareAuthorization(ofType: "TaskList")
        let redirect = try await world.redirect(from: prepared.url)
        #expect(try await other.handleRedirect(redirect).username == "alice@example.com")
        #expect(await failure { try await store.handleRedirect(redirect) }?.code == .denied)
        let forgotten = try await store.prepareAuthorization(ofType: "TaskList")
        try await store.cancel(forgotten)
        #expect(
            await failure { try await store.handleRedirect("x:y?code=a&state=\(forgotten.state)") }?.code == .denied
        )
        #expect(await failure { try await store.handleRedirect("x:y?code=a") }?.code == .usage)
    }

    @Test func `a forgotten password goes on to its reset, and back`() async throws {
        let world = try LibraryWorld(redirectURI: "urn:ietf:wg:oauth:2.0:oob"), store = try world.store()
        var type = world.type
        type.passwordResetPolicy = "b2c_1_reset"
        try store.configure(type)
        let first = try await store.prepareAuthorization(ofType: "TaskList")
        let forgotten = try await world.redirect(from: first.url, act: .forgotPassword)
        guard case .continues(let reset) = try await store.resume(with: forgotten) else {
            Issue.record("the reset was not asked for")
            return
        }
        #expect(reset.url.lowercased().contains("b2c_1_reset"))
        guard case .continues(let again) = try await store.resume(with: world.redirect(from: reset.url)) else {
            Issue.record("the sign-in was not asked for again")
            return
        }
        guard case .signedIn(let account) = try await store.resume(with: world.redirect(from: again.url)) else {
            Issue.record("nobody is signed in")
            return
        }
        #expect(account.username == "alice@example.com")
    }

    @Test func `an opener that fails ends the sign-in with its error`() async throws {
        struct Closed: Error {}
        let world = try LibraryWorld(), store = try world.store()
        let closed = await failure { try await store.signIn(toType: "TaskList") { _ in throw Closed() } }
        #expect(closed?.code == .internalFault)
        let called = await failure { try await store.signIn(toType: "TaskList") { _ in throw CancellationError() } }
        #expect(called?.code == .cancelled)
        // A person may close the window as well.
        let refused = await failure {
            try await store.signIn(toType: "TaskList", interaction: LibraryWorld.browser(act: .cancel))
        }
        #expect(refused?.code == .cancelled)
    }

    @Test func `a device, a password, the program itself and an assertion sign in`() async throws {
        let held = try HeldProvider(), world = try LibraryWorld(), store = try world.store(configuring: false)
        try store.configure(held.type)
        let devices = AsyncStream.makeStream(of: Account.self)
        let shown = try await withCheckedThrowingContinuation { continuation in
            Task {
                do {
                    let account = try await store.requestDeviceAccess(toType: "Held") {
                        continuation.resume(returning: $0)
                    }
                    devices.continuation.yield(account)
                } catch {
                    Issue.record("\(error)")
                }
            }
        }
        #expect(shown.userCode == "WDJB-MJHT" && shown.verificationURI == "https://example.com/device")
        try await held.reached("/token")
        var signedIn = devices.stream.makeAsyncIterator()
        let device = try #require(await signedIn.next())
        #expect(try await store.token(of: device).token.reveal().hasPrefix("at-"))
        #expect(held.received.last { $0.path == "/token" }?.text.contains("device_code=dc") == true)
        #expect(try store.accounts(ofType: "Held").map(\.id) == [device.id])

        var password = held.type
        password.name = "Password"
        password.flow = .password
        try store.configure(password)
        let person = try await store.requestAccess(
            toType: "Password", username: "carol", password: Secret("carol's password"))
        #expect(person.username == "carol")
        #expect(held.received.contains { $0.text.contains("grant_type=password") })

        var machine = held.type
        machine.name = "Machine"
        machine.clientSecret = .literal(Secret("the secret"))
        machine.flow = .clientCredentials
        try store.configure(machine)
        let itself = try await store.requestClientCredentialsAccess(toType: "Machine")
        #expect(itself.subject == "client")
        // `signIn` accepts the flow of the type, too.
        #expect(try await store.signIn(toType: "Machine").id == itself.id)

        let identity = world.path + "/identity"
        try "e30.e30.c2ln\n".write(toFile: identity, atomically: true, encoding: .utf8)
        var workload = held.type
        workload.name = "Workload"
        workload.clientID = "workload"
        workload.identityToken = .file(identity)
        try store.configure(workload)
        let asserted = try await store.requestAssertionAccess(toType: "Workload")
        #expect(held.received.last?.text.contains("jwt-bearer") == true)
        #expect(try store.accounts(ofType: "Workload").map(\.id) == [asserted.id])
        #expect(try await store.token(of: asserted).token.reveal().hasPrefix("at-"))
        let count = held.received.count
        // A workload signs in again by itself, with a new assertion.
        _ = try await store.token(of: asserted, forceRefresh: true)
        #expect(held.received.count == count + 1)
    }

    @Test func `a plugin that is installed serves like a built-in one`() async throws {
        let world = try LibraryWorld()
        let source = String(#filePath.split(separator: "/Tests/")[0]) + "/Plugins/examples/oauth-example"
        let folder = world.path + "/.local/share/credmgr/providers"
        let copied = try await offPool {
            try ChildProcess(
                "/bin/sh", ["-c", "umask 022; mkdir -p '\(folder)' && cp -r '/\(source)' '\(folder)/'"],
                environment: ["PATH": "/usr/bin:/bin"]
            ).run()
        }
        try #require(copied.exitStatus == 0)
        let store = try world.store()
        var type = AccountType(name: "External", adapter: "oauth-example", clientID: world.type.clientID)
        let endpoint = "\(world.base)/exampleb2c.onmicrosoft.com/b2c_1_sign_in/oauth2/v2.0"
        type.endpoints = [.authorization: endpoint + "/authorize", .token: endpoint + "/token"]
        type.scope = ["openid", "offline_access", type.clientID]
        type.redirectURI = "http://localhost"
        try store.configure(type)
        let account = try await store.signIn(toType: "External", interaction: LibraryWorld.browser())
        #expect(try await store.token(of: account).token.reveal().hasPrefix("ey"))
        try await store.signOut(account)
        #expect(try store.accounts(ofType: "External") == [])
        // Without the program that confines it no plugin is run.
        let alone = try world.store(refreshesHere: true)
        try alone.configure(type)
        #expect(await failure { try await alone.prepareAuthorization(ofType: "External") } != nil)
        // An adapter that is missing cannot be configured.
        let missing = AccountType(name: "Missing", adapter: "no-such-adapter", clientID: "c")
        #expect(throws: CredentialError.self) { try store.configure(missing) }
    }
}
