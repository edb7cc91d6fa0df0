import Foundation

/// One of the servers of `Tests/Servers` that comes from PyPI, on a free port of the loopback with data of its own.
///
/// It ends with ``stop()``, with the last reference, and with the test process.
public final class RealServer: Sendable {
    /// The servers.
    public enum Kind: String, Sendable {
        /// Canaille, an identity server built on Authlib: two users, several signature algorithms, registration,
        /// sign-in by assertion.
        case canaille
        /// idpyoidc, IdentityPython's library: token exchange; everybody is alice without a login page.
        case idpy
    }

    private struct Facts: Decodable {
        let issuer: String, clients: [String: String?], users: [String: String]?, assertion_key: String?
    }

    private let script: ServerScript
    private let facts: Facts

    /// Starts a server and waits until it is ready.
    ///
    /// - Throws: ``ServerFailure`` with its output; when it is not installed, with the words "run scripts/setup
    ///   test".
    public init(_ kind: Kind, redirectURIs: [String]) throws {
        let cache = ProcessInfo.processInfo.environment.filter { ["HOME", "XDG_CACHE_HOME"].contains($0.key) }
        script = try ServerScript(
            kind.rawValue,
            environment: cache.merging(["REDIRECTS": redirectURIs.joined(separator: " ")]) { $1 })
        facts = try JSONDecoder().decode(Facts.self, from: script.facts)
    }

    /// Ends the server; a second call has no effect.
    public func stop() { script.stop() }

    /// The issuer.
    public var issuer: String { facts.issuer }
    /// The secret of a client; `nil` for a public one.
    public func secret(of client: String) -> String? { facts.clients[client] ?? nil }
    /// The password of a user.
    public func password(of user: String) -> String { facts.users?[user] ?? "" }
    /// The JWK that signs the assertions of the client `assertion`; empty without one.
    public var assertionKeyFile: String { facts.assertion_key ?? "" }
}
