import Foundation

/// A server of the official Python SDK of the Model Context Protocol, on a port of the loopback, that takes the
/// tokens of an authorization server.
///
/// It ends with ``stop()``, with the last reference, and with the test process.
public final class MCPServer: Sendable {
    private let script: ServerScript

    /// The Python that has the SDK.
    public let python: String
    /// Its address.
    public let address: String

    /// Starts it.
    ///
    /// - Parameters:
    ///   - port: a free port.
    ///   - issuer: whose tokens it takes.
    /// - Throws: ``ServerFailure`` with its output; when it is not installed, with the words "run scripts/setup
    ///   test".
    public init(port: UInt16, issuer: String) throws {
        var environment = ProcessInfo.processInfo.environment.filter {
            ["HOME", "XDG_CACHE_HOME"].contains($0.key)
        }
        environment["ISSUER"] = issuer
        environment["MCP_PORT"] = String(port)
        script = try ServerScript("mcp", environment: environment)
        let facts = try JSONDecoder().decode([String: String].self, from: script.facts)
        (python, address) = (facts["python"] ?? "", facts["url"] ?? "")
    }

    /// Ends the server; a second call has no effect.
    public func stop() { script.stop() }

    /// The script of many clients that start at once, of several kinds.
    public static var client: String { ServerScript.folder.appendingPathComponent("mcp-client.py").path }
}
