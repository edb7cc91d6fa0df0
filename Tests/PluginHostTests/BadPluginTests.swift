import CredentialCore
import Foundation
import PluginHost
import StrictJSON
import TestSupport
import Testing

private let openURL =
    #"{"version":1,"reply":"interaction","interaction":{"kind":"open_url","url":"https://p.example/a?state=0123456789abcdef","state":"0123456789abcdef"},"pending":{"s":1}}"#
private let done =
    #"{"version":1,"reply":"done","identity":{"subject":"ada"},"tokens":{"access_token":"tok-1","expires_in":60,"refresh_token":"ref-1","scope":["read"]},"state":{"k":[1]}}"#

/// The mistakes of a plugin, and how each ends.
@Suite struct BadPluginTests {
    private func begin(_ plugin: CannedPlugin, seconds: Int = 20, world: World = World()) throws -> CredentialError?
    {
        let home = try PluginHome()
        try home.install(plugin)
        let adapter = try home.adapter(plugin.name, seconds: seconds)
        return failure { () throws(CredentialError) in _ = try adapter.begin(.canned(), in: world.context) }
    }

    @Test func `a plugin that does as it should is heard`() throws {
        #expect(try begin(CannedPlugin(begin: openURL)) == nil)
        #expect(try begin(CannedPlugin(begin: done)) == nil)
        #expect(try begin(CannedPlugin(begin: "\n\(openURL)\r\n\n")) == nil)
    }

    @Test func `one that hangs is ended, with all that it started`() throws {
        let home = try PluginHome()
        let plugin = CannedPlugin(
            begin: openURL,
            before: "trap '' TERM; sleep 600 & echo made > '\(home.seen)/child'; wait; sleep 600")
        try home.install(plugin)
        let error = failure { () throws(CredentialError) in
            _ = try (try? home.adapter("canned", seconds: 1))?.begin(.canned(), in: World().context)
        }
        #expect(error?.code == .temporary)
        #expect(error?.code.exitStatus == 6)
        #expect(FileManager.default.fileExists(atPath: home.seen + "/child"))
        let left = home.processes.all
        #expect(left.isEmpty, "\(left)")
    }

    @Test func `one that floods standard output is ended`() throws {
        let error = try begin(CannedPlugin(begin: openURL, before: "exec yes '{\"version\":1}'"))
        #expect(error?.code == .malformedReply)
        #expect(error?.message.contains("more than 1048576 bytes") == true)
    }

    @Test func `one that floods standard error is heard all the same, and not shown whole`() throws {
        let world = World()
        let plugin = CannedPlugin(begin: openURL, before: "yes flood | head -c 8000000 >&2")
        #expect(try begin(plugin, world: world) == nil)
        #expect(world.notes.all.count <= 256)
    }

    @Test(arguments: [
        ("kill -KILL $$", "signal 9"), ("kill -SEGV $$", "signal 11"), ("exit 3", "status 3"),
    ])
    func `one that dies after its reply is not believed`(_ shell: String, _ part: String) throws {
        let error = try begin(CannedPlugin(begin: done, after: shell))
        #expect(error?.code == .malformedReply)
        #expect(error?.message.contains(part) == true)
    }

    @Test func `one that does not read its input and one that says nothing`() throws {
        #expect(try begin(CannedPlugin(begin: ""))?.message.contains("without a response") == true)
        #expect(try begin(CannedPlugin(begin: nil))?.code == .malformedReply)
    }

    @Test func `one with a missing interpreter does not start`() throws {
        let home = try PluginHome()
        let folder = try home.install(CannedPlugin(begin: done))
        try home.install("#!/nonexistent/interpreter\n", folder + "/run")
        let adapter = try home.adapter("canned")
        #expect(
            code { () throws(CredentialError) in _ = try adapter.begin(.canned(), in: World().context) }
                == .configuration)
    }

    @Test(arguments: [
        #"{"version":1,"reply":"description","name":"other","plugin_version":"1.0","protocol_versions":[1]}"#,
        #"{"version":1,"reply":"description","name":"canned","plugin_version":"2.0","protocol_versions":[1]}"#,
        #"{"version":1,"reply":"description","name":"canned","plugin_version":"1.0","protocol_versions":[1,2]}"#,
        #"{"version":2,"reply":"description","name":"canned","plugin_version":"1.0","protocol_versions":[1]}"#,
        #"{"version":1,"reply":"description"}"#, #"{"version":1,"reply":"done"}"#,
    ])
    func `one that lies about itself is not asked further`(_ description: String) throws {
        let home = try PluginHome()
        var plugin = CannedPlugin(begin: done)
        plugin.replies["describe"] = description
        try home.install(plugin)
        let adapter = try home.adapter("canned")
        #expect(
            code { () throws(CredentialError) in _ = try adapter.begin(.canned(), in: World().context) }
                == .malformedReply)
        #expect(!FileManager.default.fileExists(atPath: home.seen + "/begin.request"))
    }

    @Test(arguments: [
        "not json", "[]", "1", #""done""#, "{}", #"{"version":1}"#, #"{"reply":"done"}"#,
        openURL + "\n" + openURL, done + "\n" + #"{"version":1,"reply":"note","text":"late"}"#, done + "\ngarbage",
        #"{"version":2,"reply":"done"}"#, #"{"version":"1","reply":"done"}"#, #"{"version":1.5,"reply":"done"}"#,
        #"{"version":1,"reply":"wish"}"#, #"{"version":1,"reply":1}"#, #"{"version":1,"reply":"note"}"#,
        #"{"version":1,"version":1,"reply":"done"}"#, #"{"version":1,"reply":"description","name":"canned"}"#,
        "\u{FEFF}" + done, done.replacingOccurrences(of: "\"ada\"", with: "\"a\\ud800\""),
        String(repeating: #"{"version":1,"reply":"note","text":"x"}"# + "\n", count: 300) + done,
        #"{"version":1,"reply":"error"}"#, #"{"version":1,"reply":"error","code":"denied"}"#,
        #"{"version":1,"reply":"error","code":"boredom","message":"x"}"#,
        #"{"version":1,"reply":"error","code":"denied","message":"a\u001b[2Jb"}"#,
    ])
    func `a reply that breaks the protocol is refused`(_ reply: String) throws {
        #expect(try begin(CannedPlugin(begin: reply))?.code == .malformedReply)
    }

    @Test(
        arguments: [
            ("url", "javascript:alert(1)"), ("url", 7),
            ("url", "https://p.example/a?state=other-0123456789"), ("url", "https://p.example/a"),
            ("url", "https://p.example/a?state=0123456789abcdef&state=x"),
            ("url", "https://u:p@p.example/?state=0123456789abcdef"),
            ("state", "short"), ("state", "0123456789abcde\n"), ("state", "0123456789 bcdef"), ("state", .null),
            ("kind", "dance"), ("kind", .null),
        ] as [(String, JSONValue)])
    func `an interaction that does not hold is refused`(_ member: String, _ value: JSONValue) throws {
        var reply = try #require(try JSONValue.parse(openURL).object)
        var interaction = try #require(reply["interaction"]?.object)
        interaction[member] = value
        reply["interaction"] = .object(interaction)
        #expect(try begin(CannedPlugin(begin: JSONValue.object(reply).text()))?.code == .malformedReply)
    }

    /// The steps that a plugin asks a user to do, by its manifest and for a type with the endpoints.
    private func asks(
        _ interaction: JSONObject, pages: [JSONValue] = [], issuer: String? = nil,
        endpoints: [AccountType.Endpoint: String] = [:]
    ) throws -> Interaction {
        let home = try PluginHome()
        let reply: JSONValue = [
            "version": 1, "reply": "interaction", "interaction": .object(interaction), "pending": [:],
        ]
        var plugin = CannedPlugin(begin: reply.text())
        plugin.needs["pages"] = .array(pages)
        try home.install(plugin)
        var request = SignInRequest.canned()
        request.type.issuer = issuer
        request.type.endpoints = endpoints
        guard case .interaction(let asked, _) = try home.adapter("canned").begin(request, in: World().context)
        else {
            throw CancellationError()
        }
        return asked
    }

    @Test func `a question of a plugin names it`() throws {
        let question = try asks(
            JSONObject(["kind": "ask", "prompt": "Passphrase of group default:", "secret": true]))
        guard case .ask(let prompt, true) = question else {
            Issue.record("\(question)")
            return
        }
        #expect(prompt.description == "The plugin canned asks: Passphrase of group default:")
        // It is no message of credmgr's, which would be translated.
        #expect(prompt.template == "The plugin %1$s asks: %2$s")
    }

    @Test(
        arguments: [
            ([], nil, [:]), (["https://p.example:8443"], nil, [:]), (["https://login.p.example"], nil, [:]),
            (["https://*.p.example"], nil, [:]), (["http://127.0.0.1"], nil, [:]),
            ([], "https://q.example", [.token: "https://p.example.q.example/token"]),
        ] as [([JSONValue], String?, [AccountType.Endpoint: String])])
    func `it sends people to no other page`(
        _ pages: [JSONValue], _ issuer: String?, _ endpoints: [AccountType.Endpoint: String]
    ) throws {
        let state = "0123456789abcdef"
        let code = JSONObject([
            "kind": "show_code", "user_code": "AB-CD", "verification_uri": "https://p.example/d", "expires_in": 60,
        ])
        let page = JSONObject([
            "kind": "open_url", "url": .string("https://p.example/a?state=\(state)"), "state": .string(state),
        ])
        for interaction in [page, code] {
            let error = #expect(throws: CredentialError.self) {
                try asks(interaction, pages: pages, issuer: issuer, endpoints: endpoints)
            }
            #expect(error?.code == .validationFailed && error?.code.exitStatus == 7)
            #expect(
                error?.message
                    == "the plugin canned sends you to https://p.example, which neither its manifest nor the account "
                    + "type names")
            #expect(
                error?.details == [
                    "address: https://p.example", "author: the plugin canned",
                    "rule: " + AddressAuthor.Rule.pages.rawValue,
                ])
        }
    }

    @Test(arguments: ["open_url", "show_code"])
    func `it sends people to no page without https, even of its own manifest`(kind: String) throws {
        let state = "0123456789abcdef"
        let interaction = JSONObject([
            "kind": .string(kind), "url": .string("http://p.example/a?state=\(state)"), "state": .string(state),
            "user_code": "AB-CD", "verification_uri": "http://p.example/d", "expires_in": 60,
        ])
        let error = #expect(throws: CredentialError.self) { try asks(interaction, pages: ["https://p.example"]) }
        #expect(error?.code == .validationFailed)
        #expect(error?.message.contains("the plugin canned sends you to http://p.example") == true)
    }

    @Test func `a page with the code in its address is one, too`() throws {
        let code = JSONObject([
            "kind": "show_code", "user_code": "AB-CD", "verification_uri": "https://p.example/d", "expires_in": 60,
            "verification_uri_complete": "https://q.example/d?code=AB-CD",
        ])
        _ = try asks(code, pages: ["https://p.example", "https://q.example"])
        #expect(throws: CredentialError.self) { try asks(code, pages: ["https://p.example"]) }
    }

    @Test(
        arguments: [
            (["https://q.example", "https://login.p.example"], nil, [:]), (["https://*.p.example"], nil, [:]),
            ([], "https://login.p.example/tenant", [:]), ([], nil, [.token: "https://login.p.example/token"]),
        ] as [([JSONValue], String?, [AccountType.Endpoint: String])])
    func `it sends people to pages that its manifest or the type names`(
        _ pages: [JSONValue], _ issuer: String?, _ endpoints: [AccountType.Endpoint: String]
    ) throws {
        let page = try asks(
            JSONObject([
                "kind": "open_url", "url": "https://login.p.example/a?state=0123456789abcdef",
                "state": "0123456789abcdef",
            ]), pages: pages, issuer: issuer, endpoints: endpoints)
        guard case .openURL(let address, _) = page else {
            Issue.record("\(page)")
            return
        }
        #expect(address.host == "login.p.example")
    }

    @Test(arguments: [
        "https://*", "https://*.example", "*.p.example", "p.example", "http://p.example", "https://p.example/",
        "https://p.example/a", "https://u@p.example", "https://*.*.p.example", "https://*.127.0.0.1",
        "https://*p.example", "ftp://p.example", "https://P.example", "https://p.example:443", "https:p.example",
    ])
    func `a manifest with other pages is refused`(_ page: String) throws {
        let home = try PluginHome()
        var plugin = CannedPlugin(begin: done)
        plugin.needs["pages"] = ["https://q.example", .string(page)]
        try home.install(plugin)
        let error = #expect(throws: CredentialError.self) { try home.catalog().provider(named: "canned") }
        #expect(error?.message.contains("'needs.pages' must contain only origins") == true)
    }

    @Test(
        arguments: [
            ("interval", -1), ("interval", 0), ("interval", 100_000), ("interval", "5"), ("expires_in", -1),
            ("expires_in", .null), ("expires_in", .decimal("1e9")), ("user_code", ""), ("user_code", "A\u{0}B"),
            ("user_code", .string(String(repeating: "A", count: 65))),
            ("verification_uri_complete", "file:///etc/passwd"),
        ] as [(String, JSONValue)])
    func `a device code that does not hold is refused`(_ member: String, _ value: JSONValue) throws {
        var interaction = JSONObject([
            "kind": "show_code", "user_code": "AB-CD", "verification_uri": "https://p.example/d", "expires_in": 600,
        ])
        func reply() -> String {
            let reply: JSONValue = [
                "version": 1, "reply": "interaction", "interaction": .object(interaction), "pending": [:],
            ]
            return reply.text()
        }
        #expect(try begin(CannedPlugin(begin: reply())) == nil)
        interaction[member] = value
        #expect(try begin(CannedPlugin(begin: reply()))?.code == .malformedReply)
    }

    @Test(
        arguments: [
            ("access_token", .null), ("access_token", ""), ("access_token", 5), ("access_token", "a b"),
            ("access_token", "a\nb"), ("access_token", "ü"),
            ("access_token", .string(String(repeating: "a", count: 70_000))),
            ("token_type", "DPoP"), ("token_type", 1), ("expires_in", -1), ("expires_in", 0), ("expires_in", "60"),
            ("expires_in", .decimal("99999999999999999999")), ("expires_in", 31_536_001),
            ("expires_in", .decimal("1.5")),
            ("refresh_token", "a\tb"), ("refresh_token", []), ("refresh_expires_in", -5), ("scope", "read"),
            ("scope", ["a b"]), ("scope", ["a\"b"]), ("scope", [1]), ("id_token", 1), ("nonce", ["a"]),
        ] as [(String, JSONValue)])
    func `tokens that do not hold are refused`(_ member: String, _ value: JSONValue) throws {
        var reply = try #require(try JSONValue.parse(done).object)
        var tokens = try #require(reply["tokens"]?.object)
        tokens[member] = value
        reply["tokens"] = .object(tokens)
        #expect(try begin(CannedPlugin(begin: JSONValue.object(reply).text()))?.code == .malformedReply)
    }

    @Test(
        arguments: [
            ("identity", .null), ("identity", "ada"), ("identity", [:]), ("identity", ["subject": ""]),
            ("identity", ["subject": "a\u{1B}b"]),
            ("identity", ["subject": .string(String(repeating: "a", count: 256))]),
            ("identity", ["subject": "a", "username": 1]), ("identity", ["subject": "a", "name": "x\ny"]),
            ("tokens", .null), ("tokens", []), ("state", []),
            ("state", ["x": .string(String(repeating: "a", count: 70_000))]),
        ] as [(String, JSONValue)])
    func `a result that does not hold is refused`(_ member: String, _ value: JSONValue) throws {
        var reply = try #require(try JSONValue.parse(done).object)
        reply[member] = value
        #expect(try begin(CannedPlugin(begin: JSONValue.object(reply).text()))?.code == .malformedReply)
    }

    @Test(arguments: PluginError.Code.allCases)
    func `each error code of the list means one of the product`(_ code: PluginError.Code) throws {
        let error = try begin(
            CannedPlugin(
                begin:
                    #"{"version":1,"reply":"error","code":"\#(code.rawValue)","message":"it went wrong","hint":"try"}"#
            ))
        #expect(error?.code == code.errorCode)
        #expect(error?.message == "canned: it went wrong")
        #expect(error?.hint == "try")
    }

    @Test func `secrets on standard error, in notes and in errors are taken out`() throws {
        var world = World()
        world.secret = Secret("client-canary")
        let plugin = CannedPlugin(
            begin: #"{"version":1,"reply":"note","text":"sent client-canary"}"# + "\n"
                + #"{"version":1,"reply":"error","code":"denied","message":"no client-canary and eyJhbGciOiJSUzI1NiIsImtpZCI6IjEi here"}"#,
            before: "printf 'request: %s\\033[2J\\n' \"$request\" >&2")
        let error = try begin(plugin, world: world)
        #expect(error?.message == "canned: no [redacted] and [redacted] here")
        let said = world.notes.all
        #expect(said.contains("canned: sent [redacted]"))
        #expect(said.contains { $0.hasPrefix("canned: request: ") })
        #expect(!said.joined().contains("client-canary") && !said.joined().contains("\u{1B}"))
    }

    @Test func `a plugin sees a cleaned environment, a neutral folder and no descriptor of ours`() throws {
        let home = try PluginHome()
        try home.install(
            CannedPlugin(
                begin: openURL, before: "{ env; pwd; ls /proc/self/fd; } > '\(home.seen)/seen'"))
        let held = open("/etc/hostname", O_RDONLY)
        defer { close(held) }
        let adapter = try home.adapter("canned")
        _ = try adapter.begin(.canned(), in: World().context)
        let lines = try String(contentsOfFile: home.seen + "/seen", encoding: .utf8).split(separator: "\n").map(
            String.init)
        #expect(lines.contains("HOME=/nonexistent") && lines.contains("/"))
        #expect(!lines.contains { $0.contains("SECRET_OF_HOST") })
        // 0, 1, 2, and the one that ls itself reads the folder through.
        #expect(lines.filter { Int($0) != nil }.count <= 4)
    }

    @Test func `a plugin gets the data of its own account, and an unknown member`() throws {
        let home = try PluginHome()
        var plugin = CannedPlugin(begin: done)
        plugin.replies["refresh"] =
            #"{"version":1,"reply":"done","tokens":{"access_token":"tok-2"},"x_more":{"ignored":true}}"#
        plugin.replies["revoke"] = #"{"version":1,"reply":"done"}"#
        try home.install(plugin)
        let adapter = try home.adapter("canned")
        guard case .done(let result) = try adapter.begin(.canned(), in: World().context) else {
            Issue.record("not done")
            return
        }
        let refreshed = try adapter.refresh(
            RefreshRequest(
                type: .canned(), key: TokenRequestKey(scope: ["read"]), scope: ["read"], grant: result.tokens.grant,
                subject: "ada"), in: World().context)
        #expect(refreshed.accessToken?.token.reveal() == "tok-2")
        #expect(refreshed.grant.refreshToken?.reveal() == "ref-1")
        #expect(refreshed.grant.adapterState == JSONObject(["k": [1]]))
        try adapter.revoke(refreshed.grant, of: .canned(), in: World().context)
        let request = try #require(
            try JSONValue.parse(String(contentsOfFile: home.seen + "/refresh.request", encoding: .utf8)).object)
        #expect(request["subject"] == "ada")
        #expect(request["grant"]?.object?["refresh_token"] == "ref-1")
        #expect(request["grant"]?.object?["state"] == ["k": [1]])
        #expect(request.keys.contains { $0.hasPrefix("x_") })
    }

    @Test func `tokens refreshed for a different user are refused`() throws {
        let home = try PluginHome()
        var plugin = CannedPlugin()
        plugin.replies["refresh"] = done
        try home.install(plugin)
        let adapter = try home.adapter("canned")
        let grant = Grant(flow: .code, obtainedAt: Timestamp(epochSeconds: 0))
        #expect(
            code { () throws(CredentialError) in
                _ = try adapter.refresh(
                    RefreshRequest(
                        type: .canned(), key: TokenRequestKey(scope: []), scope: [], grant: grant, subject: "bob"),
                    in: World().context)
            } == .validationFailed)
    }

    @Test func `a flow that the manifest does not name is not asked for`() throws {
        let home = try PluginHome()
        try home.install(CannedPlugin(begin: done))
        let adapter = try home.adapter("canned")
        #expect(
            code { () throws(CredentialError) in _ = try adapter.begin(.canned(.password), in: World().context) }
                == .unsupported)
        #expect(!FileManager.default.fileExists(atPath: home.seen + "/describe.request"))
    }

    @Test func `an id token that cannot be checked is dropped, and said`() throws {
        let home = try PluginHome()
        try home.install(
            CannedPlugin(
                begin: done.replacingOccurrences(
                    of: "\"expires_in\"", with: "\"id_token\":\"a.b.c\",\"expires_in\"")))
        let world = World()
        guard case .done(let result) = try home.adapter("canned").begin(.canned(), in: world.context) else {
            Issue.record("not done")
            return
        }
        #expect(result.tokens.grant.idToken == nil && result.identity.issuer == nil)
        #expect(world.notes.all.contains { $0.contains("id token is dropped") })
    }
}
