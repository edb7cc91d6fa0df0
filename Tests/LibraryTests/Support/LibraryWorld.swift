import CredentialCore
import Credentials
import CryptoSupport
import DemoProvider
import Foundation
import Platform
import TestSupport
import Testing

/// An empty home, the demo provider over real HTTP, and stores of programs that keep to the encrypted file.
final class LibraryWorld: Sendable {
    let provider: DemoProvider
    let base: String
    let type: AccountType
    private let home: TemporaryFolder

    static let alice = DemoUser.standard[0], bob = DemoUser.standard[1]
    static let typeName = "TaskList"

    private static let keys = Result {
        let key = try LibCryptography().generateKey(.rs256)
        return [DemoSigningKey(kid: "key0", privateKey: key.privateKey, publicJWK: key.publicJWK)]
    }

    /// - Parameter redirectURI: that of the type; by default one that a browser can come back to.
    init(redirectURI: String? = "http://localhost", _ change: (inout DemoSwitches) -> Void = { _ in }) throws {
        home = try TemporaryFolder()
        var configuration = DemoConfiguration()
        configuration.offersControl = true
        configuration.switches.rotation = .revokesOld
        change(&configuration.switches)
        provider = try DemoProvider(
            configuration: configuration, keys: try Self.keys.get(), cryptography: LibCryptography(),
            clock: SystemClock(), random: SystemRandom())
        base = try provider.start()
        var type = AccountType(name: Self.typeName, adapter: "azure-b2c", clientID: DemoClient.standard[0].id)
        type.authority = "\(base)/exampleb2c.onmicrosoft.com/"
        type.policies = ["sign-in": "b2c_1_sign_in", "edit": "b2c_1_edit_profile", "sign-up": "b2c_1_sign_up"]
        type.defaultPolicy = "sign-in"
        type.redirectURI = redirectURI
        type.apiBase = base
        self.type = type
        Canary.watch { [weak provider] in provider?.secrets ?? [] }
    }

    deinit { provider.stop() }

    var path: String { home.path }

    /// The environment of programs of this home.
    var environment: [String: String] {
        [
            "HOME": home.path, "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
            // The kernel's keyring outlives a home.
            "CREDMGR_CACHE": "off",
            // A bus that is not there, so the bus of the user that runs the tests is never asked.
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(home.path)/bus",
        ]
    }

    /// A program's store, with the type configured.
    ///
    /// - Parameter refreshesHere: whether there is no installed program that refreshes.
    func store(
        refreshesHere: Bool = false, configuring: Bool = true,
        _ change: (inout AccountStore.Options) -> Void = { _ in }
    ) throws -> AccountStore {
        var options = AccountStore.Options()
        options.store = .file
        options.program = refreshesHere ? "/nonexistent/credmgr" : BuiltProgram.path
        change(&options)
        let store = try AccountStore(options, environment: environment)
        if configuring { try store.configure(type) }
        return store
    }

    /// A person at a browser, who signs in at the demo provider's pages.
    static func browser(
        _ user: DemoUser = alice, act: DemoSignIn.Act = .submit(), delivers: Bool = true
    ) -> AccountStore.URLOpener {
        { url in
            // A browser is another program: no code waits for it.
            Thread.detachNewThread {
                var robot = DemoSignIn(username: user.email, password: user.password)
                _ = try? robot.run(url, act: act, delivers: delivers)
            }
        }
    }

    /// The URL at which a browser ends that cannot come back by itself.
    func redirect(
        from url: String, _ user: DemoUser = alice, act: DemoSignIn.Act = .submit()
    ) async throws -> String {
        try await offPool {
            var robot = DemoSignIn(username: user.email, password: user.password)
            return try robot.run(url, act: act, delivers: false)
        }
    }

    @discardableResult func signIn(_ store: AccountStore, _ user: DemoUser = alice) async throws -> Account {
        try await store.signIn(toType: Self.typeName, interaction: Self.browser(user))
    }

    /// The command, in this home.
    func command(_ words: [String], input: String = "") async throws -> ChildProcess.Outcome {
        let child = ChildProcess(BuiltProgram.path, words, environment: environment)
        return try await offPool { try child.run(input: input) }
    }

    func tasks(_ method: String = "GET", _ body: HTTPBody = .none) throws -> HTTPRequest {
        let address = try #require(URI(base + "/api/tasks"))
        return HTTPRequest(
            method: method, address: address, headers: [("Content-Type", "application/x-www-form-urlencoded")],
            body: body)
    }
}

/// Runs work that blocks on a thread of its own: the threads of tests are few.
func offPool<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}

/// The error that a call throws; without an error the test fails.
func failure(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> some Any
) async -> CredentialError? {
    do {
        _ = try await body()
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
        return nil
    } catch {
        return error as? CredentialError
    }
}
