import CredentialCore
import Credentials
import DemoProvider
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// The changes that a program sees, in its own process and others.
@Suite struct ChangesTests {
    @Test func `changes made by anybody are observed`() async throws {
        let world = try LibraryWorld(), store = try world.store()
        var changes = try store.changes().makeAsyncIterator()
        let alice = try await world.signIn(try world.store())
        #expect(await changes.next()?.kind == .accountAdded)
        _ = try await store.token(of: alice, forceRefresh: true)
        #expect(await changes.next()?.kind == .tokenRefreshed)
        try store.setUserData(["a": "b"], of: alice)
        #expect(await changes.next()?.kind == .accountUpdated)
        try await store.signOut(alice)
        let removed = await changes.next()
        #expect(removed?.kind == .accountRemoved)
        #expect(removed?.account == alice.id)
        // A second time there is no account to remove, and no change to report.
        #expect(await failure { try await store.signOut(alice) }?.code == .noSuchAccount)
        try await world.signIn(store)
        #expect(await changes.next()?.kind == .accountAdded)
    }

    @Test func `a sign-in that fails is told to this program, to others, and by watch`() async throws {
        let world = try LibraryWorld(), store = try world.store(), other = try world.store()
        var own = try store.changes().makeAsyncIterator(), others = try other.changes().makeAsyncIterator()
        _ = await failure {
            try await store.signIn(toType: "TaskList", interaction: LibraryWorld.browser(act: .cancel))
        }
        for event in [await own.next(), await others.next()] {
            #expect(event?.kind == .loginFailed)
            #expect(event?.type == "TaskList")
            #expect(event?.reason?.isEmpty == false)
        }
        // The command's.
        try store.configure(world.type, persisting: true)
        let prepared = try await world.command(["login", "--type", "TaskList", "--print-url"])
        let redirect = try await world.redirect(
            from: String(prepared.standardOutput.split(separator: "\n").first ?? ""), act: .cancel)
        let completed = try await world.command(["login", "--complete", "-"], input: redirect + "\n")
        #expect(completed.exitStatus == 7)
        #expect(await own.next()?.kind == .loginFailed)
        // And watch reports the program's changes. It ends when its reader is gone.
        let watch = ChildProcess(
            "/bin/sh", ["-c", "'\(BuiltProgram.path)' watch --json | head -n 1"], environment: world.environment)
        let isOver = Mutex(false)
        let line = Task {
            let line = try await offPool { try watch.run() }.standardOutput
            isOver.withLock { $0 = true }
            return line
        }
        while !isOver.withLock({ $0 }) {
            _ = await failure { try await store.signIn(toType: "TaskList") { _ in throw CancellationError() } }
        }
        let told = try JSONValue.parse(Array(try await line.value.utf8)).object
        #expect(told?["event"] == "login.failed")
        #expect(told?["type"] == "TaskList")
    }
}
