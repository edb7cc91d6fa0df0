import CredentialCore
import Credentials
import DemoProvider
import Foundation
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// Tokens and requests of a Swift program.
@Suite struct TokenTests {
    @Test func `stores share a token and refresh it once if it is refused`() async throws {
        let world = try LibraryWorld(), store = try world.store(), other = try world.store()
        let alice = try await world.signIn(store)
        let token = try await other.token(of: alice)
        #expect(try await world.store().token(of: alice).token == token.token)
        world.provider.expireTokens()
        #expect(try await other.send(world.tasks(), as: alice).status == 200)
        #expect(world.provider.counters.refreshes == 1)
    }

    @Test func `the installed program makes refreshes, and this process does without it`() async throws {
        let world = try LibraryWorld()
        let alice = try await world.signIn(try world.store())
        let told = Mutex<[String]>([])
        for refreshesHere in [false, true] {
            let store = try world.store(refreshesHere: refreshesHere) { options in
                options.warn = { text in told.withLock { $0.append(text) } }
            }
            _ = try await store.token(of: alice, forceRefresh: true)
            #expect(told.withLock { $0.isEmpty } == !refreshesHere)
        }
        #expect(told.withLock { $0.count } == 1)
        #expect(told.withLock { $0.first?.contains("/nonexistent/credmgr does not start") } == true)
        #expect(world.provider.counters.refreshes == 2)
    }

    @Test func `another process makes the refresh, with the request and the lock of the caller`() async throws {
        let world = try LibraryWorld(), log = world.path + "/calls", script = world.path + "/credmgr"
        try installProgram(
            "#!/bin/sh\nprintf '%s\\n' \"$*\" >> '\(log)'\nexec '\(BuiltProgram.path)' \"$@\"\n", at: script)
        let alice = try await world.signIn(try world.store())
        let store = try world.store { $0.program = script }
        let before = try await store.token(of: alice)
        world.provider.holdTokenReplies(1)
        let refresh = Task { try await store.token(of: alice, forceRefresh: true) }
        try #require(try await offPool { world.provider.waitForHeldTokenReplies() })
        // While the provider has not answered, the account's lock is held, and not by this process.
        let holder = try await offPool {
            try ChildProcess(
                "/bin/sh",
                [
                    "-c",
                    "fuser '\(world.path)/.local/share/credmgr/groups/default/locks/\(alice.id).lock' 2>/dev/null",
                ],
                environment: ["PATH": "/usr/bin:/bin"]
            ).run().standardOutput
        }
        #expect(!holder.isEmpty && !holder.split(separator: " ").contains("\(getpid())"), "\(holder)")
        world.provider.releaseTokenReplies()
        #expect(try await refresh.value.token != before.token)
        let calls = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        #expect(calls.count == 2 && calls.first == "--version" && calls.last?.hasPrefix("__") == true, "\(calls)")
    }

    @Test func `the type's client certificate is shown to an API that asks for one, and its own is looked at`()
        async throws
    {
        let (held, world, _, _) = try await signedIn()
        let key = world.path + "/key.pem", certificate = world.path + "/certificate.pem"
        let making = ChildProcess(
            "openssl",
            [
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                "-subj", "/CN=tasks-client", "-addext", "subjectAltName=IP:127.0.0.1",
            ], environment: ["PATH": "/usr/bin:/bin"])
        try #require(try await offPool { try making.run(seconds: 120) }.exitStatus == 0)
        let server = try ChildProcess(
            "openssl",
            [
                "s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-CAfile", certificate,
                "-Verify", "1", "-verify_return_error", "-www",
            ], environment: ["PATH": "/usr/bin:/bin"]
        ).start(input: .pipe)
        defer { server.kill() }
        let port = try await offPool {
            while let line = try server.line() {
                if line.hasPrefix("ACCEPT 127.0.0.1:") { return String(line.split(separator: ":").last ?? "") }
            }
            return ""
        }
        func send(_ variables: [String: String], _ change: (inout AccountType) -> Void) async throws -> HTTPResponse
        {
            var options = AccountStore.Options()
            options.store = .file
            let store = try AccountStore(options, environment: world.environment.merging(variables) { $1 })
            var type = held.type
            type.apiBase = "https://127.0.0.1:\(port)"
            change(&type)
            try store.configure(type)
            let account = try #require(try store.defaultAccount(ofType: "Held"))
            return try await store.send(HTTPRequest(address: store.address("/", ofType: "Held")), as: account)
        }
        let trusting = ["CURL_CA_BUNDLE": certificate]
        let reply = try await send(trusting) {
            $0.tlsClientCertificate = certificate
            $0.tlsClientKey = key
            $0.tokenEndpointAuthMethod = "none"
        }
        #expect(reply.status == 200)
        #expect(String(decoding: reply.body, as: UTF8.self).contains("tasks-client"))
        // Without it the API rejects the request; and no request is sent if the API's own certificate is not valid.
        #expect(await failure { try await send(trusting) { _ in } } != nil)
        #expect(await failure { try await send([:]) { _ in } }?.code == .denied)
    }

    @Test func `a person is asked never, if needed, or always`() async throws {
        let world = try LibraryWorld()
        let opened = Mutex(0)
        let store = try world.store { options in
            options.openURL = { url in
                opened.withLock { $0 += 1 }
                try await LibraryWorld.browser()(url)
            }
        }
        let alice = try await store.signIn(toType: "TaskList")
        let cached = try await store.token(of: alice, interaction: .ifNeeded)
        #expect(try await store.token(of: alice, interaction: .ifNeeded).token == cached.token)
        // A token that is not in the cache is refreshed, before the user is asked.
        let refreshed = try await store.token(of: alice, forceRefresh: true, interaction: .ifNeeded)
        #expect(refreshed.token != cached.token)
        #expect(opened.withLock { $0 } == 1)
        let error = await failure { try await store.token(of: alice, policy: "edit") }
        #expect(error?.code == .signInRequired)
        #expect(error?.hint?.hasPrefix("signIn(toType: account.type, as: account, policy: ") == true)
        let edit = try await store.token(of: alice, policy: "edit", interaction: .ifNeeded)
        #expect(opened.withLock { $0 } == 2)
        #expect(try await store.token(of: alice, policy: "edit").token == edit.token)
        let before = try await store.token(of: alice)
        #expect(try await store.token(of: alice, interaction: .always).token != before.token)
        #expect(opened.withLock { $0 } == 3)
        #expect(try store.accounts().count == 1)
    }

    @Test func `if needed also signs in while a token is valid, if only a sign-in gives the next`() async throws {
        let world = try LibraryWorld()
        let opened = Mutex(0), told = Mutex<[String]>([])
        try FileManager.default.createDirectory(
            atPath: world.path + "/.config/credmgr", withIntermediateDirectories: true)
        // A wish, so that it is to be renewed now, and need not be.
        try #"{"min_valid": 80000}"#.write(
            toFile: world.path + "/.config/credmgr/config.json", atomically: true, encoding: .utf8)
        let store = try world.store { options in
            options.warn = { text in told.withLock { $0.append(text) } }
            options.openURL = { url in
                opened.withLock { $0 += 1 }
                try await LibraryWorld.browser()(url)
            }
        }
        let alice = try await store.signIn(toType: "TaskList")
        let before = try await store.token(of: alice)
        world.provider.revokeRefreshTokens()
        told.withLock { $0 = [] }
        #expect(try await store.token(of: alice).token == before.token)
        #expect(opened.withLock { $0 } == 1)
        let said = told.withLock { $0 }
        #expect(said.count == 1 && said[0].contains("could not be refreshed"), "\(said)")
        #expect(said.first?.contains("; signIn(toType: account.type, as: account") == true, "\(said)")
        #expect(try await store.token(of: alice, interaction: .ifNeeded).token != before.token)
        #expect(opened.withLock { $0 } == 2)
    }

    @Test func `a token goes to the type's own origin only, or to the destination of a rule`() async throws {
        let world = try LibraryWorld(), store = try world.store()
        let alice = try await world.signIn(store)
        let elsewhere = try HeldProvider()
        let address = try #require(URI(elsewhere.base + "/tasks"))
        #expect(await failure { try await store.send(HTTPRequest(address: address), as: alice) }?.code == .denied)
        #expect(elsewhere.received.isEmpty)
        try FileManager.default.createDirectory(
            atPath: world.path + "/.config/credmgr", withIntermediateDirectories: true)
        let port = try #require(address.port)
        try #"{"rules": [{"host": "localhost:\#(port)", "type": "TaskList"}]}"#.write(
            toFile: world.path + "/.config/credmgr/config.json", atomically: true, encoding: .utf8)
        #expect(try await world.store().send(HTTPRequest(address: address), as: alice).status == 200)
        #expect(elsewhere.received.count == 1)
    }

    private func signedIn(_ change: (inout AccountType) -> Void = { _ in }) async throws -> (
        HeldProvider, LibraryWorld, AccountStore, Account
    ) {
        let held = try HeldProvider(), world = try LibraryWorld()
        let store = try world.store(configuring: false)
        var type = held.type
        change(&type)
        try store.configure(type)
        let account = try await store.signIn(toType: "Held", interaction: LibraryWorld.browser())
        return (held, world, store, account)
    }

    @Test func `files go up and come down, with progress`() async throws {
        let (held, world, store, account) = try await signedIn()
        let content = String(repeating: "0123456789abcdef", count: 3_000)
        let source = world.path + "/source", target = world.path + "/target"
        try content.write(toFile: source, atomically: true, encoding: .utf8)
        let address = try #require(URI(held.base + "/api/echo"))
        let seen = Mutex<[TransferProgress]>([])
        let reply = try await store.send(
            HTTPRequest(method: "PUT", address: address, body: .file(path: source)), as: account, toFile: target,
            progress: { progress in seen.withLock { $0.append(progress) } })
        #expect(reply.status == 200 && reply.body.isEmpty)
        #expect(try String(contentsOfFile: target, encoding: .utf8) == content)
        let last = try #require(seen.withLock { $0.last })
        #expect(last.sent == 48_000 && last.received == 48_000)
    }

    @Test func `a refusal is answered by one refresh and one retry, a redirect within the origin followed`()
        async throws
    {
        let (held, world, store, account) = try await signedIn()
        func get(_ path: String) throws -> HTTPRequest {
            HTTPRequest(address: try #require(URI(held.base + path)))
        }
        #expect(try await store.send(get("/api/refused"), as: account).status == 200)
        let authorizations = held.received.filter { $0.path == "/api/refused" }.map { $0.header("authorization") }
        #expect(authorizations.count == 2 && authorizations[0] != authorizations[1])
        #expect(held.received.count { $0.text.contains("grant_type=refresh_token") } == 1)
        #expect(try await store.send(get("/api/moved"), as: account).status == 200)
        #expect(held.received.last?.path == "/api/there")
        // A refusal that no refresh fixes is reported with the sign-in that does.
        let narrow = try get("/api/narrow")
        let error = await failure { try await store.send(narrow, as: account) }
        #expect(error?.code == .signInRequired)
        #expect(error?.stepUp?.scope == ["tasks", "write"])
        #expect(error?.hint?.contains(#"scope: ["tasks", "write"]"#) == true)
        withExtendedLifetime(world) {}
    }

    @Test func `a bound token is sent with its proof, and signed for other clients too`() async throws {
        let (held, world, store, account) = try await signedIn { $0.bindsAccessTokens = true }
        let request = HTTPRequest(method: "POST", address: try #require(URI(held.base + "/api/x?q=1")))
        _ = try await store.send(request, as: account)
        let sent = try #require(held.received.last)
        #expect(sent.header("authorization")?.hasPrefix("DPoP at-") == true)
        let proof = try #require(sent.header("dpop"))
        let signed = try await store.signed(request, as: account)
        let other = try #require(signed.headers.first { $0.name == "dpop" }?.value)
        #expect(other != proof)
        let part = other.split(separator: ".")[1]
        let claims = try JSONValue.parse(try #require(Base64URL.decode(String(part)))).object
        #expect(claims?["htm"] == "POST")
        #expect(claims?["htu"]?.string == held.base + "/api/x")
        #expect(claims?["ath"]?.string?.isEmpty == false)
        withExtendedLifetime(world) {}
    }

    @Test func `a client certificate of the type goes along`() async throws {
        let (held, world, store, account) = try await signedIn {
            $0.tlsClientCertificate = "/nonexistent/certificate.pem"
            $0.tlsClientKey = "/nonexistent/key.pem"
            $0.tokenEndpointAuthMethod = "none"
        }
        let signed = try await store.signed(
            HTTPRequest(address: try #require(URI(held.base + "/api/x"))), as: account)
        #expect(signed.clientCertificate?.certificateFile == "/nonexistent/certificate.pem")
        #expect(
            signed.headers.contains { $0.name.lowercased() == "authorization" && $0.value.hasPrefix("Bearer at-") })
        withExtendedLifetime(world) {}
    }

    @Test func `resource and audience shape the token`() async throws {
        let (held, world, store, account) = try await signedIn()
        let own = try await store.token(of: account)
        let other = try await store.token(of: account, resource: "https://files.example.com/", audience: "files")
        #expect(other.token != own.token)
        let body = try #require(held.received.last { $0.path == "/token" }?.text)
        #expect(body.contains("resource=https%3A%2F%2Ffiles.example.com%2F") && body.contains("audience=files"))
        let count = held.received.count
        for resource in ["files", "https://files.example.com/#top"] {
            let error = await #expect(throws: CredentialError.self) {
                _ = try await store.token(of: account, resource: resource)
            }
            #expect(error?.code == .usage && held.received.count == count)
        }
        #expect(try await store.token(of: account, minimumValidity: 60).token == own.token)
        withExtendedLifetime(world) {}
    }

    @Test func `slow providers delay only their own callers`() async throws {
        let (held, world, store, account) = try await signedIn()
        held.hold("/token")
        // More than the cooperative pool has threads.
        let count = ProcessInfo.processInfo.activeProcessorCount * 4
        let tokens = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<count {
                    group.addTask { _ = try await store.token(of: account, scope: ["s\(number)"]) }
                }
                try await group.waitForAll()
            }
        }
        try await held.reached("/token", count: 2)
        // The account's own work goes on: another store signs a different user in, by the same pool.
        #expect(try await world.signIn(world.store()).username == "alice@example.com")
        #expect(held.received.count { $0.path == "/token" } == 2)
        held.release()
        try await tokens.value
    }
}
