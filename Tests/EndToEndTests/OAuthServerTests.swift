import CredentialCore
import Foundation
import LoopbackHTTP
import Platform
import StrictJSON
import TestSupport
import Testing

@Suite struct `OAuth at real servers` {
    private let home: Home
    private let redirect: String

    init() throws {
        home = try Home()
        redirect = "http://127.0.0.1:\(try freePort())/callback"
    }

    private func glewlwyd(_ change: (inout Glewlwyd.Settings) -> Void = { _ in }) throws -> Glewlwyd {
        var settings = Glewlwyd.Settings()
        settings.redirectURIs = [redirect]
        change(&settings)
        return try Glewlwyd(settings)
    }

    private func browser(_ server: Glewlwyd, user: String = "alice") throws -> [String: String] {
        try Browser(in: home, user: user, password: server.password(of: user)).environment
    }

    private func edit(_ type: String, _ changes: [String: JSONValue]) throws {
        let name = "config/credmgr/types/\(type).json"
        let text = try #require(home.text(of: name))
        var members = try #require(try JSONValue.parse(text).object)
        for (key, value) in changes { members[key] = value }
        try home.write(JSONValue.object(members).text(), to: name)
    }

    @Test func `A newcomer with a server's URL and a client id has a token`() throws {
        let server = try glewlwyd()
        try home.run([
            "types", "add", "Work", "--issuer", server.issuer, "--client-id", "native", "--redirect-uri", redirect,
        ])
        let outcome = try home.run(["login", "--type", "Work"], environment: try browser(server))
        #expect(outcome.line.hasSuffix("\talice@example.test"))
        #expect(!(try home.run(["token"]).line.isEmpty))
        let shown = try #require(try home.json(["types", "show", "Work", "--json"]).object)
        #expect(shown["scope"]?.string == "openid profile email offline_access")
    }

    @Test func `A wrong issuer is reported at once, and defines no type`() throws {
        let server = try glewlwyd()
        try home.run(["types", "add", "Work", "--issuer", server.issuer + "x", "--client-id", "native"], exits: 2)
        #expect(try home.json(["types", "--json"]) == [])
    }

    @Test func `An issuer with a slash too many is corrected, and the correction is reported`() throws {
        let server = try glewlwyd()
        let outcome = try home.run(
            ["types", "add", "Work", "--issuer", server.issuer + "/", "--client-id", "native"])
        #expect(outcome.standardError.contains("the issuer is \(server.issuer)"), "\(outcome.standardError)")
        #expect(try home.json(["types", "show", "Work", "--json"]).object?["issuer"]?.string == server.issuer)
    }

    @Test func `A client is registered, signs in at its pinned redirect, and is gone with its type`() throws {
        let server = try glewlwyd()
        try home.run(["types", "add", "Work", "--issuer", server.issuer, "--register"])
        let type = try #require(try home.json(["types", "show", "Work", "--json"]).object)
        #expect(type["redirect_uri"]?.string?.hasPrefix("http://127.0.0.1:") == true)
        #expect(type["client_secret"] == ["store": true])
        try home.run(["login", "--type", "Work"], environment: try browser(server))
        try home.run(["token", "--force-refresh"])
        let removed = try home.run(["types", "remove", "Work"])
        #expect(removed.standardError.contains("is no longer registered"))
        let gone = try #require(type["registration_client_uri"]?.string.flatMap(URI.init))
        #expect(try LoopbackClient().send("GET", gone.description).status >= 400)
    }

    @Test func `Another definition of a registered client takes nothing away, and gets no token of it`() throws {
        let server = try glewlwyd(), listener = try ScriptedProvider()
        try home.run(["types", "add", "Work", "--issuer", server.issuer, "--register"])
        try home.run(["login", "--type", "Work"], environment: try browser(server))
        // A copy whose author wants the token of the registration.
        var copy = try #require(try home.json(["types", "show", "Work", "--json"]).object)
        for name in ["name", "file", "path"] { copy[name] = nil }
        copy["client_secret"] = nil
        copy["registration_client_uri"] = .string(listener.base + "/register/x")
        let file = try home.write(JSONValue.object(copy).text(), to: "copy.json")
        try home.run(["types", "import", file, "--name", "Copy"])
        try home.run(["types", "remove", "Copy"])
        #expect(!listener.paths.contains { $0.contains("register") })
        // The user's own copy leaves the client to the other type, too.
        try home.run(["types", "import", file, "--name", "Copy"])
        try home.run(["types", "trust", "Copy"])
        try home.run(["types", "remove", "Copy"])
        #expect(!listener.paths.contains { $0.contains("register") })
        try home.run(["token", "--type", "Work", "--force-refresh"])
        #expect(try home.run(["types", "remove", "Work"]).standardError.contains("is no longer registered"))
    }

    @Test func `A name that is taken registers no user`() throws {
        let server = try glewlwyd()
        try home.run(["types", "add", "Work", "--issuer", server.issuer, "--client-id", "native"])
        try home.run(["types", "add", "Work", "--issuer", server.issuer, "--register"], exits: 2)
        try home.run(
            ["types", "add", "Other", "--issuer", server.issuer, "--register", "--client-id", "x"], exits: 2)
    }

    @Test(arguments: [false, true]) func `Tokens are bound to a key from the sign-in on`(nonce: Bool) throws {
        let server = try glewlwyd { $0.demandsDPoPNonce = nonce }
        try home.run([
            "types", "add", "Work", "--issuer", server.issuer, "--client-id", "native", "--redirect-uri", redirect,
            "--dpop", "--api-base", server.issuer,
        ])
        try home.run(["login", "--type", "Work"], environment: try browser(server))
        for refreshed in [false, true] {
            let token = try home.json(["token", "--format", "json"] + (refreshed ? ["--force-refresh"] : []))
            #expect(token.object?["token_type"]?.string == "DPoP")
            let person = try home.json(["request", "GET", "/userinfo"])
            #expect(person.object?["name"]?.string == "Alice Example")
        }
        // The token alone is of no use.
        let token = try home.run(["token"]).line
        let theft = try LoopbackClient().send(
            "GET", server.userinfoEndpoint, headers: [("Authorization", "Bearer \(token)")])
        #expect(theft.status >= 400)
    }

    @Test func `A pushed request leaves nothing in the browser's address but its reference`() throws {
        let server = try glewlwyd()
        try home.run([
            "types", "add", "Work", "--issuer", server.issuer, "--client-id", "native", "--redirect-uri", redirect,
        ])
        try edit("Work", ["require_pushed_authorization_requests": true])
        let url = try home.run(["login", "--type", "Work", "--print-url"]).line
        #expect(url.contains("request_uri=") && !url.contains("state=") && !url.contains("scope="))
        try home.run(["login", "--type", "Work"], environment: try browser(server))
        #expect(!(try home.run(["token"]).line.isEmpty))
    }

    @Test func `A client authenticates in three ways`() throws {
        let server = try glewlwyd()
        let secret = try home.write(try #require(server.webClient.secret), to: "outside/secret")
        let key = try home.write(try String(contentsOfFile: server.keyFile, encoding: .utf8), to: "outside/key")
        for (name, options) in [
            (
                "Basic",
                ["--client-id", "web", "--client-secret-file", secret, "--auth-method", "client_secret_basic"]
            ),
            (
                "Post",
                ["--client-id", "web", "--client-secret-file", secret, "--auth-method", "client_secret_post"]
            ),
            ("Key", ["--client-id", server.keyClient.id, "--private-key-file", key]),
        ] {
            try home.run(
                [
                    "types", "add", name, "--issuer", server.issuer, "--flow", "client_credentials", "--scope",
                    "api.read",
                ]
                    + options)
            try home.run(["login", "--type", name])
            let first = try home.run(["token", "--type", name]).line
            #expect(try home.run(["token", "--type", name, "--force-refresh"]).line != first)
        }
    }

    @Test func `A code is entered on another device`() throws {
        let server = try glewlwyd()
        try home.run([
            "types", "add", "Work", "--issuer", server.issuer, "--client-id", "device", "--scope",
            "openid api.read",
        ])
        let signIn = try home.start(["login", "--type", "Work", "--flow", "device"])
        var text = try signIn.wait(for: "or open")
        func word(after mark: String) throws -> String {
            let rest = try #require(text.range(of: mark)).upperBound
            return String(text[rest...].drop { $0 == " " }.prefix { !$0.isWhitespace })
        }
        try server.approveDevice(
            verificationURI: try word(after: "device, open"), userCode: try word(after: "the code"))
        let outcome = try signIn.outcome()
        text = outcome.standardError
        #expect(outcome.exitStatus == 0, "\(text)")
        // The code is shown once, however often the server is asked; a picture of it is for terminals.
        #expect(text.components(separatedBy: "and enter the code").count == 2)
        #expect(!text.contains("█"))
        #expect(!(try home.run(["token"]).line.isEmpty))
    }

    @Test func `A refresh token used twice ends the sign-in, and a person is asked for`() throws {
        let server = try glewlwyd()
        try home.run([
            "types", "add", "Work", "--issuer", server.issuer, "--client-id", "native", "--redirect-uri", redirect,
        ])
        try home.run(["login", "--type", "Work"], environment: try browser(server))
        let copy = home.path + "/copy"
        try FileManager.default.copyItem(atPath: home.path + "/data", toPath: copy)
        try home.run(["token", "--force-refresh"])
        // Another machine, which has not seen the first one's refresh; here the used-up token would be withheld.
        let elsewhere = ["XDG_DATA_HOME": copy, "XDG_STATE_HOME": home.path + "/elsewhere"]
        let thief = try home.run(["token", "--force-refresh"], environment: elsewhere, exits: 4)
        #expect(thief.standardError.contains("credmgr login --account "))
        try home.run(["token", "--force-refresh"], exits: 4)
        #expect(try home.json(["accounts", "--json"]).array?.first?.object?["status"]?.string == "needs-login")
    }

    @Test func `A token is asked about, and revoked`() throws {
        let server = try glewlwyd()
        let secret = try home.write(try #require(server.webClient.secret), to: "outside/secret")
        try home.run([
            "types", "add", "Work", "--issuer", server.issuer, "--client-id", "web", "--client-secret-file", secret,
            "--redirect-uri", redirect,
        ])
        try home.run(["login", "--type", "Work"], environment: try browser(server))
        let told = try #require(try home.json(["token", "--introspect"]).object)
        #expect(told["active"] == true)
        #expect(told["client_id"]?.string == "web")
        let copy = home.path + "/copy"
        try FileManager.default.copyItem(atPath: home.path + "/data", toPath: copy)
        let out = try home.run(["logout", "--type", "Work", "--revoke"])
        #expect(out.standardError.contains("has revoked"))
        try home.run(["token", "--force-refresh"], environment: ["XDG_DATA_HOME": copy], exits: 4)
    }

    @Test func `An API that describes itself needs nothing but its URL`() throws {
        let server = try glewlwyd()
        let issuer = server.issuer
        let api = try LoopbackServer(ports: [0]) { request in
            let base = "http://" + (request.value(of: "host") ?? "")
            if request.path == "/.well-known/oauth-protected-resource/api" {
                let metadata: JSONValue = [
                    "resource": .string(base + "/api"), "authorization_servers": [.string(issuer)],
                    "scopes_supported": ["api.read"], "bearer_methods_supported": ["header"],
                ]
                return .json(200, metadata)
            }
            guard request.value(of: "authorization")?.hasPrefix("Bearer ey") == true else {
                let place = base + "/.well-known/oauth-protected-resource/api"
                return ServerResponse(
                    status: 401, headers: [("WWW-Authenticate", "Bearer resource_metadata=\"\(place)\"")])
            }
            return .text(200, "welcome")
        }
        defer { api.stop() }
        let url = "http://127.0.0.1:\(api.port)/api/items"
        try home.run(["login", "--resource", url], environment: try browser(server))
        #expect(try home.run(["request", "GET", url]).line == "welcome")
        let type = try #require(try home.json(["types", "--json"]).array?.first?.object)
        #expect(type["name"]?.string == "127.0.0.1-\(api.port)")
        // A second sign-in uses the type and its registration.
        try home.run(["login", "--resource", url, "--print-url"])
        #expect(try home.json(["types", "--json"]).array?.count == 1)
    }

    @Test(arguments: ["native-es256", "native-eddsa"])
    func `Canaille's id tokens are checked, whatever signs them`(client: String) throws {
        let server = try RealServer(.canaille, redirectURIs: [redirect])
        try home.run([
            "types", "add", "Work", "--issuer", server.issuer, "--client-id", client, "--redirect-uri", redirect,
        ])
        let browser = try Browser(in: home, user: "bob", password: server.password(of: "bob"))
        let outcome = try home.run(["login", "--type", "Work"], environment: browser.environment)
        #expect(outcome.line.hasSuffix("\tbob@example.test"))
        #expect(try home.json(["claims", "--json"]).object?["iss"]?.string == server.issuer)
    }

    @Test func `A registration that cannot be ended is told, and the type goes`() throws {
        let server = try RealServer(.canaille, redirectURIs: [redirect])
        try home.run(["types", "add", "Work", "--issuer", server.issuer, "--register"])
        let outcome = try home.run(["types", "remove", "Work"])
        let warning = "warning: cannot remove the client's registration at \(server.issuer)"
        #expect(outcome.standardError.contains(warning))
        #expect(try home.json(["types", "--json"]) == [])
    }

    @Test func `A token for another API is had by exchange, and the sign-in stays as it is`() throws {
        let server = try RealServer(.idpy, redirectURIs: [redirect])
        let secret = try home.write(try #require(server.secret(of: "web")), to: "outside/secret")
        try home.run([
            "types", "add", "Work", "--issuer", server.issuer, "--client-id", "web", "--client-secret-file", secret,
            "--redirect-uri", redirect, "--scope", "openid api.read offline_access",
            "--param", "authorize:prompt=consent",
        ])
        try edit("Work", ["token_exchange": true])
        let browser = try Browser(in: home, user: "alice", password: "")
        try home.run(["login", "--type", "Work"], environment: browser.environment)
        let own = try home.run(["token"]).line
        let audience = ["--audience", "https://other.example"]
        let other = try home.run(["token"] + audience).line
        #expect(other != own)
        #expect(try home.run(["token"] + audience).line == other)
        #expect(try home.run(["token"]).line == own)
        let refused = try home.run(["token", "--resource", "https://unknown.example"], exits: 2)
        #expect(refused.standardError.contains("invalid_target"))
        try home.run(["token", "--force-refresh"])
        #expect(try home.json(["token", "--introspect"]).object?["active"] == true)
    }
}
