import CredentialCore
import Foundation
import SecretServiceStore
import TestSupport
import Testing

extension PrivateKeyring {
    /// A store on this keyring.
    func store(
        canPrompt: Bool = false, warn: @escaping @Sendable (String) -> Void = { _ in }
    ) -> SecretServiceStore {
        SecretServiceStore(busAddress: busAddress, canPrompt: canPrompt, warn: { warn($0.description) })
    }

    /// The output of the desktop's own tool.
    func secretTool(_ arguments: [String], input: String = "") throws -> String {
        let outcome = try ChildProcess("secret-tool", arguments, environment: environment).run(input: input)
        return outcome.standardOutput + outcome.standardError
    }
}

extension SecretItem {
    /// The token set of an account of the standard group.
    static func example(_ owner: String) -> SecretItem {
        SecretItem(group: .standard, owner: owner, kind: .tokenSet)
    }
}

/// The error of `call`; an issue without an error.
func refusal(
    sourceLocation: SourceLocation = #_sourceLocation, of call: () throws -> Void
) -> CredentialError? {
    #expect(throws: CredentialError.self, sourceLocation: sourceLocation) { try call() }
}

/// The seconds that `call` takes.
func seconds(of call: () -> Void) -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    call()
    return start.duration(to: clock.now) / .seconds(1)
}

/// The warnings of a store.
final class Warnings: @unchecked Sendable {
    private let lock = NSLock()
    private var warnings: [String] = []
    var all: [String] { lock.withLock { warnings } }
    func add(_ warning: String) { lock.withLock { warnings.append(warning) } }
}

/// A Secret Service that misbehaves: `Tests/Fixtures/unruly-secret-service.py`.
struct UnrulyService {
    private let keyring: PrivateKeyring
    private let folder: TemporaryFolder

    init(_ options: String...) throws {
        let folder = try TemporaryFolder()
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../Fixtures/unruly-secret-service.py").path
        keyring = try PrivateKeyring(
            .program("/usr/bin/python3", [script, "--log", folder.path + "/log"] + options))
        self.folder = folder
    }

    /// A store on this service.
    func store(canPrompt: Bool = false) -> SecretServiceStore { keyring.store(canPrompt: canPrompt) }

    /// Ends it.
    func stop() { keyring.stop() }

    /// The calls that it got.
    var calls: [String] {
        let log = (try? String(contentsOfFile: folder.path + "/log", encoding: .utf8)) ?? ""
        return log.split(separator: "\n").map(String.init)
    }
}
