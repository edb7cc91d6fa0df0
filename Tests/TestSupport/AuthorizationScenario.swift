import Foundation

/// The servers of one scenario of `Tests/Servers/authorization-scenario`: a protected resource, two authorization
/// servers and an identity provider, on free ports of the loopback.
///
/// They end with ``stop()``, with the last reference, and with the test process.
public final class AuthorizationScenario: Sendable {
    private let script: ServerScript
    private let facts: [String: String]

    /// Starts the servers.
    ///
    /// - Parameters:
    ///   - name: the rule, as the script lists it.
    ///   - clients: JSON of the clients that the first authorization server knows beforehand, by their ids.
    ///   - resource: the resource that its tokens are for, in place of its own.
    /// - Throws: ``ServerFailure`` with the script's output.
    public init(_ name: String, clients: String = "{}", resource: String? = nil) throws {
        var environment = ["SCENARIO": name, "CLIENTS": clients]
        environment["RESOURCE"] = resource
        script = try ServerScript("authorization-scenario", environment: environment)
        facts = try JSONDecoder().decode([String: String].self, from: script.facts)
    }

    /// Ends the servers; a second call has no effect.
    public func stop() { script.stop() }

    /// The protected address.
    public var api: String { facts["api"] ?? "" }
    /// The origin of the protected address.
    public var origin: String { facts["resource"] ?? "" }
    /// The address to ask for the log.
    public var control: String { facts["control"] ?? "" }
    /// The folder with the PEM files `ca`, `client` and `client.key` of a scenario with TLS.
    public var certificates: String? { facts["folder"] }
    /// The issuer of the first authorization server.
    public var issuer: String { facts["as1"] ?? "" }
    /// The issuer of the second one.
    public var secondIssuer: String { facts["as2"] ?? "" }
    /// The identity provider's address; its token endpoint is `/token` below.
    public var identityProvider: String { facts["idp"] ?? "" }
}
