import CredentialCore
import Credentials
import DemoProvider
import Foundation
import Synchronization
import Testing

/// Each call that waits ends at once when its task is cancelled, while the awaited work is still under way. The
/// provider's response to that work is kept.
@Suite struct CancellationTests {
    private let held: HeldProvider
    private let world: LibraryWorld
    private let store: AccountStore

    init() throws {
        held = try HeldProvider()
        world = try LibraryWorld()
        store = try world.store(configuring: false)
        try store.configure(held.type)
    }

    private func signIn() async throws -> Account {
        try await store.signIn(toType: "Held", interaction: LibraryWorld.browser())
    }

    /// Cancels a call once it has got somewhere, and expects its end before any work is released.
    private func cancel<Value: Sendable>(
        when reached: () async throws -> Void, _ sourceLocation: SourceLocation = #_sourceLocation,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws {
        let task = Task { try await body() }
        try await reached()
        task.cancel()
        let error = await failure(sourceLocation: sourceLocation) { try await task.value }
        #expect(error?.code == .cancelled, sourceLocation: sourceLocation)
    }

    @Test func `a token: the request is not given up, and its result is kept`() async throws {
        let account = try await signIn(), old = try await store.token(of: account)
        held.hold("/token")
        try await cancel(when: { try await held.reached("/token", count: 2) }) { [store] in
            try await store.token(of: account, forceRefresh: true)
        }
        var changes = try store.changes().makeAsyncIterator()
        held.release()
        #expect(await changes.next()?.kind == .tokenRefreshed)
        #expect(try await store.token(of: account).token != old.token)
        #expect(held.received.count { $0.path == "/token" } == 2)
    }

    @Test func `a sign-in that waits for the browser stops listening`() async throws {
        let port = Mutex<UInt16?>(nil)
        let (opened, continuation) = AsyncStream.makeStream(of: Void.self)
        var iterator = opened.makeAsyncIterator()
        try await cancel(when: { _ = await iterator.next() }) { [store] in
            try await store.signIn(toType: "Held") { url in
                let redirect = URLComponents(string: url)?.queryItems?.first { $0.name == "redirect_uri" }?.value
                port.withLock { $0 = redirect.flatMap(URI.init)?.port }
                continuation.yield()
                // An opener that never returns delays no call.
                try await Task.sleep(for: .seconds(600))
            }
        }
        #expect(port.withLock { $0 } != nil)
        #expect(try store.accounts() == [])
    }

    @Test func `a sign-in is kept if it is cancelled during the code exchange`() async throws {
        var changes = try store.changes().makeAsyncIterator()
        held.hold("/token")
        try await cancel(when: { try await held.reached("/token") }) { [store] in
            try await store.signIn(toType: "Held", interaction: LibraryWorld.browser())
        }
        #expect(try store.accounts() == [])
        held.release()
        #expect(await changes.next()?.kind == .accountAdded)
        #expect(try store.accounts().count == 1)
    }

    @Test func `a sign-in that waits for the program's own redirect`() async throws {
        var type = held.type
        type.redirectURI = "com.example.app:/back"
        try store.configure(type)
        let (opened, continuation) = AsyncStream.makeStream(of: Void.self)
        var iterator = opened.makeAsyncIterator()
        try await cancel(when: { _ = await iterator.next() }) { [store] in
            try await store.signIn(toType: "Held") { _ in continuation.yield() }
        }
    }

    @Test func `the other flows, and both halves of a sign-in`() async throws {
        held.hold("/token")
        held.hold("/device")
        try await cancel(when: { try await held.reached("/device") }) { [store] in
            try await store.requestDeviceAccess(toType: "Held") { _ in }
        }
        var type = held.type
        type.name = "Direct"
        type.clientSecret = .literal(Secret("the secret"))
        type.flow = .password
        try store.configure(type)
        try await cancel(when: { try await held.reached("/token", count: 1) }) { [store] in
            try await store.requestAccess(toType: "Direct", username: "carol", password: Secret("her password"))
        }
        try await cancel(when: { try await held.reached("/token", count: 2) }) { [store] in
            try await store.requestClientCredentialsAccess(toType: "Direct")
        }
        let prepared = try await store.prepareAuthorization(ofType: "Held", redirectURI: "http://localhost:1/back")
        try await cancel(when: { try await held.reached("/token", count: 3) }) { [store] in
            try await store.handleRedirect("http://localhost:1/back?code=c&state=\(prepared.state)")
        }
        held.release()
    }

    @Test func `requests, and sign-outs that revoke`() async throws {
        let account = try await signIn()
        let address = try #require(URI(held.base + "/api/slow"))
        held.hold("/api/slow")
        try await cancel(when: { try await held.reached("/api/slow") }) { [store] in
            try await store.send(HTTPRequest(address: address), as: account)
        }
        let target = world.path + "/target"
        try await cancel(when: { try await held.reached("/api/slow", count: 2) }) { [store] in
            try await store.send(HTTPRequest(address: address), as: account, toFile: target)
        }
        held.hold("/revoke")
        try await cancel(when: { try await held.reached("/revoke") }) { [store] in
            try await store.signOut(account, revoking: true)
        }
        var changes = try store.changes().makeAsyncIterator()
        held.release()
        // It was revoked, so it is forgotten.
        #expect(await changes.next()?.kind == .accountRemoved)
        #expect(try store.accounts() == [])
    }

    @Test func `a task that is already cancelled sends no request`() async throws {
        let account = try await signIn()
        let count = held.received.count
        let task = Task { [store, held] in
            withUnsafeCurrentTask { $0?.cancel() }
            let address = try #require(URI(held.base + "/api/x"))
            for error in [
                await failure { try await store.token(of: account, forceRefresh: true) },
                await failure { try await store.send(HTTPRequest(address: address), as: account) },
                await failure { try await store.signed(HTTPRequest(address: address), as: account) },
                await failure { try await store.signIn(toType: "Held") { _ in } },
                await failure { try await store.prepareAuthorization(ofType: "Held") },
                await failure { try await store.resume(with: "x:y?state=z") },
                await failure { try await store.signOut(account) },
                await failure { try await store.signOutAll() },
                await failure { try await store.endSessionURL(of: account) },
                await failure { try await store.requestAssertionAccess(toType: "Held") },
            ] { #expect(error?.code == .cancelled) }
        }
        try await task.value
        #expect(held.received.count == count)
        #expect(try store.accounts().count == 1)
    }

    @Test func `a reader of changes`() async throws {
        let task = Task { [store] in
            var count = 0
            for await _ in try store.changes() { count += 1 }
            return count
        }
        task.cancel()
        #expect(try await task.value == 0)
    }
}
