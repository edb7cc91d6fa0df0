import CredentialCore
import Foundation
import LoopbackHTTP
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// Identity tokens of platforms for continuous integration, at servers that play the platforms' endpoints.
///
/// The endpoints behave as GitHub's "About security hardening with OpenID Connect" and Azure DevOps' REST reference
/// "Oidctoken - Create", version 7.1, describe them (both as of 2026-10).
@Suite struct CIIdentityTests {
    private let home: Home
    private let provider: ScriptedProvider

    init() throws {
        home = try Home()
        provider = try ScriptedProvider {
            $0.token = .json(200, ["access_token": "at-1", "token_type": "Bearer", "expires_in": 3600])
        }
    }

    /// A platform that answers each request with the response that the test gives.
    private final class Platform: Sendable {
        struct Asked: Sendable, Equatable {
            var method: String
            var path: String
            var query: String
            var authorization: String?
        }

        private final class Shared: Sendable {
            let asked = Mutex<[Asked]>([])
            let answer: Mutex<ServerResponse>
            init(_ answer: ServerResponse) { self.answer = Mutex(answer) }
        }

        let base: String
        private let shared: Shared
        private let server: LoopbackServer

        init(_ answer: ServerResponse) throws {
            let shared = Shared(answer)
            self.shared = shared
            server = try LoopbackServer(at: .ipv4) { request in
                shared.asked.withLock {
                    $0.append(
                        Asked(
                            method: request.method, path: request.path, query: request.query ?? "",
                            authorization: request.value(of: "authorization")))
                }
                return shared.answer.withLock { $0 }
            }
            base = "http://127.0.0.1:\(server.port)"
        }

        deinit { server.stop() }

        var asked: [Asked] { shared.asked.withLock { $0 } }
        func answer(_ answer: ServerResponse) { shared.answer.withLock { $0 = answer } }
    }

    /// A platform's token; the provider of these tests does not look at its signature.
    private static func token(for audience: JSONValue, _ number: Int64 = 1) -> String {
        let claims: JSONValue = [
            "sub": "repo:octo-org/octo-repo:ref:refs/heads/main", "aud": audience,
            "exp": .integer(Int64(time(nil)) + 300), "n": .integer(number),
        ]
        return Base64URL.encode(Array(#"{"alg":"RS256"}"#.utf8)) + "." + Base64URL.encode(claims.bytes()) + ".c2ln"
    }

    private func define(_ identity: String, audience: String? = nil) throws {
        let audience = audience.map { #""identity_audience": "\#($0)", "# } ?? ""
        try home.write(
            #"{"token_endpoint": "\#(provider.base)/token", "client_id": "ci", "flow": "jwt_bearer", \#(audience)"identity_token": \#(identity)}"#,
            to: "config/credmgr/types/Work.json")
    }

    private func github(_ platform: Platform) -> [String: String] {
        [
            "ACTIONS_ID_TOKEN_REQUEST_URL": platform.base + "/token/run?api-version=2.0",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "runtime-token",
        ]
    }

    private func azure(_ platform: Platform) -> [String: String] {
        [
            "SYSTEM_OIDCREQUESTURI": platform.base + "/org/project/_apis/distributedtask/oidctoken",
            "SYSTEM_ACCESSTOKEN": "job-token",
        ]
    }

    private static let gitHubForm = #"{"github_actions": {"audience": "api://Work & more"}}"#

    @Test func `a GitHub job gets a token by two requests, and asks anew at each refresh`() throws {
        let first = Self.token(for: "api://Work & more"), second = Self.token(for: ["x", "api://Work & more"], 2)
        let platform = try Platform(.json(200, ["count": 1, "value": .string(first)]))
        try define(Self.gitHubForm)
        try home.run(["login", "--type", "Work"], environment: github(platform))
        #expect(
            platform.asked == [
                Platform.Asked(
                    method: "GET", path: "/token/run",
                    query: "api-version=2.0&audience=api%3A%2F%2FWork%20%26%20more",
                    authorization: "bearer runtime-token")
            ])
        #expect(provider.paths == ["/token"])
        #expect(try home.run(["token"], environment: github(platform)).line == "at-1")
        platform.answer(.json(200, ["value": .string(second)]))
        try home.run(["token", "--force-refresh"], environment: github(platform))
        #expect(provider.forms.map { $0["assertion"] } == [first, second])
        #expect(provider.paths == ["/token", "/token"] && platform.asked.count == 2)
        let shown = try home.run(["types", "show", "Work"]).standardOutput
        #expect(shown.contains("github_actions"), "\(shown)")
    }

    @Test func `a token for another audience reaches no token endpoint`() throws {
        let platform = try Platform(.json(200, ["value": .string(Self.token(for: "sts.example"))]))
        try define(Self.gitHubForm)
        let refused = try home.run(["login", "--type", "Work"], environment: github(platform), exits: 7)
        #expect(refused.standardError.contains("has the audience sts.example, expected api://Work & more"))
        try define(#"{"env": "GITLAB_TOKEN"}"#, audience: "https://work.example")
        for token in [Self.token(for: "other"), Self.token(for: []), Self.token(for: 1), "opaque"] {
            try home.run(["login", "--type", "Work"], environment: ["GITLAB_TOKEN": token], exits: 7)
        }
        #expect(provider.paths == [])
    }

    @Test func `a GitLab job's variable is sent as it is`() throws {
        try define(#"{"env": "GITLAB_TOKEN"}"#, audience: "https://work.example")
        let token = Self.token(for: "https://work.example")
        try home.run(["login", "--type", "Work"], environment: ["GITLAB_TOKEN": token])
        #expect(provider.paths == ["/token"] && provider.forms.last?["assertion"] == token)
    }

    @Test func `an Azure DevOps job gets a token for its service connection by two requests`() throws {
        let token = Self.token(for: "api://AzureADTokenExchange")
        let platform = try Platform(.json(200, ["oidcToken": .string(token)]))
        try define(
            #"{"azure_devops": {"service_connection": "0f1e-2d"}}"#, audience: "api://AzureADTokenExchange")
        try home.run(["login", "--type", "Work"], environment: azure(platform))
        #expect(
            platform.asked == [
                Platform.Asked(
                    method: "POST", path: "/org/project/_apis/distributedtask/oidctoken",
                    query: "api-version=7.1&serviceConnectionId=0f1e-2d", authorization: "Bearer job-token")
            ])
        #expect(provider.paths == ["/token"] && provider.forms.last?["assertion"] == token)
    }

    @Test func `a missing variable is reported with the setting that the job needs`() throws {
        let platform = try Platform(.json(200, ["value": "x"]))
        try define(Self.gitHubForm)
        let none = try home.run(["login", "--type", "Work"], exits: 2).standardError
        #expect(none.contains("ACTIONS_ID_TOKEN_REQUEST_URL is not set") && none.contains("id-token: write"))
        var half = github(platform)
        half["ACTIONS_ID_TOKEN_REQUEST_TOKEN"] = nil
        try home.run(["login", "--type", "Work"], environment: half, exits: 2)
        for place in [
            "http://ci.example.com/token", "ftp://127.0.0.1/x", "no address", "https://ci.example.com/#x",
        ] {
            let environment = github(platform).merging(["ACTIONS_ID_TOKEN_REQUEST_URL": place]) { $1 }
            let refused = try home.run(["login", "--type", "Work"], environment: environment, exits: 2)
                .standardError
            #expect(refused.contains("ACTIONS_ID_TOKEN_REQUEST_URL must be an https URL"), "\(place): \(refused)")
        }
        #expect(platform.asked == [] && provider.paths == [])
    }

    @Test(arguments: [
        (503, "later", Int32(6)), (429, "{}", 6), (302, "", 6), (401, "bad credentials", 7), (403, "{}", 7),
        (200, "<html>", 1), (200, "[]", 1), (200, #"{"value": 1}"#, 1), (200, #"{"value": ""}"#, 1),
        (200, #"{"value": "two words"}"#, 1), (200, #"{"oidcToken": "x"}"#, 1),
    ])
    func `a response without a token reaches no token endpoint`(
        _ status: Int, _ body: String, _ exit: Int32
    ) throws {
        let elsewhere = try Platform(.json(200, ["value": .string(Self.token(for: "api://Work & more"))]))
        let platform = try Platform(
            ServerResponse(
                status: status, headers: [("Location", elsewhere.base + "/token")], body: Array(body.utf8)))
        try define(Self.gitHubForm)
        let refused = try home.run(["login", "--type", "Work"], environment: github(platform), exits: exit)
        #expect(refused.standardError.contains("GitHub Actions at \(platform.base)"), "\(refused.standardError)")
        #expect(!refused.standardError.contains("runtime-token"))
        #expect(provider.paths == [] && elsewhere.asked == [])
    }

    @Test func `types set changes the form, and reports the known forms`() throws {
        try define(#"{"env": "GITLAB_TOKEN"}"#)
        try home.run(["types", "set", "Work", #"identity_token={"github_actions":{"audience":"A"}}"#])
        let shown = try home.json(["types", "show", "Work", "--json"]).text()
        #expect(shown.contains(#"{"github_actions":{"audience":"A"}}"#), "\(shown)")
        for bad in [
            "GITLAB_TOKEN", #"{"store":true}"#, #"{"github_actions":{}}"#, #"{"github_actions":"A"}"#,
            #"{"github_actions":{"audience":"A","more":1}}"#, #"{"azure_devops":{"service_connection":""}}"#,
            #"{"env":"A","file":"/b"}"#,
        ] {
            let refused = try home.run(["types", "set", "Work", "identity_token=\(bad)"], exits: 2).standardError
            #expect(refused.contains("github_actions") && refused.contains("azure_devops"), "\(bad): \(refused)")
        }
        let differs = try home.run(["types", "set", "Work", "identity_audience=B"], exits: 2).standardError
        #expect(differs.contains("identity_audience"), "\(differs)")
        try home.run(["types", "set", "Work", "identity_audience=A"])
    }
}
