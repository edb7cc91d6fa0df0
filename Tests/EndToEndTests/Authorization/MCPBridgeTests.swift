import Foundation
import StrictJSON
import TestSupport
import Testing

/// `credmgr mcp` between the official Python SDK's client and its server.
@Suite struct `The bridge to servers of the Model Context Protocol` {
    private let home: Home

    init() throws { home = try Home() }

    /// A browser that writes down each tab.
    private func browser() throws -> [String: String] {
        let robot = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Servers/oidc-login").path
        let script = try home.write(
            """
            #!/bin/sh
            echo tab >> '\(home.path)/outside/tabs'
            exec python3 '\(robot)' "$1" --user ada --deliver

            """, to: "outside/browser", mode: 0o700)
        return ["BROWSER": script]
    }

    @Test(arguments: [
        ("bridge,headers,request", "legacy", 50), ("bridge,headers", "auto", 4), ("asked", "legacy", 2),
    ])
    func `many starts at once make one tab, one registration and as many sessions`(
        kinds: String, mode: String, count: Int
    ) throws {
        let port = try freePort()
        let scenario = try AuthorizationScenario(
            "one-sign-in-for-many", resource: "http://127.0.0.1:\(port)/mcp")
        let server = try MCPServer(port: port, issuer: scenario.issuer)
        let outcome = try ChildProcess(
            server.python, [MCPServer.client, String(count), kinds, mode, Home.program, server.address],
            environment: home.environment.merging(try browser()) { $1 }
        ).run(seconds: 240)
        #expect(outcome.standardOutput == "\(count)\n", "\(outcome.standardError)")
        #expect(home.text(of: "outside/tabs") == "tab\n")
        #expect(try scenario.requests(to: "/register").count == 1)
        #expect(try scenario.requests(to: "/token").count == 1)
    }

    @Test func `a token that is refused is refreshed once, and what a person has to do is said`() throws {
        let hello = #"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}"# + "\n"
        let scenario = try AuthorizationScenario("challenge-loop")
        try scenario.signIn(at: home)
        let outcome = try home.run(["mcp", scenario.api], input: hello)
        let answer = try #require(try JSONValue.parse(Array(outcome.standardOutput.utf8)).object)
        #expect(answer["id"] == "a" && answer["error"]?.object?["message"]?.string?.contains("401") == true)
        #expect(try scenario.requests(to: "/mcp").count { $0.authorization != nil } == 2)
        #expect(try scenario.requests(to: "/token").count == 2)

        let other = try AuthorizationScenario("scope-step-up")
        try other.signIn(at: home)
        let refused = try home.run(["mcp", other.api], input: hello)
        #expect(refused.standardOutput.contains("credmgr login --account"))
        #expect(try other.requests(to: "/token").count == 1)
    }

    @Test func `an address without https gets nothing`() throws {
        try home.run(["mcp", "http://mcp.example/mcp"], exits: 2)
    }
}
