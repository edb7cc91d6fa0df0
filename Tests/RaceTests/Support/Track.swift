import CredentialCore
import CryptoSupport
import DemoProvider
import Foundation
import Platform
import TestSupport
import Testing

/// A home, a provider that rotates refresh tokens and revokes their family on reuse, and the real program between
/// them.
final class Track: Sendable {
    /// The provider, for its switches and counters.
    let provider: DemoProvider
    /// The variables that every call gets.
    var environment: [String: String] { home.environment }
    private let home: ProgramHome
    private let folder: TemporaryFolder

    /// The keychain group of the types.
    static let group = "race"
    /// How long a token of the first sign-in lives, in seconds.
    static let firstLifetime: Int64 = 100

    private static let key = Result {
        let key = try LibCryptography().generateKey(.rs256)
        return DemoSigningKey(kid: "race", privateKey: key.privateKey, publicJWK: key.publicJWK)
    }

    /// Starts a provider and defines the types `Reader` and `Writer`, which differ in their scope.
    ///
    /// - Parameter keyring: the place of the secrets; `nil` for the encrypted file.
    init(keyring: PrivateKeyring? = nil, isCaching: Bool = false) throws {
        folder = try TemporaryFolder()
        home = try ProgramHome(
            folder.path, busAddress: keyring?.busAddress,
            [
                "CREDMGR_STORE": keyring == nil ? "file" : "secret-service",
                "CREDMGR_CACHE": isCaching ? "on" : "off",
                // The places that cron knows, too.
                "XDG_CONFIG_HOME": folder.path + "/.config", "XDG_DATA_HOME": folder.path + "/.local/share",
            ])
        provider = try DemoProvider(
            keys: [try Self.key.get()], cryptography: LibCryptography(), clock: SystemClock(),
            random: SystemRandom())
        provider.change {
            $0.rotation = .revokesOld
            $0.accessTokenLifetime = Self.firstLifetime
        }
        let base = try provider.start()
        Canary.watch { [weak provider] in provider?.secrets ?? [] }
        try define("Reader", scope: "read", base)
        try define("Writer", scope: "write", base)
        try write("alice's password\n", to: "password")
    }

    deinit { provider.stop() }

    private func define(_ name: String, scope: String, _ base: String) throws {
        try write(
            """
            {"adapter":"azure-b2c","authority":"\(base)","tenant":"exampleb2c.onmicrosoft.com",
             "client_id":"580e250c-8f26-49d0-bee8-1c078add1609","policies":{"signin":"B2C_1_ropc"},
             "default_policy":"signin","flow":"password","keychain_group":"\(Self.group)",
             "scope":["https://exampleb2c.onmicrosoft.com/tasks/\(scope)","offline_access"]}
            """, to: ".config/credmgr/types/\(name).json")
    }

    // MARK: Calls

    /// The program that was built with the tests.
    static let program = ProgramHome.program

    /// Starts a call in a session of its own.
    ///
    /// - Parameter changes: variables to set, or to remove if the value is `nil`.
    func start(_ words: [String], _ changes: [String: String?] = [:]) throws -> Call {
        var environment = environment
        for (name, value) in changes { environment[name] = value }
        return try Call(Self.program, words, environment: environment)
    }

    /// Runs a call to its end and checks how it ends.
    @discardableResult func run(
        _ words: [String], _ changes: [String: String?] = [:], exits status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Call.Result {
        let result = try start(words, changes).result()
        #expect(
            result.exitStatus == status, "credmgr \(words.joined(separator: " "))\n\(result.errors)",
            sourceLocation: sourceLocation)
        #expect(
            Canary.secret(in: result.errors.utf8) == nil, "\(words) shows a secret", sourceLocation: sourceLocation)
        return result
    }

    /// Signs Alice in; gives the account's id.
    @discardableResult func signIn(
        type: String = "Reader", _ changes: [String: String?] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        let words = [
            "login", "--type", type, "--username", "alice@example.com", "--password-file", path("password"),
        ]
        return String(try run(words, changes, sourceLocation: sourceLocation).output.prefix { $0 != "\t" })
    }

    /// Makes the tokens that the provider issues from now on live longer than all before.
    ///
    /// - Returns: a `--min-valid` that they meet and the older ones do not: with it, every token is at its end.
    func outliveTokens() -> String {
        let lifetime = provider.switches.accessTokenLifetime
        provider.change { $0.accessTokenLifetime = lifetime + 100 }
        return String(lifetime + 50)
    }

    /// Keeps the replies to the next `count` token requests back, until ``DemoProvider/releaseTokenReplies()``.
    func holdReplies(_ count: Int = 1) { provider.holdTokenReplies(count) }

    /// Waits until the provider has answered `count` token requests and keeps the replies back.
    func waitForHeldReplies(_ count: Int = 1) throws {
        guard provider.waitForHeldTokenReplies(count) else {
            throw Failure(description: "no end of the wait for held replies")
        }
    }

    /// Waits until a call has opened an account's lock: it waits there then, if another process has the lock.
    func waitAtLock(_ call: Call, of account: String) throws {
        let folder = "/proc/\(call.processID)/fd"
        let lock = groupFile("locks/\(account).lock")
        try wait(for: "a caller at the lock") {
            let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return files.contains {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + $0)) == lock
            }
        }
    }

    /// Waits until a process is stopped, as by SIGSTOP.
    func waitUntilStopped(_ process: Int32) throws {
        try wait(for: "a process that stands still") {
            // The state is behind the name, which is in brackets.
            let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            return status?.split(separator: ")").last?.split(separator: " ").first == "T"
        }
    }

    /// Waits until a condition holds; the longest wait is far beyond the usual one.
    func wait(for what: String, until holds: () throws -> Bool) throws {
        let limit = ContinuousClock.now.advanced(by: .seconds(60))
        while try !holds() {
            guard ContinuousClock.now < limit else { throw Failure(description: "no end of the wait for \(what)") }
            usleep(2_000)
        }
    }

    struct Failure: Error { let description: String }

    // MARK: Files

    /// The path of something in the home.
    func path(_ name: String) -> String { folder.path + "/" + name }

    /// A file of the group.
    func groupFile(_ name: String) -> String { path(".local/share/credmgr/groups/\(Self.group)/\(name)") }

    /// Writes a file in the home, private, with the folders on the way.
    func write(_ text: String, to name: String) throws { try home.write(text, to: name) }

    /// Waits until no process holds an account's lock: then no worker runs either.
    func waitForFreeLock(of account: String) throws {
        let file = open(groupFile("locks/\(account).lock"), O_RDWR | O_CLOEXEC)
        defer { close(file) }
        #expect(file >= 0)
        try wait(for: "a free lock") { flock(file, LOCK_EX | LOCK_NB) == 0 }
    }
}
