import CredentialCore
import Foundation
import LoopbackHTTP
import StrictJSON
import Testing

/// The reaction of the adapter `oauth2` to bad answers, with the real program.
@Suite struct `Bad answers of any provider` {
    private let home: Home

    init() throws { home = try Home() }

    private func define(_ provider: ScriptedProvider, scope: String = "api", more: [String] = []) throws {
        try home.run(
            ["types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", scope] + more)
    }

    /// The contents of the records and the store, without locks and the log of events.
    private var kept: [String: Data] {
        home.files.filter { $0.key.contains("/accounts/") || $0.key.hasSuffix("/store.v1") }
    }

    /// Whether no account is signed in: the store itself has been made for the pending sign-in, which is gone.
    private func isNobodySignedIn() throws -> Bool {
        #expect(!home.files.keys.contains { $0.contains("/accounts/") })
        return try home.json(["accounts", "--json"]) == []
    }

    // MARK: Token replies

    @Test(arguments: HostileReply.all)
    func `A hostile token reply signs no user in, and removes no account`(reply: HostileReply) throws {
        let provider = try ScriptedProvider(), hostile = ServerResponse.text(200, reply.body)
        let good = ScriptedProvider.Script().token
        try define(provider)
        provider.change { $0.token = hostile }
        let error = try provider.signIn(at: home, exits: 1).standardError
        #expect(!error.contains("aaaaaaaaaaaaaaaaaaaa"))
        #expect(try home.json(["accounts", "--json"]) == [])
        provider.change { $0.token = good }
        try provider.signIn(at: home)
        let before = kept
        provider.change { $0.token = hostile }
        try home.run(["token", "--force-refresh"], exits: 1)
        #expect(kept == before)
        #expect(try home.run(["token"]).line == "at-1")
    }

    // MARK: UserInfo

    private static func json(_ text: String) -> ServerResponse {
        ServerResponse(status: 200, headers: [("Content-Type", "application/json")], body: Array(text.utf8))
    }

    struct BadUserInfo: Sendable, CustomTestStringConvertible {
        let kind: String, answer: ServerResponse, status: Int32
        var testDescription: String { kind }
    }

    private static let badUserInfo: [BadUserInfo] = [
        ("no subject", json(#"{"name":"Ada"}"#), 1), ("a subject that is null", json(#"{"sub":null}"#), 1),
        ("a subject that is an object", json(#"{"sub":{"a":1}}"#), 1),
        ("an empty subject", json(#"{"sub":""}"#), 1),
        ("a subject of 256 bytes", json(#"{"sub":"\#(String(repeating: "x", count: 256))"}"#), 1),
        ("two subjects", json(#"{"sub":"ada","sub":"eve"}"#), 1), ("an array", json("[]"), 1),
        ("no JSON", json("hello"), 1), ("nothing", json(""), 1),
        ("deep nesting", json(String(repeating: "[", count: 10_000)), 1),
        ("more than a megabyte", json(#"{"sub":"\#(String(repeating: "x", count: 1_100_000))"}"#), 1),
        (
            "a signed token",
            ServerResponse(
                status: 200, headers: [("Content-Type", "application/jwt")],
                body: Array("eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.".utf8)), 2
        ),
        ("nothing there", .text(404, "no"), 2), ("trouble", .text(503, "later"), 6),
        (
            "a web page",
            ServerResponse(status: 200, headers: [("Content-Type", "text/html")], body: Array("<p>".utf8)), 6
        ),
        ("a redirect", ServerResponse(status: 302, headers: [("Location", "http://169.254.169.254/")]), 6),
    ].map { BadUserInfo(kind: $0.0, answer: $0.1, status: $0.2) }

    @Test(arguments: badUserInfo)
    func `Userinfo without an identity signs no user in, unless the user is named`(bad: BadUserInfo)
        throws
    {
        let provider = try ScriptedProvider { $0.userInfo = bad.answer }
        try define(provider)
        let error = try provider.signIn(at: home, exits: bad.status).standardError
        #expect(error.contains("did not identify the user"))
        #expect(!error.contains("xxxxxxxxxxxxxxxxxxxx"))
        #expect(try home.json(["accounts", "--json"]) == [])
        let named = try provider.signIn(at: home, more: ["--login-hint", "ada"])
        #expect(named.line.hasSuffix("\tada"))
        // An id token says it, too.
        try home.run(["types", "remove", "Work"])
        try define(provider, scope: "openid")
        provider.change { $0.idTokenSubject = "ada-1" }
        try provider.signIn(at: home)
        #expect(
            try home.json(["accounts", "--json"]).array?.contains { $0.object?["subject"] == "ada-1" } == true)
    }

    @Test func `Userinfo that the token is not for is no matter`() throws {
        let provider = try ScriptedProvider { $0.userInfo = .text(401, "not for you") }
        try define(provider)
        try provider.signIn(at: home)
        #expect(try home.json(["accounts", "--json"]).array?.first?.object?["subject"] == "default")
    }

    @Test func `Userinfo about a different user than the ID token is exit 7, and no account is stored`() throws {
        let provider = try ScriptedProvider {
            $0.idTokenSubject = "ada"
            $0.userInfo = .json(200, ["sub": "eve", "preferred_username": "eve@example.test"])
        }
        try define(provider, scope: "openid")
        #expect(try provider.signIn(at: home, exits: 7).standardError.contains("name different users"))
        #expect(try home.json(["accounts", "--json"]) == [])
    }

    @Test(arguments: [
        #"{"sub":"ada","preferred_username":7,"email":["x"],"name":{}}"#,
        #"{"sub":"ada","preferred_username":null,"email":""}"#,
        #"{"sub":"ada","preferred_username":"\#(String(repeating: "u", count: 321))"}"#,
        #"{"sub":"ada","preferred_username":"a\u001b[2J\u0007b\nc","name":"\u202emoc"}"#,
    ])
    func `Names that are none are left out or shown without harm`(text: String) throws {
        let provider = try ScriptedProvider { $0.userInfo = Self.json(text) }
        try define(provider)
        let done = try provider.signIn(at: home)
        let account = try #require(try home.json(["accounts", "--json"]).array?.first?.object)
        #expect(account["subject"] == "ada")
        let shown = try [done, home.run(["accounts"]), home.run(["which"])].map {
            $0.standardOutput + $0.standardError
        }
        .joined()
        #expect(!shown.unicodeScalars.contains { $0.value == 0x1B || $0.value == 7 || $0.value == 0x202E })
        #expect(!shown.contains("uuuuuuuuuu"))
    }

    // MARK: Metadata

    @Test(
        arguments: [
            (["issuer": "https://evil.example"], 7), (["issuer": .null], 1), (["issuer": 7], 1),
            (["token_endpoint": "http://evil.example/token"], 7),
            (["authorization_endpoint": "http://evil.example/authorize"], 7),
            (["authorization_endpoint": "javascript:alert(1)"], 7), (["token_endpoint": "file:///etc/passwd"], 7),
            (["token_endpoint": ["https://evil.example/token"]], 7),
        ] as [(JSONValue, Int32)])
    func `Metadata with foreign endpoints is refused before the user is sent to a URL`(
        changes: JSONValue, status: Int32
    ) throws {
        let provider = try ScriptedProvider()
        try define(provider)
        let types = try home.json(["types", "--json"])
        provider.change { $0.metadata = changes.object ?? JSONObject() }
        let refused = try home.run(["login", "--type", "Work", "--print-url"], exits: status)
        #expect(!refused.standardError.contains("\u{1B}"))
        // At the definition too, at which credmgr asks the metadata for the scopes.
        try home.run(["types", "add", "Other", "--issuer", provider.base, "--client-id", "app"], exits: status)
        #expect(try home.json(["types", "--json"]) == types)
        #expect(provider.paths.allSatisfy { $0.hasPrefix("/.well-known/") })
        #expect(kept.isEmpty)
        #expect(home.files.keys.allSatisfy { !$0.hasPrefix("cache/") && !$0.contains("/metadata/") })
    }

    @Test(arguments: [
        "registration_endpoint", "end_session_endpoint", "introspection_endpoint", "revocation_endpoint",
        "device_authorization_endpoint", "pushed_authorization_request_endpoint",
    ])
    func `An invalid endpoint stops no sign-in without it, and is named if it is used`(name: String) throws {
        for value in ["", "/relative", "http://evil.example/x", "https://op.example/#/x"] as [JSONValue] {
            let home = try Home()
            let provider = try ScriptedProvider { $0.metadata[name] = value }
            try home.run([
                "types", "add", "Work", "--issuer", provider.base, "--client-id", "app", "--scope", "api",
            ])
            try provider.signIn(at: home)
            try home.run(["token", "--type", "Work", "--force-refresh"])
            guard name == "revocation_endpoint" else { continue }
            let error = try home.run(["logout", "--revoke", "--type", "Work"], exits: 7).standardError
            let shown = "'\(value.string ?? "")'"
            #expect(error.contains("has a revocation_endpoint that is not a URL with https: " + shown))
        }
    }

    @Test func `Keys at a foreign address stop the sign-in that needs them`() throws {
        let provider = try ScriptedProvider { $0.metadata["jwks_uri"] = "http://169.254.169.254/keys" }
        try home.run(["types", "add", "Other", "--issuer", provider.base, "--client-id", "app"], exits: 7)
        try define(provider, scope: "openid")
        let error = try home.run(["login", "--type", "Work", "--print-url"], exits: 7).standardError
        #expect(error.contains("has a jwks_uri that is not a URL with https: 'http://169.254.169.254/keys'"))
        #expect(provider.paths.allSatisfy { $0.hasPrefix("/.well-known/") })
    }

    @Test func `An endpoint that only the other document names is found`() throws {
        let provider = try ScriptedProvider {
            $0.metadata["device_authorization_endpoint"] = .null
            $0.more = ["device_authorization_endpoint": "/device", "registration_endpoint": "/register"]
            $0.registration = .json(201, ["client_id": "app", "token_endpoint_auth_method": "none"])
        }
        try home.run(["types", "add", "Registered", "--issuer", provider.base, "--register", "--scope", "api"])
        #expect(provider.paths.suffix(2) == ["/.well-known/oauth-authorization-server", "/register"])
        try home.run([
            "types", "add", "Device", "--issuer", provider.base, "--client-id", "app", "--scope", "api", "--flow",
            "device",
        ])
        try home.run(["login", "--type", "Device"])
        #expect(provider.paths.contains("/device"))
    }

    @Test(arguments: [301, 302, 307, 308])
    func `No redirect leads to another host, whatever answers with it`(status: Int) throws {
        let victim = try ScriptedProvider(), provider = try ScriptedProvider()
        func away(_ path: String) -> ServerResponse {
            ServerResponse(status: status, headers: [("Location", victim.base + path)])
        }
        provider.change { $0.discovery = away("/.well-known/openid-configuration") }
        try define(provider)
        let error = try home.run(["login", "--type", "Work", "--print-url"], exits: 6).standardError
        #expect(error.contains("returned a redirect, which credmgr does not follow"))
        provider.change {
            $0.discovery = nil
            $0.token = away("/token")
        }
        try provider.signIn(at: home, exits: 6)
        provider.change {
            $0.token = ScriptedProvider.Script().token
            $0.userInfo = away("/userinfo")
        }
        try provider.signIn(at: home, exits: 6)
        #expect(victim.paths == [])
        #expect(try isNobodySignedIn())
    }

    @Test(arguments: ["hello", "[]", "{}", #"{"issuer":"a","issuer":"b"}"#, String(repeating: "[", count: 10_000)])
    func `Metadata that is none is exit 1`(text: String) throws {
        let provider = try ScriptedProvider { $0.discovery = Self.json(text) }
        try define(provider)
        try home.run(["login", "--type", "Work", "--print-url"], exits: 1)
        #expect(kept.isEmpty)
    }

    @Test func `A provider that hangs is given up on at the time allowed`() throws {
        let provider = try ScriptedProvider()
        var slow = ScriptedProvider.Script().token
        slow.trickleMilliseconds = 60_000
        try define(provider)
        provider.change { [slow] in $0.token = slow }
        let url = try home.run(["login", "--type", "Work", "--print-url"]).line
        let redirect = try provider.redirect(from: url)
        let start = ContinuousClock.now
        try home.run(["login", "--complete", redirect, "--timeout", "1"], exits: 6)
        #expect(ContinuousClock.now - start < .seconds(30))
        #expect(try isNobodySignedIn())
    }
}
