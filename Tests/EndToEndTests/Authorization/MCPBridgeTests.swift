import Foundation
import LoopbackHTTP
import StrictJSON
import Synchronization
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

    @Test func `a refused token is refreshed once, and the user's next step is reported`() throws {
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

    /// A server that knows one session at a time and ends the first one after the client has begun.
    private final class ForgetfulServer: Sendable {
        struct Received: Equatable {
            let method: String
            let session: String?
        }
        struct State {
            var sessions = 0
            var received: [Received] = []
        }
        let state = Mutex(State())

        func answer(_ request: ServerRequest, startsAnew: Bool) -> ServerResponse {
            guard request.method == "POST" else { return .text(405, "") }
            let message = (try? JSONValue.parse(request.body))?.object
            let method = message?["method"]?.string ?? "", session = request.value(of: "mcp-session-id")
            return state.withLock { state in
                state.received.append(Received(method: method, session: session))
                func result(_ members: JSONValue) -> ServerResponse {
                    .json(200, ["jsonrpc": "2.0", "id": message?["id"] ?? .null, "result": members])
                }
                if method == "initialize" {
                    guard state.sessions == 0 || startsAnew else { return .text(503, "") }
                    state.sessions += 1
                    var response = result(["protocolVersion": "2025-06-18"])
                    response.headers.append(("Mcp-Session-Id", "s-\(state.sessions)"))
                    return response
                }
                if method == "notifications/initialized" { return ServerResponse(status: 202) }
                guard session == "s-2" else {
                    return .json(
                        404,
                        ["jsonrpc": "2.0", "id": "x", "error": ["code": -32_600, "message": "Session not found"]])
                }
                return result([:])
            }
        }
    }

    private static let conversation = """
        {"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}
        {"jsonrpc":"2.0","method":"notifications/initialized"}
        {"jsonrpc":"2.0","id":"b","method":"tools/list"}

        """

    /// Has the conversation with a server, by an account that is signed in.
    private func talk(startsAnew: Bool) throws -> (server: ForgetfulServer, answers: [JSONObject]) {
        let forgetful = ForgetfulServer()
        let outcome = try talk(answer: { forgetful.answer($0, startsAnew: startsAnew) })
        let answers = try outcome.standardOutput.split(separator: "\n").map {
            try #require(try JSONValue.parse(Array($0.utf8)).object)
        }
        return (forgetful, answers)
    }

    private func talk(
        answer: @escaping @Sendable (ServerRequest) -> ServerResponse
    ) throws -> ChildProcess.Outcome {
        let provider = try ScriptedProvider {
            $0.token = .json(
                200, ["access_token": "an-access-token-of-ada", "token_type": "Bearer", "expires_in": 3600])
        }
        let server = try LoopbackServer(at: .ipv4) { answer($0) }
        defer { server.stop() }
        let address = "http://127.0.0.1:\(server.port)/mcp"
        let type = "127.0.0.1-\(server.port)"
        try home.run([
            "types", "add", type, "--issuer", provider.base, "--client-id", "app", "--scope", "api", "--api-base",
            address,
        ])
        try provider.signIn(at: home, type: type)
        return try home.run(["mcp", "--verbose", address], input: Self.conversation)
    }

    @Test func `an error that repeats the token is shown without the token`() throws {
        let tokens = Mutex<Set<String>>([])
        let outcome = try talk(answer: { request in
            let sent = request.value(of: "authorization") ?? ""
            tokens.withLock { _ = $0.insert(String(sent.dropFirst("Bearer ".count))) }
            return .text(500, "cannot use \(sent)")
        })
        #expect(outcome.standardError.contains("cannot use Bearer [redacted]"), "\(outcome.standardError)")
        let sent = tokens.withLock { $0.filter { !$0.isEmpty } }
        #expect(!sent.isEmpty)
        for token in sent {
            #expect(!outcome.standardError.contains(token) && !outcome.standardOutput.contains(token))
        }
    }

    @Test func `a session that the server ended is begun anew, and the message is sent again`() throws {
        let (server, answers) = try talk(startsAnew: true)
        #expect(answers.map { $0["id"] } == ["a", "b"])
        #expect(answers.allSatisfy { $0["result"] != nil })
        #expect(
            server.state.withLock { $0.received } == [
                .init(method: "initialize", session: nil),
                .init(method: "notifications/initialized", session: "s-1"),
                .init(method: "tools/list", session: "s-1"),
                .init(method: "initialize", session: nil),
                .init(method: "notifications/initialized", session: "s-2"),
                .init(method: "tools/list", session: "s-2"),
            ])
    }

    @Test func `a session that cannot be begun anew is told once, by the server's own error`() throws {
        let (server, answers) = try talk(startsAnew: false)
        #expect(answers.map { $0["id"] } == ["a", "b"])
        #expect(answers.last?["error"]?.object?["message"] == "Session not found")
        #expect(server.state.withLock { $0.received.map(\.method) }.suffix(2) == ["tools/list", "initialize"])
    }

    @Test func `an address without https gets nothing`() throws {
        try home.run(["mcp", "http://mcp.example/mcp"], exits: 2)
    }
}
