import CredentialCore
import Credentials
import DemoProvider
import Foundation
import Synchronization
import TestSupport
import Testing

/// Each call that waits, cancelled at each of its awaits in turn: an executor that counts the steps of its task
/// runs it again and again. Each time it is cancelled one step later, until it ends before.
@Suite struct CancellationWalkTests {
    private let held: HeldProvider
    private let world: LibraryWorld
    private let store: AccountStore

    init() throws {
        held = try HeldProvider()
        world = try LibraryWorld()
        store = try world.store(configuring: false)
        try store.configure(held.type)
        var machine = held.type
        machine.name = "Machine"
        machine.clientSecret = .literal(Secret("the secret"))
        machine.flow = .clientCredentials
        try store.configure(machine)
        var person = held.type
        person.name = "Person"
        person.flow = .password
        try store.configure(person)
    }

    enum Call: String, CaseIterable {
        case token, send, sendToFile, signed, introspectToken, endSessionURL, conformance, exportAccounts
        case signIn, prepareAuthorization, handleRedirect, device, password, clientCredentials
        case signOut, signOutAll, importAccounts
    }

    /// More steps than any call has.
    private static let most = 200

    @Test(arguments: Call.allCases)
    func `a call is cancelled at every await, and the next call succeeds`(call: Call) async throws {
        var account = try await store.signIn(toType: "Held", interaction: LibraryWorld.browser())
        let sealed = try await store.exportAccounts(passphrase: Secret("correct horse battery"))
        var cancelled = 0, step = 1, isOver = false
        while !isOver, step <= Self.most {
            let executor = HeldExecutor(isHeld: true), reached = Mutex(false)
            let person = account
            let task = Task(executorPreference: executor) { try await perform(call, person, sealed) }
            executor.before(step) {
                reached.withLock { $0 = true }
                task.cancel()
            }
            executor.release()
            switch await task.result {
            case .success: break
            case .failure(let error as CredentialError) where error.code == .cancelled: cancelled += 1
            case .failure(let error): Issue.record("cancelled at step \(step): \(error)")
            }
            executor.finish()
            isOver = !reached.withLock { $0 }
            step += 1
            // The next call finds a correct state, at each of these points.
            if try store.accounts(ofType: "Held").isEmpty {
                account = try await store.signIn(toType: "Held", interaction: LibraryWorld.browser())
            }
            account = try #require(try store.accounts(ofType: "Held").first)
            _ = try await store.token(of: account)
        }
        #expect(isOver && cancelled > 0)
        #expect(try await store.token(of: account, forceRefresh: true).token.reveal().hasPrefix("at-"))
    }

    private func perform(_ call: Call, _ account: Account, _ sealed: [UInt8]) async throws {
        let request = HTTPRequest(address: try store.address("/x", ofType: "Held"))
        switch call {
        case .token: _ = try await store.token(of: account, forceRefresh: true)
        case .send: _ = try await store.send(request, as: account)
        case .sendToFile: _ = try await store.send(request, as: account, toFile: world.path + "/target")
        case .signed: _ = try await store.signed(request, as: account)
        case .introspectToken: _ = try await store.introspectToken(of: account)
        case .endSessionURL: _ = try await store.endSessionURL(of: account)
        case .conformance: _ = try await store.conformance(of: held.type)
        case .exportAccounts: _ = try await store.exportAccounts(passphrase: Secret("correct horse battery"))
        case .signIn: _ = try await store.signIn(toType: "Held", interaction: LibraryWorld.browser())
        case .prepareAuthorization:
            try await store.cancel(
                try await store.prepareAuthorization(ofType: "Held", redirectURI: "http://localhost:1/back"))
        case .handleRedirect:
            let prepared = try await store.prepareAuthorization(
                ofType: "Held", redirectURI: "http://localhost:1/back")
            _ = try await store.handleRedirect("http://localhost:1/back?code=c&state=\(prepared.state)")
        case .device: _ = try await store.requestDeviceAccess(toType: "Held") { _ in }
        case .password:
            _ = try await store.requestAccess(toType: "Person", username: "carol", password: Secret("hers"))
        case .clientCredentials: _ = try await store.requestClientCredentialsAccess(toType: "Machine")
        case .signOut:
            do { try await store.signOut(account, revoking: true) } catch {
                // One that was cancelled before has come to its end meanwhile.
                if error.code != .noSuchAccount { throw error }
            }
        case .signOutAll: try await store.signOutAll(ofType: "Held")
        case .importAccounts:
            _ = try await store.importAccounts(from: sealed, passphrase: Secret("correct horse battery"))
        }
    }
}
