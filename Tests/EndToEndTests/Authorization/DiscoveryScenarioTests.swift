import Foundation
import StrictJSON
import TestSupport
import Testing

/// Finding the servers, by the rules of the Model Context Protocol's conformance suite (RFC 9728, RFC 8414).
@Suite struct `Discovery scenarios` {
    private let home: Home

    init() throws { home = try Home() }

    @Test(arguments: [
        "metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "metadata-openid-inserted",
        "root-slash-in-resource-metadata", "root-slash-in-server-metadata", "iss-supported", "iss-not-advertised",
        "2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback",
        "resource-metadata-without-https", "first-server-unusable",
    ]) func `signs in and calls`(rule: String) throws {
        let scenario = try AuthorizationScenario(rule)
        try scenario.signIn(at: home)
        try scenario.call(from: home)
        let log = try scenario.log
        #expect(log.filter { $0.path.hasSuffix("/register") }.count == 1)
        #expect(log.filter { $0.path.hasSuffix("/token") }.count == 1)
        #expect(log.allSatisfy { $0.query["access_token"] == nil })
        let rootPRM = log.contains { $0.path == "/.well-known/oauth-protected-resource" }
        if rule == "metadata-default" { #expect(!rootPRM) }
        if rule == "metadata-var2" {
            let atRoot = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]
            #expect(rootPRM && !log.contains { $0.server == "as1" && atRoot.contains($0.path) })
        }
        // Both requests name the resource by its own name, and without metadata no request does.
        let resources = Set(log.filter { $0.path.hasSuffix("/token") }.map { $0.form["resource"] })
        let resource = rule.hasPrefix("2025") ? nil : rule == "metadata-var2" ? scenario.origin : scenario.api
        #expect(resources == [resource])
    }

    @Test func `the issuer kept is the one that the server's own document has`() throws {
        let scenario = try AuthorizationScenario("root-slash-in-resource-metadata")
        try scenario.signIn(at: home)
        let name = try #require(try home.json(["types", "--json"]).array?.first?.object?["name"]?.string)
        let text = try #require(home.text(of: "config/credmgr/types/\(name).json"))
        let type = try #require(try JSONValue.parse(text).object)
        #expect(type["issuer"]?.string == scenario.issuer)
    }

    @Test(arguments: [
        ("slash-behind-a-path", "is for another issuer"), ("metadata-issuer-mismatch", "is for another issuer"),
        ("resource-mismatch", "is for another resource"),
        ("resource-metadata-of-a-foreign-origin", "metadata of a foreign origin"),
        ("resource-of-another-path", "is for another resource"),
    ]) func `is refused before anything is registered`(rule: String, words: String) throws {
        let scenario = try AuthorizationScenario(rule)
        let refused = try home.run(["login", "--resource", scenario.api, "--print-url"], exits: 7)
        #expect(refused.standardError.contains(words))
        #expect(try scenario.log.allSatisfy { !["/register", "/authorize", "/token"].contains($0.path) })
        #expect(try home.json(["types", "--json"]) == [])
    }

    @Test(arguments: [
        "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected", "iss-normalized", "iss-in-errors",
    ]) func `a code of a doubtful issuer goes nowhere`(rule: String) throws {
        let scenario = try AuthorizationScenario(rule)
        let refused = try scenario.signIn(at: home, exits: 7)
        #expect(!refused.standardError.contains("stranger"))
        #expect(try scenario.requests(to: "/token").isEmpty)
        #expect(try home.json(["accounts", "--json"]) == [])
    }

    @Test func `login --complete takes a code only with the issuer that the server announces`() throws {
        let scenario = try AuthorizationScenario("iss-supported")
        let url = try home.run(["login", "--resource", scenario.api, "--print-url"]).line
        let redirect = try scenario.redirect(from: url)
        var parts = try #require(URLComponents(string: redirect))
        let items = parts.queryItems ?? []
        #expect(items.contains { $0.name == "iss" && $0.value == scenario.issuer })
        parts.queryItems = items.filter { $0.name != "iss" }
        // A redirect URL, and its parameters alone.
        for pasted in [parts.string, parts.percentEncodedQuery] {
            let refused = try home.run(["login", "--complete", try #require(pasted)], exits: 7)
            #expect(refused.standardError.contains("it lacks the issuer that the provider promises (RFC 9207)"))
        }
        parts.queryItems = items.map { $0.name == "iss" ? URLQueryItem(name: "iss", value: scenario.api) : $0 }
        let other = try home.run(["login", "--complete", try #require(parts.string)], exits: 7)
        #expect(other.standardError.contains("it comes from another issuer, '\(scenario.api)'"))
        // A code alone belongs to no sign-in.
        let code = try #require(items.first { $0.name == "code" }?.value)
        try home.run(["login", "--complete", code], exits: 2)
        #expect(try scenario.requests(to: "/token").isEmpty)
        #expect(try home.json(["accounts", "--json"]) == [])
        // The sign-in waits for the response of its own server.
        try home.run(["login", "--complete", redirect])
        #expect(try scenario.requests(to: "/token").count == 1)
    }

    @Test func `a code alone goes to no server that an API named and that announces its issuer`() throws {
        let scenario = try AuthorizationScenario("iss-supported")
        try home.run(["login", "--resource", scenario.api, "--print-url"])
        let name = try #require(try home.json(["types", "--json"]).array?.first?.object?["name"]?.string)
        try home.run(["types", "set", name, "redirect_uri=urn:ietf:wg:oauth:2.0:oob"])
        let refused = try home.run(
            ["login", "--type", name, "--no-browser"], input: "code-of-another-server\n", exits: 7)
        #expect(refused.standardError.contains("cannot check which server issued the code"))
        #expect(try scenario.requests(to: "/token").isEmpty)
        #expect(try home.json(["accounts", "--json"]) == [])
    }

    @Test func `a server that says nothing of PKCE is warned of, one that lacks it is refused`() throws {
        let silent = try AuthorizationScenario("pkce-not-told"),
            plain = try AuthorizationScenario("pkce-plain-only")
        let url = try home.run(["login", "--resource", silent.api, "--print-url"])
        #expect(url.standardError.contains("does not announce PKCE (S256)"))
        #expect(try silent.redirect(from: url.line).contains("code="))
        let refused = try home.run(["login", "--resource", plain.api, "--print-url"], exits: 2)
        #expect(refused.standardError.contains("PKCE with S256"))
        #expect(try plain.requests(to: "/register").isEmpty)
        let usual = try AuthorizationScenario("metadata-default")
        #expect(!(try usual.signIn(at: home).standardError.contains("PKCE")))
    }

    @Test func `an address that tells nothing is no sign-in`() throws {
        let scenario = try AuthorizationScenario("nothing-told")
        let refused = try home.run(["login", "--resource", scenario.api], exits: 2)
        #expect(refused.standardError.contains("does not report how to get a token"))
        #expect(refused.standardError.contains("hint: define the type by hand"))
    }

    // MARK: Migration

    @Test(arguments: ["--resource", "--type"])
    func `authorization-server-migration`(way: String) throws {
        let scenario = try AuthorizationScenario("authorization-server-migration")
        try scenario.signIn(at: home)
        try scenario.call(from: home)
        let old = try #require(try scenario.requests(to: "/token").first?.form["client_id"])
        try scenario.move()
        let refused = try scenario.call(from: home, exits: 4)
        let name = try #require(try home.json(["types", "--json"]).array?.first?.object?["name"]?.string)
        #expect(
            refused.standardError.contains("hint: credmgr login --resource \(scenario.api) --type \(name)\n"))
        // No refresh helps, so credmgr sent no refresh.
        #expect(try scenario.requests(to: "/token").count == 1)
        let done = try scenario.signIn(at: home, way == "--type" ? ["--type", name] : nil)
        #expect(done.exitStatus == 0)
        try scenario.call(from: home)
        let second = try scenario.log.filter { $0.server == "as2" }
        #expect(second.contains { $0.path == "/register" })
        // Each registration has a redirect path of its own.
        let redirects = Set(try scenario.log.filter { $0.path == "/token" }.compactMap { $0.form["redirect_uri"] })
        #expect(redirects.count == 2, "\(redirects)")
        #expect(Set(redirects.compactMap { URL(string: $0)?.path }).count == 2, "\(redirects)")
        #expect(second.allSatisfy { !$0.form.values.contains(old) && !$0.query.values.contains(old) })
        #expect(second.last { $0.path == "/token" }?.form["grant_type"] == "authorization_code")
        // The account of the former server stays its own: the new one is not shown its refresh token.
        let former = try #require(try home.json(["accounts", "--json"]).array?.first?.object?["id"]?.string)
        let requests = try scenario.log.count
        let withheld = try home.run(["token", "--account", former, "--force-refresh"], exits: 3)
        #expect(withheld.standardError.contains("account type \(name) does not see account \(former)"))
        #expect(withheld.standardError.hasSuffix("hint: credmgr login --type \(name)\n"))
        try home.run(["login", "--account", former, "--print-url"], exits: 3)
        #expect(try scenario.log.count == requests)
    }

    @Test func `a type with settings of one's own is not defined anew when its API moves`() throws {
        let scenario = try AuthorizationScenario("authorization-server-migration")
        try scenario.signIn(at: home)
        let name = try #require(try home.json(["types", "--json"]).array?.first?.object?["name"]?.string)
        try home.run(["types", "set", name, "headers.X-Team=blue"])
        let before = try home.run(["types", "show", name, "--json"]).standardOutput
        try scenario.move()
        let refused = try home.run(["login", "--type", name, "--print-url"], exits: 2)
        #expect(refused.standardError.contains("hint: credmgr types show \(name)\n"))
        #expect(try home.run(["types", "show", name, "--json"]).standardOutput == before)
        #expect(try !scenario.log.contains { $0.server == "as2" && $0.path == "/register" })
    }
}
