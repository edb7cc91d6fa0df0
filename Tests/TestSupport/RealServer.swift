import Foundation

/// One of the servers of `Tests/Servers` that comes from PyPI, on a free port of the loopback with data of its own.
///
/// It ends with ``stop()``, with the last reference, and with the test process.
public final class RealServer: @unchecked Sendable {
    // Immutable after `init` but for the process, which Foundation guards itself.

    /// The servers.
    public enum Kind: String, Sendable {
        /// Canaille, an identity server built on Authlib: two users, several signature algorithms, registration.
        case canaille
        /// idpyoidc, IdentityPython's library: token exchange; everybody is alice without a login page.
        case idpy
    }

    private struct Facts: Decodable {
        let issuer: String, clients: [String: String?], users: [String: String]?
    }

    private let folder: TemporaryFolder
    private let process: Process
    private let input: Pipe
    private let facts: Facts

    /// Starts a server and waits until it is ready.
    ///
    /// - Throws: ``Glewlwyd/Failure`` with what it printed; when it is not installed, with the words
    ///   "run scripts/setup test".
    public init(_ kind: Kind, redirectURIs: [String]) throws {
        let folder = try TemporaryFolder(), process = Process(), input = Pipe(), output = Pipe()
        let errors = folder.path + "/errors"
        try Data().write(to: URL(fileURLWithPath: errors))
        process.executableURL = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Servers/\(kind.rawValue)")
        process.arguments = [String(try freePort()), folder.path + "/server"]
        process.environment = ProcessInfo.processInfo.environment.filter {
            ["HOME", "XDG_CACHE_HOME"].contains($0.key)
        }.merging(["PATH": "/usr/bin:/bin", "REDIRECTS": redirectURIs.joined(separator: " ")]) { $1 }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errors))
        try process.run()
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty, byte != Data([0x0A]) {
            line += byte
        }
        guard let facts = try? JSONDecoder().decode(Facts.self, from: line) else {
            try? input.fileHandleForWriting.close()
            process.waitUntilExit()
            throw Glewlwyd.Failure(
                description: (try? String(contentsOfFile: errors, encoding: .utf8)) ?? "no server")
        }
        self.folder = folder
        self.process = process
        self.input = input
        self.facts = facts
    }

    deinit { stop() }

    /// Ends the server; a second call does nothing.
    public func stop() {
        guard process.isRunning else { return }
        // Its script ends the server, by process id, when its input ends.
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// The issuer.
    public var issuer: String { facts.issuer }
    /// The secret of a client; `nil` for a public one.
    public func secret(of client: String) -> String? { facts.clients[client] ?? nil }
    /// The password of a user.
    public func password(of user: String) -> String { facts.users?[user] ?? "" }
}
