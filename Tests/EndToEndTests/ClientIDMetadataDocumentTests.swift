import CredentialCore
import LoopbackHTTP
import StrictJSON
import Testing

/// A URL as client ID (OAuth Client ID Metadata Document), from the URL of an API alone.
@Suite struct `A client known by its own document` {
    private static let client = "https://tools.example/credmgr/client.json"

    private func api(of provider: ScriptedProvider) throws -> (server: LoopbackServer, url: String) {
        let issuer = provider.base
        let server = try LoopbackServer(at: .ipv4) { request in
            let base = "http://" + (request.value(of: "host") ?? "")
            if request.path == "/.well-known/oauth-protected-resource" {
                return .json(
                    200,
                    [
                        "resource": .string(base), "authorization_servers": [.string(issuer)],
                        "scopes_supported": ["api.read"],
                    ])
            }
            guard request.value(of: "authorization") == "Bearer at-1" else {
                let place = base + "/.well-known/oauth-protected-resource"
                return ServerResponse(
                    status: 401, headers: [("WWW-Authenticate", "Bearer resource_metadata=\"\(place)\"")])
            }
            return .text(200, "welcome")
        }
        return (server, "http://127.0.0.1:\(server.port)/items")
    }

    private func provider(takesDocuments: Bool) throws -> ScriptedProvider {
        let provider = try ScriptedProvider {
            $0.metadata = JSONObject([
                "client_id_metadata_document_supported": .bool(takesDocuments),
                "code_challenge_methods_supported": ["S256"],
            ])
            $0.documents[Self.client] = JSONObject([
                "client_id": .string(Self.client), "client_name": "credmgr", "redirect_uris": ["http://127.0.0.1"],
                "token_endpoint_auth_method": "none",
            ])
        }
        // There is no endpoint at that place.
        provider.change { $0.metadata["registration_endpoint"] = .string(provider.base + "/register") }
        return provider
    }

    @Test func `One command signs in at an API with a URL as client id, and registers nothing`() throws {
        let home = try Home(), provider = try provider(takesDocuments: true), api = try api(of: provider)
        defer { api.server.stop() }
        let browser = try Browser(in: home, user: "ada", password: "")
        let done = try home.run(
            ["login", "--resource", api.url, "--client-id", Self.client], environment: browser.environment)
        #expect(done.line.hasSuffix("\tada@example.test"))
        #expect(!done.standardError.contains("warning"))
        #expect(try home.run(["request", "GET", api.url]).line == "welcome")
        let sent = provider.forms.filter { $0["client_id"] != nil }
        #expect(sent.allSatisfy { $0["client_id"] == Self.client && $0["client_secret"] == nil })
        #expect(sent.compactMap { $0["grant_type"] } == ["authorization_code"])
        // The browser's, and perhaps the one of our own beside it.
        #expect((1...2).contains(sent.count { $0["response_type"] == "code" }))
        #expect(!provider.paths.contains("/register"))
        let type = try #require(try home.json(["types", "--json"]).array?.first?.object)
        #expect(type["client_id"]?.string == Self.client)
        // No client was registered, so there is no registration to end.
        let removed = try home.run(["types", "remove", try #require(type["name"]?.string)])
        #expect(!removed.standardError.contains("regist"))
    }

    @Test func `A warning is printed if the provider does not announce support for such clients`() throws {
        let home = try Home(), provider = try provider(takesDocuments: false), api = try api(of: provider)
        defer { api.server.stop() }
        let url = try home.run(["login", "--resource", api.url, "--client-id", Self.client, "--print-url"])
        #expect(url.standardError.contains("the provider does not announce support for a URL as client ID"))
        // Any other client id is no matter.
        let other = try home.run([
            "login", "--resource", api.url, "--type", "Other", "--client-id", "app", "--print-url",
        ])
        #expect(!other.standardError.contains("warning"))
    }

    @Test func `A document that does not allow the redirect leads nowhere`() throws {
        let home = try Home(), provider = try provider(takesDocuments: true), api = try api(of: provider)
        defer { api.server.stop() }
        provider.change { $0.documents[Self.client]?["redirect_uris"] = ["https://tools.example/back"] }
        let url = try home.run(["login", "--resource", api.url, "--client-id", Self.client, "--print-url"]).line
        #expect(throws: (any Error).self) { try provider.redirect(from: url) }
        #expect(try home.json(["accounts", "--json"]) == [])
    }
}
